/* States of the toy spec: a training's three vectors, and checkpoint files made from them. */
#ifndef LH_TOY_STATE_H
#define LH_TOY_STATE_H

#include "toy_spec.h"
#include "engine/checkpoint.h"

typedef struct toy_state {
    float values[3][TOY_STORAGE]; /* parameters, first and second moment */
    lh_state state;               /* points at them */
} toy_state;

/* All zero; for free(). */
toy_state *toy_state_new(void);

/* Every element that a tensor covers has a value of its own, plus shift; the rest is 0. */
toy_state *toy_state_filled(float shift);

/* Facts of a run at step 10. */
extern const lh_run_facts toy_facts;

/* A file of parameters, all 0, without metadata. Tensor `skip` is left out, `change` has one row less, `extra` is added
 * (-1, -1, NULL: none). */
void toy_write_parameters(const char *path, int skip, int change, const char *extra);

#endif
