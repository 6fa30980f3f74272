/* From counters to token arrays: which length a step has, and its examples. Every example is a pure function of
 * (key, step, index), so any thread can make any part of a batch. */
#ifndef LONGHAND_BATCH_H
#define LONGHAND_BATCH_H

#include "data/datasets/corpus.h"
#include "data/lengths.h"
#include "data/trial.h"
#include "longhand/spec.h"
#include "longhand/status.h"

/* Task length n of training step `step`: uniform over lengths, from LH_PLACE_LENGTH. */
int lh_train_length(const lh_spec *spec, lh_key key, uint32_t step);

/* Tokens of an example at task length n; with finite data, of shape n (data/datasets/corpus.h). */
int lh_input_length(const lh_spec *spec, int n);
int lh_output_length(const lh_spec *spec, int n);

/* Task length n as people know it: for dataset files, the input length. */
int lh_reported_length(const lh_spec *spec, int n);

/* The shape of `sequences` sequences at task length n. */
lh_shape lh_shape_at(const lh_spec *spec, int n, int sequences);

/* Tokens of a sequence, all streams together. */
int lh_shape_tokens(const lh_shape *shape);

/* longest becomes the larger of both in every stream; whether it grew. */
bool lh_longer_streams(int longest[LH_MAX_STREAMS], const int length[LH_MAX_STREAMS]);

/* Room for the examples of one shard or batch; the arrays are as in lh_cpu_block. One allocation. */
typedef struct lh_batch {
    lh_shape shape;
    uint16_t *tokens[LH_MAX_STREAMS];
    uint16_t *labels;
    uint8_t *mask;
    uint16_t *place; /* NULL where the spec's format has no `locate` */
    uint16_t *input; /* scratch: one example's input; its target and mask are written in place */
    lh_trial trial;  /* for a user's own task */
    void *memory;
} lh_batch;

/* Tokens of a batch that a sequence of shape n takes: with dataset files one's own lines change what n means, so
 * that longest_n does not say whether a batch is large enough. */
size_t lh_batch_words(const lh_spec *spec, int n);

/* Reserves room for up to `sequences` sequences at any task length up to longest_n. LH_ERR_INPUT where one of them has
 * more labels than its labelled stream has tokens, LH_ERR_ENVIRONMENT without memory. */
lh_status lh_batch_open(lh_batch *batch, const lh_spec *spec, int longest_n, int sequences, lh_error *error);
void lh_batch_close(lh_batch *batch);

/* Sequences of the batch with a label that counts. */
int lh_batch_asked(const lh_batch *batch, const lh_spec *spec);

/* Sequences first .. first + sequences - 1 of the batch as a block: examples from 0 on, no loss_scale, no logits.
 * Points into the batch. */
lh_cpu_block lh_batch_block(const lh_batch *batch, int first, int sequences);

/* Makes sequence `row` of the batch, which has shape n and ends with it: of this input and, for streams that read it,
 * this target (NULL: all 0), which are a task's, with a place for every label (cli/verbs/input.h has checked it). Its
 * labels are the target, and none counts. */
void lh_batch_put(lh_batch *batch, const lh_spec *spec, int n, int row, const uint16_t *input, const uint16_t *target);

/* The source of examples: counter words of example i are (step, first + i). */
typedef struct lh_source {
    lh_key key;
    uint32_t step;     /* training: the step; evaluation: the condition */
    uint32_t domain;   /* LH_DOMAIN_DATA, LH_DOMAIN_EVAL or LH_DOMAIN_VALIDATION */
    uint32_t distinct; /* > 0: example index modulo this (--overfit, with one step for all); 0: all differ */
    const uint32_t
        *pick; /* finite data: which of the shape's examples the indices mean; NULL: those in the file's order */
    const lh_dataset *set; /* finite data: whose; NULL: of the set that the domain means */
} lh_source;

/* Fills batch with examples first .. first + sequences - 1 at task length n. LH_ERR_INPUT where a user's own task does
 * not keep to the interface (data/trial.h); the tasks of runtime/data/tasks always do. With finite data: examples of
 * the source's set, or of the set that the domain means, again from the first after the last; LH_ERR_INPUT where it has
 * none of shape n. */
lh_status lh_batch_fill(lh_batch *batch, const lh_spec *spec, const lh_source *source, int n, uint32_t first,
                        int sequences, lh_error *error);

#endif
