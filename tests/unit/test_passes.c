/* Training and evaluation of a model with loops at several numbers of passes. */
#include "lh_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/train_lengths.h"
#include "eval/eval_lines.h"
#include "eval/evaluate.h"
#include "lh_engines.h"
#include "toy_program.h"

enum { TRAINED_PASSES = 2 };

/* Adds the number of passes to the loss of every label, and a half to its uncertainty. */
static void forward_block(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, lh_sums *sums) {
    toy_float.forward_block(step, block, workspace, sums);
    sums->loss += (double)step->passes * block->sequences * step->shape.labels;
    sums->uncertainty += 0.5 * block->sequences * step->shape.labels;
    for (int s = 0; s < block->sequences; s++) block->sequence_sums[s].uncertainty = step->passes + 0.25;
}

typedef struct looped_model {
    lh_spec spec;
    lh_cpu_program program;
    lh_engine *engine;
} looped_model;

static void open_looped(looped_model *l) {
    l->spec = lh_toy_spec;
    l->spec.passes = TRAINED_PASSES;
    l->program = toy_float;
    l->program.forward_block = forward_block;
    l->engine = lh_test_open_engine((lh_engine_config){.spec = &l->spec, .seed = 7, .threads = 2}, &l->program);
}

/* With passes by the length, a step has as many passes as its task length, which is half the toy's tokens. */
static void train_block(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                        lh_sums *sums) {
    assert_int_equal(2 * step->passes, step->shape.length[0]);
    toy_float.train_block(step, block, workspace, gradient, sums);
}

static lh_eval_request make_request(const int32_t *passes, int count) {
    return (lh_eval_request){.lengths = {.first = 5, .last = 6, .step = 1},
                             .passes = {.list = passes, .count = count},
                             .examples = 20,
                             .draws = 1,
                             .seed = 1};
}

/* Checks the lists of single examples in the line of a result with 7 passes. line: the text from this result on. */
static void check_examples(const char *line, const lh_eval_result *result) {
    int64_t sums[2] = {0};
    const char *list = strstr(line, "\"by_example\":{\"uncertainty\":[7.25,7.25,");
    assert_non_null(list);
    for (int i = 0; i < 2; i++) {
        int count = 0;
        char *end = strstr(list, i == 0 ? "\"correct\":[" : "\"counted\":[");
        assert_non_null(end);
        for (end = strchr(end, '['); *end != ']'; count++) sums[i] += strtol(end + 1, &end, 10);
        assert_int_equal(count, result->examples);
    }
    double accuracy = (double)sums[0] / (double)sums[1];
    lh_assert_close(&result->accuracy, &accuracy, 1, 1e-12, 0);
    assert_int_equal(sums[1], result->counted);
}

/* Every condition has a line for every number of passes, in the requested order. */
static void test_every_condition_is_evaluated_at_every_number_of_passes(void **state) {
    static const int32_t passes[] = {TRAINED_PASSES, 1, 7};
    lh_error error;
    looped_model l;
    lh_eval_result results[6], read_back[6], without_passes[2];
    bool found[6] = {false};
    char name[LH_EVAL_NAME];
    open_looped(&l);
    lh_eval_request request = make_request(passes, 3);
    request.path = lh_test_path(*state, "eval.jsonl");
    assert_int_equal(lh_count_eval_conditions(&request), 6);
    lh_assert_ok(lh_evaluate(l.engine, &request, results, &error), &error);
    for (int i = 0; i < 6; i++) {
        double expected = results[i % 2].loss - TRAINED_PASSES + passes[i / 2];
        assert_int_equal(results[i].n, 5 + i % 2);
        assert_int_equal(results[i].passes, passes[i / 2]);
        lh_assert_close(&results[i].loss, &expected, 1, 1e-12, 0);
    }
    assert_string_equal(lh_eval_write_name(&results[5], name), "length 6, passes 7");
    size_t bytes;
    char *text = lh_test_read(request.path, &bytes);
    assert_non_null(strstr(text, "\"by\":{\"length\":6,\"passes\":7},"));
    assert_non_null(strstr(text, ",\"uncertainty\":0.5,"));
    check_examples(strstr(text, "\"by\":{\"length\":6,\"passes\":7},"), &results[5]);
    free(text);
    memcpy(read_back, results, sizeof read_back);
    read_back[4].passes = 3;
    read_back[0].passes = 0;
    lh_assert_ok(lh_eval_find(request.path, 0, LH_EVAL_SEED, read_back, found, 6, &error), &error);
    assert_true(found[1] && found[2] && found[3] && found[5]);
    assert_false(found[0] || found[4]);
    assert_int_equal(lh_eval_compute_means(results, 6, "in_distribution").count,
                     2); /* only results with the first number of passes */
    request = make_request(NULL, 0);
    request.path = lh_test_path(*state, "without.jsonl");
    lh_assert_ok(lh_evaluate(l.engine, &request, without_passes, &error), &error);
    assert_int_equal(without_passes[1].passes, 0);
    text = lh_test_read(request.path, &bytes);
    assert_null(strstr(text, "by_example"));
    free(text);
    lh_assert_close(&without_passes[1].loss, &results[1].loss, 1, 1e-12, 0);
    l.spec.draws_start = true; /* passes start from noise, so a result has several samples */
    request.draws = 3;
    lh_assert_ok(lh_evaluate(l.engine, &request, without_passes, &error), &error);
    assert_int_equal(without_passes[1].draws, 3);
    l.spec.draws_start = false;
    l.engine->ops->close(l.engine);
}

static void test_passes_by_length_are_the_task_length(void **state) {
    static const int32_t passes[] = {0, 9};
    lh_error error = {""};
    looped_model l;
    lh_step_metrics metrics[8];
    lh_eval_result results[4];
    open_looped(&l);
    l.engine->ops->close(l.engine);
    l.program.train_block = train_block;
    l.spec.passes = lh_lengths_find_longest(&l.spec.train.lengths);
    l.spec.passes_by_length = true;
    for (int is_mixed = 0; is_mixed < 2; is_mixed++) {
        l.spec.train.mixes_lengths = is_mixed;
        lh_engine_config config = {.spec = &l.spec, .seed = 7, .threads = 2, .trains = true, .learning_rate = 1e-3};
        l.engine = lh_test_open_engine(config, &l.program);
        lh_test_step(l.engine, 8, metrics);
        lh_eval_request request = make_request(passes, 2);
        request.path = is_mixed ? lh_test_path(*state, "oracle.jsonl") : NULL;
        lh_assert_ok(lh_evaluate(l.engine, &request, results, &error), &error);
        for (int i = 0; i < 2; i++) {
            double expected = results[2 + i].loss - 9 + results[i].n;
            assert_int_equal(results[i].passes, 0);
            lh_assert_close(&results[i].loss, &expected, 1, 1e-12, 0);
        }
        l.engine->ops->close(l.engine);
    }
    size_t bytes;
    char *text = lh_test_read(lh_test_path(*state, "oracle.jsonl"), &bytes);
    assert_non_null(strstr(text, "\"by\":{\"length\":6},\"stop\":\"oracle\","));
    assert_null(strstr(text, "\"passes\":9},\"stop\""));
    free(text);
    lh_engine_config config = {
        .spec = &l.spec, .seed = 7, .threads = 1, .trains = true, .fixed_length = l.spec.passes + 1};
    assert_int_equal(lh_cpu_engine_open(&config, &l.program, &l.engine, &error), LH_ERR_INPUT);
    assert_non_null(strstr(error.text, "length 7 has 7 passes, and training has memory for 6"));
}

/* Adds to the loss a number from which the step's numbers of passes can be read. */
static void train_drawn(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                        lh_sums *sums) {
    toy_float.train_block(step, block, workspace, gradient, sums);
    sums->loss += (100.0 * step->passes + step->free_passes) * (double)(block->sequences * step->shape.labels);
}

enum { STEPS = 24, RESUMED_STEP = 10, PASSES = 9 };

/* Makes the steps until step `end`. After subtraction of the number that train_drawn adds, their losses must equal
 * the losses in `plain`. */
static void check_drawn_passes(lh_engine *engine, int end, const lh_step_metrics *plain) {
    lh_step_metrics metrics[STEPS];
    int start = (int)engine->step;
    lh_test_step(engine, end - start, metrics);
    for (int step = start; step < end; step++) {
        int without_gradient = -1,
            passes = lh_draw_passes(engine->spec, lh_key_of_seed(7), (uint32_t)step, &without_gradient);
        double expected = lh_compute_mean_loss(&plain[step].sums) + 100.0 * passes + without_gradient;
        double actual = lh_compute_mean_loss(&metrics[step - start].sums);
        lh_assert_close(&actual, &expected, 1, 1e-12, 0);
    }
}

static void test_drawn_passes_depend_on_seed_and_step(void **state) {
    lh_step_metrics plain[STEPS];
    lh_error error;
    looped_model l;
    open_looped(&l);
    l.engine->ops->close(l.engine);
    lh_engine_config config = {.spec = &l.spec, .seed = 7, .threads = 1, .trains = true, .learning_rate = 1e-3};
    l.engine = lh_test_open_engine(config, &l.program);
    lh_test_step(l.engine, STEPS, plain);
    l.engine->ops->close(l.engine);
    l.program.train_block = train_drawn;
    l.spec.passes = PASSES;
    l.spec.progressive = true;
    for (config.threads = 1; config.threads <= 3; config.threads++) {
        l.engine = lh_test_open_engine(config, &l.program);
        check_drawn_passes(l.engine, RESUMED_STEP, plain);
        lh_state saved = lh_test_copy_state(l.engine);
        check_drawn_passes(l.engine, STEPS, plain);
        l.engine->ops->close(l.engine);
        l.engine = lh_test_open_engine(config, &l.program);
        lh_assert_ok(l.engine->ops->write_state(l.engine, &saved, RESUMED_STEP, &error), &error);
        check_drawn_passes(l.engine, STEPS, plain);
        lh_state_close(&saved);
        l.engine->ops->close(l.engine);
    }
}

/* With at most MAX_PASSES passes, the number of passes without gradient is uniform from 0 to MAX_PASSES - 1. The number
 * of passes with gradient is uniform from 1 to MAX_PASSES / 2, or to the number of passes left if this is smaller. */
static void test_drawn_passes_are_uniform(void **state) {
    enum { MAX_PASSES = 5, DRAWS = 20000 };
    lh_spec spec = {.passes = MAX_PASSES, .progressive = true};
    int counts[MAX_PASSES][MAX_PASSES + 1] = {{0}};
    for (uint32_t step = 0; step < DRAWS; step++) {
        int without_gradient = -1, passes = lh_draw_passes(&spec, lh_key_of_seed(3), step, &without_gradient);
        assert_in_range(passes - without_gradient, 1, MAX_PASSES / 2);
        counts[without_gradient][passes - without_gradient]++;
    }
    for (int without_gradient = 0; without_gradient < MAX_PASSES; without_gradient++)
        for (int with_gradient = 1; with_gradient <= MAX_PASSES / 2; with_gradient++) {
            int choices = without_gradient == MAX_PASSES - 1 ? 1 : MAX_PASSES / 2;
            double expected = with_gradient > choices ? 0 : (double)DRAWS / MAX_PASSES / choices,
                   actual = counts[without_gradient][with_gradient];
            lh_assert_close(&actual, &expected, 1, 0, 5 * sqrt(expected));
        }
}

static void check_refusal(looped_model *l, const char *words) {
    static const int32_t passes[] = {3};
    lh_error error = {""};
    lh_eval_result results[2];
    lh_eval_request request = make_request(passes, 1);
    assert_int_equal(lh_evaluate(l->engine, &request, results, &error), LH_ERR_INPUT);
    assert_non_null(strstr(error.text, words));
}

static void test_passes_that_an_engine_cannot_run_are_refused(void **state) {
    looped_model l;
    lh_format format = *lh_toy_spec.format;
    open_looped(&l);
    l.spec.passes = 0;
    check_refusal(&l, "has no loops");
    l.spec.passes = TRAINED_PASSES;
    format.teacher_forced = true;
    l.spec.format = &format;
    check_refusal(&l, "expected: --decoding teacher_forced");
    l.spec.format = lh_toy_spec.format;
    l.engine->ops->close(l.engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        lh_test_in_directory(test_every_condition_is_evaluated_at_every_number_of_passes),
        lh_test_in_directory(test_passes_by_length_are_the_task_length),
        cmocka_unit_test(test_drawn_passes_depend_on_seed_and_step),
        cmocka_unit_test(test_drawn_passes_are_uniform),
        cmocka_unit_test(test_passes_that_an_engine_cannot_run_are_refused),
    };
    return cmocka_run_group_tests_name("passes", tests, NULL, NULL);
}
