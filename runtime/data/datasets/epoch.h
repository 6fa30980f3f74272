/* The order in which finite data is trained on: each epoch has every example once, in batches of one shape. Which batch
 * a step has follows from the seed and the step alone. */
#ifndef LONGHAND_EPOCH_H
#define LONGHAND_EPOCH_H

#include "data/datasets/corpus.h"

/* The numbers 0 .. count - 1 in an order of chance, all orders alike; count below 2^32. */
void lh_shuffle(lh_rng rng, uint32_t *pick, int64_t count);

/* The number that the order of a set's examples of shape n is drawn by. */
uint32_t lh_order_number(const lh_dataset *set, int n);

/* One batch of an epoch. */
typedef struct lh_turn {
    int n;         /* shape */
    int sequences; /* the last batch of a shape may be short */
    int64_t first; /* of its examples in pick */
} lh_turn;

typedef struct lh_epoch {
    const lh_corpus *corpus;
    int batch;
    int64_t number;  /* of the epoch that is laid out; -1: none */
    int64_t batches; /* of an epoch */
    uint32_t *pick;  /* [examples] index within their shape, shape by shape */
    lh_turn *turn;   /* [batches] */
} lh_epoch;

/* Batches of an epoch: every shape's examples in batches of at most `batch`. */
int64_t lh_epoch_batches(const lh_corpus *corpus, int batch);

/* LH_ERR_ENVIRONMENT without memory. */
lh_status lh_epoch_open(lh_epoch *epoch, const lh_corpus *corpus, int batch, lh_error *error);
void lh_epoch_close(lh_epoch *epoch);

/* The batch of a step; at the first of an epoch, or after a resume, lays the epoch out. Valid until the next call. */
const lh_turn *lh_epoch_at(lh_epoch *epoch, lh_key key, uint32_t step);

#endif
