/* Orders a dataset for training: each epoch has every example once, in batches of one shape. The batch of a step
 * depends on the seed and the step alone. */
#ifndef LONGHAND_EPOCH_H
#define LONGHAND_EPOCH_H

#include "data/datasets/corpus.h"

/* Shuffles a list so that all orders are equally likely: Fisher and Yates from the end, Knuth's Algorithm P (The Art of
 * Computer Programming, 3.4.2); count is below 2^32. */
void lh_shuffle(lh_rng rng, uint32_t *list, int64_t count);

/* Writes the numbers 0 .. count - 1 in a random order. */
void lh_draw_order(lh_rng rng, uint32_t *list, int64_t count);

/* The counter word of the random numbers that order the examples of shape n of a set (epoch.c). */
uint32_t lh_get_order_word(const lh_dataset *set, int n);

/* One batch of an epoch. */
typedef struct lh_epoch_batch {
    int n;         /* shape */
    int sequences; /* examples of the batch; the last batch of a shape may be short */
    int64_t first; /* index in lh_epoch.indices_in_shape of the batch's first example */
} lh_epoch_batch;

typedef struct lh_epoch {
    const lh_corpus *corpus;
    int batch;                   /* maximum number of examples of a batch */
    int64_t index;               /* index of the epoch whose order is in indices_in_shape and batch_order; -1: none */
    int64_t batches;             /* batches per epoch */
    uint32_t *indices_in_shape;  /* [examples] indices within the shape, shape by shape */
    lh_epoch_batch *batch_order; /* [batches] in the order of training */
} lh_epoch;

/* The number of batches per epoch: every shape is divided into batches of at most `batch` examples. */
int64_t lh_count_epoch_batches(const lh_corpus *corpus, int batch);

/* Allocates an epoch, without an order. LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_epoch_open(lh_epoch *epoch, const lh_corpus *corpus, int batch, lh_error *error);
void lh_epoch_close(lh_epoch *epoch);

/* The batch of a step. The first call for an epoch computes its order. Valid until the next call. */
const lh_epoch_batch *lh_epoch_find_batch(lh_epoch *epoch, lh_key key, uint32_t step);

#endif
