/* Device code (tests/specs/parity_*.lua) in the emulation against the stored vectors of an independent implementation
 * and against kernels/ref: all that have vectors, in float32 and in float64. */
#include "support/lh_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launch_model.h"
#include "support/lh_parity.h"

extern const lh_spec longhand_spec_parity_none, longhand_spec_parity_dropout_sincos, longhand_spec_parity_rand_sincos,
    longhand_spec_parity_learned, longhand_spec_parity_float64_rand_learned, longhand_spec_parity_float64_rope,
    longhand_spec_parity_dropout_rand_rope, longhand_spec_parity_rope_linear, longhand_spec_parity_rope_ntk,
    longhand_spec_parity_float64_rope_yarn, longhand_spec_parity_float64_relative, longhand_spec_parity_rand_relative,
    longhand_spec_parity_rand_relative_clamped, longhand_spec_parity_float64_rand_relative_difference,
    longhand_spec_parity_shaw, longhand_spec_parity_alibi, longhand_spec_parity_float64_alibi_learned,
    longhand_spec_parity_float64_geometric, longhand_spec_parity_geometric_raw, longhand_spec_parity_geometric_plain,
    longhand_spec_parity_decoder_rope, longhand_spec_parity_decoder_relative,
    longhand_spec_parity_float64_decoder_alibi;

static const lh_parity_case CASES[] = {
    {"none", &longhand_spec_parity_none},
    {"sincos", &longhand_spec_parity_dropout_sincos},
    {"rand_sincos", &longhand_spec_parity_rand_sincos},
    {"learned", &longhand_spec_parity_learned},
    {"rand_learned", &longhand_spec_parity_float64_rand_learned},
    {"rope", &longhand_spec_parity_float64_rope},
    {"rand_rope", &longhand_spec_parity_dropout_rand_rope},
    {"rope_linear", &longhand_spec_parity_rope_linear},
    {"rope_ntk", &longhand_spec_parity_rope_ntk},
    {"rope_yarn", &longhand_spec_parity_float64_rope_yarn},
    {"relative", &longhand_spec_parity_float64_relative},
    {"rand_relative", &longhand_spec_parity_rand_relative},
    {"rand_relative_clamped", &longhand_spec_parity_rand_relative_clamped},
    {"rand_relative_difference", &longhand_spec_parity_float64_rand_relative_difference},
    {"shaw", &longhand_spec_parity_shaw},
    {"alibi", &longhand_spec_parity_alibi},
    {"rand_alibi", &longhand_spec_parity_float64_alibi_learned},
    {"geometric", &longhand_spec_parity_float64_geometric},
    {"geometric_raw", &longhand_spec_parity_geometric_raw},
    {"geometric_plain", &longhand_spec_parity_geometric_plain},
    {"decoder_rope", &longhand_spec_parity_decoder_rope},
    {"decoder_relative", &longhand_spec_parity_decoder_relative},
    {"decoder_alibi", &longhand_spec_parity_float64_decoder_alibi},
};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES };

/* ---- one model at work ---- */

/* A case's weights as the stored file has them, on both sides. */
typedef struct model {
    const lh_parity_case *about;
    const lh_spec *spec;
    int real_bytes;
    lh_st_file *file;
    lh_ref_model *reference;
    void *parameters;
    const lh_parity_tolerance *tolerance;
} model;

static model open_model(const lh_parity_case *about) {
    model m = {about,
               about->spec,
               about->spec->cuda->real_bytes,
               lh_vectors_open(about->vectors),
               NULL,
               NULL,
               lh_parity_tolerance_of(about->spec->cuda->real_bytes)};
    m.reference = lh_parity_model(m.file, about);
    m.parameters = lh_model_reserve((size_t)m.spec->parameter_storage * (size_t)m.real_bytes);
    lh_parity_load(m.spec, m.real_bytes, m.reference, m.parameters);
    return m;
}

static void close_model(model *m) {
    free(m->parameters);
    lh_ref_model_free(m->reference);
    lh_st_free(m->file);
}

/* A batch, and what is wanted of it. */
typedef struct question {
    lh_ref_batch batch;
    const int32_t *drawn; /* [tokens] distances, where the encoding draws them */
    const uint8_t *mask;
    const double *logits;
    double loss; /* summed */
} question;

/* The same as the kernels get it. */
typedef struct inputs {
    lh_cuda_step step;
    void *tables;
    int *draws;
} inputs;

static inputs open_inputs(const model *m, const question *q) {
    const lh_ref_batch *batch = &q->batch;
    const lh_shape shape = {batch->sequences, {batch->tokens, 0}, batch->labels};
    inputs in = {.tables = lh_model_tables(m->spec, &shape),
                 .draws = lh_model_draws(m->spec, NULL, &shape, batch->positions, q->drawn)};
    if (batch->draws > 1) memcpy(in.draws, batch->positions, (size_t)(batch->draws * batch->tokens) * sizeof *in.draws);
    in.step = (lh_cuda_step){.tokens = {batch->token},
                             .labels = batch->label,
                             .mask = q->mask,
                             .draws = in.draws,
                             .sequences = batch->sequences,
                             .T = {batch->tokens},
                             .label_count = batch->labels,
                             .step = batch->step,
                             .key = {batch->key.word[0], batch->key.word[1]},
                             .rate = 1e-3,
                             .correct2 = 1000,
                             .loss_scale = batch->loss_scale};
    return in;
}

static void close_inputs(inputs *in) {
    free(in->tables);
    free(in->draws);
}

static void for_each_model(void (*check)(model *)) {
    for (int i = 0; i < CASE_COUNT; i++) {
        print_message("           %s\n", CASES[i].spec->id);
        model m = open_model(&CASES[i]);
        check(&m);
        close_model(&m);
    }
}

/* ---- comparisons ---- */

static void check_loss(const model *m, double loss, double want) {
    lh_assert_close(&loss, &want, 1, m->tolerance->loss, 0);
}

static lh_parity_counts counts_of(const model *m, const question *q) {
    return lh_parity_count(&q->batch, m->spec->classes, q->logits, q->mask);
}

/* Evaluation by `team` blocks, `shards` sequences at a time. */
static void check_evaluation(const model *m, const question *q, lh_model_cut cut) {
    size_t count = (size_t)(q->batch.sequences * q->batch.labels * m->spec->classes);
    void *logits = lh_model_reserve(count * (size_t)m->real_bytes);
    lh_cuda_answer answers[LH_PARITY_SEQUENCES];
    inputs in = open_inputs(m, q);
    lh_model_evaluate(m->spec, m->parameters, in.tables, &in.step, cut.team, cut.shards, cut.order, answers, logits);
    lh_parity_check_logits(m->real_bytes, logits, q->logits, count, m->tolerance->logits);
    lh_parity_counts want = counts_of(m, q), got = {0, 0, 0};
    double loss = 0;
    for (int b = 0; b < q->batch.sequences; b++) {
        loss += answers[b].loss;
        got.counted += answers[b].counted;
        got.correct += answers[b].correct;
        got.exact += answers[b].correct == answers[b].counted;
    }
    check_loss(m, loss, q->loss);
    assert_memory_equal(&got, &want, sizeof got);
    close_inputs(&in);
    free(logits);
}

/* A step's sums, and that its gradients are the model's. */
static void check_training(const model *m, const question *q, lh_model_cut cut, double tolerance) {
    inputs in = open_inputs(m, q);
    lh_model_step got = lh_model_train(m->spec, m->parameters, in.tables, &in.step, cut);
    lh_parity_counts want = counts_of(m, q);
    assert_int_equal(got.result.state, LH_CUDA_DONE);
    check_loss(m, got.result.sums.loss, q->loss);
    assert_int_equal(got.result.sums.counted, want.counted);
    assert_int_equal(got.result.sums.correct, want.correct);
    assert_int_equal(got.result.sums.exact_ones, want.exact);
    lh_parity_check_gradients(m->spec, m->real_bytes, got.gradient, m->reference, tolerance);
    lh_model_step_free(&got);
    close_inputs(&in);
}

/* ---- against the stored vectors ---- */

static void test_cases_cover_every_stored_network(void **state) {
    (void)state;
    for (int i = 0; i < LH_VECTORS_FILES; i++) {
        int covered = 0, wanted = lh_vectors_compiled(lh_vectors_name[i]);
        for (int c = 0; c < CASE_COUNT; c++) covered += strcmp(CASES[c].vectors, lh_vectors_name[i]) == 0;
        if (covered != wanted) fail_msg("%d cases of %s, not %d", covered, lh_vectors_name[i], wanted);
    }
}

static question stored_question(const lh_vectors_case *stored) {
    return (question){.batch = stored->batch,
                      .drawn = stored->drawn,
                      .mask = lh_parity_all_count,
                      .logits = stored->logits,
                      .loss = stored->loss / stored->batch.loss_scale};
}

static void check_stored(model *m) {
    lh_vectors_facts facts = lh_vectors_facts_of(m->file);
    for (int i = 0; i < LH_VECTORS_LENGTHS; i++) {
        lh_vectors_case stored = lh_vectors_case_of(m->file, facts.length[i]);
        question q = stored_question(&stored);
        check_evaluation(m, &q, (lh_model_cut){.shards = i + 1, .team = 2});
        lh_vectors_case_free(&stored);
    }
}

static void test_evaluation_of_stored_batches_gives_stored_logits(void **state) {
    (void)state;
    for_each_model(check_stored);
}

/* The stored gradients are rounded to float32, so that a model in float64 is compared to that. */
static void check_stored_gradient(model *m) {
    if (lh_network_drops(m->reference->network)) return;
    lh_vectors_case stored = lh_vectors_case_of(m->file, lh_vectors_facts_of(m->file).gradient_length);
    question q = stored_question(&stored);
    lh_parity_stored_gradients(m->file, m->reference);
    check_training(m, &q, (lh_model_cut){2, 2, 0}, fmax(m->tolerance->gradient, 0x1p-24));
    lh_vectors_case_free(&stored);
}

static void test_step_on_stored_batch_gives_stored_gradients(void **state) {
    (void)state;
    for_each_model(check_stored_gradient);
}

/* ---- against kernels/ref at other lengths, in shards of every size, with dropout ---- */

static void check_made(model *m, lh_parity_batch *made, lh_model_cut cut) {
    double *logits =
        lh_parity_reserve(sizeof made->label / sizeof *made->label * (size_t)m->spec->classes * sizeof *logits);
    double loss = lh_parity_run(m->reference, made, logits);
    question q = {made->batch, made->drawn, made->mask, logits, loss};
    check_training(m, &q, cut, m->tolerance->gradient);
    q.batch.dropping = LH_REF_NO_DROPOUT; /* evaluation never drops out */
    q.batch.backward = false;
    q.loss = lh_ref_run(m->reference, &q.batch, logits);
    check_evaluation(m, &q, cut);
    free(logits);
}

static void check_reference_at(model *m, int tokens, int labels, lh_model_cut cut) {
    lh_parity_batch made;
    lh_parity_make_batch(m->about, tokens, labels, 0, &made);
    check_made(m, &made, cut);
}

static void check_reference(model *m) {
    check_reference_at(m, 1, 1, (lh_model_cut){1, 1, 0});
    check_reference_at(m, 2, 1, (lh_model_cut){5, 2, 1});
    check_reference_at(m, 10, 5, (lh_model_cut){4, 3, 2});
    check_reference_at(m, 17, 17, (lh_model_cut){3, 2, 3});
    check_reference_at(m, LH_PARITY_LONGEST, 18, (lh_model_cut){2, 1, 4});
}

static void test_every_length_and_cut_matches_reference(void **state) {
    (void)state;
    for_each_model(check_reference);
}

#if LH_RANDOM_COUNT > 0
/* A random network with weights of its own; about outlives it. */
static model open_random(const lh_parity_case *about) {
    model m = {.about = about,
               .spec = about->spec,
               .real_bytes = about->spec->cuda->real_bytes,
               .reference = lh_parity_random_model(about->spec),
               .tolerance = &lh_parity_random_tolerance};
    m.parameters = lh_model_reserve((size_t)m.spec->parameter_storage * (size_t)m.real_bytes);
    lh_parity_load(m.spec, m.real_bytes, m.reference, m.parameters);
    return m;
}

/* LH_RANDOM_SPECS: X(id) for each of the random networks that have device code. */
#define X(id) extern const lh_spec longhand_spec_##id;
LH_RANDOM_SPECS
#undef X
#define X(id) &longhand_spec_##id,
static const lh_spec *const RANDOM_SPECS[] = {LH_RANDOM_SPECS};
#undef X

static void test_random_networks_match_reference(void **state) {
    (void)state;
    for (int i = 0; i < LH_RANDOM_COUNT; i++) {
        print_message("           %s\n", RANDOM_SPECS[i]->id);
        lh_parity_case about = lh_parity_random_case(RANDOM_SPECS[i]);
        model m = open_random(&about);
        check_reference(&m);
        close_model(&m);
    }
}
#endif

static void check_limits(model *m) {
    if (!m->reference->network->families->geometric) return;
    for (int i = 0; i < LH_PARITY_LIMITS; i++) {
        lh_parity_set_limit(m->reference, i);
        lh_parity_load(m->spec, m->real_bytes, m->reference, m->parameters);
        check_reference_at(m, 1, 1, (lh_model_cut){1, 1, 0});
        check_reference_at(m, 17, 17, (lh_model_cut){3, 2, 3});
    }
}

static void test_geometric_limits_match_reference(void **state) {
    (void)state;
    for_each_model(check_limits);
}

/* Every layer reads positions of its own: what the other tests cannot tell, whose layers share a draw. */
static void test_layers_read_draws_of_their_own(void **state) {
    (void)state;
    enum { TOKENS = 12, LAYERS = 2 };
    static const lh_parity_case rotation = {"rand_rope", &longhand_spec_parity_dropout_rand_rope};
    model m = open_model(&rotation);
    lh_parity_batch made;
    lh_parity_make_batch(&rotation, TOKENS, 6, 0, &made);
    lh_draw draw = {made.batch.key, made.batch.step, LH_SHARED, LH_DOMAIN_POSITIONS};
    const lh_shape shape = {1, {TOKENS, 0}, 6};
    int *draws = lh_model_draws(m.spec, &draw, &shape, NULL, NULL);
    assert_int_equal(m.spec->cuda->draw_count(&shape), LAYERS * TOKENS);
    assert_memory_not_equal(draws, draws + TOKENS, TOKENS * sizeof *draws);
    made.batch.positions = draws;
    made.batch.draws = LAYERS;
    made.batch.distances = NULL;
    check_made(&m, &made, (lh_model_cut){2, 2, 0});
    free(draws);
    close_model(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases_cover_every_stored_network),
        cmocka_unit_test(test_evaluation_of_stored_batches_gives_stored_logits),
        cmocka_unit_test(test_step_on_stored_batch_gives_stored_gradients),
        cmocka_unit_test(test_every_length_and_cut_matches_reference),
#if LH_RANDOM_COUNT > 0
        cmocka_unit_test(test_random_networks_match_reference),
#endif
        cmocka_unit_test(test_geometric_limits_match_reference),
        cmocka_unit_test(test_layers_read_draws_of_their_own),
    };
    return cmocka_run_group_tests_name("reference", tests, NULL, NULL);
}
