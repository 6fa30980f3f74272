/* Checks a user's own sampler: every example is made twice, between guard words, and checked before it is used. The
 * samplers of runtime/data/tasks have unit tests instead and are not checked here. */
#ifndef LONGHAND_TRIAL_H
#define LONGHAND_TRIAL_H

#include "longhand/spec.h"
#include "longhand/status.h"

/* Buffers for one example, twice; guard words precede and follow each buffer. */
typedef struct lh_trial {
    struct lh_trial_copy {
        uint16_t *input, *target;
        uint8_t *mask;
    } copy[2];
    void *memory; /* NULL: the task is not checked */
} lh_trial;

/* Allocates buffers for examples of up to `input` and `output` tokens. LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_trial_open(lh_trial *trial, int input, int output, lh_error *error);
void lh_trial_close(lh_trial *trial);

/* Calls task->sample twice, each time with a copy of *start, and copies tokens and mask to example. LH_ERR_INPUT: a
 * token is outside its alphabet; a mask is neither 0 nor 1; a mask is 0 although the file's header has no line `mask`;
 * an element was not written; memory outside the buffers was written; or the second example differs from the first. The
 * message names the task's source, n, the example, the element, what was found and what was expected. */
lh_status lh_trial_sample(lh_trial *trial, const lh_task *task, const lh_rng *start, int n, lh_example *example,
                          lh_error *error);

/* Checks the first evaluation examples of every length if the task is a user's own, so that errors of a sampler are
 * found before training. key: key of the evaluation seed. LH_ERR_INPUT: an error of lh_trial_sample, a length has no
 * tokens, or task->place reads the target or writes outside of its arrays. */
lh_status lh_try_lengths(const lh_task *task, const lh_lengths *lengths, lh_key key, lh_error *error);

#endif
