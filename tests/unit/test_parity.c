/* Generated CPU trainers (tests/specs/parity_*.lua) against the stored vectors of an independent implementation and
 * against kernels/ref, on every instruction-set level that they were compiled for (EVERY_LEVEL in the Makefile) and that
 * this machine runs. */
#include "support/lh_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/level.h"
#include "longhand/spec.h"
#include "ref/encoder.h"
#include "reference/vectors.h"

extern const lh_spec lh_parity_none, lh_parity_sincos, lh_parity_learned, lh_parity_rope, lh_parity_rand_sincos,
    lh_parity_rand_learned, lh_parity_rand_rope, lh_parity_dropout_sincos, lh_parity_dropout_rand_rope,
    lh_parity_float64_rope, lh_parity_float64_rand_learned, lh_parity_relative, lh_parity_rand_relative,
    lh_parity_rand_relative_clamped, lh_parity_rand_relative_difference, lh_parity_shaw, lh_parity_float64_relative,
    lh_parity_float64_rand_relative_difference;
extern const lh_spec lh_parity_rope_linear, lh_parity_rope_ntk, lh_parity_rope_yarn, lh_parity_float64_rope_yarn;
extern const lh_spec lh_parity_alibi, lh_parity_rand_alibi, lh_parity_float64_alibi_learned;

typedef struct parity_case {
    const char *encoding; /* of the stored vectors */
    const lh_spec *spec;
    double dropout;
} parity_case;

static const parity_case CASES[] = {
    {"none", &lh_parity_none, 0},
    {"sincos", &lh_parity_sincos, 0},
    {"learned", &lh_parity_learned, 0},
    {"rope", &lh_parity_rope, 0},
    {"rand_sincos", &lh_parity_rand_sincos, 0},
    {"rand_learned", &lh_parity_rand_learned, 0},
    {"rand_rope", &lh_parity_rand_rope, 0},
    {"sincos", &lh_parity_dropout_sincos, 0.1},
    {"rand_rope", &lh_parity_dropout_rand_rope, 0.1},
    {"rope", &lh_parity_float64_rope, 0},
    {"rand_learned", &lh_parity_float64_rand_learned, 0},
    {"rope_linear", &lh_parity_rope_linear, 0},
    {"rope_ntk", &lh_parity_rope_ntk, 0},
    {"rope_yarn", &lh_parity_rope_yarn, 0},
    {"rope_yarn", &lh_parity_float64_rope_yarn, 0},
    {"relative", &lh_parity_relative, 0},
    {"rand_relative", &lh_parity_rand_relative, 0},
    {"rand_relative_clamped", &lh_parity_rand_relative_clamped, 0},
    {"rand_relative_difference", &lh_parity_rand_relative_difference, 0},
    {"shaw", &lh_parity_shaw, 0},
    {"relative", &lh_parity_float64_relative, 0},
    {"rand_relative_difference", &lh_parity_float64_rand_relative_difference, 0},
    {"alibi", &lh_parity_alibi, 0},
    {"rand_alibi", &lh_parity_rand_alibi, 0},
    {"rand_alibi", &lh_parity_float64_alibi_learned, 0},
};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES };

/* Largest error of an element, relative to the largest element of its tensor (gradients: at least a hundredth of the
 * largest gradient of the model, because a tensor's gradient may cancel altogether, as that of queries at T = 1). */
typedef struct tolerance {
    double logits, loss, gradient;
} tolerance;
static const tolerance FLOAT32 = {4e-6, 2e-6, 1e-5};    /* 2^-24, some hundred roundings in a row through two layers */
static const tolerance FLOAT64 = {4e-14, 4e-14, 4e-14}; /* 2^-53, likewise */

static const tolerance *tolerance_of(const lh_cpu_program *program) {
    return program->real_bytes == 8 ? &FLOAT64 : &FLOAT32;
}

/* ---- one program at work ---- */

typedef struct trainer {
    const lh_spec *spec;
    const lh_cpu_program *program;
    lh_cpu_step step;
    void *parameters, *tables, *workspace, *gradient;
    lh_sums sums;
} trainer;

/* Zeroed and on a cache line, as the engine gives it. */
static void *reserve(size_t bytes) {
    size_t whole = (bytes + 64) / 64 * 64;
    void *memory = aligned_alloc(64, whole);
    assert_non_null(memory);
    memset(memory, 0, whole);
    return memory;
}

static double get_real(const lh_cpu_program *program, const void *array, size_t i) {
    return program->real_bytes == 8 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

static void set_real(const lh_cpu_program *program, void *array, size_t i, double value) {
    if (program->real_bytes == 8) ((double *)array)[i] = value;
    else ((float *)array)[i] = (float)value;
}

/* Element (r, c) of a tensor within the parameter vector. */
static size_t place_of(const lh_tensor *tensor, int columns, int index) {
    return (size_t)(tensor->offset + index / columns * tensor->stride + index % columns);
}

static const lh_tensor *spec_tensor(const lh_spec *spec, const char *name) {
    for (int i = 0; i < spec->tensor_count; i++)
        if (strcmp(spec->tensors[i].name, name) == 0) return &spec->tensors[i];
    fail_msg("%s has no tensor %s", spec->id, name);
    return NULL;
}

/* Slopes of ALiBi for two heads. */
static const double SLOPE[] = {1.0 / 16, 1.0 / 256};

/* The tensor of learned slopes, which the stored model does not have, or NULL. */
static const lh_tensor *slopes_of(const lh_spec *spec) {
    for (int i = 0; i < spec->tensor_count; i++)
        if (strcmp(spec->tensors[i].name, "score.slope") == 0) return &spec->tensors[i];
    return NULL;
}

static void load_parameters(trainer *t, const lh_ref_encoder *encoder) {
    const lh_tensor *slopes = slopes_of(t->spec);
    assert_int_equal(t->spec->tensor_count, encoder->tensor_count + (slopes != NULL));
    for (int h = 0; slopes && h < 2; h++) set_real(t->program, t->parameters, place_of(slopes, 2, h), SLOPE[h]);
    for (int i = 0; i < encoder->tensor_count; i++) {
        const lh_ref_tensor *from = &encoder->tensors[i];
        const lh_tensor *to = spec_tensor(t->spec, from->name);
        assert_int_equal(to->shape[to->rank - 1], from->columns);
        if (to->rank == 2) assert_int_equal(to->shape[0], from->rows);
        for (int e = 0; e < from->rows * from->columns; e++)
            set_real(t->program, t->parameters, place_of(to, from->columns, e), from->value[e]);
    }
}

/* Everything that a step of this mode and batch needs; drawn: distances, where the encoding draws them. close_trainer
 * frees it. */
static trainer open_trainer(const lh_spec *spec, const lh_cpu_program *program, const lh_ref_encoder *encoder,
                            const lh_ref_batch *batch, const int32_t *drawn, lh_mode mode) {
    trainer t = {.spec = spec, .program = program};
    lh_shape shape = {batch->sequences, {batch->tokens, 0}, batch->labels};
    t.parameters = reserve((size_t)spec->parameter_storage * (size_t)program->real_bytes);
    t.gradient = reserve((size_t)spec->parameter_storage * (size_t)program->real_bytes);
    t.tables = reserve(program->tables_bytes ? program->tables_bytes(batch->tokens) : 0);
    if (program->make_tables) program->make_tables(t.tables, batch->tokens);
    t.workspace = reserve(program->workspace_bytes(&shape, mode));
    load_parameters(&t, encoder);
    t.step = (lh_cpu_step){.mode = mode,
                           .shape = shape,
                           .key = batch->key,
                           .step = batch->step,
                           .positions = batch->positions,
                           .distances = drawn,
                           .parameters = t.parameters,
                           .tables = t.tables,
                           .shared = reserve(program->shared_bytes(&shape, mode))};
    for (int part = 0; part < 3; part++) program->begin_step(&t.step, part, 3);
    return t;
}

static void close_trainer(trainer *t) {
    free(t->parameters);
    free(t->gradient);
    free(t->tables);
    free(t->workspace);
    free(t->step.shared);
}

/* Runs the batch in blocks of at most `most` sequences. logits [sequences][labels][classes] real, evaluation only. */
static void run_blocks(trainer *t, const lh_ref_batch *batch, const uint8_t *mask, int most, void *logits) {
    int allowed = t->program->block_sequences(t->step.shape.length);
    bool train = t->step.mode == LH_MODE_TRAIN;
    if (most > allowed) most = allowed;
    if (train && t->program->begin_shard) t->program->begin_shard(&t->step, t->workspace);
    for (int first = 0; first < batch->sequences; first += most) {
        int labels = first * batch->labels, count = batch->sequences - first;
        lh_cpu_block block = {.sequences = count < most ? count : most,
                              .first_example = batch->first_example + (uint32_t)first,
                              .tokens = {batch->token + first * batch->tokens, NULL},
                              .labels = batch->label + labels,
                              .mask = mask + labels,
                              .loss_scale = batch->loss_scale};
        if (train) {
            t->program->train_block(&t->step, &block, t->workspace, t->gradient, &t->sums);
        } else {
            block.logits = (char *)logits + (size_t)(labels * t->spec->classes * t->program->real_bytes);
            t->program->forward_block(&t->step, &block, t->workspace, &t->sums);
        }
    }
    if (train && t->program->end_shard) t->program->end_shard(&t->step, t->workspace, t->gradient);
}

/* ---- comparisons ---- */

static double largest(int count, const double *x) {
    double most = 0;
    for (int i = 0; i < count; i++) most = fmax(most, fabs(x[i]));
    return most;
}

/* The program's logits of the whole batch as double; the caller frees them. */
static double *forward_logits(trainer *t, const lh_ref_batch *batch, const uint8_t *mask, int most) {
    int count = batch->sequences * batch->labels * t->spec->classes;
    void *logits = reserve((size_t)count * (size_t)t->program->real_bytes);
    double *out = reserve((size_t)count * sizeof *out);
    run_blocks(t, batch, mask, most, logits);
    for (int i = 0; i < count; i++) out[i] = get_real(t->program, logits, (size_t)i);
    free(logits);
    return out;
}

/* One tensor's gradient, whose errors are measured by its largest element or by `least`; covered: its places. */
static void check_gradient_of(const trainer *t, const lh_tensor *tensor, int columns, int count, const double *want,
                              double least, char *covered) {
    double *got = reserve((size_t)count * sizeof *got);
    for (int e = 0; e < count; e++) {
        size_t place = place_of(tensor, columns, e);
        got[e] = get_real(t->program, t->gradient, place);
        covered[place] = 1;
    }
    lh_assert_close(got, want, (size_t)count, 0,
                    tolerance_of(t->program)->gradient * fmax(largest(count, want), least));
    free(got);
}

/* slope_gradient: that of learned slopes, where the spec has them. */
static void check_gradients(const trainer *t, const lh_ref_encoder *encoder, const double *slope_gradient) {
    double most = 0;
    char *covered = reserve((size_t)t->spec->parameter_storage);
    for (int i = 0; i < encoder->tensor_count; i++) {
        const lh_ref_tensor *want = &encoder->tensors[i];
        most = fmax(most, largest(want->rows * want->columns, want->gradient));
    }
    for (int i = 0; i < encoder->tensor_count; i++) {
        const lh_ref_tensor *want = &encoder->tensors[i];
        check_gradient_of(t, spec_tensor(t->spec, want->name), want->columns, want->rows * want->columns,
                          want->gradient, most / 100, covered);
    }
    if (slopes_of(t->spec)) check_gradient_of(t, slopes_of(t->spec), 2, 2, slope_gradient, most / 100, covered);
    for (size_t i = 0; i < (size_t)t->spec->parameter_storage; i++)
        if (!covered[i]) assert_true(get_real(t->program, t->gradient, i) == 0);
    free(covered);
}

/* Counts as the logits and the mask say. */
static void check_counts(const lh_sums *sums, const lh_ref_batch *batch, int classes, const double *logits,
                         const uint8_t *mask) {
    int64_t counted = 0, correct = 0, exact = 0;
    for (int b = 0; b < batch->sequences; b++) {
        int wrong = 0;
        for (int i = b * batch->labels; i < (b + 1) * batch->labels; i++) {
            int best = 0;
            for (int v = 1; v < classes; v++)
                if (logits[i * classes + v] > logits[i * classes + best]) best = v;
            counted += mask[i];
            correct += mask[i] && best == batch->label[i];
            wrong += mask[i] && best != batch->label[i];
        }
        exact += wrong == 0;
    }
    assert_int_equal(sums->positions, batch->sequences * batch->labels);
    assert_int_equal(sums->sequences, batch->sequences);
    assert_int_equal(sums->counted, counted);
    assert_int_equal(sums->correct, correct);
    assert_int_equal(sums->exact, exact);
}

/* Calls check for every case and every level that runs here. */
static void for_each_program(void (*check)(const parity_case *, const lh_cpu_program *)) {
    for (int i = 0; i < CASE_COUNT; i++) {
        for (const lh_cpu_program *const *program = CASES[i].spec->cpu; *program; program++) {
            if (!lh_level_runs((*program)->level)) continue;
            print_message("           %s on %s\n", CASES[i].spec->id, (*program)->level);
            check(&CASES[i], *program);
        }
    }
}

/* ---- against the stored vectors ---- */

static const uint8_t ALL_COUNT[256] = {[0 ... 255] = 1};

static void check_stored(const parity_case *c, const lh_cpu_program *program) {
    const tolerance *allowed = tolerance_of(program);
    lh_st_file *file = lh_vectors_open(c->encoding);
    lh_ref_encoder *encoder = lh_vectors_encoder(file, c->encoding);
    for (int i = 0; i < LH_VECTORS_LENGTHS; i++) {
        lh_vectors_case stored = lh_vectors_case_of(file, lh_vectors_length[i]);
        const lh_ref_batch *batch = &stored.batch;
        int count = batch->sequences * batch->labels * c->spec->classes;
        trainer t = open_trainer(c->spec, program, encoder, batch, stored.drawn, LH_MODE_EVALUATE);
        double *logits = forward_logits(&t, batch, ALL_COUNT, 2), loss = t.sums.loss * batch->loss_scale;
        lh_assert_close(logits, stored.logits, (size_t)count, 0, allowed->logits * largest(count, stored.logits));
        lh_assert_close(&loss, &stored.loss, 1, allowed->loss, 0);
        check_counts(&t.sums, batch, c->spec->classes, stored.logits, ALL_COUNT);
        free(logits);
        close_trainer(&t);
        lh_vectors_case_free(&stored);
    }
    lh_ref_encoder_free(encoder);
    lh_st_free(file);
}

static void test_forward_block_stored_batches_give_stored_logits(void **state) {
    (void)state;
    for_each_program(check_stored);
}

/* The stored gradients take the place of the reference's own. */
static void read_gradients(const lh_st_file *file, lh_ref_encoder *encoder) {
    for (int i = 0; i < encoder->tensor_count; i++) {
        char name[64];
        int count = 0;
        snprintf(name, sizeof name, "gradient.%s", encoder->tensors[i].name);
        double *gradient = lh_vectors_doubles(file, name, &count);
        assert_non_null(gradient);
        memcpy(encoder->tensors[i].gradient, gradient, (size_t)count * sizeof *gradient);
        free(gradient);
    }
}

/* float64 programs are left to kernels/ref: the stored gradients are rounded to float32. */
static void check_stored_gradient(const parity_case *c, const lh_cpu_program *program) {
    if (c->dropout > 0 || program->real_bytes == 8) return;
    lh_st_file *file = lh_vectors_open(c->encoding);
    lh_ref_encoder *encoder = lh_vectors_encoder(file, c->encoding);
    lh_vectors_case stored = lh_vectors_case_of(file, LH_VECTORS_GRADIENT_LENGTH);
    trainer t = open_trainer(c->spec, program, encoder, &stored.batch, stored.drawn, LH_MODE_TRAIN);
    read_gradients(file, encoder);
    run_blocks(&t, &stored.batch, ALL_COUNT, stored.batch.sequences, NULL);
    double loss = t.sums.loss * stored.batch.loss_scale;
    lh_assert_close(&loss, &stored.loss, 1, tolerance_of(program)->loss, 0);
    check_gradients(&t, encoder, NULL);
    close_trainer(&t);
    lh_vectors_case_free(&stored);
    lh_ref_encoder_free(encoder);
    lh_st_free(file);
}

static void test_train_block_stored_batch_gives_stored_gradients(void **state) {
    (void)state;
    for_each_program(check_stored_gradient);
}

/* Table 1 of Ruoss et al. 2023, each as a user would write it, in float32. */
static void test_cases_cover_the_eleven_encodings_of_the_paper(void **state) {
    (void)state;
    static const char *const paper[] = {"none",      "sincos",        "learned",     "rope",
                                        "relative",  "alibi",         "rand_sincos", "rand_learned",
                                        "rand_rope", "rand_relative", "rand_alibi"};
    int covered = 0;
    for (size_t i = 0; i < sizeof paper / sizeof *paper; i++) {
        bool there = false;
        for (int c = 0; c < CASE_COUNT; c++)
            there = there || (strcmp(CASES[c].encoding, paper[i]) == 0 && CASES[c].dropout == 0 &&
                              CASES[c].spec->cpu[0]->real_bytes == 4 && !slopes_of(CASES[c].spec));
        covered += there;
    }
    assert_int_equal(covered, 11);
}

/* ---- against kernels/ref at other lengths, in blocks of every size, with dropout ---- */

enum { SEQUENCES = 5, LONGEST = 37, SYMBOLS = 5, EMPTY = 6, DROPPED_OUT_STEP = 77, FIRST_EXAMPLE = 1000 };

typedef struct made_batch {
    uint16_t token[SEQUENCES * LONGEST], label[SEQUENCES * LONGEST];
    uint8_t mask[SEQUENCES * LONGEST];
    int32_t positions[LONGEST], drawn[LONGEST], distances[LONGEST * LONGEST];
    double score[2 * LONGEST * LONGEST], score_gradient[2 * LONGEST * LONGEST]; /* of ALiBi */
} made_batch;

/* Ascending integers below 64, with gaps. */
static void ascend(lh_rng *rng, bool gaps, int tokens, int32_t *out) {
    for (int t = 0, value = 0; t < tokens; t++, value++) {
        if (gaps && lh_rng_below(rng, 2)) value++;
        out[t] = value < 64 - tokens + t ? value : 64 - tokens + t;
    }
}

/* Any tokens and labels: the encoder does not know the task. Positions ascend, with gaps where they are drawn. */
static lh_ref_batch make_batch(const parity_case *c, int tokens, int labels, made_batch *out) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(9), (uint32_t)tokens, 0, 0);
    for (int i = 0; i < SEQUENCES * tokens; i++) {
        uint32_t any = lh_rng_below(&rng, SYMBOLS + 1);
        out->token[i] = (uint16_t)(any == SYMBOLS ? EMPTY : any);
    }
    for (int i = 0; i < SEQUENCES * labels; i++) {
        out->label[i] = (uint16_t)lh_rng_below(&rng, SYMBOLS);
        out->mask[i] = lh_rng_below(&rng, 4) > 0;
    }
    ascend(&rng, c->spec->position_range > 0, tokens, out->positions);
    ascend(&rng, c->spec->distance_range > 0, tokens, out->drawn);
    out->drawn[0] = 0;
    lh_vectors_distances(c->encoding, tokens, out->positions, out->drawn, out->distances);
    lh_vectors_alibi(tokens, out->distances, out->score);
    memset(out->score_gradient, 0, sizeof out->score_gradient);
    bool alibi = strstr(c->encoding, "alibi") != NULL;
    return (lh_ref_batch){.sequences = SEQUENCES,
                          .tokens = tokens,
                          .labels = labels,
                          .token = out->token,
                          .label = out->label,
                          .positions = out->positions,
                          .draws = 1,
                          .distances = out->distances,
                          .score = alibi ? out->score : NULL,
                          .score_gradient = alibi ? out->score_gradient : NULL,
                          .dropout = c->dropout,
                          .key = lh_key_of_seed(0xfeedULL << 32 | 5),
                          .step = DROPPED_OUT_STEP,
                          .first_example = FIRST_EXAMPLE,
                          .loss_scale = 1.0 / (SEQUENCES * labels),
                          .backward = true};
}

static void check_training_at(const parity_case *c, const lh_cpu_program *program, lh_ref_encoder *encoder, int tokens,
                              int labels) {
    made_batch made;
    lh_ref_batch batch = make_batch(c, tokens, labels, &made);
    int count = SEQUENCES * labels * c->spec->classes;
    double *logits = reserve((size_t)count * sizeof *logits);
    lh_ref_encoder_clear(encoder);
    double want = lh_ref_encode(encoder, &batch, logits), slope_gradient[2] = {0};
    for (int i = 0; i < 2 * tokens * tokens; i++) { /* a score is its slope times what does not change */
        int h = i / (tokens * tokens);
        slope_gradient[h] += made.score_gradient[i] * made.score[i] / SLOPE[h];
    }
    for (int most = 1; most <= SEQUENCES; most++) {
        trainer t = open_trainer(c->spec, program, encoder, &batch, made.drawn, LH_MODE_TRAIN);
        run_blocks(&t, &batch, made.mask, most, NULL);
        lh_assert_close(&t.sums.loss, &want, 1, tolerance_of(program)->loss, 0);
        check_counts(&t.sums, &batch, c->spec->classes, logits, made.mask);
        check_gradients(&t, encoder, slope_gradient);
        close_trainer(&t);
    }
    free(logits);
}

static void check_training(const parity_case *c, const lh_cpu_program *program) {
    static const int shapes[][2] = {{1, 1}, {2, 1}, {10, 5}, {36, 18}, {LONGEST, 18}, {17, 17}};
    lh_st_file *file = lh_vectors_open(c->encoding);
    lh_ref_encoder *encoder = lh_vectors_encoder(file, c->encoding);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_training_at(c, program, encoder, shapes[i][0], shapes[i][1]);
    lh_ref_encoder_free(encoder);
    lh_st_free(file);
}

static void test_train_block_all_lengths_and_blocks_match_reference(void **state) {
    (void)state;
    for_each_program(check_training);
}

static void check_evaluation(const parity_case *c, const lh_cpu_program *program) {
    static const int lengths[] = {1, 2, 17, LONGEST};
    lh_st_file *file = lh_vectors_open(c->encoding);
    lh_ref_encoder *encoder = lh_vectors_encoder(file, c->encoding);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        made_batch made;
        lh_ref_batch batch = make_batch(c, lengths[i], lengths[i], &made);
        int count = SEQUENCES * lengths[i] * c->spec->classes;
        double *want = reserve((size_t)count * sizeof *want);
        batch.dropout = 0; /* evaluation never drops out */
        batch.backward = false;
        lh_ref_encode(encoder, &batch, want);
        for (int most = 1; most <= SEQUENCES; most++) {
            trainer t = open_trainer(c->spec, program, encoder, &batch, made.drawn, LH_MODE_EVALUATE);
            double *logits = forward_logits(&t, &batch, made.mask, most);
            lh_assert_close(logits, want, (size_t)count, 0, tolerance_of(program)->logits * largest(count, want));
            check_counts(&t.sums, &batch, c->spec->classes, want, made.mask);
            free(logits);
            close_trainer(&t);
        }
        free(want);
    }
    lh_ref_encoder_free(encoder);
    lh_st_free(file);
}

static void test_forward_block_all_lengths_and_blocks_match_reference(void **state) {
    (void)state;
    for_each_program(check_evaluation);
}

/* ---- the optimiser's functions ---- */

static void fill_reals(const lh_cpu_program *program, uint64_t seed, size_t count, double scale, void *out) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(seed), 0, 0, 0);
    for (size_t i = 0; i < count; i++) set_real(program, out, i, scale * (lh_rng_word(&rng) / 2147483648.0 - 1));
}

static double *copy_of(const lh_cpu_program *program, const void *array, size_t count) {
    double *out = reserve(count * sizeof *out);
    for (size_t i = 0; i < count; i++) out[i] = get_real(program, array, i);
    return out;
}

static void check_fold(const parity_case *c, const lh_cpu_program *program) {
    (void)c;
    size_t bytes = (size_t)LH_CHUNK * (size_t)program->real_bytes;
    void *total = reserve(bytes), *part = reserve(bytes);
    fill_reals(program, 1, LH_CHUNK, 1, total);
    fill_reals(program, 2, LH_CHUNK, 1, part);
    double *want = copy_of(program, total, LH_CHUNK), *added = copy_of(program, part, LH_CHUNK), square = 0;
    program->fold(total, part, LH_CHUNK);
    for (size_t i = 0; i < LH_CHUNK; i++) {
        want[i] += added[i];
        square += get_real(program, total, i) * get_real(program, total, i);
        assert_true(get_real(program, part, i) == 0);
    }
    double *got = copy_of(program, total, LH_CHUNK), norm = program->squared_norm(total, LH_CHUNK);
    lh_assert_close(got, want, LH_CHUNK, 0, program->real_bytes == 8 ? 1e-15 : 1.2e-7); /* one rounding of at most 2 */
    lh_assert_close(&norm, &square, 1, program->real_bytes == 8 ? 1e-13 : 1e-5, 0);     /* 64 roundings per lane */
    free(total);
    free(part);
    free(want);
    free(added);
    free(got);
}

static void test_fold_and_squared_norm_match_plain_sums(void **state) {
    (void)state;
    for_each_program(check_fold);
}

/* Three updates of one chunk; the first gradient is long enough to be clipped. */
static void check_update(const parity_case *c, const lh_cpu_program *program) {
    const lh_ref_adam adam = {.learning_rate = 3e-4,
                              .beta1 = 0.9,
                              .beta2 = 0.999,
                              .epsilon = 1e-8,
                              .clip_norm = c->spec->optimizer.clip_norm};
    static const double scale[] = {1, 1e-3, 1e-2};
    size_t bytes = (size_t)LH_CHUNK * (size_t)program->real_bytes;
    lh_update u = {reserve(bytes), {reserve(bytes), reserve(bytes)}, reserve(bytes), 0, adam.learning_rate, 0};
    fill_reals(program, 3, LH_CHUNK, 1, u.parameters);
    double *parameter = copy_of(program, u.parameters, LH_CHUNK), *first = reserve(LH_CHUNK * sizeof(double));
    double *second = reserve(LH_CHUNK * sizeof(double));
    for (u.step = 1; u.step <= 3; u.step++) {
        fill_reals(program, 10 + (uint64_t)u.step, LH_CHUNK, scale[u.step - 1], u.gradient);
        double *gradient = copy_of(program, u.gradient, LH_CHUNK), square = 0;
        for (size_t i = 0; i < LH_CHUNK; i++) square += gradient[i] * gradient[i];
        u.gradient_norm = sqrt(square);
        lh_update_sums sums = {0, 0};
        program->update(&u, 0, LH_CHUNK, &sums);
        lh_ref_adam_update(&adam, u.step, u.gradient_norm, LH_CHUNK, gradient, parameter, first, second);
        double *got = copy_of(program, u.parameters, LH_CHUNK);
        /* a parameter of at most 1 is rounded once per update; a change is at most some 1e-3, with relative 1e-6 */
        lh_assert_close(got, parameter, LH_CHUNK, 0, (double)u.step * (program->real_bytes == 8 ? 1e-15 : 7e-8));
        for (size_t i = 0; i < LH_CHUNK; i++) assert_true(get_real(program, u.gradient, i) == 0);
        free(gradient);
        free(got);
    }
    void *all[] = {u.parameters, u.state[0], u.state[1], u.gradient, parameter, first, second};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void test_update_three_steps_match_reference(void **state) {
    (void)state;
    for_each_program(check_update);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward_block_stored_batches_give_stored_logits),
        cmocka_unit_test(test_train_block_stored_batch_gives_stored_gradients),
        cmocka_unit_test(test_cases_cover_the_eleven_encodings_of_the_paper),
        cmocka_unit_test(test_train_block_all_lengths_and_blocks_match_reference),
        cmocka_unit_test(test_forward_block_all_lengths_and_blocks_match_reference),
        cmocka_unit_test(test_fold_and_squared_norm_match_plain_sums),
        cmocka_unit_test(test_update_three_steps_match_reference),
    };
    return cmocka_run_group_tests_name("parity", tests, NULL, NULL);
}
