/* Evaluation of a generative model by its own answers. This test computes the answers again, with one pass for each
 * token. The cases have an end symbol, masked labels, padding after the end, several draws and dropout, with cached
 * decoding and without. */
#include "lh_test.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/by_place.h"
#include "eval/decode.h"
#include "eval/evaluate.h"
#include "lh_engines.h"
#include "toy_program.h"

enum { N = 7, EXAMPLES = 30, END = 3, DRAWS = 3, STEPS = 400, THIRD = 2 /* index of the third answer */ };

static int find_third(const uint16_t *target, int length) { return THIRD; }

/* Samples examples whose input repeats one symbol. In most examples this symbol determines the place of the end symbol,
 * which padding follows; sometimes one label up to the end symbol is masked. */
static void sample(lh_rng *rng, int n, lh_example *example) {
    int symbol = (int)lh_rng_below(rng, 2), end = 1 + (int)lh_rng_below(rng, (uint32_t)n - 1);
    if (lh_rng_below(rng, 4) > 0) end = symbol == 0 ? 2 : n - 1;
    int hidden = (int)lh_rng_below(rng, 2 * (uint32_t)end);
    for (int i = 0; i < n; i++) {
        example->input[i] = (uint16_t)symbol;
        example->target[i] = i < end ? (uint16_t)lh_rng_below(rng, 2) : i == end ? END : 0;
        example->mask[i] = i <= end && i != hidden;
    }
}

static void forward_with_dropout(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, lh_sums *sums) {
    lh_cpu_step dropout_step = *step;
    dropout_step.mode = LH_MODE_TRAIN;
    toy_drawn.forward_block(&dropout_step, block, workspace, sums);
}

typedef struct sums {
    /* Numbers of labels: */
    int results; /* labels of final results */
    int right;   /* of these, those with a right answer */
    int counted; /* counted labels */
    int forced;  /* of these, those with a right answer in the pass over the target */
    /* Numbers of sequences: */
    int exact;     /* all answers of the final result are right */
    int early;     /* an answer is the end symbol where the target is not */
    int open;      /* the target has an end symbol, but the answers have none */
    int sequences; /* sequences with a counted label */
    /* Labels, right answers, and right answers of the pass over the target, by place. `start` counts places from the
     * first label, `end` backwards from the last counted label. */
    int start[3][N], end[3][N];
    int first[N]; /* sequences by the place of their first wrong answer */
} sums;

static uint16_t find_best(lh_engine *engine, const lh_query *query, int label) {
    double logits[N * TOY_CLASSES];
    engine->ops->predict(engine, query, logits, NULL);
    return (uint16_t)lh_find_best_class(logits + label * TOY_CLASSES, TOY_CLASSES);
}

/* Adds a label to the counts of its place. */
static void add_place(int counts[3][N], int place, bool is_counted, bool is_right, bool is_right_forced) {
    counts[0][place] += is_counted;
    counts[1][place] += is_right;
    counts[2][place] += is_right_forced;
}

/* Answers one example, with one pass of the model for each label, and adds the counts to *total. */
static void answer_one(lh_engine *engine, const lh_batch *batch, const lh_query *request, sums *total) {
    const uint16_t *target = batch->labels;
    const uint8_t *mask = batch->mask;
    uint16_t answers[N] = {0};
    int label_count = N, right = 0, counted = 0, results = 0, early = 0, has_end_answer = 0, is_over = 0, forced = 0,
        first_error = N;
    lh_query query = *request;
    while (label_count > 0 && !mask[label_count - 1]) label_count--; /* up to the last counted label */
    const int first_result = engine->spec->task->find_result != NULL && label_count > THIRD ? THIRD : 0;
    for (int i = 0; i < label_count; i++) {
        query.target = target;
        bool is_right_forced = mask[i] && find_best(engine, &query, i) == target[i], is_right = false;
        forced += is_right_forced;
        counted += mask[i];
        query.target = answers;
        if (!is_over) answers[i] = mask[i] ? find_best(engine, &query, i) : target[i];
        is_right = !is_over && mask[i] && answers[i] == target[i];
        results += mask[i] && i >= first_result;
        right += is_right && i >= first_result;
        if (mask[i] && !is_right && first_error == N) first_error = i;
        add_place(total->start, i, mask[i], is_right, is_right_forced);
        add_place(total->end, label_count - 1 - i, mask[i], is_right, is_right_forced);
        if (is_over) continue;
        has_end_answer |= answers[i] == END;
        early |= answers[i] == END && target[i] != END;
        is_over = answers[i] == END && target[i] != END;
    }
    int target_has_end = mask[label_count - 1] && target[label_count - 1] == END;
    if (first_error < N) total->first[first_error]++;
    total->counted += counted;
    total->right += right;
    total->forced += forced;
    total->results += results;
    total->exact += counted > 0 && right == results;
    total->early += early;
    total->open += target_has_end && !has_end_answer;
    total->sequences += counted > 0;
}

static sums answer_by_hand(lh_engine *engine, int draws) {
    sums total = {0};
    lh_error error;
    lh_batch batch;
    lh_assert_ok(lh_batch_open(&batch, engine->spec, N, 1, &error), &error);
    for (int draw = 0; draw < draws; draw++)
        for (int i = 0; i < EXAMPLES; i++) {
            lh_condition condition = lh_make_condition(N, EXAMPLES, LH_EVAL_SEED, draw);
            lh_assert_ok(lh_batch_fill(&batch, engine->spec, &condition.source, N, (uint32_t)i, 1, &error), &error);
            uint16_t input[N];
            memcpy(input, batch.input, sizeof input);
            lh_query query = {.n = N, .input = input, .draw = condition.draw, .example = (uint32_t)i};
            answer_one(engine, &batch, &query, &total);
        }
    lh_batch_close(&batch);
    return total;
}

static void check_close(double actual, double dividend, double divisor) {
    assert_true(fabs(actual - dividend / divisor) < 1e-12);
}

static void check_list(const json_t *object, const char *key, const int *expected) {
    const json_t *list = json_object_get(object, key);
    assert_int_equal(json_array_size(list), N);
    for (size_t i = 0; i < N; i++) assert_int_equal(json_integer_value(json_array_get(list, i)), expected[i]);
}

static void check_side(const json_t *side, const int expected[3][N], bool is_decoded) {
    check_list(side, "counted", expected[0]);
    check_list(side, "correct_teacher_forced", expected[2]);
    if (is_decoded) check_list(side, "correct", expected[1]);
    else assert_null(json_object_get(side, "correct"));
}

/* Checks the places in the line that an evaluation has written, and removes the file. */
static void check_places(const char *path, const sums *expected, bool is_decoded) {
    json_t *line = json_load_file(path, 0, NULL), *places = json_object_get(line, "places");
    assert_int_equal(json_integer_value(json_object_get(places, "sequences")), expected->sequences);
    check_side(json_object_get(places, "start"), expected->start, is_decoded);
    check_side(json_object_get(places, "end"), expected->end, is_decoded);
    check_list(places, "first_error", expected->first);
    json_decref(line);
    remove(path);
}

static lh_eval_request make_request(const char *path, bool teacher_forced, int greedy_examples) {
    return (lh_eval_request){.lengths = {.first = N, .last = N, .step = 1},
                             .examples = EXAMPLES,
                             .draws = DRAWS,
                             .teacher_forced = teacher_forced,
                             .greedy_examples = greedy_examples,
                             .has_places = true,
                             .path = path,
                             .seed = LH_EVAL_SEED};
}

static lh_eval_result evaluate(lh_engine *engine, const char *path, bool teacher_forced, int greedy_examples) {
    lh_error error;
    lh_eval_result result;
    lh_eval_request request = make_request(path, teacher_forced, greedy_examples);
    lh_assert_ok(lh_evaluate(engine, &request, &result, &error), &error);
    return result;
}

/* has_positions: whether positions are random; then the model hardly learns the end of a target. With find_result,
 * exact match considers only answers from the third on. */
static void check_answers(void **state, const lh_cpu_program *program, bool has_positions, bool has_dropout,
                          lh_task_find_result *find_result) {
    const char *path = lh_test_path(*state, "eval.jsonl");
    const lh_cpu_program *const list[] = {program, NULL};
    static const uint16_t end = END;
    lh_spec spec = lh_toy_make_pair(list);
    lh_task task = *spec.task;
    static lh_step_metrics metrics[STEPS];
    task.sample = sample;
    task.end = &end;
    task.loss = LH_LOSS_ALL;
    task.find_result = find_result;
    spec.task = &task;
    if (has_positions) spec.position_range[1] = 64;
    spec.eval.dropout = has_dropout;
    lh_engine_config config = {
        .spec = &spec, .seed = 5, .learning_rate = 0.02, .threads = 2, .trains = true, .fixed_length = N};
    lh_engine *engine = lh_test_open_engine(config, program);
    lh_test_step(engine, STEPS, metrics);
    lh_eval_result actual = evaluate(engine, path, false, 0); /* decoded, all examples */
    sums expected = answer_by_hand(engine, actual.draws);
    assert_int_equal(actual.draws, has_positions || has_dropout ? DRAWS : 1);
    assert_ptr_equal(actual.decoding, lh_greedy);
    check_close(actual.accuracy, expected.right, expected.results);
    check_close(actual.teacher_forced, expected.forced, expected.counted);
    check_close(actual.exact_match, expected.exact, expected.sequences);
    check_close(actual.ended_early, expected.early, expected.sequences);
    check_close(actual.not_ended, expected.open, expected.sequences);
    assert_true(expected.right != expected.forced && expected.exact < expected.sequences && expected.open > 0);
    assert_true(has_positions || expected.early > 0);
    check_places(path, &expected, true);
    lh_eval_result forced = evaluate(engine, path, true, 0); /* teacher-forced */
    check_places(path, &expected, false);
    lh_eval_result half = evaluate(engine, path, false, EXAMPLES / 2); /* decoded, half of the examples */
    remove(path);
    assert_ptr_equal(forced.decoding, lh_teacher_forced);
    assert_true(forced.accuracy == actual.teacher_forced);
    assert_true(find_result != NULL ? forced.exact_match < actual.exact_match
                                    : forced.exact_match == actual.exact_match);
    assert_true(half.exact_match == actual.exact_match || find_result != NULL);
    assert_true(half.loss == actual.loss && half.accuracy != actual.accuracy);
    assert_int_equal(half.greedy_examples, EXAMPLES / 2);
    engine->ops->close(engine);
}

static void test_own_answers_are_decoded_from_the_cache(void **state) {
    check_answers(state, &toy_float, false, false, NULL); /* no random positions, no dropout, no find_result */
    check_answers(state, &toy_drawn, true, false, NULL);  /* random positions */
}

static void test_own_answers_are_decoded_by_passes(void **state) {
    lh_cpu_program fixed_program = toy_float, sampling_program = toy_drawn;
    fixed_program.decode_step = sampling_program.decode_step = NULL;
    check_answers(state, &fixed_program, false, false, NULL);
    check_answers(state, &sampling_program, true, false, NULL);
}

static void test_answers_before_the_result_do_not_count(void **state) {
    lh_cpu_program passes = toy_float;
    passes.decode_step = NULL;
    check_answers(state, &toy_float, false, false, find_third);
    check_answers(state, &passes, false, false, find_third);
}

/* Dropout depends on an example's index in its batch, so ended examples stay in the passes of decoding. */
static void test_own_answers_under_dropout_have_all_examples_in_every_pass(void **state) {
    lh_cpu_program dropout_program = toy_drawn;
    dropout_program.decode_step = NULL;
    dropout_program.forward_block = forward_with_dropout;
    check_answers(state, &dropout_program, true, true, NULL); /* random positions, dropout */
}

static void sample_with_a_masked_first(lh_rng *rng, int n, lh_example *example) {
    bool is_first = rng->counter[2] == 0;
    sample(rng, n, example);
    if (is_first) memset(example->mask, 0, (size_t)n * sizeof *example->mask);
}

static void assert_empty(const json_t *list) { assert_true(json_is_array(list) && json_array_size(list) == 0); }

static void test_decoded_examples_without_counted_labels_have_empty_places(void **state) {
    const char *path = lh_test_path(*state, "eval.jsonl");
    const lh_cpu_program *const list[] = {&toy_float, NULL};
    lh_spec spec = lh_toy_make_pair(list);
    lh_task task = *spec.task;
    lh_eval_request request = make_request(path, false, 1);
    bool is_complete = false;
    lh_error error;
    task.sample = sample_with_a_masked_first;
    spec.task = &task;
    lh_engine *engine = lh_test_open_engine((lh_engine_config){.spec = &spec, .seed = 5, .threads = 1}, &toy_float);
    lh_eval_result result = evaluate(engine, path, false, 1);
    json_t *line = json_load_file(path, 0, NULL), *places = json_object_get(line, "places");
    const json_t *sides[] = {json_object_get(places, "start"), json_object_get(places, "end")};
    assert_true(result.counted > 0);
    assert_true(json_is_integer(json_object_get(places, "sequences")));
    assert_int_equal(json_integer_value(json_object_get(places, "sequences")), 0);
    for (int i = 0; i < 2; i++) {
        assert_empty(json_object_get(sides[i], "counted"));
        assert_empty(json_object_get(sides[i], "correct"));
        assert_empty(json_object_get(sides[i], "correct_teacher_forced"));
    }
    assert_empty(json_object_get(places, "first_error"));
    lh_assert_ok(lh_evaluation_is_complete(&spec, &request, &is_complete, &error), &error);
    assert_true(is_complete);
    json_decref(line);
    engine->ops->close(engine);
}

static void test_places_of_very_long_targets_are_refused(void **state) {
    lh_by_place places;
    lh_error error;
    lh_assert_error(lh_by_place_open(&places, 1, LH_MAX_TARGET_PLACES + 1, &error), LH_ERR_INPUT, &error,
                    "found targets of 16385 labels");
    lh_by_place_close(&places);
    lh_assert_ok(lh_by_place_open(&places, 1, LH_MAX_TARGET_PLACES, &error), &error);
    lh_by_place_close(&places);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        lh_test_in_directory(test_own_answers_are_decoded_from_the_cache),
        lh_test_in_directory(test_own_answers_are_decoded_by_passes),
        lh_test_in_directory(test_answers_before_the_result_do_not_count),
        lh_test_in_directory(test_own_answers_under_dropout_have_all_examples_in_every_pass),
        lh_test_in_directory(test_decoded_examples_without_counted_labels_have_empty_places),
        cmocka_unit_test(test_places_of_very_long_targets_are_refused),
    };
    return cmocka_run_group_tests_name("own_answers", tests, NULL, NULL);
}
