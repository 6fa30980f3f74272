/* eval/: results of each length, several draws of a condition, lines that exist already, and lines of single
 * examples. */
#include "lh_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "eval/by_sequence.h"
#include "eval/eval_lines.h"
#include "eval/evaluate.h"
#include "lh_engines.h"
#include "toy_program.h"

static lh_engine *open_engine(const lh_spec *spec, const lh_cpu_program *program) {
    return lh_test_open_engine((lh_engine_config){.spec = spec, .seed = 7, .threads = 2}, program);
}

static lh_eval_request make_request(int first, int last, int draws) {
    lh_eval_request request = {
        .lengths = {.first = first, .last = last, .step = 1}, .examples = 20, .draws = draws, .seed = 1};
    return request;
}

static void test_result_has_mean_and_spread_over_draws(void **state) {
    lh_error error;
    enum { DRAWS = 5 };
    lh_spec spec = lh_toy_spec;
    spec.position_range[0] = 64;
    lh_engine *engine = open_engine(&spec, &toy_drawn);
    lh_eval_request request = make_request(6, 6, DRAWS);
    lh_eval_result result;
    lh_assert_ok(lh_evaluate(engine, &request, &result, &error), &error);
    double accuracy[DRAWS], mean = 0, squares = 0;
    for (int d = 0; d < DRAWS; d++) {
        lh_sums sums;
        lh_condition condition = lh_make_condition(6, 20, 1, d);
        engine->ops->evaluate(engine, &condition, &sums, NULL, NULL);
        mean += (accuracy[d] = (double)sums.correct / (double)sums.counted) / DRAWS;
    }
    for (int d = 0; d < DRAWS; d++) squares += (accuracy[d] - mean) * (accuracy[d] - mean);
    double sd = sqrt(squares / (DRAWS - 1));
    assert_true(sd > 0);
    lh_assert_close(&result.accuracy, &mean, 1, 1e-12, 0);
    lh_assert_close(&result.sd_over_draws, &sd, 1, 1e-10, 0);
    assert_int_equal(result.draws, DRAWS);
    assert_string_equal(result.split, "in_distribution");
    engine->ops->close(engine);
}

static void check_every_draw(const lh_spec *spec, const lh_cpu_program *program) {
    lh_error error;
    lh_engine *engine = open_engine(spec, program);
    lh_eval_request request = make_request(6, 6, 3);
    lh_eval_result result;
    lh_assert_ok(lh_evaluate(engine, &request, &result, &error), &error);
    assert_int_equal(result.draws, 3);
    engine->ops->close(engine);
}

static void test_evaluate_with_drawn_distances_makes_every_draw(void **state) {
    lh_spec spec = lh_toy_spec;
    spec.distance_range[0] = 64;
    check_every_draw(&spec, &toy_drawn);
}

/* Dropout makes an evaluation random, so each draw is evaluated. */
static void test_evaluate_with_dropout_makes_every_draw(void **state) {
    lh_spec spec = lh_toy_spec;
    spec.eval.dropout = true;
    check_every_draw(&spec, &toy_float);
}

static void test_evaluate_without_randomness_makes_one_pass(void **state) {
    lh_error error;
    lh_engine *engine = open_engine(&lh_toy_spec, &toy_float);
    lh_eval_request request = make_request(5, 8, 7);
    lh_eval_result results[4];
    lh_assert_ok(lh_evaluate(engine, &request, results, &error), &error);
    assert_int_equal(results[0].draws, 1);
    assert_true(results[0].sd_over_draws == 0.0);
    assert_string_equal(results[1].split, "in_distribution");
    assert_string_equal(results[2].split, "beyond");
    lh_eval_means trained = lh_eval_compute_means(results, 4, "in_distribution"),
                  longer = lh_eval_compute_means(results, 4, "beyond");
    assert_int_equal(trained.count, 2);
    assert_int_equal(longer.first, 7);
    assert_int_equal(longer.last, 8);
    double mean = 0.5 * (results[2].accuracy + results[3].accuracy);
    lh_assert_close(&longer.accuracy, &mean, 1, 1e-12, 0);
    engine->ops->close(engine);
}

/* 20 examples in batches of 8, 8 and 4; batch b of draw d has the random positions of draw 3 d + b. */
static void test_result_of_batches_is_the_mean_of_their_accuracies(void **state) {
    const char *path = lh_test_path(*state, "each.jsonl");
    lh_error error;
    enum { DRAWS = 3, BATCHES = 3 };
    lh_spec spec = lh_toy_spec;
    spec.position_range[0] = 64;
    lh_engine *engine = open_engine(&spec, &toy_drawn);
    lh_eval_request request = make_request(6, 6, DRAWS);
    lh_eval_result result;
    request.batch = 8;
    request.per_example = fopen(path, "w");
    lh_assert_ok(lh_evaluate(engine, &request, &result, &error), &error);
    assert_int_equal(fclose(request.per_example), 0);
    double accuracy[DRAWS] = {0}, mean = 0, squares = 0, loss = 0;
    for (int d = 0; d < DRAWS; d++) {
        for (int b = 0; b < BATCHES; b++) {
            lh_sums sums;
            lh_condition condition = lh_make_condition(6, b < 2 ? 8 : 4, 1, d * BATCHES + b);
            condition.first = 8 * b;
            lh_assert_ok(engine->ops->evaluate(engine, &condition, &sums, NULL, &error), &error);
            assert_int_equal(sums.counted, 6 * condition.examples);
            accuracy[d] += (double)sums.correct / (double)sums.counted / BATCHES;
            loss += sums.loss / (DRAWS * 20 * 6);
        }
        mean += accuracy[d] / DRAWS;
    }
    for (int d = 0; d < DRAWS; d++) squares += (accuracy[d] - mean) * (accuracy[d] - mean);
    double sd = sqrt(squares / (DRAWS - 1));
    assert_true(sd > 0);
    lh_assert_close(&result.accuracy, &mean, 1, 1e-12, 0);
    lh_assert_close(&result.sd_over_draws, &sd, 1, 1e-10, 0);
    lh_assert_close(&result.loss, &loss, 1, 1e-10, 0);
    assert_int_equal(result.batch, 8);
    size_t bytes;
    char *text = lh_test_read(path, &bytes);
    assert_non_null(strstr(text, "\"example\":19,\"draw\":2,"));
    assert_null(strstr(text, "\"example\":20"));
    assert_null(strstr(text, "\"draw\":3"));
    free(text);
    engine->ops->close(engine);
}

/* Every condition has a line for every noise, the least noise first; with noise there are several draws. */
static void test_every_condition_is_evaluated_under_every_noise(void **state) {
    static const double deviation[] = {0, 0.5};
    lh_error error;
    lh_engine *engine = open_engine(&lh_toy_spec, &toy_float);
    lh_eval_request request = make_request(5, 6, 3);
    lh_eval_result results[4], read_back[4];
    char name[LH_EVAL_NAME];
    bool found[4] = {false};
    request.path = lh_test_path(*state, "eval.jsonl");
    request.noise = (lh_noise){2, deviation};
    assert_int_equal(lh_count_eval_conditions(&request), 4);
    lh_assert_ok(lh_evaluate(engine, &request, results, &error), &error);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(results[i].n, 5 + i % 2);
        assert_true(results[i].noise == deviation[i / 2]);
        assert_int_equal(results[i].draws, i < 2 ? 1 : 3);
    }
    assert_string_equal(lh_eval_write_name(&results[3], name), "length 6, noise 0.5");
    size_t bytes;
    char *text = lh_test_read(request.path, &bytes);
    assert_non_null(strstr(text, "\"by\":{\"length\":5,\"noise\":0},"));
    assert_non_null(strstr(text, "\"by\":{\"length\":6,\"noise\":0.5},"));
    free(text);
    memcpy(read_back, results, sizeof read_back);
    read_back[3].noise = 0.25;
    read_back[0].has_noise = false;
    lh_assert_ok(lh_eval_find(request.path, 0, LH_EVAL_SEED, read_back, found, 4, &error), &error);
    assert_true(found[1] && found[2]);
    assert_false(found[0] || found[3]);
    lh_eval_means means = lh_eval_compute_means(results, 4, "in_distribution");
    assert_int_equal(means.count, 2); /* conditions with the least noise */
    engine->ops->close(engine);
}

/* Several batches together have the examples of a single batch. */
static void test_batches_without_draws_have_the_same_examples(void **state) {
    lh_error error;
    lh_engine *engine = open_engine(&lh_toy_spec, &toy_float);
    lh_eval_request request = make_request(6, 6, 1);
    lh_eval_result one_batch, four_batches;
    lh_assert_ok(lh_evaluate(engine, &request, &one_batch, &error), &error);
    request.batch = 5;
    lh_assert_ok(lh_evaluate(engine, &request, &four_batches, &error), &error);
    lh_assert_close(&four_batches.accuracy, &one_batch.accuracy, 1, 1e-12, 0); /* four equal batches */
    lh_assert_close(&four_batches.loss, &one_batch.loss, 1, 1e-6, 0);
    assert_true(four_batches.exact_match == one_batch.exact_match);
    engine->ops->close(engine);
}

static void test_more_draws_than_sites_are_refused(void **state) {
    lh_error error;
    lh_spec spec = lh_toy_spec;
    spec.position_range[0] = 64;
    lh_engine *engine = open_engine(&spec, &toy_drawn);
    lh_eval_request request = make_request(6, 6, 4000);
    lh_eval_result result;
    request.batch = 1;
    assert_int_equal(lh_evaluate(engine, &request, &result, &error), LH_ERR_INPUT);
    assert_non_null(strstr(error.text, "length 6: 4000 draws in each of 20 batches\n  expected: at most 65536"));
    engine->ops->close(engine);
}

static void test_lines_of_another_batch_are_not_found(void **state) {
    lh_error error;
    const char *path = lh_test_path(*state, "eval.jsonl");
    lh_engine *engine = open_engine(&lh_toy_spec, &toy_float);
    lh_eval_request request = make_request(5, 5, 1);
    lh_eval_result result;
    bool found[1] = {false};
    request.path = path;
    request.batch = 7;
    lh_assert_ok(lh_evaluate(engine, &request, &result, &error), &error);
    lh_assert_ok(lh_eval_find(path, 0, LH_EVAL_SEED, &result, found, 1, &error), &error);
    assert_true(found[0]);
    for (result.batch = 0, found[0] = false; result.batch < 16; result.batch += 8) {
        lh_assert_ok(lh_eval_find(path, 0, LH_EVAL_SEED, &result, found, 1, &error), &error);
        assert_false(found[0]);
    }
    engine->ops->close(engine);
}

/* Checks the interval of exact match and the deviation over sequences, in the result and in its line. */
static void test_lines_have_confidence_bounds(void **state) {
    const char *path = lh_test_path(*state, "eval.jsonl");
    lh_error error;
    lh_spec spec = lh_toy_spec;
    spec.position_range[0] = 64;
    lh_engine *engine = open_engine(&spec, &toy_drawn);
    lh_eval_request request = make_request(2, 2, 3);
    lh_eval_result result, back;
    bool found = false;
    request.path = path;
    lh_assert_ok(lh_evaluate(engine, &request, &result, &error), &error);
    double low, high, share[20] = {0}, mean = 0, squares = 0;
    lh_compute_wilson(result.exact_match, 20, &low, &high);
    lh_assert_close(&result.exact_match_low, &low, 1, 1e-12, 0);
    lh_assert_close(&result.exact_match_high, &high, 1, 1e-12, 0);
    for (int d = 0; d < 3; d++) {
        lh_sums total, sequence_sums[20];
        lh_condition condition = lh_make_condition(2, 20, 1, d);
        lh_assert_ok(engine->ops->evaluate(engine, &condition, &total, sequence_sums, &error), &error);
        for (int i = 0; i < 20; i++)
            share[i] += (double)sequence_sums[i].correct / (double)sequence_sums[i].counted / 3;
    }
    for (int i = 0; i < 20; i++) mean += share[i] / 20;
    for (int i = 0; i < 20; i++) squares += (share[i] - mean) * (share[i] - mean);
    double sd = sqrt(squares / 19);
    assert_true(sd > 0);
    lh_assert_close(&result.sd_over_sequences, &sd, 1, 1e-10, 0);
    back = result;
    back.exact_match_low = back.exact_match_high = back.sd_over_sequences = -1;
    lh_assert_ok(lh_eval_find(path, 0, LH_EVAL_SEED, &back, &found, 1, &error), &error);
    assert_true(found && back.exact_match_low == result.exact_match_low &&
                back.exact_match_high == result.exact_match_high && back.sd_over_sequences == result.sd_over_sequences);
    size_t bytes;
    char *text = lh_test_read(path, &bytes);
    assert_true(strstr(text, "\"exact_match\":") < strstr(text, "\"exact_match_low\":") &&
                strstr(text, "\"exact_match_low\":") < strstr(text, "\"exact_match_high\":") &&
                strstr(text, "\"sd_over_draws\":") < strstr(text, "\"sd_over_sequences\":"));
    free(text);
    engine->ops->close(engine);
}

static void test_lines_are_read_back(void **state) {
    lh_error error;
    const char *path = lh_test_path(*state, "eval.jsonl");
    lh_engine *engine = open_engine(&lh_toy_spec, &toy_float);
    lh_eval_request request = make_request(5, 8, 1);
    lh_eval_result results[4], back[4];
    request.path = path;
    request.step = 12;
    lh_assert_ok(lh_evaluate(engine, &request, results, &error), &error);
    bool found[4] = {false};
    memcpy(back, results, sizeof back);
    for (int i = 0; i < 4; i++) back[i].accuracy = back[i].loss = -1;
    back[2].split = "validation";
    back[3].examples = 21;
    lh_assert_ok(lh_eval_find(path, 12, LH_EVAL_SEED, back, found, 4, &error), &error);
    for (int i = 0; i < 2; i++) {
        assert_true(found[i]);
        assert_true(back[i].accuracy == results[i].accuracy && back[i].loss == results[i].loss);
    }
    assert_false(found[2] || found[3]);
    found[1] = false;
    back[1].has_places = true; /* the line has none */
    lh_assert_ok(lh_eval_find(path, 12, LH_EVAL_SEED, back, found, 2, &error), &error);
    assert_false(found[1]);
    found[0] = false;
    lh_assert_ok(lh_eval_find(path, 13, LH_EVAL_SEED, back, found, 1, &error), &error);
    assert_false(found[0]);
    engine->ops->close(engine);
}

static void sample_length_6_uncounted(lh_rng *rng, int n, lh_example *example) {
    lh_toy_spec.task->sample(rng, n, example);
    memset(example->mask, n != 6, (size_t)n);
}

/* A condition without counted labels has neither accuracy nor exact match, and does not enter a mean. */
static void test_condition_without_counted_labels_has_no_accuracy(void **state) {
    lh_error error;
    const char *path = lh_test_path(*state, "eval.jsonl");
    lh_task task = *lh_toy_spec.task;
    lh_spec spec = lh_toy_spec;
    task.sample = sample_length_6_uncounted;
    task.loss = LH_LOSS_ALL;
    spec.task = &task;
    lh_engine *engine = open_engine(&spec, &toy_float);
    lh_eval_request request = make_request(5, 6, 1);
    lh_eval_result results[2], back[2];
    char *text;
    size_t bytes;
    bool found[2] = {false};
    request.path = path;
    request.has_places = true;
    request.split = "beyond";
    request.wrong_path = lh_test_path(*state, "wrong.jsonl");
    request.wrong = fopen(request.wrong_path, "w");
    assert_non_null(request.wrong);
    lh_assert_ok(lh_evaluate(engine, &request, results, &error), &error);
    assert_true(results[0].counted == 20 * 5 && results[1].counted == 0);
    lh_eval_means means = lh_eval_compute_means(results, 2, "beyond");
    assert_true(means.count == 1 && means.first == 5 && means.last == 5);
    assert_true(means.accuracy == results[0].accuracy && means.exact_match == results[0].exact_match);
    lh_assert_ok(lh_read_file(path, &text, &bytes, &error), &error);
    const char *second = strchr(text, '\n');
    assert_non_null(second);
    assert_non_null(strstr(second, "\"draws\":1,\"counted\":0,\"loss\":"));
    assert_null(strstr(second, "accuracy"));
    assert_null(strstr(second, "exact_match"));
    assert_null(strstr(second, "places"));
    const char *places =
        strstr(text, ",\"places\":{\"sequences\":20,\"start\":{\"counted\":[20,20,20,20,20],\"correct\":[");
    assert_true(places != NULL && places < second);
    assert_memory_equal(second - 3, "]}}", 3); /* `places` is the last key */
    assert_null(strstr(text, "correct_teacher_forced"));
    assert_true(strstr(text, "\"accuracy\":") != NULL && strstr(text, "\"accuracy\":") < second);
    free(text);
    fclose(request.wrong);
    lh_assert_ok(lh_read_file(request.wrong_path, &text, &bytes, &error), &error);
    assert_non_null(strstr(text, "\"length\":5,"));
    assert_null(strstr(text, "\"length\":6,")); /* no label is counted, so no answer is wrong */
    memcpy(back, results, sizeof back);
    back[0].counted = 0, back[1].counted = 9;
    lh_assert_ok(lh_eval_find(path, 0, LH_EVAL_SEED, back, found, 2, &error), &error);
    assert_true(found[0] && found[1] && back[0].counted > 0 && back[1].counted == 0);
    free(text);
    engine->ops->close(engine);
}

/* Lengths between training lengths are neither training lengths nor beyond. */
static void test_split_of_lengths_between_training_lengths_is_between(void **state) {
    static const int32_t trained[] = {3, 8, 5};
    lh_spec spec = lh_toy_spec;
    spec.train.lengths = (lh_lengths){.list = trained, .count = 3};
    assert_string_equal(lh_find_split(&spec, 1), "between");
    assert_string_equal(lh_find_split(&spec, 3), "in_distribution");
    assert_string_equal(lh_find_split(&spec, 6), "between");
    assert_string_equal(lh_find_split(&spec, 8), "in_distribution");
    assert_string_equal(lh_find_split(&spec, 9), "beyond");
}

static void test_line_of_another_seed_is_not_found(void **state) {
    lh_error error;
    const char *path = lh_test_path(*state, "eval.jsonl");
    lh_engine *engine = open_engine(&lh_toy_spec, &toy_float);
    lh_eval_request request = make_request(5, 5, 1);
    lh_eval_result result;
    bool found[1] = {false};
    request.path = path;
    request.seed = 2;
    lh_assert_ok(lh_evaluate(engine, &request, &result, &error), &error);
    lh_assert_ok(lh_eval_find(path, 0, LH_EVAL_SEED, &result, found, 1, &error), &error);
    assert_false(found[0]);
    engine->ops->close(engine);
}

static void test_lines_of_examples_add_up_to_the_result(void **state) {
    lh_error error;
    const char *path = lh_test_path(*state, "each.jsonl");
    lh_engine *engine = open_engine(&lh_toy_spec, &toy_float);
    lh_eval_request request = make_request(4, 4, 1);
    lh_eval_result without_lines, with_lines;
    lh_assert_ok(lh_evaluate(engine, &request, &without_lines, &error), &error);
    request.per_example = fopen(path, "w");
    lh_assert_ok(lh_evaluate(engine, &request, &with_lines, &error), &error);
    assert_int_equal(fclose(request.per_example), 0);
    assert_true(without_lines.accuracy == with_lines.accuracy && without_lines.loss == with_lines.loss);
    size_t bytes;
    char *text = lh_test_read(path, &bytes);
    int lines = 0, correct = 0, exact = 0;
    for (const char *cursor = text; (cursor = strstr(cursor, "\"correct\":")); cursor++) {
        correct += atoi(cursor + strlen("\"correct\":"));
        exact += atoi(strstr(cursor, "\"exact\":") + strlen("\"exact\":"));
        lines++;
    }
    assert_int_equal(lines, 20);
    assert_true(fabs(correct / 80.0 - with_lines.accuracy) < 1e-12);
    assert_true(fabs(exact / 20.0 - with_lines.exact_match) < 1e-12);
    free(text);
    engine->ops->close(engine);
}

static volatile sig_atomic_t stop;

static void stop_at_second(void *context, const lh_eval_result *result, int done_count, int count) {
    *(int *)context = done_count;
    stop = done_count == 2;
}

static void test_evaluate_stops_between_lengths(void **state) {
    lh_error error;
    int done_count = 0;
    lh_engine *engine = open_engine(&lh_toy_spec, &toy_float);
    lh_eval_request request = make_request(5, 8, 1);
    lh_eval_result results[4];
    engine->stop = &stop;
    request.watch = stop_at_second;
    request.context = &done_count;
    assert_int_equal(lh_evaluate(engine, &request, results, &error), LH_STOPPED);
    assert_int_equal(done_count, 2);
    engine->ops->close(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_result_has_mean_and_spread_over_draws),
        cmocka_unit_test(test_evaluate_with_drawn_distances_makes_every_draw),
        cmocka_unit_test(test_evaluate_with_dropout_makes_every_draw),
        cmocka_unit_test(test_evaluate_without_randomness_makes_one_pass),
        lh_test_in_directory(test_result_of_batches_is_the_mean_of_their_accuracies),
        lh_test_in_directory(test_every_condition_is_evaluated_under_every_noise),
        cmocka_unit_test(test_batches_without_draws_have_the_same_examples),
        cmocka_unit_test(test_more_draws_than_sites_are_refused),
        lh_test_in_directory(test_lines_of_another_batch_are_not_found),
        lh_test_in_directory(test_lines_have_confidence_bounds),
        lh_test_in_directory(test_lines_are_read_back),
        lh_test_in_directory(test_condition_without_counted_labels_has_no_accuracy),
        cmocka_unit_test(test_split_of_lengths_between_training_lengths_is_between),
        lh_test_in_directory(test_line_of_another_seed_is_not_found),
        lh_test_in_directory(test_lines_of_examples_add_up_to_the_result),
        cmocka_unit_test(test_evaluate_stops_between_lengths),
    };
    return cmocka_run_group_tests_name("evaluate", tests, NULL, NULL);
}
