/* runtime/cuda/fleet: fleets of replicas over the emulated driver. Every replica has the bits of a single one, for
 * any other replicas, teams, launches, orders of threads, and failures of others. */
#include "support/lh_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/toy_fleet.h"
#include "support/toy_program.h"

enum { STEPS = 30 };

/* --- a single replica --------------------------------------------------------------------------------------------- */

static void assert_same_states(const lh_state *a, const lh_state *b) {
    size_t bytes = TOY_STORAGE * sizeof(float);
    assert_memory_equal(a->parameters, b->parameters, bytes);
    assert_memory_equal(a->optimizer[0], b->optimizer[0], bytes);
    assert_memory_equal(a->optimizer[1], b->optimizer[1], bytes);
}

/* A single replica in its variant, with which all others are compared. */
typedef struct single_run {
    lh_toy_record *record;
    lh_state state;
} single_run;

static single_run train_alone(const lh_spec *spec, const lh_cuda_variant *variant, int seed, int steps) {
    lh_engine *engine;
    single_run run = {.record = lh_toy_new_records(1)};
    lh_toy_open_fleet(spec, variant, seed, 1, &engine);
    lh_toy_run_one(engine, steps, 5, run.record);
    lh_test_assert_ok(run.record->status, &run.record->error, __FILE__, __LINE__);
    run.state = lh_test_copy_state(engine);
    engine->ops->close(engine);
    return run;
}

static void assert_as_alone(lh_engine *engine, const lh_toy_record *r, const single_run *expected) {
    lh_state state = lh_test_copy_state(engine);
    assert_int_equal(engine->step, expected->record->steps);
    assert_memory_equal(r->metrics, expected->record->metrics, (size_t)r->steps * sizeof r->metrics[0]);
    assert_same_states(&state, &expected->state);
    lh_state_close(&state);
}

static void free_alone(single_run *run) {
    free(run->record);
    lh_state_close(&run->state);
}

/* --- grids ------------------------------------------------------------------------------------------------------ */

static void assert_grid(bool chip, int replicas, int shards, int resident, int team, int at_once, int rounds) {
    lh_cuda_grid grid = lh_cuda_choose_grid(chip, replicas, shards, resident);
    assert_int_equal(grid.team, team);
    assert_int_equal(grid.at_once, at_once);
    assert_int_equal(grid.rounds, rounds);
}

static void test_grid_has_the_fewest_rounds_with_full_teams(void **state) {
    assert_grid(true, 1, 128, 132, 128, 1, 1);
    assert_grid(true, 1, 128, 84, 84, 1, 1);
    assert_grid(false, 1, 4, 132, 4, 1, 1);
    assert_grid(false, 8, 16, 132, 16, 8, 1);
    assert_grid(false, 20, 16, 132, 6, 20, 1);
    assert_grid(false, 30, 16, 132, 4, 30, 1);
    assert_grid(false, 33, 4, 132, 4, 33, 1);
    assert_grid(false, 34, 4, 132, 3, 34, 1);
    assert_grid(false, 66, 4, 132, 2, 66, 1);
    assert_grid(false, 67, 4, 132, 1, 67, 1);
    assert_grid(false, 132, 4, 132, 1, 132, 1);
    assert_grid(false, 133, 4, 132, 1, 67, 2);
    assert_grid(false, 400, 4, 132, 1, 100, 4);
    assert_grid(false, 3, 3, 132, 3, 3, 1);
    for (int replicas = 1; replicas < 300; replicas++)
        for (int resident = 1; resident < 20; resident++) {
            lh_cuda_grid grid = lh_cuda_choose_grid(false, replicas, 4, resident);
            assert_true(grid.at_once * grid.team <= resident);
            assert_true(grid.at_once * grid.rounds >= replicas);
            assert_true(grid.at_once * (grid.rounds - 1) < replicas);
        }
}

/* --- fleets ----------------------------------------------------------------------------------------------------- */

/* Teams of 4, 2 and 1, rounds, and several orders of threads. */
static void test_fleet_every_replica_equals_a_single_one(void **state) {
    static const int multiprocessors[] = {16, 6, 3, 2, 1};
    lh_spec spec = lh_toy_fleet_spec();
    single_run singles[5];
    lh_toy_use_device((lh_emulation){0});
    for (int i = 0; i < 5; i++) singles[i] = train_alone(&spec, &toy_cuda.replicas, 3 + i, STEPS);
    lh_toy_end_device();
    for (unsigned order = 0; order < 5; order++) {
        lh_engine *engines[5];
        lh_toy_record *records = lh_toy_new_records(5);
        lh_toy_use_device((lh_emulation){.multiprocessors = multiprocessors[order], .order = order});
        lh_toy_open_fleet(&spec, NULL, 3, 5, engines);
        lh_toy_run_fleet(engines, 5, STEPS, 9, records);
        for (int i = 0; i < 5; i++) assert_as_alone(engines[i], &records[i], &singles[i]);
        lh_toy_close_all(engines, 5);
        lh_toy_end_device();
        free(records);
    }
    for (int i = 0; i < 5; i++) free_alone(&singles[i]);
}

static void test_chip_same_bits_on_any_number_of_blocks(void **state) {
    static const int multiprocessors[] = {1, 2, 3, 4, 9};
    lh_spec spec = lh_toy_fleet_spec();
    lh_toy_use_device((lh_emulation){0});
    single_run expected = train_alone(&spec, NULL, 4, STEPS);
    lh_toy_end_device();
    for (unsigned order = 0; order < 5; order++) {
        lh_toy_use_device((lh_emulation){.multiprocessors = multiprocessors[order], .order = order});
        single_run actual = train_alone(&spec, NULL, 4, STEPS);
        assert_memory_equal(actual.record->metrics, expected.record->metrics, STEPS * sizeof(lh_step_metrics));
        assert_same_states(&actual.state, &expected.state);
        free_alone(&actual);
        lh_toy_end_device();
    }
    free_alone(&expected);
}

/* Results depend neither on the number of steps in a launch nor on the number of prepared batches. */
static void test_fleet_same_bits_for_any_requested_steps(void **state) {
    static const int step_counts[] = {1, 2, 7, 64, 150};
    enum { TOTAL_STEPS = 150 };
    lh_spec spec = lh_toy_fleet_spec();
    lh_toy_use_device((lh_emulation){0});
    single_run singles[2] = {train_alone(&spec, &toy_cuda.replicas, 3, TOTAL_STEPS),
                             train_alone(&spec, &toy_cuda.replicas, 4, TOTAL_STEPS)};
    for (int i = 0; i < 5; i++) {
        lh_engine *engines[2];
        lh_toy_record *records = lh_toy_new_records(2);
        lh_toy_open_fleet(&spec, NULL, 3, 2, engines);
        lh_toy_run_fleet(engines, 2, TOTAL_STEPS, step_counts[i], records);
        for (int k = 0; k < 2; k++) assert_as_alone(engines[k], &records[k], &singles[k]);
        lh_toy_close_all(engines, 2);
        free(records);
    }
    for (int i = 0; i < 2; i++) free_alone(&singles[i]);
    lh_toy_end_device();
}

/* Requests this number of steps, and returns the number of steps that the engine has returned. */
static int request_steps(lh_engine *engine, int count) {
    lh_error error;
    lh_step_metrics metrics[64];
    int taken_steps;
    int64_t first_step = engine->step;
    lh_assert_ok(engine->ops->step(engine, count, metrics, &taken_steps, &error), &error);
    assert_int_equal(engine->step, first_step + taken_steps);
    return taken_steps;
}

/* The state of a replica is never ahead of the steps that it has returned. */
static void test_step_waits_for_the_others(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_engine *e[3];
    lh_toy_use_device((lh_emulation){0});
    lh_toy_open_fleet(&spec, NULL, 3, 3, e);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++)
            assert_true(request_steps(e[i], 10) == 0 && e[i]->unreported_steps == 0 && e[i]->step == e[2]->step);
        assert_int_equal(request_steps(e[0], 10), 0);
        int launches = request_steps(e[2], 4);
        assert_in_range(launches, 1, 4);
        assert_true(e[0]->unreported_steps == launches && e[1]->unreported_steps == launches &&
                    e[2]->unreported_steps == 0);
        for (int i = 0; i < 2; i++) assert_int_equal(request_steps(e[i], 10), launches);
    }
    for (int i = 0; i < 2; i++) assert_int_equal(request_steps(e[i], 10), 0);
    int launches = request_steps(e[2], 4);
    assert_int_equal(request_steps(e[2], 4), 0); /* the others have not returned their steps */
    assert_int_equal(request_steps(e[0], 10), launches);
    assert_int_equal(request_steps(e[0], 10), 0);
    assert_int_equal(request_steps(e[1], 10), launches);
    assert_true(request_steps(e[1], 10) > 0 && e[0]->unreported_steps > 0 &&
                e[2]->unreported_steps > 0); /* all three have requested steps */
    lh_toy_close_all(e, 3);
    lh_toy_end_device();
}

static void test_fleet_continues_without_closed_replicas(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_engine *engines[4];
    lh_toy_use_device((lh_emulation){.multiprocessors = 5});
    single_run singles[4];
    for (int i = 0; i < 4; i++) singles[i] = train_alone(&spec, &toy_cuda.replicas, 3 + i, 10 * (i % 2 + 1) + 5 * i);
    lh_toy_record *records = lh_toy_new_records(4);
    lh_toy_open_fleet(&spec, NULL, 3, 4, engines);
    for (bool open[4] = {true, true, true, true}; open[0] || open[1] || open[2] || open[3];)
        for (int i = 0; i < 4; i++) {
            lh_toy_record *r = &records[i];
            int taken_steps, remaining_steps = (int)singles[i].record->steps - (int)r->steps;
            if (!open[i]) continue;
            lh_assert_ok(engines[i]->ops->step(engines[i], remaining_steps < 6 ? remaining_steps : 6,
                                               r->metrics + r->steps, &taken_steps, &r->error),
                         &r->error);
            r->steps += taken_steps;
            if (r->steps < singles[i].record->steps) continue;
            assert_as_alone(engines[i], r, &singles[i]);
            engines[i]->ops->close(engines[i]);
            open[i] = false;
        }
    lh_toy_end_device();
    for (int i = 0; i < 4; i++) free_alone(&singles[i]);
    free(records);
}

static void test_fleet_resumes_from_different_steps(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_error error;
    lh_engine *engines[3];
    lh_toy_use_device((lh_emulation){0});
    single_run singles[3], halves[2];
    for (int i = 0; i < 3; i++) singles[i] = train_alone(&spec, &toy_cuda.replicas, 3 + i, STEPS);
    halves[0] = train_alone(&spec, &toy_cuda.replicas, 3, 11);
    halves[1] = train_alone(&spec, &toy_cuda.replicas, 5, 4);
    lh_toy_record *records = lh_toy_new_records(3);
    lh_toy_open_fleet(&spec, NULL, 3, 3, engines);
    lh_assert_ok(engines[0]->ops->write_state(engines[0], &halves[0].state, 11, &error), &error);
    lh_assert_ok(engines[2]->ops->write_state(engines[2], &halves[1].state, 4, &error), &error);
    memcpy(records[0].metrics, halves[0].record->metrics, sizeof records[0].metrics);
    memcpy(records[2].metrics, halves[1].record->metrics, sizeof records[2].metrics);
    records[0].steps = 11;
    records[2].steps = 4;
    lh_toy_run_fleet(engines, 3, STEPS, 8, records);
    for (int i = 0; i < 3; i++) assert_as_alone(engines[i], &records[i], &singles[i]);
    lh_toy_close_all(engines, 3);
    for (int i = 0; i < 3; i++) free_alone(&singles[i]);
    for (int i = 0; i < 2; i++) free_alone(&halves[i]);
    free(records);
    lh_toy_end_device();
}

/* A launch has at most twice the steps of the previous one, so that long sequences do not exceed the watchdog's
 * limit. */
static void test_step_under_a_watchdog_launches_grow_slowly(void **state) {
    enum { STEPS_IN_ALL = 31 };
    lh_spec spec = lh_toy_fleet_spec();
    int launches[2];
    for (int watchdog = 0; watchdog < 2; watchdog++) {
        lh_error error;
        lh_engine *engine;
        lh_step_metrics metrics[STEPS_IN_ALL];
        lh_toy_use_device((lh_emulation){.watchdog = watchdog});
        lh_toy_open_fleet(&spec, &toy_cuda.chip, 3, 1, &engine);
        for (int taken_steps, steps = 0; steps < STEPS_IN_ALL; steps += taken_steps)
            lh_assert_ok(engine->ops->step(engine, STEPS_IN_ALL - steps, metrics, &taken_steps, &error), &error);
        launches[watchdog] = lh_emulation_launches();
        engine->ops->close(engine);
        lh_toy_end_device();
    }
    assert_true(launches[1] >= 5); /* at most 1, 2, 4, 8, 16 steps */
    assert_true(launches[0] <= launches[1]);
}

/* --- failures --------------------------------------------------------------------------------------------------- */

static void break_bias(lh_engine *engine) {
    lh_error error;
    lh_state s = lh_test_copy_state(engine);
    ((float *)s.parameters)[lh_toy_spec.tensors[TOY_BIAS].offset] = NAN;
    lh_assert_ok(engine->ops->write_state(engine, &s, engine->step, &error), &error);
    lh_state_close(&s);
}

static void test_fleet_one_replica_not_finite_the_others_continue(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_engine *engines[3], *cpu;
    lh_error error;
    lh_step_metrics metrics;
    int taken_steps;
    lh_toy_use_device((lh_emulation){0});
    single_run singles[2] = {train_alone(&spec, &toy_cuda.replicas, 3, STEPS),
                             train_alone(&spec, &toy_cuda.replicas, 5, STEPS)};
    lh_toy_record *records = lh_toy_new_records(3);
    lh_toy_open_fleet(&spec, NULL, 3, 3, engines);
    break_bias(engines[1]);
    lh_toy_run_fleet(engines, 3, STEPS, 8, records);
    assert_as_alone(engines[0], &records[0], &singles[0]);
    assert_as_alone(engines[2], &records[2], &singles[1]);
    assert_int_equal(records[1].status, LH_ERR_INPUT);
    assert_int_equal(records[1].steps, 0);
    assert_true(isnan(records[1].metrics[0].sums.loss) && records[1].metrics[0].sums.positions > 0);
    lh_engine_config config = lh_toy_config(&spec, 4);
    lh_assert_ok(lh_cpu_engine_open(&config, &toy_drawn, &cpu, &error), &error);
    break_bias(cpu);
    lh_assert_error(cpu->ops->step(cpu, 1, &metrics, &taken_steps, &error), LH_ERR_INPUT, &error,
                    "step 1: the loss is");
    assert_string_equal(records[1].error.text, error.text);
    lh_state s = lh_test_copy_state(engines[1]); /* no update was made */
    assert_true(((float *)s.optimizer[0])[lh_toy_spec.tensors[TOY_TOKEN].offset] == 0);
    lh_state_close(&s);
    lh_assert_error(engines[1]->ops->step(engines[1], 1, &metrics, &taken_steps, &error), LH_ERR_INPUT, &error,
                    "step 1: ");
    cpu->ops->close(cpu);
    lh_toy_close_all(engines, 3);
    for (int i = 0; i < 2; i++) free_alone(&singles[i]);
    free(records);
    lh_toy_end_device();
}

/* The batch of a later step of one replica cannot be made: this replica makes all earlier steps, and the other replicas
 * make all of theirs. */
static void test_fleet_failing_batch_ends_its_replica(void **state) {
    static const int step_counts[] = {1, 3, 8, 30};
    lh_spec spec = lh_toy_fleet_spec();
    lh_task task = *lh_toy_spec.task;
    lh_toy_use_device((lh_emulation){0});
    single_run singles[2] = {train_alone(&spec, &toy_cuda.replicas, 3, STEPS),
                             train_alone(&spec, &toy_cuda.replicas, 4, 13)};
    task.sample = lh_toy_sample_wrong_once;
    task.source = "own.c";
    spec.task = &task;
    for (int i = 0; i < 4; i++) {
        lh_engine *engines[2];
        lh_toy_record *records = lh_toy_new_records(2);
        lh_toy_wrong_step = 13;
        lh_toy_open_fleet(&spec, NULL, 3, 2, engines);
        lh_toy_run_fleet(engines, 2, STEPS, step_counts[i], records);
        assert_as_alone(engines[0], &records[0], &singles[0]);
        assert_as_alone(engines[1], &records[1], &singles[1]);
        lh_assert_error(records[1].status, LH_ERR_INPUT, &records[1].error, "example 9 of step 14: input[0] is 77");
        assert_int_equal(records[1].metrics[13].sums.positions, 0);
        lh_toy_close_all(engines, 2);
        free(records);
    }
    for (int i = 0; i < 2; i++) free_alone(&singles[i]);
    lh_toy_end_device();
}

static void test_step_failing_device_is_lost_for_all(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_error error;
    lh_state s;
    lh_engine *engines[2];
    lh_toy_record *records = lh_toy_new_records(2);
    lh_toy_use_device(
        (lh_emulation){.failing_call = "cuLaunchCooperativeKernel", .failing_after = 2, .failing_result = 719});
    lh_toy_open_fleet(&spec, NULL, 3, 2, engines);
    lh_toy_run_fleet(engines, 2, STEPS, 3, records);
    for (int i = 0; i < 2; i++) {
        lh_assert_error(records[i].status, LH_ERR_ENVIRONMENT, &records[i].error, "CUDA_ERROR_LAUNCH_FAILED");
        assert_non_null(strstr(records[i].error.text, "emulated sm_90 is lost"));
        assert_true(records[i].steps > 0 && records[i].steps < STEPS);
        lh_assert_ok(lh_state_open(&s, engines[i], true, &error), &error);
        lh_assert_error(engines[i]->ops->read_state(engines[i], &s, &error), LH_ERR_ENVIRONMENT, &error, "is lost");
        lh_state_close(&s);
    }
    lh_toy_close_all(engines, 2);
    free(records);
    lh_toy_end_device();
}

int main(void) {
    setenv("LONGHAND_CUDA_DRIVER", LH_EMULATED_LIBRARY, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid_has_the_fewest_rounds_with_full_teams),
        cmocka_unit_test(test_fleet_every_replica_equals_a_single_one),
        cmocka_unit_test(test_chip_same_bits_on_any_number_of_blocks),
        cmocka_unit_test(test_fleet_same_bits_for_any_requested_steps),
        cmocka_unit_test(test_step_waits_for_the_others),
        cmocka_unit_test(test_fleet_continues_without_closed_replicas),
        cmocka_unit_test(test_fleet_resumes_from_different_steps),
        cmocka_unit_test(test_fleet_one_replica_not_finite_the_others_continue),
        cmocka_unit_test(test_fleet_failing_batch_ends_its_replica),
        cmocka_unit_test(test_step_failing_device_is_lost_for_all),
        cmocka_unit_test(test_step_under_a_watchdog_launches_grow_slowly),
    };
    return cmocka_run_group_tests_name("cuda_fleet", tests, NULL, NULL);
}
