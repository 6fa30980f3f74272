/* From counters to token arrays: which length a step has, and its examples. Every example is a pure function of
 * (key, step, index), so any thread can make any part of a batch. */
#ifndef LONGHAND_BATCH_H
#define LONGHAND_BATCH_H

#include "longhand/spec.h"
#include "longhand/status.h"

/* Number of lengths and the i-th one. */
int lh_lengths_count(const lh_lengths *lengths);
int lh_lengths_at(const lh_lengths *lengths, int index);
int lh_lengths_longest(const lh_lengths *lengths);

/* Task length n of training step `step`: uniform over lengths, from LH_PLACE_LENGTH. */
int lh_train_length(const lh_spec *spec, lh_key key, uint32_t step);

/* The shape of `sequences` sequences at task length n. */
lh_shape lh_shape_at(const lh_spec *spec, int n, int sequences);

/* Room for the examples of one shard or batch; the arrays are as in lh_cpu_block. One allocation. */
typedef struct lh_batch {
    lh_shape shape;
    uint16_t *tokens[LH_MAX_STREAMS];
    uint16_t *labels;
    uint8_t *mask;
    uint16_t *input; /* scratch: one example's input; its target and mask are written in place */
    void *memory;
} lh_batch;

/* Reserves room for up to `sequences` sequences at any task length up to longest_n. */
lh_status lh_batch_open(lh_batch *batch, const lh_spec *spec, int longest_n, int sequences, lh_error *error);
void lh_batch_close(lh_batch *batch);

/* Where the examples come from: counter words of example i are (step, first + i). */
typedef struct lh_source {
    lh_key key;
    uint32_t step;     /* training: the step; evaluation: the condition */
    uint32_t domain;   /* LH_DOMAIN_DATA or LH_DOMAIN_EVAL */
    uint32_t distinct; /* > 0: example index modulo this (--overfit, with one step for all); 0: all differ */
} lh_source;

/* Fills batch with examples first .. first + sequences - 1 at task length n. */
void lh_batch_fill(lh_batch *batch, const lh_spec *spec, const lh_source *source, int n, uint32_t first, int sequences);

#endif
