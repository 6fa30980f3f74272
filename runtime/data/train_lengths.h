/* Chooses the task lengths of training batches, and how often a step passes through the layers. A batch has one length,
 * or, if the spec mixes lengths, a length drawn for each of its sequences. Lengths are a function of seed, step and
 * example. */
#ifndef LONGHAND_TRAIN_LENGTHS_H
#define LONGHAND_TRAIN_LENGTHS_H

#include "longhand/rng.h"
#include "longhand/spec.h"
#include "longhand/status.h"

/* Draws a task length of a step (the first step is 0). If `example` is LH_SHARED, all sequences of the step have this
 * length. Else `example` is an index into the drawn lengths of a mixed batch. The batch sorts these lengths, longest
 * first, so `example` is not the index of the sequence that gets the length. */
int lh_draw_train_length(const lh_spec *spec, lh_key key, uint32_t step, uint32_t example);

/* Consecutive sequences of a batch that have the same task length n. */
typedef struct lh_batch_part {
    int n;
    int first, sequences; /* first: index of the first sequence; sequences: number of sequences */
} lh_batch_part;

/* The parts of a batch, the longest sequences first. */
typedef struct lh_batch_parts {
    lh_batch_part *parts; /* [count] */
    int count;
    int *sequences; /* [training lengths] scratch: number of sequences of each length; NULL: lengths are not mixed */
} lh_batch_parts;

/* Allocates memory for the parts of any batch. LH_ERR_ENVIRONMENT: out of memory. Call lh_batch_parts_close in any
 * case. */
lh_status lh_batch_parts_open(lh_batch_parts *parts, const lh_spec *spec, lh_error *error);
void lh_batch_parts_close(lh_batch_parts *parts);

/* Makes the batch one part: `sequences` sequences of task length n. */
void lh_batch_parts_set(lh_batch_parts *parts, int n, int sequences);

/* Draws how often a step passes through the layers, for a spec with a progressive loss, as McLeish et al. 2024 do. With
 * R = spec->passes: *free_passes, the number of passes without gradient, is uniform on 0 .. R - 1, and then the number
 * of passes with gradient is uniform on 1 .. min(R - *free_passes, R / 2). Returns the sum of both numbers. */
int lh_draw_passes(const lh_spec *spec, lh_key key, uint32_t step, int *free_passes);

/* Draws the lengths of the batch of a step. */
void lh_batch_parts_draw(lh_batch_parts *parts, const lh_spec *spec, lh_key key, uint32_t step);

/* Counts the sequences of each training length in the first `steps` steps of a sampled task: *sequences [training
 * lengths], which the caller frees. The time is proportional to the number of drawn lengths. LH_ERR_ENVIRONMENT: out of
 * memory. */
lh_status lh_count_trained_sequences(const lh_spec *spec, lh_key key, int64_t steps, int64_t **sequences,
                                     lh_error *error);

#endif
