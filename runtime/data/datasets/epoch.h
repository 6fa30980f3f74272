/* Orders a dataset for training. Each epoch has every example once. All examples of a batch have the same shape. The
 * batch of a step depends on the seed and the step alone. */
#ifndef LONGHAND_EPOCH_H
#define LONGHAND_EPOCH_H

#include "data/datasets/corpus.h"

/* Shuffles a list; all orders are equally likely. count: below 2^32. Source: Knuth, The Art of Computer Programming,
 * 3.4.2, Algorithm P. */
void lh_shuffle(lh_rng rng, uint32_t *list, int64_t count);

/* Writes the numbers 0 .. count - 1 in a random order. */
void lh_draw_order(lh_rng rng, uint32_t *list, int64_t count);

/* Returns the counter word `example` of the order within shape n (epoch.c). */
uint32_t lh_get_order_word(const lh_dataset *set, int n);

/* One batch of an epoch. */
typedef struct lh_epoch_batch {
    int n;         /* shape */
    int sequences; /* number of examples; the last batch of a shape may be short */
    int64_t first; /* index of the first example in lh_epoch.indices_in_shape */
} lh_epoch_batch;

typedef struct lh_epoch {
    const lh_corpus *corpus;
    int batch;                   /* maximum number of examples of a batch */
    int64_t index;               /* index of the current epoch; -1: none */
    int64_t batches;             /* batches per epoch */
    uint32_t *indices_in_shape;  /* [examples] examples of shape 1, then 2, and so on; shuffled in each shape */
    lh_epoch_batch *batch_order; /* [batches] in the order of training */
} lh_epoch;

/* The number of batches per epoch: every shape is divided into batches of at most `batch` examples. */
int64_t lh_count_epoch_batches(const lh_corpus *corpus, int batch);

/* Allocates memory for the order of an epoch. LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_epoch_open(lh_epoch *epoch, const lh_corpus *corpus, int batch, lh_error *error);
void lh_epoch_close(lh_epoch *epoch);

/* Returns the batch of a step, valid until the next call. The first call for an epoch computes the epoch's order. */
const lh_epoch_batch *lh_epoch_find_batch(lh_epoch *epoch, lh_key key, uint32_t step);

#endif
