/* States of the toy spec, which are a training's three vectors, and files of its parameters. */
#ifndef LH_TOY_STATE_H
#define LH_TOY_STATE_H

#include "toy_spec.h"
#include "engine/checkpoint.h"

typedef struct toy_state {
    float values[3][TOY_STORAGE]; /* parameters, first and second moment */
    lh_state state;               /* points to values */
} toy_state;

/* Makes a state of zeros; the caller frees it. */
toy_state *toy_make_state(void);

/* Makes a state in which every element of a tensor has its own value, plus shift; other elements are 0. */
toy_state *toy_make_filled_state(float shift);

/* Facts of a run at step 10. */
extern const lh_checkpoint_facts toy_facts;

/* Writes a file of parameters, all 0, without metadata. skip: index of a tensor that is left out; change: index of a
 * tensor that gets one row less; extra: name of an additional tensor. -1, -1, NULL: none. */
void toy_write_parameters(const char *path, int skip, int change, const char *extra);

#endif
