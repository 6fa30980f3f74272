/* A user's own sampler on trial: every example is made twice, between guard words, and looked at before it is used. The
 * samplers of runtime/data/tasks have unit tests instead and never come here. */
#ifndef LONGHAND_TRIAL_H
#define LONGHAND_TRIAL_H

#include "longhand/spec.h"
#include "longhand/status.h"

/* Room for one example, twice; each pointer has guard words in front and behind. */
typedef struct lh_trial {
    struct lh_trial_copy {
        uint16_t *input, *target;
        uint8_t *mask;
    } copy[2];
    void *memory; /* NULL: the task is not on trial */
} lh_trial;

/* Room for examples of up to so many tokens. LH_ERR_ENVIRONMENT without memory. */
lh_status lh_trial_open(lh_trial *trial, int input, int output, lh_error *error);
void lh_trial_close(lh_trial *trial);

/* As task->sample, with the generator at *start. LH_ERR_INPUT names the task's source, n, the example and the place, what
 * was found and what was expected, where a token is outside its alphabet, a mask is neither 0 nor 1, a place was not
 * written, something was written beyond the ends, or the second example differs from the first. */
lh_status lh_trial_sample(lh_trial *trial, const lh_task *task, const lh_rng *start, int n, lh_example *example,
                          lh_error *error);

/* Tries the first evaluation examples of every length, if the task is a user's own: a sampler that is wrong is best known
 * before anything is trained. */
lh_status lh_trial_lengths(const lh_task *task, const lh_lengths *lengths, lh_key key, lh_error *error);

#endif
