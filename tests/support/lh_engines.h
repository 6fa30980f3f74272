/* Engines on the CPU, for tests: an error fails the running test. */
#ifndef LH_ENGINES_H
#define LH_ENGINES_H

#include "engine/engine.h"

lh_engine *lh_test_open_engine(lh_engine_config config, const lh_cpu_program *program);

/* Makes `count` steps; metrics: [count]. */
void lh_test_step(lh_engine *engine, int count, lh_step_metrics *metrics);

/* Returns a copy of the parameters and of the optimiser's state, which lh_state_close frees. */
lh_state lh_test_copy_state(lh_engine *engine);

#endif
