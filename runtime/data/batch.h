/* Makes batches: writes examples to token arrays. Every example is a pure function of its lh_source and its index, so
 * any thread can make any part of a batch. */
#ifndef LONGHAND_BATCH_H
#define LONGHAND_BATCH_H

#include "data/datasets/corpus.h"
#include "data/lengths.h"
#include "data/train_lengths.h"
#include "data/trial.h"
#include "longhand/spec.h"
#include "longhand/status.h"

/* The number of input or target tokens of an example at task length n; with a dataset, of shape n
 * (data/datasets/corpus.h). */
int lh_get_input_length(const lh_spec *spec, int n);
int lh_get_output_length(const lh_spec *spec, int n);

/* The length that is shown to users for task length n; with a dataset the input length of shape n. */
int lh_get_reported_length(const lh_spec *spec, int n);

/* The shape of `sequences` sequences at task length n. */
lh_shape lh_make_shape(const lh_spec *spec, int n, int sequences);

/* The number of passes through the layers at task length n, unless an evaluation sets it; 0 without loops. */
int lh_count_passes(const lh_spec *spec, int n);

/* The number of tokens of one sequence, in all streams together. */
int lh_count_shape_tokens(const lh_shape *shape);

/* Raises max_length[stream] to length[stream] in every stream; returns whether any value grew. */
bool lh_raise_lengths(int max_length[LH_MAX_STREAMS], const int length[LH_MAX_STREAMS]);

/* Buffers for the examples of one shard or batch, in one allocation. lh_cpu_block explains the arrays. */
typedef struct lh_batch {
    lh_shape shape;
    uint16_t *tokens[LH_MAX_STREAMS];
    int32_t *positions[LH_MAX_STREAMS]; /* NULL where the spec's format has no `positions` */
    uint16_t *labels;
    uint8_t *mask;
    uint16_t *place;         /* NULL where the spec's format has no `locate` */
    uint16_t *input;         /* scratch for the input of one example; target and mask are written in place */
    int32_t *line_positions; /* positions of the last row, see lh_dataset.positions; NULL: it has none */
    lh_trial trial;          /* checks a user's own task */
    void *memory;
} lh_batch;

/* The number of 16-bit words (tokens, labels, input) of one sequence at task length n. If predict or trace reads lines,
 * the lengths of shape n may change from line to line; then a batch opened earlier may be too small. */
size_t lh_count_batch_words(const lh_spec *spec, int n);

/* Allocates buffers for up to `sequences` sequences at any task length up to max_n. LH_ERR_INPUT: at some length
 * the labelled stream has fewer tokens than labels; LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_batch_open(lh_batch *batch, const lh_spec *spec, int max_n, int sequences, lh_error *error);
void lh_batch_close(lh_batch *batch);

/* The number of the batch's sequences that have a counted label. */
int lh_batch_count_sequences(const lh_batch *batch, const lh_spec *spec);

/* A block of sequences first .. first + sequences - 1 of the batch, with first_example 0 and without loss_scale and
 * logits. Points into the batch. */
lh_cpu_block lh_batch_make_block(const lh_batch *batch, int first, int sequences);

/* Writes the sequence with index `row` at task length n; it becomes the last sequence of the batch. Its tokens come
 * from an input and, for streams that read the target, from a target (NULL: all 0). Both must be valid for the task and
 * determine a place for every label, as cli/verbs/input.h checks. The target's tokens become the labels, but no label
 * counts. line_positions: see lh_dataset.positions, if the spec has positions of lines; it must stay valid until the
 * next row is written. */
void lh_batch_put(lh_batch *batch, const lh_spec *spec, int n, int row, const uint16_t *input, const uint16_t *target,
                  int32_t *line_positions);

/* The source of examples. The random numbers of a sampled example have the counter words `step` and its index. */
typedef struct lh_source {
    lh_key key;
    uint32_t step;   /* training: the step; evaluation: the condition */
    uint32_t domain; /* LH_DOMAIN_DATA, LH_DOMAIN_EVAL or LH_DOMAIN_VALIDATION */
    /* > 0: the index of an example is taken modulo this number (--overfit); 0: all examples differ */
    uint32_t distinct_examples;
    const uint32_t *indices_in_shape; /* dataset: the examples' indices within their shape; NULL: all in order */
    const lh_dataset *set;            /* dataset: the set; NULL: the set that `domain` selects */
} lh_source;

/* Fills batch with examples first .. first + sequences - 1 at task length n. In a dataset without `indices_in_shape`,
 * the first example of shape n follows the last one. LH_ERR_INPUT: a user's own task violates the interface (trial.h),
 * the set has no example of shape n, an example does not determine the places of its labels (lh_format.locate), or a
 * position is out of range (lh_find_input_positions). */
lh_status lh_batch_fill(lh_batch *batch, const lh_spec *spec, const lh_source *source, int n, uint32_t first,
                        int sequences, lh_error *error);

/* Finds the positions that the task or a line gives to an input at task length n, and to its answer; line_positions:
 * see lh_batch_put. Sets `*positions` to an array with a position for each token of all streams, which the caller
 * frees, or to NULL if neither task nor lines give any. LH_ERR_INPUT: a position is below 0 or above
 * lh_token_positions.greatest; LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_find_input_positions(const lh_spec *spec, int n, const uint16_t *input, int32_t *line_positions,
                                  int32_t **positions, lh_error *error);

/* Adds the random numbers of a training step to the positions of a filled batch (lh_token_positions); evaluations leave
 * positions as they are. draw: the key and counter words of the step's random positions; first: index of the batch's
 * first sequence in the step. Without effect where the spec's format has no `positions`. */
void lh_batch_shift_positions(lh_batch *batch, const lh_spec *spec, const lh_draw *draw, uint32_t first);

#endif
