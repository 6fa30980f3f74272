/* Evaluation of a generative model by its own answers, compared with one pass per token in this test: an end symbol,
 * masked labels, padding after the end, several draws, dropout, with cached decoding and without. */
#include "lh_test.h"

#include <math.h>
#include <string.h>

#include "eval/decode.h"
#include "eval/evaluate.h"
#include "lh_engines.h"
#include "toy_program.h"

enum { N = 7, EXAMPLES = 30, END = 3, DRAWS = 3, STEPS = 400 };

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
    lh_cpu_step drops = *step;
    drops.mode = LH_MODE_TRAIN;
    toy_drawn.forward_block(&drops, block, workspace, sums);
}

/* Numbers of labels, and of sequences from `exact` on; open: the target has an end symbol, the answers have none. */
typedef struct sums {
    int counted, right, forced;        /* forced: right in the pass over the target */
    int exact, early, open, sequences; /* early: an answer is the end symbol where the target is not */
} sums;

static uint16_t find_best(lh_engine *engine, const lh_query *query, int label) {
    double logits[N * TOY_CLASSES];
    engine->ops->predict(engine, query, logits, NULL);
    return (uint16_t)lh_find_best_class(logits + label * TOY_CLASSES, TOY_CLASSES);
}

/* Answers one example by passes of this test, one per label, and adds the counts to *all. */
static void answer_one(lh_engine *engine, const lh_batch *batch, const lh_query *seen, sums *all) {
    const uint16_t *target = batch->labels;
    const uint8_t *mask = batch->mask;
    uint16_t answers[N] = {0};
    int last = N, right = 0, counted = 0, early = 0, ended = 0, over = 0, forced = 0;
    lh_query query = *seen;
    while (last > 0 && !mask[last - 1]) last--;
    for (int i = 0; i < last; i++) {
        query.target = target;
        forced += mask[i] && find_best(engine, &query, i) == target[i];
        counted += mask[i];
        if (over) continue;
        query.target = answers;
        answers[i] = mask[i] ? find_best(engine, &query, i) : target[i];
        right += mask[i] && answers[i] == target[i];
        ended |= answers[i] == END;
        early |= answers[i] == END && target[i] != END;
        over = answers[i] == END && target[i] != END;
    }
    int has_end = mask[last - 1] && target[last - 1] == END;
    all->counted += counted;
    all->right += right;
    all->forced += forced;
    all->exact += counted > 0 && right == counted;
    all->early += early;
    all->open += has_end && !ended;
    all->sequences += counted > 0;
}

static sums answer_by_hand(lh_engine *engine, int draws) {
    sums all = {0};
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
            answer_one(engine, &batch, &query, &all);
        }
    lh_batch_close(&batch);
    return all;
}

static void check_close(double actual, double part, double whole) { assert_true(fabs(actual - part / whole) < 1e-12); }

static lh_eval_result evaluate(lh_engine *engine, bool teacher_forced, int greedy_examples) {
    lh_error error;
    lh_eval_result result;
    lh_eval_request request = {.lengths = {NULL, 0, N, N, 1},
                               .examples = EXAMPLES,
                               .draws = DRAWS,
                               .teacher_forced = teacher_forced,
                               .greedy_examples = greedy_examples,
                               .seed = LH_EVAL_SEED};
    lh_assert_ok(lh_evaluate(engine, &request, &result, &error), &error);
    return result;
}

/* drawn: whether positions are random; then the model hardly learns the end of a target. */
static void check(const lh_cpu_program *program, bool drawn, bool dropout) {
    const lh_cpu_program *const list[] = {program, NULL};
    static const uint16_t end = END;
    lh_spec spec = lh_toy_make_pair(list);
    lh_task task = *spec.task;
    static lh_step_metrics metrics[STEPS];
    task.sample = sample;
    task.end = &end;
    task.loss = LH_LOSS_ALL;
    spec.task = &task;
    if (drawn) spec.position_range[1] = 64;
    spec.eval.dropout = dropout;
    lh_engine_config config = {
        .spec = &spec, .seed = 5, .learning_rate = 0.02, .threads = 2, .trains = true, .fixed_length = N};
    lh_engine *engine = lh_test_open_engine(config, program);
    lh_test_step(engine, STEPS, metrics);
    lh_eval_result actual = evaluate(engine, false, 0);
    sums expected = answer_by_hand(engine, actual.draws);
    assert_int_equal(actual.draws, drawn || dropout ? DRAWS : 1);
    assert_ptr_equal(actual.decoding, lh_greedy);
    check_close(actual.accuracy, expected.right, expected.counted);
    check_close(actual.teacher_forced, expected.forced, expected.counted);
    check_close(actual.exact_match, expected.exact, expected.sequences);
    check_close(actual.ended_early, expected.early, expected.sequences);
    check_close(actual.not_ended, expected.open, expected.sequences);
    assert_true(expected.right != expected.forced && expected.exact < expected.sequences && expected.open > 0);
    assert_true(drawn || expected.early > 0);
    lh_eval_result forced = evaluate(engine, true, 0), some = evaluate(engine, false, EXAMPLES / 2);
    assert_ptr_equal(forced.decoding, lh_teacher_forced);
    assert_true(forced.accuracy == actual.teacher_forced && forced.exact_match == actual.exact_match);
    assert_true(some.exact_match == actual.exact_match && some.loss == actual.loss && some.accuracy != actual.accuracy);
    assert_int_equal(some.greedy_examples, EXAMPLES / 2);
    engine->ops->close(engine);
}

static void test_own_answers_are_decoded_from_the_cache(void **state) {
    check(&toy_float, false, false);
    check(&toy_drawn, true, false);
}

static void test_own_answers_are_decoded_by_passes(void **state) {
    lh_cpu_program passes = toy_float, drawn = toy_drawn;
    passes.decode_step = drawn.decode_step = NULL;
    check(&passes, false, false);
    check(&drawn, true, false);
}

/* Dropout depends on an example's index in its batch, so ended examples stay in the passes of decoding. */
static void test_own_answers_under_dropout_have_all_examples_in_every_pass(void **state) {
    lh_cpu_program drops = toy_drawn;
    drops.decode_step = NULL;
    drops.forward_block = forward_with_dropout;
    check(&drops, true, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_answers_are_decoded_from_the_cache),
        cmocka_unit_test(test_own_answers_are_decoded_by_passes),
        cmocka_unit_test(test_own_answers_under_dropout_have_all_examples_in_every_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
