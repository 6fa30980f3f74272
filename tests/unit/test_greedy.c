/* A sequence is decoded to its target if and only if every answer is right when the target's own tokens are given.
 * So the exact match of a teacher-forced pass equals the exact match of greedy decoding. The test checks this on
 * generated decoders and encoder-decoders (tests/specs/parity_*.lua), also with sampled positions of both streams,
 * before and after some training. */
#include "support/lh_test.h"

#include <stdlib.h>
#include <string.h>

#include "data/initialise.h"
#include "eval/decode.h"
#include "support/lh_engines.h"
#include "support/lh_parity.h"

extern const lh_spec longhand_spec_parity_decoder_rope, longhand_spec_parity_float64_decoder_alibi,
    longhand_spec_parity_float64_encoder_decoder, longhand_spec_parity_float64_drawn_layers,
    longhand_spec_parity_float64_drawn_pair;

enum { EXAMPLES = 60, MOST_STEPS = 60, DRAW = 2, MOST_INPUTS = 8, MOST_LABELS = 8, MOST_CLASSES = 8 };

typedef struct greedy_case {
    const lh_spec *spec;
    int n, steps; /* steps: steps of training, after which some sequences are right and some wrong */
} greedy_case;

static const greedy_case CASES[] = {
    {&longhand_spec_parity_decoder_rope, 4, 30},
    {&longhand_spec_parity_float64_decoder_alibi, 4, 30},
    {&longhand_spec_parity_float64_encoder_decoder, 4, 40},
    {&longhand_spec_parity_float64_drawn_layers, 3, 40},
    {&longhand_spec_parity_float64_drawn_pair, 2, 60},
};

/* The examples of an evaluation, and their greedily decoded answers. */
typedef struct decoded_examples {
    lh_batch batch;
    uint16_t input[EXAMPLES * MOST_INPUTS], answers[EXAMPLES * MOST_LABELS];
    int lengths[EXAMPLES];
    double logits[EXAMPLES * MOST_LABELS * MOST_CLASSES];
    int labels;
} decoded_examples;

static void open_examples(lh_engine *engine, const lh_condition *condition, decoded_examples *d) {
    lh_error error;
    int n = condition->n, inputs = lh_get_input_length(engine->spec, n);
    lh_assert_ok(lh_batch_open(&d->batch, engine->spec, n, EXAMPLES, &error), &error);
    for (int e = 0; e < EXAMPLES; e++) {
        uint32_t example = (uint32_t)e;
        lh_assert_ok(lh_batch_fill(&d->batch, engine->spec, &condition->source, n, example, 1, &error), &error);
        memcpy(d->input + e * inputs, d->batch.input, (size_t)inputs * sizeof *d->input);
    }
    lh_assert_ok(lh_batch_fill(&d->batch, engine->spec, &condition->source, n, 0, EXAMPLES, &error), &error);
    d->labels = d->batch.shape.labels;
    assert_true(inputs <= MOST_INPUTS && d->labels <= MOST_LABELS && engine->spec->classes <= MOST_CLASSES);
}

static void decode(lh_engine *engine, const lh_condition *condition, decoded_examples *d) {
    lh_error error;
    lh_query query = {.n = condition->n, .input = d->input, .draw = condition->draw};
    lh_assert_ok(lh_decode(engine, &query, EXAMPLES,
                           &(lh_answers){.answers = d->answers, .lengths = d->lengths, .logits = d->logits}, &error),
                 &error);
}

/* Whether greedy decoding gives all counted labels of an example. Checks that counted labels precede the others. */
static bool decodes_to_target(const decoded_examples *d, int example) {
    const uint8_t *mask = d->batch.mask + example * d->labels;
    int counted = 0;
    while (counted < d->labels && mask[counted]) counted++;
    for (int i = counted; i < d->labels; i++) assert_int_equal(mask[i], 0);
    return memcmp(d->answers + example * d->labels, d->batch.labels + example * d->labels,
                  (size_t)counted * sizeof *d->answers) == 0;
}

/* Checks that decoding with cached keys and values gives the bits of decoding by passes, and that each sequence ends at
 * its first end symbol. */
static void check_against_passes(lh_engine *engine, const lh_condition *condition, const decoded_examples *cached) {
    static decoded_examples passes;
    passes = *cached;
    assert_true(engine->decodes);
    engine->decodes = false;
    decode(engine, condition, &passes);
    engine->decodes = true;
    size_t answers = (size_t)(EXAMPLES * cached->labels);
    assert_memory_equal(passes.answers, cached->answers, answers * sizeof *cached->answers);
    assert_memory_equal(passes.lengths, cached->lengths, sizeof cached->lengths);
    assert_memory_equal(passes.logits, cached->logits,
                        answers * (size_t)engine->spec->classes * sizeof *cached->logits);
    for (int e = 0; e < EXAMPLES; e++)
        for (int i = 0; i < cached->lengths[e]; i++)
            assert_true(i + 1 == cached->lengths[e] ||
                        !lh_is_end_symbol(engine->spec, cached->answers[e * cached->labels + i]));
}

/* Counts the examples that the teacher-forced pass answers exactly. Decoding must be exact for the same examples. */
static int count_exact(lh_engine *engine, int n) {
    static decoded_examples d;
    lh_error error;
    lh_sums sums, sequence_sums[EXAMPLES];
    lh_condition condition = lh_make_condition(n, EXAMPLES, 1, DRAW);
    lh_assert_ok(engine->ops->evaluate(engine, &condition, &sums, sequence_sums, &error), &error);
    open_examples(engine, &condition, &d);
    decode(engine, &condition, &d);
    for (int e = 0; e < EXAMPLES; e++)
        if (decodes_to_target(&d, e) != (sequence_sums[e].exact == 1))
            fail_msg("%s: example %d is exact in decoding or in the pass, but not in both", engine->spec->id, e);
    check_against_passes(engine, &condition, &d);
    lh_batch_close(&d.batch);
    return (int)sums.exact;
}

static void check_case(const greedy_case *c) {
    lh_error error;
    lh_lengths lengths = {.first = c->n, .last = c->n, .step = 1};
    lh_step_metrics metrics[MOST_STEPS];
    assert_true(c->steps <= MOST_STEPS);
    lh_engine_config config = {
        .spec = c->spec, .seed = 4, .learning_rate = 3e-3, .threads = 2, .trains = true, .fixed_length = c->n};
    lh_engine *engine = lh_test_open_engine(config, c->spec->cpu[0]);
    lh_assert_ok(engine->ops->reserve(engine, &lengths, EXAMPLES, &error), &error);
    int old_exact = count_exact(engine, c->n);
    lh_test_step(engine, c->steps, metrics);
    int new_exact = count_exact(engine, c->n);
    print_message("           %s: %d of %d, then %d\n", c->spec->id, old_exact, EXAMPLES, new_exact);
    assert_in_range(new_exact, old_exact + 1, EXAMPLES - 1);
    engine->ops->close(engine);
}

static void test_exact_match_equals_greedy_decoding(void **state) {
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) check_case(&CASES[i]);
}

enum { LONG = 40, LONG_TOKENS = 200 };

static void (*real_score)(const lh_cpu_step *step, const lh_cpu_block *block, lh_sums *sums);

/* Returns the index of the wrong answer of an example. Wrong answers are spread over all indices. */
static int choose_error(int example, int labels) { return example * 7 % labels; }

/* Writes the labels as answers, with one wrong answer in each sequence. */
static void write_errors(const uint16_t *labels, int first, int sequences, int count, uint16_t *answers) {
    memcpy(answers, labels, (size_t)(sequences * count) * sizeof *answers);
    for (int s = 0; s < sequences; s++) {
        uint16_t *wrong_answer = &answers[s * count + choose_error(first + s, count)];
        *wrong_answer = (uint16_t)((*wrong_answer + 1) % 2);
    }
}

static void score_with_errors(const lh_cpu_step *step, const lh_cpu_block *block, lh_sums *sums) {
    real_score(step, block, sums);
    write_errors(block->labels, (int)block->first_example, block->sequences, step->shape.labels, block->answers);
}

/* An evaluation keeps the answers of the teacher-forced pass up to its first error, and decodes the later answers. All
 * answers must equal those that are decoded by passes. */
static void check_decoding_after_errors(const lh_spec *spec) {
    static uint16_t input[EXAMPLES * LONG_TOKENS], target[EXAMPLES * LONG_TOKENS], actual[EXAMPLES * LONG_TOKENS],
        expected[EXAMPLES * LONG_TOKENS];
    static uint8_t mask[EXAMPLES * LONG_TOKENS];
    static int lengths[EXAMPLES], expected_lengths[EXAMPLES], known_counts[EXAMPLES], limits[EXAMPLES];
    lh_cpu_program program = *spec->cpu[0];
    lh_error error;
    lh_batch batch;
    lh_sums sums;
    lh_lengths long_length = {.first = LONG, .last = LONG, .step = 1};
    lh_engine_config config = {.spec = spec, .seed = 4, .learning_rate = 3e-3, .threads = 2};
    real_score = program.score_block;
    program.score_block = score_with_errors;
    lh_engine *engine = lh_test_open_engine(config, &program);
    lh_assert_ok(engine->ops->reserve(engine, &long_length, EXAMPLES, &error), &error);
    lh_condition condition = lh_make_condition(LONG, EXAMPLES, 1, DRAW);
    condition.answers = actual;
    condition.lengths = lengths;
    condition.decoded_count = EXAMPLES;
    lh_assert_ok(engine->ops->evaluate(engine, &condition, &sums, NULL, &error), &error);
    lh_assert_ok(lh_batch_open(&batch, spec, LONG, 1, &error), &error);
    int inputs = lh_get_input_length(spec, LONG), labels = lh_make_shape(spec, LONG, 1).labels;
    assert_true(inputs <= LONG_TOKENS && labels <= LONG_TOKENS && labels > 32);
    for (int e = 0; e < EXAMPLES; e++) {
        lh_assert_ok(lh_batch_fill(&batch, spec, &condition.source, LONG, (uint32_t)e, 1, &error), &error);
        memcpy(input + e * inputs, batch.input, (size_t)inputs * sizeof *input);
        memcpy(target + e * labels, batch.labels, (size_t)labels * sizeof *target);
        memcpy(mask + e * labels, batch.mask, (size_t)labels);
    }
    write_errors(target, 0, EXAMPLES, labels, expected);
    for (int e = 0; e < EXAMPLES; e++) {
        limits[e] = lh_count_requested_answers(mask + e * labels, labels);
        known_counts[e] =
            lh_take_pass_answers(target + e * labels, mask + e * labels, limits[e], expected + e * labels);
    }
    lh_query query = {.n = LONG, .input = input, .target = target, .wants_answer = mask, .draw = condition.draw};
    engine->decodes = false;
    lh_assert_ok(
        lh_decode(engine, &query, EXAMPLES,
                  &(lh_answers){
                      .answers = expected, .lengths = expected_lengths, .known_counts = known_counts, .limits = limits},
                  &error),
        &error);
    for (int e = 0; e < EXAMPLES; e++)
        assert_memory_equal(actual + e * labels, expected + e * labels, (size_t)expected_lengths[e] * sizeof *actual);
    assert_memory_equal(lengths, expected_lengths, sizeof lengths);
    lh_batch_close(&batch);
    engine->ops->close(engine);
}

static void test_decoding_continues_after_an_error_at_any_answer(void **state) {
    check_decoding_after_errors(&longhand_spec_parity_float64_decoder_alibi);
    check_decoding_after_errors(&longhand_spec_parity_float64_encoder_decoder);
    check_decoding_after_errors(&longhand_spec_parity_float64_drawn_pair);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_match_equals_greedy_decoding),
        cmocka_unit_test(test_decoding_continues_after_an_error_at_any_answer),
    };
    return cmocka_run_group_tests_name("greedy", tests, NULL, NULL);
}
