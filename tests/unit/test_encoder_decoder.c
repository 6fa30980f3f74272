/* Generated encoder-decoders (tests/specs/parity_float64_{encoder_decoder,identity_encoder,masks,lines,corner}.lua)
 * compared with kernels/ref: values, and gradients of every parameter.
 *
 * Stored vectors of independent implementations are compared with
 *   - all of these specs except `corner`
 *   - tests/specs/parity_float64_drawn_layers.lua, which has random positions in both streams
 *   - the results of kernels/ref for tests/specs/networks/abc_*.lua */
#include "support/lh_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_level.h"
#include "reference/pairs.h"
#include "support/lh_trainer.h"

extern const lh_spec longhand_spec_parity_float64_encoder_decoder, longhand_spec_parity_float64_identity_encoder,
    longhand_spec_parity_float64_drawn_layers, longhand_spec_parity_float64_masks, longhand_spec_parity_float64_lines,
    longhand_spec_parity_float64_corner;

static const lh_spec *const SPECS[] = {
    &longhand_spec_parity_float64_encoder_decoder, &longhand_spec_parity_float64_identity_encoder,
    &longhand_spec_parity_float64_masks, &longhand_spec_parity_float64_lines, &longhand_spec_parity_float64_corner};

enum { SPEC_COUNT = sizeof SPECS / sizeof *SPECS };

static void test_encoder_decoders_match_reference(void **state) {
    /* tokens of the source, labels, tokens of the target */
    static const lh_parity_size sizes[] = {{1, 1, 1}, {5, 12, 12}, {19, 2, 3}, {2, 19, 19}, {9, 5, 8}, {16, 16, 16}};
    for (int i = 0; i < SPEC_COUNT; i++) {
        lh_ref_model *model = lh_parity_make_random_model(SPECS[i]);
        lh_parity_case parity_case = lh_parity_make_random_case(SPECS[i]);
        for (const lh_cpu_program *const *program = SPECS[i]->cpu; *program; program++) {
            if (!lh_level_is_supported((*program)->level)) continue;
            print_message("           %s on %s\n", SPECS[i]->id, (*program)->level);
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                lh_trainer_check_size(&parity_case, *program, model, sizes[s]);
        }
        lh_ref_model_free(model);
    }
}

/* ---- stored vectors ---- */

typedef struct stored_case {
    const char *name;    /* a name in lh_pairs_name */
    const lh_spec *spec; /* NULL: its generated code is not linked */
} stored_case;

/* LH_MORE_PAIRS: X(name) for each spec of tests/specs/networks whose code is linked (long_vectors.sh). */
#if defined(LH_MORE_PAIRS)
#define X(name) extern const lh_spec longhand_spec_##name;
LH_MORE_PAIRS
#undef X
#define X(name) {#name, &longhand_spec_##name},
#else
#define LH_MORE_PAIRS
#endif
static const stored_case COMPILED[] = {{"encoder_decoder", &longhand_spec_parity_float64_encoder_decoder},
                                       {"identity_encoder", &longhand_spec_parity_float64_identity_encoder},
                                       {"drawn_layers", &longhand_spec_parity_float64_drawn_layers},
                                       {"masks", &longhand_spec_parity_float64_masks},
                                       {"lines", &longhand_spec_parity_float64_lines},
                                       LH_MORE_PAIRS};

static const lh_spec *find_spec(const char *name) {
    for (size_t i = 0; i < sizeof COMPILED / sizeof *COMPILED; i++)
        if (strcmp(COMPILED[i].name, name) == 0) return COMPILED[i].spec;
    return NULL;
}

/* A pass over a stored batch, by a program or by kernels/ref. */
typedef struct pass {
    lh_ref_model *model;
    const lh_spec *spec;
    const lh_cpu_program *program; /* NULL: kernels/ref */
    const lh_pairs_case *stored;
    int heads;
    double *logits;                    /* result */
    double *attention[LH_MAX_STREAMS]; /* result: the decoder's last layer; [stream of the keys] */
} pass;

static size_t count_pairs(const pass *p, int stream) {
    int queries = p->stored->batch.target_tokens, keys = stream == 1 ? queries : p->stored->batch.tokens;
    return (size_t)(p->heads * queries * keys);
}

static size_t count_logits(const pass *p) {
    return (size_t)(p->stored->batch.sequences * p->stored->batch.labels * p->model->network->classes);
}

/* Stores the attention of a layer of the decoder. The next layer overwrites it, so the attention of the last layer
 * remains. Layers of the encoder have one attention and are skipped. */
static void store_layer(void *context, int sequence, int layer, const lh_ref_layer_values *values) {
    pass *p = context;
    const double *attention[LH_MAX_STREAMS] = {values->cross, values->attention};
    for (int s = 0; values->cross && s < LH_MAX_STREAMS; s++)
        memcpy(p->attention[s] + (size_t)sequence * count_pairs(p, s), attention[s],
               count_pairs(p, s) * sizeof(double));
}

/* Returns the summed loss, and computes gradients if the batch has a backward pass. */
static double run_reference(pass *p, const lh_ref_batch *batch) {
    lh_ref_observer observer = {store_layer, p};
    lh_ref_batch observed = *batch;
    observed.observer = &observer;
    return lh_ref_run(p->model, &observed, p->logits);
}

/* Runs the program without dropout. The loss of these tasks includes labels whose mask is 0. */
static double run_program(pass *p, const lh_ref_batch *batch) {
    static const uint8_t mask[LH_PARITY_SEQUENCES * LH_PARITY_LONGEST] = {0};
    lh_trainer t = lh_trainer_open(p->spec, p->program, p->model, batch, NULL, LH_MODE_EVALUATE);
    memcpy(t.step.positions, p->stored->positions, sizeof t.step.positions);
    memcpy(t.step.distances, p->stored->distances, sizeof t.step.distances);
    p->program->begin_step(&t.step, 0, 1);
    lh_trainer_run(&t, batch, mask, 2, p->logits);
    lh_trace *to = lh_parity_reserve((size_t)p->spec->site_count * sizeof *to);
    for (int site = 0; site < p->spec->site_count; site++) {
        const lh_trace_site *traced_site = &p->spec->sites[site];
        if (traced_site->heads > 0 && traced_site->query == 1) to[site].attention = p->attention[traced_site->key];
    }
    lh_cpu_block block = {
        .sequences = batch->sequences, .tokens = {batch->token, batch->target}, .labels = batch->label, .mask = mask};
    lh_sums sums = {0};
    p->program->trace_block(&t.step, &block, t.workspace, to, &sums);
    free(to);
    lh_trainer_close(&t);
    return sums.loss;
}

static double run_pass(pass *p, const lh_ref_batch *batch) {
    return (p->program ? run_program : run_reference)(p, batch);
}

/* Decodes token by token. A token of the target is a class plus `shift`. If shift is 0, the last label is the class
 * that ends a sequence. */
static void check_greedy(pass *p) {
    const lh_pairs_case *stored = p->stored;
    int m = stored->batch.labels, classes = p->model->network->classes, shift = stored->target[1] - stored->label[0];
    uint16_t *generated = lh_parity_reserve((size_t)(stored->batch.sequences * m) * sizeof *generated);
    memcpy(generated, stored->target, (size_t)(stored->batch.sequences * m) * sizeof *generated);
    lh_ref_batch batch = stored->batch;
    batch.target = generated;
    batch.backward = false;
    for (int t = 0; t < m; t++) {
        run_pass(p, &batch);
        for (int s = 0; s < batch.sequences; s++) {
            const double *logits = p->logits + (s * m + t) * classes;
            const int32_t *expected = &stored->greedy[s * m + t];
            bool has_ended = t > 0 && (expected[-1] < 0 || (shift == 0 && expected[-1] == stored->label[m - 1]));
            int best = 0;
            for (int c = 1; c < classes; c++) best = logits[c] > logits[best] ? c : best;
            assert_int_equal(*expected, has_ended ? -1 : best);
            if (t + 1 < m) generated[s * m + t + 1] = (uint16_t)(best + shift);
        }
    }
    free(generated);
}

static void check_pass(pass *p) {
    const lh_pairs_case *stored = p->stored;
    double bound = lh_parity_get_tolerance(8)->logits, loss = run_pass(p, &stored->batch) * stored->batch.loss_scale;
    lh_assert_close(&loss, &stored->loss, 1, bound, 0);
    lh_parity_check_values(8, p->logits, stored->logits, count_logits(p), bound);
    if (!stored->greedy) return;
    for (int s = 0; s < LH_MAX_STREAMS; s++)
        lh_assert_close(p->attention[s], stored->attention[s], (size_t)stored->batch.sequences * count_pairs(p, s),
                        bound, bound);
    check_greedy(p);
}

/* Compares with stored values. Afterwards the model has the gradients of kernels/ref. */
static void check_stored(const lh_spec *spec, const lh_st_file *file, lh_ref_model *model, int n) {
    lh_pairs_case stored;
    const lh_ref_network *network = model->network;
    lh_pairs_read_case(file, network, n, &stored);
    pass p = {
        .model = model, .spec = spec, .stored = &stored, .heads = network->families[network->family_count - 1].heads};
    p.logits = lh_parity_reserve(count_logits(&p) * sizeof(double));
    for (int s = 0; s < LH_MAX_STREAMS; s++)
        p.attention[s] = lh_parity_reserve((size_t)stored.batch.sequences * count_pairs(&p, s) * sizeof(double));
    for (const lh_cpu_program *const *program = spec ? spec->cpu : NULL; program && *program; program++) {
        if (!lh_level_is_supported((*program)->level)) continue;
        p.program = *program;
        check_pass(&p);
    }
    p.program = NULL;
    lh_ref_model_clear(model);
    check_pass(&p);
    lh_pairs_case_free(&stored);
    free(p.logits);
    for (int s = 0; s < LH_MAX_STREAMS; s++) free(p.attention[s]);
}

/* Compares the model's gradients after lh_ref_run with the stored gradients, which are rounded to float32. */
static void check_stored_gradients(const lh_st_file *file, const lh_ref_model *model) {
    for (int i = 0; i < model->tensor_count; i++) {
        const lh_ref_tensor *tensor = &model->tensors[i];
        char name[80];
        int count = 0;
        snprintf(name, sizeof name, "gradient.%s", tensor->name);
        double *expected = lh_vectors_read_doubles(file, name, &count);
        assert_non_null(expected);
        lh_assert_close(tensor->gradient, expected, (size_t)count, 1.2e-7, 1e-12);
        free(expected);
    }
}

static void test_encoder_decoders_match_stored_vectors(void **state) {
    for (int i = 0; i < LH_PAIRS_FILES; i++) {
        const lh_spec *spec = find_spec(lh_pairs_name[i]);
        print_message("           %s%s\n", lh_pairs_name[i], spec ? ", and generated code" : "");
        lh_st_file *file = lh_vectors_open(lh_pairs_name[i]);
        lh_ref_model *model = lh_pairs_make_model(file, lh_vectors_find_network(lh_pairs_name[i]));
        int length[LH_PAIRS_LENGTHS];
        lh_pairs_read_lengths(file, length);
        for (int l = 0; l < LH_PAIRS_LENGTHS; l++) check_stored(spec, file, model, length[l]);
        check_stored_gradients(file, model); /* gradients of the last case */
        lh_ref_model_free(model);
        lh_st_free(file);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoder_decoders_match_stored_vectors),
        cmocka_unit_test(test_encoder_decoders_match_reference),
    };
    return cmocka_run_group_tests_name("encoder_decoder", tests, NULL, NULL);
}
