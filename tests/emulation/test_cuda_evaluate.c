/* runtime/cuda/fleet: evaluation, predictions and a model's own answers over the emulated driver. The toy model's
 * numbers equal those of its CPU program. */
#include "support/lh_test.h"

#include <stdlib.h>
#include <string.h>

#include "eval/evaluate.h"
#include "support/toy_fleet.h"
#include "support/toy_program.h"

/* The sanitizer's allocator must return NULL for an impossible request, as malloc does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

/* --- conditions ------------------------------------------------------------------------------------------------- */

/* The toy model on the emulated device and on the CPU. */
typedef struct sides {
    lh_engine *cuda, *cpu;
} sides;

/* Opens both engines; the device is open. */
static sides open_sides(const lh_spec *spec, int threads) {
    lh_error error;
    lh_engine_config config = {.spec = spec, .seed = 7, .threads = threads};
    sides s = {NULL, lh_test_open_engine(config, &toy_drawn)};
    lh_assert_ok(lh_cuda_fleet_open(&lh_toy_device, NULL, &config, 1, &s.cuda, &error), &error);
    return s;
}

static void close_sides(sides s) {
    s.cuda->ops->close(s.cuda);
    s.cpu->ops->close(s.cpu);
    lh_toy_end_device();
}

static void check_evaluation(sides s, int n, int examples) {
    lh_engine *cuda = s.cuda, *cpu = s.cpu;
    lh_error error;
    lh_lengths lengths = {NULL, 0, n, n, 1};
    lh_condition condition = lh_make_condition(n, examples, 1, 2);
    condition.first = 7;
    lh_sums actual, expected, repeated, sequence_sums[100], reference[100], total = {0};
    static uint16_t answers[100 * 20], expected_answers[100 * 20];
    lh_assert_ok(cuda->ops->reserve(cuda, &lengths, examples, &error), &error);
    lh_assert_ok(cpu->ops->reserve(cpu, &lengths, examples, &error), &error);
    lh_assert_ok(cuda->ops->evaluate(cuda, &condition, &actual, sequence_sums, &error), &error);
    condition.answers = answers;
    lh_assert_ok(cuda->ops->evaluate(cuda, &condition, &repeated, NULL, &error), &error);
    condition.answers = expected_answers;
    lh_assert_ok(cpu->ops->evaluate(cpu, &condition, &expected, reference, &error), &error);
    assert_true(examples <= 100 && n <= 20);
    assert_memory_equal(answers, expected_answers, (size_t)(examples * n) * sizeof *answers);
    assert_memory_equal(&actual, &repeated, sizeof actual);
    lh_assert_close(&actual.loss, &expected.loss, 1, 1e-12, 0);
    actual.loss = expected.loss;
    assert_memory_equal(&actual, &expected, sizeof actual);
    for (int i = 0; i < examples; i++) {
        lh_assert_close(&sequence_sums[i].loss, &reference[i].loss, 1, 1e-6, 0);
        lh_sums_add(&total, &sequence_sums[i]);
        sequence_sums[i].loss = reference[i].loss;
        assert_memory_equal(&sequence_sums[i], &reference[i], sizeof sequence_sums[i]);
    }
    assert_true(total.loss == repeated.loss); /* sums are in the order of the examples */
}

static void check_evaluations(const lh_spec *spec) {
    for (unsigned order = 0; order < 4; order++) {
        lh_toy_use_device((lh_emulation){.multiprocessors = 1 + (int)order, .order = order});
        sides s = open_sides(spec, 1 + (int)order);
        check_evaluation(s, 9, 100);
        check_evaluation(s, 3, 1);
        check_evaluation(s, 20, 33);
        close_sides(s);
    }
}

static void test_evaluate_sums_are_those_of_the_cpu(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    check_evaluations(&spec);
}

/* A device with a watchdog ends launches that take seconds: a condition is divided into several launches, with a
 * group of sequences per block, and the same sums. */
static void test_evaluate_under_a_watchdog_in_short_launches(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    int launches[2];
    for (int watchdog = 0; watchdog < 2; watchdog++) {
        lh_toy_use_device((lh_emulation){.multiprocessors = 2, .watchdog = watchdog});
        sides s = open_sides(&spec, 2);
        int old_launches = lh_emulation_launches();
        check_evaluation(s, 9, 100);
        launches[watchdog] = (lh_emulation_launches() - old_launches) / 2; /* launches of one evaluation */
        close_sides(s);
    }
    int together = 2 * toy_cuda.evaluation_group(&(lh_shape){100, {18, 0}, 9});
    assert_int_equal(launches[0], 1);
    assert_int_equal(launches[1], (100 + together - 1) / together);
    assert_true(launches[1] > 1);
}

static unsigned blocks_launched;

/* Replaces the driver's function and stores the blocks of the last launch. */
static CUresult launch_and_count(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                 CUstream stream, void **arguments) {
    blocks_launched = grid_x;
    return lh_emulated_driver()->cuLaunchCooperativeKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                                           shared_bytes, stream, arguments);
}

/* 100 sequences in the program's groups occupy 34 blocks: with more blocks groups are smaller. */
static void test_evaluate_on_many_blocks_in_small_groups(void **state) {
    static const unsigned multiprocessors[] = {4, 40, 60, 200}, blocks[] = {4, 34, 50, 100};
    lh_spec spec = lh_toy_fleet_spec();
    assert_int_equal(toy_cuda.evaluation_group(&(lh_shape){100, {18, 0}, 9}), 3);
    for (int i = 0; i < 4; i++) {
        lh_toy_use_device((lh_emulation){.multiprocessors = (int)multiprocessors[i]});
        lh_cuda_driver driver = *lh_toy_device.driver;
        driver.cuLaunchCooperativeKernel = launch_and_count;
        lh_toy_device.driver = &driver;
        sides s = open_sides(&spec, 2);
        check_evaluation(s, 9, 100);
        assert_int_equal(blocks_launched, blocks[i]);
        close_sides(s);
    }
}

/* Launches begin short and grow if a signal may come, with the same sums. A signal ends the condition after the
 * running launch, and the device still works. */
static void test_evaluate_ends_after_the_launch_at_a_signal(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_error error;
    lh_sums sums;
    lh_toy_use_device((lh_emulation){.multiprocessors = 1});
    lh_toy_device.driver = lh_toy_interrupt(false);
    sides s = open_sides(&spec, 2);
    lh_engine *cuda = s.cuda;
    cuda->stop = &lh_toy_interrupted.stop;
    check_evaluation(s, 9, 100);
    int launch_count = lh_toy_interrupted.launch_count / 2 /* launches of one evaluation */,
        group = toy_cuda.evaluation_group(&(lh_shape){100, {18, 0}, 9});
    assert_in_range(launch_count, 2, 100 / group);
    lh_toy_interrupted.launch_count = 0;
    lh_toy_interrupted.interrupted_launch = 2;
    lh_condition condition = lh_make_condition(9, 100, 1, 2);
    assert_int_equal(cuda->ops->evaluate(cuda, &condition, &sums, NULL, &error), LH_STOPPED);
    assert_int_equal(lh_toy_interrupted.launch_count, 2);
    assert_int_equal(cuda->ops->evaluate(cuda, &condition, &sums, NULL, &error), LH_STOPPED); /* no launch yet */
    assert_int_equal(lh_toy_interrupted.launch_count, 2);
    lh_toy_interrupted.interrupted_launch = lh_toy_interrupted.stop = 0;
    check_evaluation(s, 9, 100);
    close_sides(s);
}

/* Makes the toy's draws for every sequence; the kernel reads those of the first. */
static size_t count_each(const lh_shape *shape) { return (size_t)shape->sequences * toy_cuda.draw_count(shape); }

static uint32_t first_drawn; /* batch index of the first sequence in the last draw */

static void draw_each(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
                      const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out) {
    first_drawn = from->first;
    for (int s = 0; s < shape->sequences; s++, out += toy_cuda.draw_count(shape))
        toy_cuda.draw(from, shape, positions, distances, scratch, out);
}

/* A query for one example of a batch has the random positions and the dropout of this example in the batch. */
static void check_query_positions(lh_engine *cuda, uint32_t example) {
    uint16_t input[9] = {1, 0, 4, 2, 2}, target[9] = {0};
    double logits[9 * TOY_CLASSES];
    lh_error error;
    lh_query query = {
        .n = 9, .input = input, .target = target, .draw = lh_make_condition(9, 1, 3, 0).draw, .example = example};
    lh_assert_ok(cuda->ops->predict(cuda, &query, logits, &error), &error);
    assert_int_equal(first_drawn, example);
    const lh_cuda_step *step = ((lh_cuda_engine *)cuda)->fleet->forward.host_models;
    assert_int_equal(step->first, example);
}

static void test_draws_of_every_sequence_numbers_are_those_of_the_cpu(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_cuda_program by_sequence = toy_cuda;
    by_sequence.draw_count = count_each;
    by_sequence.draw = draw_each;
    lh_toy_program = &by_sequence;
    lh_toy_check_steps(&spec, lh_toy_config(&spec, 7));
    lh_toy_use_device((lh_emulation){0});
    sides s = open_sides(&spec, 2);
    check_evaluation(s, 9, 100);
    check_query_positions(s.cuda, 70);
    close_sides(s);
    lh_toy_program = &toy_cuda;
}

static void test_evaluate_each_replica_its_own_parameters(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_error error;
    lh_engine *engines[2];
    lh_sums sums[2], expected;
    lh_lengths lengths = {NULL, 0, 5, 5, 1}; /* a single length, 5 */
    lh_condition condition = lh_make_condition(5, 20, 1, 0);
    lh_toy_record *records = lh_toy_new_records(2);
    lh_toy_use_device((lh_emulation){0});
    lh_toy_open_fleet(&spec, NULL, 3, 2, engines);
    lh_toy_run_fleet(engines, 2, 10, 5, records);
    lh_assert_ok(engines[0]->ops->reserve(engines[0], &lengths, 20, &error), &error);
    for (int i = 0; i < 2; i++) engines[i]->ops->evaluate(engines[i], &condition, &sums[i], NULL, &error);
    assert_true(sums[0].loss != sums[1].loss);
    lh_state s = lh_test_copy_state(engines[1]);
    lh_assert_ok(engines[0]->ops->write_state(engines[0], &s, 10, &error), &error);
    engines[0]->ops->evaluate(engines[0], &condition, &expected, NULL, &error);
    assert_memory_equal(&expected, &sums[1], sizeof expected);
    lh_state_close(&s);
    lh_toy_close_all(engines, 2);
    free(records);
    lh_toy_end_device();
}

enum { REPLICAS = 5, EXAMPLES = 100, LENGTH = 9 };

/* The results of a replica for two conditions: sums, sums of each example for the first, classes for the second. */
typedef struct answers {
    lh_sums sums[2], sequence_sums[EXAMPLES];
    uint16_t classes[EXAMPLES * LENGTH];
} answers;

static answers evaluate_examples(lh_engine *engine, int examples) {
    static answers a;
    lh_error error;
    lh_lengths lengths = {NULL, 0, 1, LENGTH, 1}; /* lengths 1 to LENGTH */
    lh_condition first = lh_make_condition(LENGTH, examples, 1, 0), second = lh_make_condition(3, examples, 1, 1);
    memset(&a, 0, sizeof a);
    second.answers = a.classes;
    lh_assert_ok(engine->ops->reserve(engine, &lengths, EXAMPLES, &error), &error);
    lh_assert_ok(engine->ops->evaluate(engine, &first, &a.sums[0], a.sequence_sums, &error), &error);
    lh_assert_ok(engine->ops->evaluate(engine, &second, &a.sums[1], NULL, &error), &error);
    return a;
}

/* Evaluates a single replica with this engine's state. */
static answers evaluate_alone(lh_engine *engine) {
    lh_engine *single;
    lh_error error;
    lh_state s = lh_test_copy_state(engine);
    lh_toy_open_fleet(engine->spec, NULL, 1, 1, &single);
    lh_assert_ok(single->ops->write_state(single, &s, engine->step, &error), &error);
    answers a = evaluate_examples(single, EXAMPLES);
    lh_state_close(&s);
    single->ops->close(single);
    return a;
}

static int count_launches(lh_engine *engine, int examples) {
    int old_launches = lh_emulation_launches();
    evaluate_examples(engine, examples);
    return lh_emulation_launches() - old_launches;
}

/* The passes that the first replica starts compute the results of all replicas, on fewer blocks than replicas and on
 * more. These results are bit-identical to those of a replica that is evaluated alone. */
static void test_evaluate_replicas_of_a_step_share_passes(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    static answers expected[REPLICAS], together[REPLICAS];
    for (int multiprocessors = 1; multiprocessors <= 8; multiprocessors *= 2) {
        lh_engine *engines[REPLICAS];
        lh_toy_record *records = lh_toy_new_records(REPLICAS);
        lh_toy_use_device((lh_emulation){.multiprocessors = multiprocessors, .order = (unsigned)multiprocessors});
        lh_toy_open_fleet(&spec, NULL, 3, REPLICAS, engines);
        lh_toy_run_fleet(engines, REPLICAS, 10, 5, records);
        for (int i = 0; i < REPLICAS; i++) expected[i] = evaluate_alone(engines[i]);
        int old_launches = lh_emulation_launches(), blocks = lh_toy_device.evaluate_blocks;
        for (int i = 0; i < REPLICAS; i++) together[i] = evaluate_examples(engines[i], EXAMPLES);
        assert_int_equal(lh_emulation_launches() - old_launches, 2 * ((REPLICAS + blocks - 1) / blocks));
        for (int i = 0; i < REPLICAS; i++) assert_memory_equal(&together[i], &expected[i], sizeof expected[i]);
        assert_int_equal(((lh_cuda_engine *)engines[0])->fleet->early_bytes, 0);
        lh_toy_close_all(engines, REPLICAS);
        free(records);
        lh_toy_end_device();
    }
}

/* Makes five steps of both engines. */
static void step_both(lh_engine **engines) {
    lh_step_metrics metrics[5];
    lh_error error;
    int taken_steps[2] = {0, 0};
    while (taken_steps[0] < 5 || taken_steps[1] < 5)
        for (int i = 0, now; i < 2; i++) {
            if (taken_steps[i] == 5) continue;
            lh_assert_ok(engines[i]->ops->step(engines[i], 5 - taken_steps[i], metrics, &now, &error), &error);
            taken_steps[i] += now;
        }
}

/* Sums computed in advance for a replica are not used for other parameters or another condition. A replica whose
 * sums are unused two times in a row is left out of later launches, and so is a closed one. */
static void test_evaluate_unused_sums_are_dropped(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_engine *engines[2];
    lh_toy_use_device((lh_emulation){.multiprocessors = 4});
    lh_toy_open_fleet(&spec, NULL, 3, 2, engines);
    const lh_cuda_fleet *fleet = ((lh_cuda_engine *)engines[0])->fleet;
    for (int round = 1; round <= 2; round++) {
        assert_int_equal(count_launches(engines[0], EXAMPLES), 2);
        assert_true(fleet->early_bytes > 0);
        step_both(engines);
        answers expected = evaluate_alone(engines[1]);
        int old_launches = lh_emulation_launches();
        answers actual = evaluate_examples(engines[1], EXAMPLES); /* computes for both replicas again */
        assert_int_equal(lh_emulation_launches() - old_launches, 2);
        assert_memory_equal(&actual, &expected, sizeof expected);
        assert_int_equal(count_launches(engines[0], EXAMPLES), 0);
    }
    assert_int_equal(count_launches(engines[0], EXAMPLES), 2);
    assert_int_equal(fleet->early_bytes, 0); /* nothing is computed for engines[1] any more */
    assert_int_equal(count_launches(engines[1], EXAMPLES), 2);
    assert_int_equal(count_launches(engines[0], EXAMPLES - 1), 2); /* its conditions are not those of engines[1] */
    engines[1]->ops->close(engines[1]);
    assert_int_equal(count_launches(engines[0], EXAMPLES), 2);
    assert_int_equal(fleet->early_bytes, 0);
    engines[0]->ops->close(engines[0]);
    lh_toy_end_device();
}

static void test_evaluate_beyond_the_limit_or_memory_reported(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_error error;
    lh_engine *engine;
    lh_engine_config config = {.spec = &spec, .seed = 7, .threads = 1};
    lh_lengths too_long = {NULL, 0, 33, 33, 1}, lengths = {NULL, 0, 30, 30, 1}; /* single lengths, 33 and 30 */
    lh_toy_use_device((lh_emulation){.memory = 1 << 20});
    lh_assert_ok(lh_cuda_fleet_open(&lh_toy_device, NULL, &config, 1, &engine, &error), &error);
    lh_assert_error(engine->ops->reserve(engine, &too_long, 4, &error), LH_ERR_INPUT, &error, "the encoding allows 64");
    lh_assert_error(engine->ops->reserve(engine, &lengths, 100000, &error), LH_ERR_ENVIRONMENT, &error,
                    "bytes for the examples of an evaluation");
    lh_assert_ok(engine->ops->reserve(engine, &lengths, 10, &error), &error); /* the engine is unchanged */
    engine->ops->close(engine);
    lh_toy_end_device();
}

static void test_evaluate_failing_sampler_reported(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_task task = *lh_toy_spec.task;
    lh_error error;
    lh_sums sums;
    lh_engine *engine;
    lh_engine_config config = {.spec = &spec, .seed = 7, .threads = 3};
    lh_lengths lengths = {NULL, 0, 4, 4, 1}; /* a single length, 4 */
    task.sample = lh_toy_sample_wrong_once;
    task.source = "own.c";
    spec.task = &task;
    lh_toy_wrong_step = 4;
    lh_toy_use_device((lh_emulation){0});
    lh_assert_ok(lh_cuda_fleet_open(&lh_toy_device, NULL, &config, 1, &engine, &error), &error);
    lh_assert_ok(engine->ops->reserve(engine, &lengths, 100, &error), &error);
    lh_condition condition = lh_make_condition(4, 100, 4, 0);
    lh_assert_error(engine->ops->evaluate(engine, &condition, &sums, NULL, &error), LH_ERR_INPUT, &error,
                    "own.c: task length 4, example 9 of the evaluation: input[0] is 77");
    engine->ops->close(engine);
    lh_toy_end_device();
}

/* --- a user's sequences ------------------------------------------------------------------------------------------- */

/* Compares predictions with random and with given positions; stream: the stream whose positions are given. */
static void check_predictions(const lh_spec *spec, int stream) {
    enum { N = 5 };
    lh_error error;
    lh_lengths lengths = {NULL, 0, N, N, 1}; /* a single length, N */
    uint16_t input[N] = {1, 0, 4, 2, 2}, target[N] = {0, 3, 3, 1, 2};
    int32_t positions[2 * N] = {3, 9, 11, 40, 63, 1, 1, 1, 1, 1};
    double actual[N * TOY_CLASSES], expected[N * TOY_CLASSES], sampled[N * TOY_CLASSES];
    lh_toy_use_device((lh_emulation){0});
    sides s = open_sides(spec, 1);
    lh_engine *cuda = s.cuda, *cpu = s.cpu;
    lh_assert_ok(cuda->ops->reserve(cuda, &lengths, 1, &error), &error);
    lh_assert_ok(cpu->ops->reserve(cpu, &lengths, 1, &error), &error);
    for (int has_positions = 0; has_positions < 2; has_positions++) {
        lh_query query = {.n = N, .input = input, .target = target, .draw = lh_make_condition(N, 1, 3, 0).draw};
        if (has_positions) query.positions[stream] = positions;
        lh_assert_ok(cuda->ops->predict(cuda, &query, actual, &error), &error);
        lh_assert_ok(cpu->ops->predict(cpu, &query, expected, &error), &error);
        lh_assert_close(actual, expected, N * TOY_CLASSES, 1e-6, 1e-7);
        if (has_positions) assert_memory_not_equal(actual, sampled, sizeof actual);
        memcpy(sampled, actual, sizeof actual);
    }
    close_sides(s);
}

static void test_predict_logits_are_those_of_the_cpu(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    check_predictions(&spec, 0);
}

/* Compares a model's own answers: the device makes one pass for each answer, over all sequences together; the CPU uses
 * cached keys and values. */
static void check_own_answers(const lh_spec *spec) {
    lh_error error;
    lh_eval_result results[2][2];
    lh_toy_use_device((lh_emulation){.multiprocessors = 2});
    sides s = open_sides(spec, 2);
    assert_true(!s.cuda->decodes && s.cpu->decodes);
    lh_eval_request request = {.lengths = {NULL, 0, 6, 9, 3}, .examples = 70, .draws = 2, .seed = 1};
    lh_assert_ok(lh_evaluate(s.cuda, &request, results[0], &error), &error);
    lh_assert_ok(lh_evaluate(s.cpu, &request, results[1], &error), &error);
    for (int i = 0; i < 2; i++) {
        assert_ptr_equal(results[0][i].decoding, lh_greedy);
        assert_true(results[0][i].accuracy == results[1][i].accuracy);
        assert_true(results[0][i].teacher_forced == results[1][i].teacher_forced);
        assert_true(results[0][i].exact_match == results[1][i].exact_match);
        assert_true(results[0][i].accuracy != results[0][i].teacher_forced);
    }
    close_sides(s);
}

static void test_two_streams_numbers_are_those_of_the_cpu(void **state) {
    lh_spec spec = lh_toy_fleet_pair();
    lh_toy_check_steps(&spec, lh_toy_config(&spec, 7));
    check_evaluations(&spec);
    check_predictions(&spec, 1);
    check_own_answers(&spec);
}

int main(void) {
    setenv("LONGHAND_CUDA_DRIVER", LH_EMULATED_LIBRARY, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evaluate_sums_are_those_of_the_cpu),
        cmocka_unit_test(test_evaluate_under_a_watchdog_in_short_launches),
        cmocka_unit_test(test_evaluate_on_many_blocks_in_small_groups),
        cmocka_unit_test(test_evaluate_ends_after_the_launch_at_a_signal),
        cmocka_unit_test(test_draws_of_every_sequence_numbers_are_those_of_the_cpu),
        cmocka_unit_test(test_evaluate_each_replica_its_own_parameters),
        cmocka_unit_test(test_evaluate_replicas_of_a_step_share_passes),
        cmocka_unit_test(test_evaluate_unused_sums_are_dropped),
        cmocka_unit_test(test_evaluate_beyond_the_limit_or_memory_reported),
        cmocka_unit_test(test_evaluate_failing_sampler_reported),
        cmocka_unit_test(test_predict_logits_are_those_of_the_cpu),
        cmocka_unit_test(test_two_streams_numbers_are_those_of_the_cpu),
    };
    return cmocka_run_group_tests_name("cuda_evaluate", tests, NULL, NULL);
}
