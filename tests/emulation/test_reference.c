/* Device code (tests/specs/parity_*.lua) in the emulation, compared with the stored vectors of an independent
 * implementation and with kernels/ref: all networks with vectors, each in float32 or in float64, and some without
 * vectors. */
#include "support/lh_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device_parity.h"
#include "reference/pairs.h"

extern const lh_spec longhand_spec_parity_none, longhand_spec_parity_dropout_sincos, longhand_spec_parity_rand_sincos,
    longhand_spec_parity_learned, longhand_spec_parity_float64_rand_learned, longhand_spec_parity_float64_rope,
    longhand_spec_parity_dropout_rand_rope, longhand_spec_parity_rope_linear, longhand_spec_parity_rope_ntk,
    longhand_spec_parity_float64_rope_yarn, longhand_spec_parity_float64_relative, longhand_spec_parity_rand_relative,
    longhand_spec_parity_rand_relative_clamped, longhand_spec_parity_float64_rand_relative_difference,
    longhand_spec_parity_shaw, longhand_spec_parity_alibi, longhand_spec_parity_float64_alibi_learned,
    longhand_spec_parity_float64_geometric, longhand_spec_parity_geometric_raw, longhand_spec_parity_geometric_plain,
    longhand_spec_parity_decoder_rope, longhand_spec_parity_decoder_relative,
    longhand_spec_parity_float64_decoder_alibi;
extern const lh_spec longhand_spec_parity_lst_probe;
extern const lh_spec longhand_spec_parity_float64_encoder_decoder, longhand_spec_parity_float64_digits;
extern const lh_spec longhand_spec_parity_float64_fox, longhand_spec_parity_float64_cable,
    longhand_spec_parity_float64_grape, longhand_spec_parity_float64_cope, longhand_spec_parity_float64_cope_undivided,
    longhand_spec_parity_float64_row_sums, longhand_spec_parity_float64_stick_breaking,
    longhand_spec_parity_float64_stick_rests;
extern const lh_spec longhand_spec_parity_float64_passes, longhand_spec_parity_float64_passes_by_length,
    longhand_spec_parity_float64_passes_progressive, longhand_spec_parity_float64_passes_every,
    longhand_spec_parity_float64_passes_every_post, longhand_spec_parity_float64_passes_layers;
extern const lh_spec longhand_spec_parity_float64_layers, longhand_spec_parity_float64_layers_decoder;

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
    {"lst_probe", &longhand_spec_parity_lst_probe},
};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES };

/* Cases whose networks have two streams. */
static const lh_parity_case PAIRS[] = {
    {"encoder_decoder", &longhand_spec_parity_float64_encoder_decoder},
};
enum { PAIR_COUNT = sizeof PAIRS / sizeof *PAIRS };

/* Cases without stored vectors, which have random weights. */
static const lh_parity_case WITHOUT_VECTORS[] = {
    {NULL, &longhand_spec_parity_float64_fox},
    {NULL, &longhand_spec_parity_float64_cable},
    {NULL, &longhand_spec_parity_float64_grape},
    {NULL, &longhand_spec_parity_float64_cope},
    {NULL, &longhand_spec_parity_float64_cope_undivided},
    {NULL, &longhand_spec_parity_float64_row_sums},
    {NULL, &longhand_spec_parity_float64_stick_breaking},
    {NULL, &longhand_spec_parity_float64_stick_rests},
    {NULL, &longhand_spec_parity_float64_passes},
    {NULL, &longhand_spec_parity_float64_passes_by_length},
    {NULL, &longhand_spec_parity_float64_passes_progressive},
    {NULL, &longhand_spec_parity_float64_passes_every},
    {NULL, &longhand_spec_parity_float64_passes_every_post},
    {NULL, &longhand_spec_parity_float64_passes_layers},
    {NULL, &longhand_spec_parity_float64_layers},
    {NULL, &longhand_spec_parity_float64_layers_decoder},
};
enum { WITHOUT_VECTORS_COUNT = sizeof WITHOUT_VECTORS / sizeof *WITHOUT_VECTORS };

typedef lh_device_model model;
typedef lh_device_batch device_batch;

/* Opens a case with the stored weights on both sides. */
static model open_model(const lh_parity_case *parity_case) {
    model m = {parity_case,
               parity_case->spec,
               parity_case->spec->cuda->real_bytes,
               lh_vectors_open(parity_case->vectors),
               NULL,
               NULL,
               lh_parity_get_tolerance(parity_case->spec->cuda->real_bytes)};
    bool pair = parity_case->spec->format->streams > 1;
    m.reference = pair ? lh_pairs_make_model(m.file, lh_network_get(parity_case->spec->id))
                       : lh_parity_make_model(m.file, parity_case);
    m.parameters = lh_model_reserve((size_t)m.spec->parameter_storage * (size_t)m.real_bytes);
    lh_parity_write_parameters(m.spec, m.real_bytes, m.reference, m.parameters);
    return m;
}

static void close_model(model *m) {
    free(m->parameters);
    lh_ref_model_free(m->reference);
    lh_st_free(m->file);
}

static void for_each_model(void (*check)(model *)) {
    for (int i = 0; i < CASE_COUNT; i++) {
        print_message("           %s\n", CASES[i].spec->id);
        model m = open_model(&CASES[i]);
        check(&m);
        close_model(&m);
    }
}

/* ---- comparison with stored vectors ---- */

static void test_cases_cover_every_stored_network(void **state) {
    for (int i = 0; i < LH_VECTORS_FILES; i++) {
        int covered_count = 0, expected = lh_vectors_is_compiled(lh_vectors_name[i]);
        for (int c = 0; c < CASE_COUNT; c++) covered_count += strcmp(CASES[c].vectors, lh_vectors_name[i]) == 0;
        if (covered_count != expected) fail_msg("%d cases of %s, not %d", covered_count, lh_vectors_name[i], expected);
    }
}

static device_batch make_stored_batch(const lh_vectors_case *stored) {
    return (device_batch){.batch = stored->batch,
                          .distances = stored->sampled_distances,
                          .mask = lh_parity_full_mask,
                          .logits = stored->logits,
                          .loss = stored->loss / stored->batch.loss_scale};
}

static void check_stored(model *m) {
    lh_vectors_facts facts = lh_vectors_read_facts(m->file);
    for (int i = 0; i < LH_VECTORS_LENGTHS; i++) {
        lh_vectors_case stored = lh_vectors_read_case(m->file, facts.length[i]);
        device_batch d = make_stored_batch(&stored);
        lh_device_check_evaluation(m, &d, (lh_model_cut){.shards = i + 1, .team = 2});
        lh_vectors_case_free(&stored);
    }
}

static void test_evaluation_of_stored_batches_gives_stored_logits(void **state) { for_each_model(check_stored); }

/* Compares with the stored gradients, which are rounded to float32, also for a float64 model. */
static void check_stored_gradient(model *m) {
    if (lh_network_has_dropout(m->reference->network)) return;
    lh_vectors_case stored = lh_vectors_read_case(m->file, lh_vectors_read_facts(m->file).gradient_length);
    device_batch d = make_stored_batch(&stored);
    lh_parity_load_gradients(m->file, m->reference);
    lh_device_check_training(m, &d, (lh_model_cut){2, 2, 0}, fmax(m->tolerance->gradient, 0x1p-24));
    lh_vectors_case_free(&stored);
}

static void test_step_on_stored_batch_gives_stored_gradients(void **state) { for_each_model(check_stored_gradient); }

/* ---- two streams ---- */

static void check_pair(model *m) {
    int length[LH_PAIRS_LENGTHS];
    lh_pairs_read_lengths(m->file, length);
    for (int i = 0; i < LH_PAIRS_LENGTHS; i++) {
        lh_pairs_case stored;
        lh_pairs_read_case(m->file, m->reference->network, length[i], &stored);
        device_batch d = {.batch = stored.batch,
                          .mask = lh_parity_full_mask,
                          .logits = stored.logits,
                          .loss = stored.loss / stored.batch.loss_scale};
        lh_device_check_evaluation(m, &d, (lh_model_cut){.shards = i + 1, .team = 2});
        lh_pairs_case_free(&stored);
    }
}

static void check_pair_lengths(model *m) {
    lh_parity_case random_case = lh_parity_make_random_case(m->spec);
    m->parity_case = &random_case;
    lh_device_check_size(m, (lh_parity_size){1, 1, 1}, (lh_model_cut){1, 1, 0});
    lh_device_check_size(m, (lh_parity_size){5, 12, 12}, (lh_model_cut){5, 2, 1});
    lh_device_check_size(m, (lh_parity_size){19, 2, 3}, (lh_model_cut){4, 3, 2});
    lh_device_check_size(m, (lh_parity_size){2, 19, 19}, (lh_model_cut){3, 2, 3});
}

static void test_two_streams_give_stored_logits_and_match_reference(void **state) {
    for (int i = 0; i < PAIR_COUNT; i++) {
        print_message("           %s\n", PAIRS[i].spec->id);
        model m = open_model(&PAIRS[i]);
        check_pair(&m);
        check_pair_lengths(&m);
        close_model(&m);
    }
}

/* ---- comparison with kernels/ref at other lengths, in shards of every size, with dropout ---- */

static void check_lengths(model *m) {
    lh_device_check_size(m, (lh_parity_size){1, 1, 0}, (lh_model_cut){1, 1, 0});
    lh_device_check_size(m, (lh_parity_size){2, 1, 0}, (lh_model_cut){5, 2, 1});
    lh_device_check_size(m, (lh_parity_size){10, 5, 0}, (lh_model_cut){4, 3, 2});
    lh_device_check_size(m, (lh_parity_size){17, 17, 0}, (lh_model_cut){3, 2, 3});
    lh_device_check_size(m, (lh_parity_size){LH_PARITY_LONGEST, 18, 0}, (lh_model_cut){2, 1, 4});
}

static void test_every_length_and_cut_matches_reference(void **state) { for_each_model(check_lengths); }

static void check_limits(model *m) {
    if (!m->reference->network->families->is_geometric) return;
    for (int i = 0; i < LH_PARITY_LIMITS; i++) {
        lh_parity_set_limit(m->reference, i);
        lh_parity_write_parameters(m->spec, m->real_bytes, m->reference, m->parameters);
        lh_device_check_size(m, (lh_parity_size){1, 1, 0}, (lh_model_cut){1, 1, 0});
        lh_device_check_size(m, (lh_parity_size){17, 17, 0}, (lh_model_cut){3, 2, 3});
    }
}

static void test_geometric_limits_match_reference(void **state) { for_each_model(check_limits); }

/* Models with loops are compared at several numbers of passes, up to two more than in training. */
static void check_without_vectors(const lh_spec *spec) {
    lh_parity_case random_case = lh_parity_make_random_case(spec);
    model m = {.parity_case = &random_case,
               .spec = spec,
               .real_bytes = spec->cuda->real_bytes,
               .reference = lh_parity_make_random_model(spec),
               .tolerance = &lh_parity_random_tolerance};
    m.parameters = lh_model_reserve((size_t)spec->parameter_storage * (size_t)m.real_bytes);
    lh_parity_write_parameters(spec, m.real_bytes, m.reference, m.parameters);
    lh_device_check_size(&m, (lh_parity_size){1, 1, 1}, (lh_model_cut){1, 1, 0});
    lh_device_check_size(&m, (lh_parity_size){10, 5, 7}, (lh_model_cut){4, 3, 2});
    lh_device_check_size(&m, (lh_parity_size){LH_PARITY_LONGEST, 18, 19}, (lh_model_cut){2, 1, 4});
    for (int passes = 1; spec->passes > 0 && passes <= spec->passes + 2; passes++)
        lh_device_check_passes(&m, (lh_parity_size){12, 5, 0}, passes, (lh_model_cut){passes, 2, (unsigned)passes % 4});
    close_model(&m);
}

static void test_models_without_vectors_match_reference(void **state) {
    for (int i = 0; i < WITHOUT_VECTORS_COUNT; i++) {
        print_message("           %s\n", WITHOUT_VECTORS[i].spec->id);
        check_without_vectors(WITHOUT_VECTORS[i].spec);
    }
}

/* Every layer reads its own positions: the layers of the other tests share a draw and cannot show this. */
static void test_every_layer_reads_its_own_draws(void **state) {
    enum { TOKENS = 12, LAYERS = 2 };
    static const lh_parity_case rotation = {"rand_rope", &longhand_spec_parity_dropout_rand_rope};
    model m = open_model(&rotation);
    lh_parity_batch data;
    lh_parity_make_batch(&rotation, (lh_parity_size){TOKENS, 6, 0}, 0, &data);
    lh_draw draw = {data.batch.key, data.batch.step, LH_SHARED, LH_DOMAIN_POSITIONS, 0};
    const lh_shape shape = {1, {TOKENS, 0}, 6};
    int *draws = lh_model_make_draws(m.spec, (lh_cuda_passes){0, 0}, &draw, &shape, NULL, NULL, NULL);
    assert_int_equal(m.spec->cuda->draw_count(&shape), LAYERS * TOKENS);
    assert_memory_not_equal(draws, draws + TOKENS, TOKENS * sizeof *draws);
    data.batch.positions = draws;
    data.batch.position_rows = LAYERS;
    data.batch.distances = NULL;
    lh_device_check_batch(&m, &data, (lh_model_cut){2, 2, 0});
    free(draws);
    close_model(&m);
}

/* ---- positions that depend on tokens ---- */

/* In a sequence, tokens may share a position. */
static void test_positions_of_tokens_match_reference(void **state) {
    enum { TOKENS = 37, LABELS = 8 };
    static const lh_parity_case digits = {"rand_learned", &longhand_spec_parity_float64_digits};
    model m = open_model(&digits);
    lh_parity_batch data;
    int32_t positions[LH_PARITY_SEQUENCES * TOKENS];
    lh_rng rng = lh_rng_at(lh_key_of_seed(3), 0, 0, 0);
    for (int i = 0; i < LH_PARITY_SEQUENCES * TOKENS; i++)
        positions[i] = (int32_t)lh_rng_below(&rng, i < TOKENS ? 64 : 5);
    lh_parity_make_batch(&digits, (lh_parity_size){TOKENS, LABELS, 0}, 0, &data);
    double *logits = lh_parity_reserve((size_t)(LH_PARITY_SEQUENCES * LABELS * m.spec->classes) * sizeof *logits);
    double loss = lh_parity_run_each(m.reference, &data.batch, positions, TOKENS, logits, m.spec->classes);
    device_batch d = {data.batch, NULL, positions, data.mask, logits, loss};
    for (int shards = 1; shards <= LH_PARITY_SEQUENCES; shards++)
        lh_device_check_training(&m, &d, (lh_model_cut){shards, shards % 3 + 1, (unsigned)shards % 4},
                                 m.tolerance->gradient);
    lh_parity_make_evaluation(m.spec, &d.batch);
    d.loss = lh_parity_run_each(m.reference, &d.batch, positions, TOKENS, logits, m.spec->classes);
    lh_device_check_evaluation(&m, &d, (lh_model_cut){2, 2, 1});
    free(logits);
    close_model(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases_cover_every_stored_network),
        cmocka_unit_test(test_evaluation_of_stored_batches_gives_stored_logits),
        cmocka_unit_test(test_step_on_stored_batch_gives_stored_gradients),
        cmocka_unit_test(test_two_streams_give_stored_logits_and_match_reference),
        cmocka_unit_test(test_every_length_and_cut_matches_reference),
        cmocka_unit_test(test_geometric_limits_match_reference),
        cmocka_unit_test(test_models_without_vectors_match_reference),
        cmocka_unit_test(test_every_layer_reads_its_own_draws),
        cmocka_unit_test(test_positions_of_tokens_match_reference),
    };
    return cmocka_run_group_tests_name("reference", tests, NULL, NULL);
}
