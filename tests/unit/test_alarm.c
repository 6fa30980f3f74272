/* diagnosis/alarm: steps that count as diverging, and steps that do not. */
#include "diagnosis/alarm.h"

#include <math.h>
#include <string.h>

#include "lh_engines.h"
#include "lh_test.h"
#include "toy_program.h"

/* Metrics of a healthy training step: loss per position, gradient norm. */
static lh_step_metrics make_step(double loss, double gradient_norm) {
    return (lh_step_metrics){
        .sums = {.loss = 10 * loss, .positions = 10},
        .gradient_norm = gradient_norm,
        .parameter_norm = 20,
        .update_norm = 0.1,
        .length = 7,
    };
}

/* Adds `count` equal steps; returns the step that raises the alarm, or 0. */
static int64_t add_steps(lh_alarm *alarm, int count, int64_t step, lh_step_metrics metrics) {
    for (int i = 0; i < count; i++)
        if (lh_alarm_add(alarm, step + i, &metrics)) return step + i;
    return 0;
}

static void test_alarm_is_silent_in_a_healthy_run(void **state) {
    lh_alarm alarm;
    lh_alarm_open(&alarm, &lh_toy_spec);
    for (int i = 1; i <= 2000; i++) {
        lh_step_metrics metrics = make_step(1.6 / (1 + 0.01 * i), i % 50 == 0 ? 40.0 : 2.0 / sqrt(i));
        assert_false(lh_alarm_add(&alarm, i, &metrics));
    }
}

static void test_alarm_reports_a_gradient_1000_times_the_usual_after_100_steps(void **state) {
    lh_alarm alarm;
    lh_alarm_open(&alarm, &lh_toy_spec);
    assert_int_equal(add_steps(&alarm, 99, 1, make_step(1, 0.5)), 0);
    assert_int_equal(add_steps(&alarm, 1, 100, make_step(1, 501)), 0); /* too early: fewer than 100 steps */
    lh_alarm_open(&alarm, &lh_toy_spec);
    assert_int_equal(add_steps(&alarm, 100, 1, make_step(1, 0.5)), 0);
    assert_int_equal(add_steps(&alarm, 1, 101, make_step(1, 499)), 0);
    lh_alarm_open(&alarm, &lh_toy_spec);
    assert_int_equal(add_steps(&alarm, 100, 1, make_step(1, 0.5)), 0);
    assert_int_equal(add_steps(&alarm, 1, 101, make_step(1, 501)), 101);
    assert_int_equal(alarm.kind, LH_ALARM_GRADIENT);
    assert_int_equal(add_steps(&alarm, 9, 102, make_step(1, 501)), 0); /* only one warning */
}

/* A fitted model has tiny gradients: a gradient norm below the clipping norm is not an alarm. */
static void test_alarm_is_silent_at_a_gradient_below_the_clipping_norm(void **state) {
    lh_alarm alarm;
    lh_alarm_open(&alarm, &lh_toy_spec);
    assert_int_equal(add_steps(&alarm, 200, 1, make_step(0.1, 1e-6)), 0);
    assert_int_equal(add_steps(&alarm, 1, 201, make_step(0.1, 0.99)), 0);
    assert_int_equal(add_steps(&alarm, 1, 202, make_step(0.1, 1.0)), 202);
}

static void test_alarm_reports_an_update_above_half_of_the_parameters(void **state) {
    lh_alarm alarm;
    lh_step_metrics metrics = make_step(1, 0.5);
    lh_alarm_open(&alarm, &lh_toy_spec);
    metrics.update_norm = 10;
    assert_int_equal(add_steps(&alarm, 5, 1, metrics), 0);
    metrics.update_norm = 10.1;
    assert_int_equal(add_steps(&alarm, 1, 6, metrics), 6);
    assert_int_equal(alarm.kind, LH_ALARM_UPDATE);
}

static void test_alarm_reports_200_steps_above_twice_the_loss_of_guessing(void **state) {
    lh_alarm alarm;
    lh_alarm_open(&alarm, &lh_toy_spec);
    double high_loss = 2.0 * log(5.0) + 0.01;
    assert_int_equal(add_steps(&alarm, 199, 1, make_step(high_loss, 1)), 0);
    assert_int_equal(add_steps(&alarm, 1, 200, make_step(high_loss - 0.02, 1)), 0);
    assert_int_equal(add_steps(&alarm, 250, 201, make_step(high_loss, 1)), 400);
    assert_int_equal(alarm.kind, LH_ALARM_LOSS);
}

static void test_alarm_message_names_tensors_and_checkpoint(void **state) {
    lh_error error;
    lh_alarm alarm;
    lh_engine_config config = {.spec = &lh_toy_spec, .threads = 1, .trains = true};
    lh_engine *engine = lh_test_open_engine(config, &toy_float);
    lh_state values = lh_test_copy_state(engine);
    ((float *)values.parameters)[lh_toy_spec.tensors[TOY_VALUE].offset] = -321;
    engine->ops->write_state(engine, &values, 12, NULL);
    lh_alarm_open(&alarm, &lh_toy_spec);
    add_steps(&alarm, 100, 1, make_step(1, 0.5));
    lh_step_metrics wild = make_step(1, 1e4);
    wild.heavy_chunk = 1;
    wild.heavy_share = 0.9;
    assert_int_equal(add_steps(&alarm, 1, 11, wild), 11);
    lh_alarm_write_warning(&alarm, engine, "runs/x", 10, &error);
    assert_string_equal(error.text,
                        "step 11: the training may be diverging: the gradient's norm is 1e+04; usually it is 0.5 (task "
                        "length 7)\n  90% of the squared norm of this step's gradient comes from output.weight, "
                        "output.bias\n  at step 12 "
                        "the largest parameter by magnitude is 321 in layers.0.attention.value.weight\n  the last "
                        "checkpoint is of step 10: runs/x/checkpoint.safetensors\n  training continues; hint: a lower "
                        "--learning-rate");
    lh_alarm_write_warning(&alarm, engine, "runs/x", -1, &error);
    assert_non_null(strstr(error.text, "there is no checkpoint yet"));
    lh_state_close(&values);
    engine->ops->close(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alarm_is_silent_in_a_healthy_run),
        cmocka_unit_test(test_alarm_reports_a_gradient_1000_times_the_usual_after_100_steps),
        cmocka_unit_test(test_alarm_is_silent_at_a_gradient_below_the_clipping_norm),
        cmocka_unit_test(test_alarm_reports_an_update_above_half_of_the_parameters),
        cmocka_unit_test(test_alarm_reports_200_steps_above_twice_the_loss_of_guessing),
        cmocka_unit_test(test_alarm_message_names_tensors_and_checkpoint),
    };
    return cmocka_run_group_tests_name("alarm", tests, NULL, NULL);
}
