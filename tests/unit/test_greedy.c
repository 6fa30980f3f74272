/* Exact match by a teacher-forced pass is what greedy decoding gives: a sequence whose every answer is right beside the
 * target's own tokens is one that is decoded to that target, and no other is. Of generated decoders and encoder-decoders
 * (tests/specs/parity_*.lua), also with draws of both streams, as they begin and when they have learnt something. */
#include "support/lh_test.h"

#include <stdlib.h>
#include <string.h>

#include "data/initialise.h"
#include "eval/decode.h"
#include "support/lh_parity.h"

extern const lh_spec longhand_spec_parity_decoder_rope, longhand_spec_parity_float64_decoder_alibi,
    longhand_spec_parity_float64_encoder_decoder, longhand_spec_parity_float64_drawn_layers,
    longhand_spec_parity_float64_drawn_pair;

enum { EXAMPLES = 60, DRAW = 2, MOST_LABELS = 8, MOST_CLASSES = 8 };

typedef struct greedy_case {
    const lh_spec *spec;
    int n, steps; /* of training, behind which some sequences are right and others are not */
} greedy_case;

static const greedy_case CASES[] = {
    {&longhand_spec_parity_decoder_rope, 4, 30},
    {&longhand_spec_parity_float64_decoder_alibi, 4, 30},
    {&longhand_spec_parity_float64_encoder_decoder, 4, 40},
    {&longhand_spec_parity_float64_drawn_layers, 3, 40},
    {&longhand_spec_parity_float64_drawn_pair, 2, 60},
};

/* Whether greedy decoding of an example gives its target as far as that counts: in these tasks nothing that counts is
 * behind what does not. */
static bool decodes_to_target(lh_engine *engine, const lh_condition *condition, lh_batch *batch, int example) {
    lh_error error;
    double logits[MOST_LABELS * MOST_CLASSES];
    uint16_t answers[MOST_LABELS], target[MOST_LABELS];
    int n = condition->n, counted = 0;
    lh_assert_ok(lh_batch_fill(batch, engine->spec, &condition->source, n, (uint32_t)example, 1, &error), &error);
    int labels = batch->shape.labels;
    assert_true(labels <= MOST_LABELS && engine->spec->classes <= MOST_CLASSES);
    while (counted < labels && batch->mask[counted]) counted++;
    for (int i = counted; i < labels; i++) assert_int_equal(batch->mask[i], 0);
    memcpy(target, batch->labels, (size_t)labels * sizeof *target);
    lh_query query = {.n = n, .input = batch->input, .draw = condition->draw, .example = (uint32_t)example};
    lh_assert_ok(lh_decode(engine, &query, logits, answers, &error), &error);
    return memcmp(answers, target, (size_t)counted * sizeof *target) == 0;
}

/* How many are right; every one by both ways or by neither. */
static int count_exact(lh_engine *engine, int n) {
    lh_error error;
    lh_batch batch;
    lh_sums sums, each[EXAMPLES];
    lh_condition condition = lh_condition_at(n, EXAMPLES, 1, DRAW);
    lh_assert_ok(lh_batch_open(&batch, engine->spec, n, 1, &error), &error);
    lh_assert_ok(engine->ops->evaluate(engine, &condition, &sums, each, &error), &error);
    for (int e = 0; e < EXAMPLES; e++)
        if (decodes_to_target(engine, &condition, &batch, e) != (each[e].exact == 1))
            fail_msg("%s: example %d is exact by one way alone", engine->spec->id, e);
    lh_batch_close(&batch);
    return (int)sums.exact;
}

static void check(const greedy_case *c) {
    lh_engine *engine;
    lh_error error;
    lh_lengths lengths = {NULL, 0, c->n, c->n, 1};
    lh_step_metrics metrics[8];
    lh_engine_config config = {
        .spec = c->spec, .seed = 4, .learning_rate = 3e-3, .threads = 2, .trains = true, .fixed_length = c->n};
    lh_assert_ok(lh_cpu_engine_open(&config, c->spec->cpu[0], &engine, &error), &error);
    lh_assert_ok(engine->ops->reserve(engine, &lengths, EXAMPLES, &error), &error);
    int before = count_exact(engine, c->n), done;
    for (int step = 0; step < c->steps; step += done) {
        int count = c->steps - step < 8 ? c->steps - step : 8;
        lh_assert_ok(engine->ops->step(engine, count, metrics, &done, &error), &error);
    }
    int behind = count_exact(engine, c->n);
    print_message("           %s: %d of %d, then %d\n", c->spec->id, before, EXAMPLES, behind);
    assert_in_range(behind, before + 1, EXAMPLES - 1);
    engine->ops->close(engine);
}

static void test_exact_match_is_what_greedy_decoding_gives(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) check(&CASES[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_match_is_what_greedy_decoding_gives),
    };
    return cmocka_run_group_tests_name("greedy", tests, NULL, NULL);
}
