/* From counters to token arrays: which length a step has, and its examples. Every example is a pure function of
 * (key, step, index), so any thread can make any part of a batch. */
#ifndef LONGHAND_BATCH_H
#define LONGHAND_BATCH_H

#include "data/corpus.h"
#include "data/trial.h"
#include "longhand/spec.h"
#include "longhand/status.h"

/* Number of lengths and the i-th one. */
int lh_lengths_count(const lh_lengths *lengths);
int lh_lengths_at(const lh_lengths *lengths, int index);
int lh_lengths_longest(const lh_lengths *lengths);

/* Task length n of training step `step`: uniform over lengths, from LH_PLACE_LENGTH. */
int lh_train_length(const lh_spec *spec, lh_key key, uint32_t step);

/* Tokens of an example at task length n; with finite data, of shape n (data/corpus.h). */
int lh_input_length(const lh_spec *spec, int n);
int lh_output_length(const lh_spec *spec, int n);

/* What people call task length n: with finite data, the input length. */
int lh_told_length(const lh_spec *spec, int n);

/* The shape of `sequences` sequences at task length n. */
lh_shape lh_shape_at(const lh_spec *spec, int n, int sequences);

/* Room for the examples of one shard or batch; the arrays are as in lh_cpu_block. One allocation. */
typedef struct lh_batch {
    lh_shape shape;
    uint16_t *tokens[LH_MAX_STREAMS];
    uint16_t *labels;
    uint8_t *mask;
    uint16_t *input; /* scratch: one example's input; its target and mask are written in place */
    lh_trial trial;  /* for a user's own task */
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
    const uint32_t
        *pick; /* finite data: which of the shape's examples the indices mean; NULL: those in the file's order */
} lh_source;

/* Fills batch with examples first .. first + sequences - 1 at task length n. LH_ERR_INPUT where a user's own task does
 * not keep to the interface (data/trial.h); the tasks of runtime/data/tasks always do. With finite data: examples of the
 * file that the domain means (of the other one where it has none of shape n), again from the first after the last. */
lh_status lh_batch_fill(lh_batch *batch, const lh_spec *spec, const lh_source *source, int n, uint32_t first,
                        int sequences, lh_error *error);

#endif
