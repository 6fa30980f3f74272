/* engine/cpu_engine: equal bits for any number of threads, the order of sums, limits, NaN, evaluation. */
#include "lh_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lh_engines.h"
#include "toy_program.h"

/* The sanitizer's allocator must return NULL for an impossible request, as malloc does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

static lh_engine *open_engine(const lh_spec *spec, const lh_cpu_program *program, int threads) {
    return lh_test_open_engine(
        (lh_engine_config){.spec = spec, .seed = 7, .learning_rate = 0.01, .threads = threads, .trains = true},
        program);
}

static void assert_same_state(lh_engine *a, lh_engine *b) {
    size_t bytes = TOY_STORAGE * (size_t)a->real_bytes;
    lh_state x = lh_test_copy_state(a), y = lh_test_copy_state(b);
    assert_memory_equal(x.parameters, y.parameters, bytes);
    assert_memory_equal(x.optimizer[0], y.optimizer[0], bytes);
    assert_memory_equal(x.optimizer[1], y.optimizer[1], bytes);
    lh_state_close(&x);
    lh_state_close(&y);
}

enum { STEPS = 30 };

/* Checks that steps on several threads have the bits of steps on one thread, for any division of the steps into
 * calls. */
static void check_threads(const lh_spec *spec, const lh_cpu_program *program, int threads) {
    static lh_step_metrics one_thread[STEPS], many_threads[STEPS];
    lh_engine *a = open_engine(spec, program, 1), *b = open_engine(spec, program, threads);
    lh_test_step(a, STEPS, one_thread);
    for (int i = 0; i < STEPS; i += 10) lh_test_step(b, 10, many_threads + i);
    assert_memory_equal(one_thread, many_threads, sizeof one_thread);
    assert_same_state(a, b);
    a->ops->close(a);
    b->ops->close(b);
}

static void test_steps_have_equal_bits_for_any_number_of_threads(void **state) {
    lh_spec spec = lh_toy_make_spec(toy_float_list), sampling_spec = lh_toy_make_spec(toy_drawn_list);
    spec.train.batch = 13; /* sequences of shards: 4, 3, 3, 3; a block has 2 sequences or 1 */
    for (int threads = 2; threads <= 5; threads++) check_threads(&spec, &toy_float, threads);
    check_threads(&sampling_spec, &toy_drawn, 3);
    check_threads(&spec, &toy_double, 2);
}

static void test_steps_of_mixed_lengths_have_equal_bits_for_any_number_of_threads(void **state) {
    lh_spec spec = lh_toy_make_spec(toy_float_list);
    spec.train.mixes_lengths = true;
    for (int batch = 3; batch <= 23; batch += 10) {
        spec.train.batch = batch; /* 3: fewer sequences than shards */
        for (int threads = 2; threads <= 4; threads++) check_threads(&spec, &toy_float, threads);
    }
}

static void test_step_runs_with_more_shards_than_examples(void **state) {
    lh_spec spec = lh_toy_make_spec(toy_float_list);
    spec.train.batch = 3;
    check_threads(&spec, &toy_float, 3);
}

static void test_loss_falls_in_training(void **state) {
    static lh_step_metrics metrics[600];
    double first = 0, last = 0;
    lh_engine *engine = open_engine(&lh_toy_spec, &toy_float, 2);
    lh_test_step(engine, 600, metrics);
    for (int i = 0; i < 50; i++) {
        first += metrics[i].sums.loss / (double)metrics[i].sums.positions;
        last += metrics[550 + i].sums.loss / (double)metrics[550 + i].sums.positions;
        assert_true(metrics[i].update_norm > 0 && metrics[i].parameter_norm > 0);
        assert_true(metrics[i].length >= 1 && metrics[i].length <= 6);
        assert_int_equal(metrics[i].is_clipped, metrics[i].gradient_norm >= 1.0);
        assert_int_equal(metrics[i].sums.positions, 8 * metrics[i].length);
    }
    assert_true(last < 0.8 * first);
    engine->ops->close(engine);
}

/* Adds one number per shard; only the left fold over shards 0, 1, 2, 3 gives 1 in float. */
static void train_in_order(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                           lh_sums *sums) {
    static const float summands[] = {1e8f, 1.0f, -1e8f, 1.0f};
    if (block->first_example % 2 == 0) ((float *)gradient)[TOY_STORAGE - 1] += summands[block->first_example / 2];
    sums->positions += 1;
}

/* Stores the gradient in place of the parameters. */
static void copy_gradient(const lh_update *update, size_t first, size_t count, lh_update_sums *sums) {
    float *parameters = update->parameters, *gradient = update->gradient;
    memcpy(parameters + first, gradient + first, count * sizeof(float));
    memset(gradient + first, 0, count * sizeof(float));
}

static void test_gradient_is_a_left_fold_over_shards(void **state) {
    lh_cpu_program order = toy_float;
    order.train_block = train_in_order;
    order.end_shard = NULL;
    order.update = copy_gradient;
    for (int threads = 1; threads <= 4; threads++) {
        lh_step_metrics metrics[20];
        lh_engine *engine = open_engine(&lh_toy_spec, &order, threads);
        lh_test_step(engine, 20, metrics);
        lh_state s = lh_test_copy_state(engine);
        assert_true(((float *)s.parameters)[TOY_STORAGE - 1] == 1.0f);
        assert_true(metrics[19].gradient_norm == 1.0);
        lh_state_close(&s);
        engine->ops->close(engine);
    }
}

static void test_nan_stops_a_step_before_its_update(void **state) {
    lh_error error;
    lh_step_metrics metrics[5];
    int taken_steps;
    lh_engine *engine = open_engine(&lh_toy_spec, &toy_float, 2);
    lh_test_step(engine, 3, metrics);
    lh_state s = lh_test_copy_state(engine);
    ((float *)s.parameters)[lh_toy_spec.tensors[TOY_BIAS].offset] = NAN;
    engine->ops->write_state(engine, &s, 3, NULL);
    lh_assert_error(engine->ops->step(engine, 5, metrics, &taken_steps, &error), LH_ERR_INPUT, &error,
                    "step 4: the loss is");
    assert_int_equal(taken_steps, 0);
    assert_int_equal(engine->step, 3);
    assert_non_null(
        strstr(error.text, "parameters: NaN or infinite in 1 of 7 tensors; the first is output.bias (1 of 5"));
    assert_non_null(strstr(error.text, "gradient: NaN or infinite in "));
    lh_state new_state = lh_test_copy_state(engine);
    assert_memory_equal(new_state.parameters, s.parameters, TOY_STORAGE * sizeof(float));
    assert_memory_equal(new_state.optimizer[0], s.optimizer[0], TOY_STORAGE * sizeof(float));
    lh_state_close(&s);
    lh_state_close(&new_state);
    engine->ops->close(engine);
}

/* Makes a parameter infinite in step 4. */
static void overflow_update(const lh_update *update, size_t first, size_t count, lh_update_sums *sums) {
    toy_float.update(update, first, count, sums);
    if (update->step == 4 && first == 0) ((float *)update->parameters)[0] = INFINITY, sums->parameters = INFINITY;
}

/* A checkpoint never contains parameters that are infinite. */
static void test_infinite_update_stops_training(void **state) {
    lh_error error;
    lh_step_metrics metrics[5];
    int taken_steps;
    lh_cpu_program program = toy_float;
    program.update = overflow_update;
    lh_engine *engine = open_engine(&lh_toy_spec, &program, 2);
    lh_assert_error(engine->ops->step(engine, 5, metrics, &taken_steps, &error), LH_ERR_INPUT, &error,
                    "step 4: after the update the parameters' norm is inf");
    assert_non_null(strstr(error.text, "the first is embed.token.weight (1 of 28 elements)"));
    assert_null(strstr(error.text, "gradient"));
    assert_int_equal(taken_steps, 3);
    assert_int_equal(engine->step, 3);
    engine->ops->close(engine);
}

static void test_written_state_resumes_with_the_same_bits(void **state) {
    lh_step_metrics metrics[20];
    lh_engine *full_run = open_engine(&lh_toy_spec, &toy_float, 2),
              *first_half = open_engine(&lh_toy_spec, &toy_float, 1);
    lh_engine *second_half = open_engine(&lh_toy_spec, &toy_float, 3);
    lh_test_step(full_run, 20, metrics);
    lh_test_step(first_half, 9, metrics);
    lh_state s = lh_test_copy_state(first_half);
    second_half->ops->write_state(second_half, &s, first_half->step, NULL);
    lh_test_step(second_half, 11, metrics);
    assert_same_state(full_run, second_half);
    lh_state_close(&s);
    full_run->ops->close(full_run);
    first_half->ops->close(first_half);
    second_half->ops->close(second_half);
}

/* Checks that sums do not depend on the number of threads, and that the sums of sequences add up to them. */
static void check_evaluation(const lh_spec *spec, const lh_cpu_program *program, int n, int threads) {
    lh_error error;
    enum { EXAMPLES = 11 };
    lh_lengths lengths = {.first = n, .last = n, .step = 1};
    lh_condition condition = lh_make_condition(n, EXAMPLES, 1, 2);
    lh_sums one_thread, many_threads, repeated, sequence_sums[EXAMPLES], total = {0};
    lh_engine *a = open_engine(spec, program, 1), *b = open_engine(spec, program, threads);
    lh_assert_ok(a->ops->reserve(a, &lengths, EXAMPLES, &error), &error);
    lh_assert_ok(b->ops->reserve(b, &lengths, EXAMPLES, &error), &error);
    a->ops->evaluate(a, &condition, &one_thread, NULL, NULL);
    b->ops->evaluate(b, &condition, &many_threads, sequence_sums, NULL);
    b->ops->evaluate(b, &condition, &repeated, NULL, NULL);
    assert_memory_equal(&one_thread, &many_threads, sizeof one_thread);
    assert_memory_equal(&one_thread, &repeated, sizeof one_thread);
    assert_int_equal(one_thread.sequences, EXAMPLES);
    for (int i = 0; i < EXAMPLES; i++) lh_sums_add(&total, &sequence_sums[i]);
    assert_int_equal(total.correct, one_thread.correct);
    assert_int_equal(total.counted, one_thread.counted);
    assert_int_equal(total.exact, one_thread.exact);
    assert_int_equal(total.positions, one_thread.positions);
    lh_assert_close(&total.loss, &one_thread.loss, 1, 1e-6, 0);
    a->ops->close(a);
    b->ops->close(b);
}

static void test_evaluation_has_equal_sums_for_any_number_of_threads(void **state) {
    for (int threads = 2; threads <= 4; threads++) {
        check_evaluation(&lh_toy_spec, &toy_float, 9, threads);
        check_evaluation(&lh_toy_spec, &toy_drawn, 20, threads);
        check_evaluation(&lh_toy_spec, &toy_double, 3, threads);
    }
}

static void test_draws_of_an_evaluation_share_examples(void **state) {
    lh_error error;
    lh_lengths lengths = {.first = 8, .last = 8, .step = 1};
    lh_sums first, second, changed;
    lh_condition a = lh_make_condition(8, 10, 1, 0), b = lh_make_condition(8, 10, 1, 1);
    lh_engine *fixed = open_engine(&lh_toy_spec, &toy_float, 1), *sampling = open_engine(&lh_toy_spec, &toy_drawn, 1);
    lh_assert_ok(fixed->ops->reserve(fixed, &lengths, 10, &error), &error);
    lh_assert_ok(sampling->ops->reserve(sampling, &lengths, 10, &error), &error);
    fixed->ops->evaluate(fixed, &a, &first, NULL, NULL);
    fixed->ops->evaluate(fixed, &b, &second, NULL, NULL);
    lh_condition c = lh_make_condition(8, 10, 2, 0);
    fixed->ops->evaluate(fixed, &c, &changed, NULL, NULL);
    assert_memory_equal(&first, &second, sizeof first);
    assert_true(first.loss != changed.loss);
    sampling->ops->evaluate(sampling, &a, &first, NULL, NULL);
    sampling->ops->evaluate(sampling, &b, &second, NULL, NULL);
    assert_true(first.loss != second.loss);
    fixed->ops->close(fixed);
    sampling->ops->close(sampling);
}

static void test_reserved_memory_grows(void **state) {
    lh_error error;
    lh_engine *engine = open_engine(&lh_toy_spec, &toy_drawn, 2);
    for (int n = 2; n <= 32; n += 10) {
        lh_sums sums;
        lh_lengths lengths = {.first = n, .last = n, .step = 1};
        lh_condition condition = lh_make_condition(n, 3 + n, 1, 0);
        lh_assert_ok(engine->ops->reserve(engine, &lengths, 3 + n, &error), &error);
        engine->ops->evaluate(engine, &condition, &sums, NULL, NULL);
        assert_int_equal(sums.positions, (3 + n) * n);
    }
    engine->ops->close(engine);
}

static void test_evaluated_length_beyond_the_limit_is_named(void **state) {
    lh_error error;
    lh_lengths lengths = {.first = 30, .last = 40, .step = 1};
    lh_engine *engine = open_engine(&lh_toy_spec, &toy_float, 1);
    lh_assert_error(engine->ops->reserve(engine, &lengths, 10, &error), LH_ERR_INPUT, &error,
                    "length 33: a sequence has 66 tokens, the encoding allows 64 (the toy's table of 64 rows)");
    engine->ops->close(engine);
}

static void test_trained_length_beyond_the_limit_is_named(void **state) {
    lh_error error;
    lh_engine *engine;
    lh_spec spec = lh_toy_spec;
    spec.train.lengths.last = 33;
    lh_engine_config config = {.spec = &spec, .threads = 1, .trains = true};
    lh_assert_error(lh_cpu_engine_open(&config, &toy_float, &engine, &error), LH_ERR_INPUT, &error, "length 33");
    assert_null(engine);
}

static size_t get_impossible_bytes(const lh_shape *max_shape, lh_mode mode) { return (size_t)1 << 60; }

static void test_missing_memory_is_reported_in_bytes(void **state) {
    lh_error error;
    lh_engine *engine;
    lh_cpu_program program = toy_float;
    program.workspace_bytes = get_impossible_bytes;
    lh_engine_config config = {.spec = &lh_toy_spec, .threads = 2, .trains = true};
    lh_assert_error(lh_cpu_engine_open(&config, &program, &engine, &error), LH_ERR_ENVIRONMENT, &error,
                    "1152921504606846976 bytes");
}

static void test_one_repeated_example_is_learned(void **state) {
    static lh_step_metrics metrics[1500];
    lh_engine_config config = {.spec = &lh_toy_spec,
                               .seed = 3,
                               .learning_rate = 0.02,
                               .threads = 1,
                               .trains = true,
                               .fixed_length = 4,
                               .distinct_examples = 1};
    lh_engine *engine = lh_test_open_engine(config, &toy_float);
    lh_test_step(engine, 1500, metrics);
    assert_int_equal(metrics[17].length, 4);
    assert_true(metrics[1499].sums.correct >= metrics[1499].sums.counted * 9 / 10);
    engine->ops->close(engine);
}

enum { ENGINES = 5 };

static const void *workspaces[8];
static int workspace_count, blocks_with_nan; /* number of workspaces, and of blocks whose workspace contained NaN */

enum { UNUSED_OFFSET = 4096 }; /* an offset in a workspace, in bytes, beyond what toy_float uses */

static size_t get_roomy_workspace_bytes(const lh_shape *max_shape, lh_mode mode) {
    assert_true(toy_float.workspace_bytes(max_shape, mode) <= UNUSED_OFFSET);
    return UNUSED_OFFSET + sizeof(float);
}

static void count_workspaces(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                             lh_sums *sums) {
    int i = 0;
    while (i < workspace_count && workspaces[i] != workspace) i++;
    if (i == workspace_count && i < 8) workspaces[workspace_count++] = workspace;
    float *unused = (float *)((char *)workspace + UNUSED_OFFSET);
    blocks_with_nan += isnan(*unused);
    toy_float.train_block(step, block, workspace, gradient, sums);
    if (isnan(sums->loss)) *unused = NAN; /* like an activation that no later sequence overwrites */
}

static void break_bias(lh_engine *engine) {
    lh_state s = lh_test_copy_state(engine);
    ((float *)s.parameters)[lh_toy_spec.tensors[TOY_BIAS].offset] = NAN;
    engine->ops->write_state(engine, &s, engine->step, NULL);
    lh_state_close(&s);
}

static lh_sums evaluate_length(lh_engine *engine, int n) {
    lh_error error;
    lh_sums sums;
    lh_condition condition = lh_make_condition(n, 9, 1, 0);
    lh_assert_ok(engine->ops->reserve(engine, &(lh_lengths){.first = n, .last = n, .step = 1}, 9, &error), &error);
    lh_assert_ok(engine->ops->evaluate(engine, &condition, &sums, NULL, &error), &error);
    return sums;
}

/* Engines that share a workspace evaluate different lengths, and engine 0 fails. The other engines must have the same
 * bits as engines that were opened alone. */
static void test_engines_share_working_memory(void **state) {
    lh_error error;
    lh_step_metrics expected[4], actual[4];
    int taken_steps;
    lh_cpu_program program = toy_float;
    program.train_block = count_workspaces;
    program.workspace_bytes = get_roomy_workspace_bytes;
    lh_engine_config configs[ENGINES];
    lh_engine *engines[ENGINES];
    for (int i = 0; i < ENGINES; i++)
        configs[i] = (lh_engine_config){
            .spec = &lh_toy_spec, .seed = (uint64_t)i, .learning_rate = 0.01, .threads = 1, .trains = true};
    lh_assert_ok(lh_cpu_engines_open(configs, ENGINES, &program, engines, &error), &error);
    workspace_count = blocks_with_nan = 0;
    break_bias(engines[0]);
    for (int i = 0; i < ENGINES; i++) {
        lh_engine *single = lh_test_open_engine(configs[i], &toy_float);
        if (i == 0) {
            assert_true(isnan(evaluate_length(engines[0], 32).loss));
            lh_assert_error(engines[0]->ops->step(engines[0], 4, actual, &taken_steps, &error), LH_ERR_INPUT, &error,
                            "step 1");
            workspace_count = blocks_with_nan = 0; /* the failed step freed its workspace, which contained NaN */
        } else {
            lh_sums single_sums = evaluate_length(single, 32 - i), shared_sums = evaluate_length(engines[i], 32 - i);
            assert_memory_equal(&single_sums, &shared_sums, sizeof single_sums);
            lh_test_step(single, 4, expected);
            lh_test_step(engines[i], 4, actual);
            assert_memory_equal(expected, actual, sizeof expected);
            assert_same_state(single, engines[i]);
        }
        single->ops->close(single);
    }
    assert_int_equal(workspace_count, 1);
    assert_int_equal(blocks_with_nan, 0);
    for (int i = 0; i < ENGINES; i++) engines[i]->ops->close(engines[i]);
}

static uint64_t seen_sequences[64];
static int seen_count;

/* Stores, for every new sequence, the number whose octal digits are its tokens. */
static void record_train_block(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                               lh_sums *sums) {
    for (int s = 0; s < block->sequences; s++) {
        uint64_t number = 0;
        bool is_known = false;
        for (int i = 0; i < step->shape.length[0]; i++)
            number = number * 8 + block->tokens[0][s * step->shape.length[0] + i];
        for (int i = 0; i < seen_count; i++) is_known = is_known || seen_sequences[i] == number;
        if (!is_known && seen_count < 64) seen_sequences[seen_count++] = number;
    }
    toy_float.train_block(step, block, workspace, gradient, sums);
}

/* There are more distinct examples than a batch holds, so successive batches use all of them. */
static void test_several_batches_have_all_distinct_examples(void **state) {
    lh_step_metrics metrics[6];
    lh_cpu_program program = toy_float;
    program.train_block = record_train_block;
    lh_engine_config config = {
        .spec = &lh_toy_spec, .seed = 3, .threads = 1, .trains = true, .fixed_length = 6, .distinct_examples = 20};
    lh_engine *engine = lh_test_open_engine(config, &program);
    seen_count = 0;
    lh_test_step(engine, 1, metrics);
    assert_int_equal(seen_count, 8);
    lh_test_step(engine, 6, metrics);
    assert_int_equal(seen_count, 20);
    engine->ops->close(engine);
}

static void test_positions_of_a_query_replace_draws(void **state) {
    lh_error error;
    uint16_t input[] = {4, 0, 2};
    int32_t positions[] = {5, 6, 7, 8, 9, 10};
    double sampled[15], from_caller[15], repeated[15];
    lh_lengths lengths = {.first = 3, .last = 3, .step = 1};
    lh_engine *engine = open_engine(&lh_toy_spec, &toy_drawn, 1);
    lh_assert_ok(engine->ops->reserve(engine, &lengths, 1, &error), &error);
    lh_query query = {.n = 3, .input = input, .draw = lh_make_condition(3, 1, 1, 0).draw};
    engine->ops->predict(engine, &query, sampled, NULL);
    query.positions[0] = positions;
    engine->ops->predict(engine, &query, from_caller, NULL);
    query.draw.example = 1;
    engine->ops->predict(engine, &query, repeated, NULL);
    assert_memory_equal(from_caller, repeated, sizeof from_caller);
    assert_memory_not_equal(from_caller, sampled, sizeof from_caller);
    engine->ops->close(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_have_equal_bits_for_any_number_of_threads),
        cmocka_unit_test(test_steps_of_mixed_lengths_have_equal_bits_for_any_number_of_threads),
        cmocka_unit_test(test_step_runs_with_more_shards_than_examples),
        cmocka_unit_test(test_loss_falls_in_training),
        cmocka_unit_test(test_gradient_is_a_left_fold_over_shards),
        cmocka_unit_test(test_nan_stops_a_step_before_its_update),
        cmocka_unit_test(test_infinite_update_stops_training),
        cmocka_unit_test(test_written_state_resumes_with_the_same_bits),
        cmocka_unit_test(test_evaluation_has_equal_sums_for_any_number_of_threads),
        cmocka_unit_test(test_draws_of_an_evaluation_share_examples),
        cmocka_unit_test(test_reserved_memory_grows),
        cmocka_unit_test(test_evaluated_length_beyond_the_limit_is_named),
        cmocka_unit_test(test_trained_length_beyond_the_limit_is_named),
        cmocka_unit_test(test_missing_memory_is_reported_in_bytes),
        cmocka_unit_test(test_engines_share_working_memory),
        cmocka_unit_test(test_one_repeated_example_is_learned),
        cmocka_unit_test(test_several_batches_have_all_distinct_examples),
        cmocka_unit_test(test_positions_of_a_query_replace_draws),
    };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
