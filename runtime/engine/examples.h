/* Examples of a condition in memory, for decoding. */
#ifndef LONGHAND_EXAMPLES_H
#define LONGHAND_EXAMPLES_H

#include "engine/engine.h"

typedef struct lh_examples {
    int count;
    size_t labels, inputs;    /* labels and input tokens of an example */
    uint16_t *input, *target; /* [count][inputs], [count][labels] */
    uint8_t *mask;            /* [count][labels] */
    int *until;               /* [count] number of labels up to the last counted one */
} lh_examples;

/* Allocates memory for `count` examples of task length n. LH_ERR_ENVIRONMENT: out of memory. Call close also after an
 * error. */
lh_status lh_examples_open(lh_examples *examples, const lh_spec *spec, int n, int count, lh_error *error);
void lh_examples_close(lh_examples *examples);

/* Makes the first `count` examples of a condition. Errors: those of lh_batch_fill; LH_ERR_ENVIRONMENT: out of
 * memory. */
lh_status lh_examples_make(lh_examples *examples, const lh_spec *spec, const lh_condition *condition, lh_error *error);

#endif
