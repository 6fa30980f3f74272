/* Keeps the state of sequences that are decoded together, greedily.
 *
 * The caller runs passes over whole sequences. Guesses, which come from the caller or the previous pass, follow the
 * answers of a sequence. The next answer does not depend on guesses, so each pass gives at least this answer. If an
 * answer equals its guess, the answer after it is valid, too.
 *
 * A device that caches keys and values needs only one pass, whose answers are all valid. */
#ifndef LONGHAND_DECODE_PASSES_H
#define LONGHAND_DECODE_PASSES_H

#include "engine/engine.h"

typedef struct lh_decode_passes {
    const lh_spec *spec;
    const lh_query *query;
    const lh_answers *results;
    int count;
    size_t labels, inputs; /* labels and input tokens of a sequence */
    int *length;           /* [count] number of answers so far */
    bool *has_ended;       /* [count] whether the sequence needs no more answers */
    int *row;              /* [count] index of the sequence in each row of a pass */
} lh_decode_passes;

/* Begins to decode `count` sequences. query, results: as for lh_decode (eval/decode.h); both must remain valid. The
 * results are complete when choose returns 0. LH_ERR_ENVIRONMENT: out of memory. Call close also after an error. */
lh_status lh_decode_passes_open(lh_decode_passes *d, const lh_spec *spec, const lh_query *query, int count,
                                const lh_answers *results, lh_error *error);
void lh_decode_passes_close(lh_decode_passes *d);

/* Sets d->row to the sequences of the next pass, and returns the number of these sequences. Chooses all sequences that
 * need answers. If results depend on the index in the batch, also chooses all sequences between them. */
int lh_decode_passes_choose(lh_decode_passes *d);

/* The input of a row in the next pass. */
static inline const uint16_t *lh_decode_passes_get_input(const lh_decode_passes *d, int row) {
    return d->query->input + (size_t)d->row[row] * d->inputs;
}

/* The target of a row in the next pass: answers, then guesses. */
static inline const uint16_t *lh_decode_passes_get_target(const lh_decode_passes *d, int row) {
    return d->results->answers + (size_t)d->row[row] * d->labels;
}

/* Stores the valid answers of a pass over the chosen rows. The invalid answers become the next guesses.
 *   pass_answers   [rows][labels] all answers of the pass
 *   are_all_valid  the device has caches, so no answer depends on a guess */
void lh_decode_passes_take(lh_decode_passes *d, int rows, const uint16_t *pass_answers, bool are_all_valid);

/* Examples of a condition in memory. */
typedef struct lh_examples {
    int count;
    size_t labels, inputs;    /* labels and input tokens of an example */
    uint16_t *input, *target; /* input: [count][inputs]; target: [count][labels] */
    uint8_t *mask;            /* [count][labels] */
    int32_t **line_positions; /* [count] see lh_query */
    int *limits;              /* [count] number of labels up to the last counted label */
} lh_examples;

/* Allocates memory for `count` examples of task length n. LH_ERR_ENVIRONMENT: out of memory. Call close also after an
 * error. */
lh_status lh_examples_open(lh_examples *examples, const lh_spec *spec, int n, int count, lh_error *error);
void lh_examples_close(lh_examples *examples);

/* Makes the first examples->count examples of a condition. Fails as lh_batch_fill does; LH_ERR_ENVIRONMENT: out of
 * memory. */
lh_status lh_make_examples(lh_examples *examples, const lh_spec *spec, const lh_condition *condition, lh_error *error);

#endif
