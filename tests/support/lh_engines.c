/* See lh_engines.h. */
#include "lh_engines.h"

#include "lh_test.h"

lh_engine *lh_test_open_engine(lh_engine_config config, const lh_cpu_program *program) {
    lh_error error;
    lh_engine *engine;
    lh_assert_ok(lh_cpu_engine_open(&config, program, &engine, &error), &error);
    return engine;
}

void lh_test_step(lh_engine *engine, int count, lh_step_metrics *metrics) {
    lh_error error;
    int taken_steps;
    lh_assert_ok(engine->ops->step(engine, count, metrics, &taken_steps, &error), &error);
    assert_int_equal(taken_steps, count);
}

lh_state lh_test_copy_state(lh_engine *engine) {
    lh_error error;
    lh_state state;
    lh_assert_ok(lh_state_open(&state, engine, true, &error), &error);
    lh_assert_ok(engine->ops->read_state(engine, &state, &error), &error);
    return state;
}
