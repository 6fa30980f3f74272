#include "lh_parity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_level.h"
#include "base/real.h"
#include "lh_test.h"

/* A rounding has a relative error of 2^-24; two layers have some hundred roundings. */
static const lh_parity_tolerance FLOAT32 = {.logits = 4e-6, .loss = 2e-6, .gradient = 1e-5};
static const lh_parity_tolerance FLOAT64 = {.logits = 4e-14, .loss = 4e-14, .gradient = 4e-14}; /* a rounding: 2^-53 */

const lh_parity_tolerance lh_parity_random_tolerance = {.logits = 1e-11, .loss = 1e-11, .gradient = 1e-11};

const uint8_t lh_parity_full_mask[256] = {[0 ... 255] = 1};

const lh_parity_tolerance *lh_parity_get_tolerance(int real_bytes) { return real_bytes == 8 ? &FLOAT64 : &FLOAT32; }

void *lh_parity_reserve(size_t bytes) {
    size_t padded_bytes = (bytes + 64) / 64 * 64;
    void *memory = aligned_alloc(64, padded_bytes);
    assert_non_null(memory);
    return memset(memory, 0, padded_bytes);
}

void lh_parity_write(void *array, int real_bytes, size_t i, double value) {
    if (real_bytes == 8) ((double *)array)[i] = value;
    else ((float *)array)[i] = (float)value;
}

double *lh_parity_to_doubles(const void *array, int real_bytes, size_t count) {
    double *out = lh_parity_reserve(count * sizeof *out);
    for (size_t i = 0; i < count; i++) out[i] = lh_real_read(array, real_bytes, (int64_t)i);
    return out;
}

double lh_parity_find_largest(size_t count, const double *x) {
    double max_value = 0;
    for (size_t i = 0; i < count; i++) max_value = fmax(max_value, fabs(x[i]));
    return max_value;
}

/* ---- parameters ---- */

static const lh_tensor *find_tensor(const lh_spec *spec, const char *name) {
    for (int i = 0; i < spec->tensor_count; i++)
        if (strcmp(spec->tensors[i].name, name) == 0) return &spec->tensors[i];
    return NULL;
}

static const lh_tensor *require_tensor(const lh_spec *spec, const char *name) {
    const lh_tensor *tensor = find_tensor(spec, name);
    if (!tensor) fail_msg("%s has no tensor %s", spec->id, name);
    return tensor;
}

bool lh_parity_learns_slopes(const lh_spec *spec) { return find_tensor(spec, "score.slope") != NULL; }

/* Returns the position, in the vector of parameters, of the tensor's element `index`, counted row by row. */
static size_t compute_offset(const lh_tensor *tensor, int columns, int index) {
    return (size_t)(tensor->offset + index / columns * tensor->stride + index % columns);
}

void lh_parity_write_parameters(const lh_spec *spec, int real_bytes, const lh_ref_model *model, void *parameters) {
    assert_int_equal(spec->tensor_count, model->tensor_count);
    for (int i = 0; i < model->tensor_count; i++) {
        const lh_ref_tensor *from = &model->tensors[i];
        const lh_tensor *to = require_tensor(spec, from->name);
        assert_int_equal(to->shape[to->rank - 1], from->columns);
        if (to->rank == 2) assert_int_equal(to->shape[0], from->rows);
        for (int e = 0; e < from->rows * from->columns; e++)
            lh_parity_write(parameters, real_bytes, compute_offset(to, from->columns, e), from->value[e]);
    }
}

lh_ref_model *lh_parity_make_model(const lh_st_file *file, const lh_parity_case *c) {
    return lh_vectors_make_model(file, lh_network_get(c->spec->id));
}

lh_ref_model *lh_parity_open_model(const lh_parity_case *c) {
    lh_st_file *file = lh_vectors_open(c->vectors);
    lh_ref_model *model = lh_parity_make_model(file, c);
    lh_st_free(file);
    return model;
}

lh_ref_model *lh_parity_make_random_model(const lh_spec *spec) {
    lh_ref_model *model = lh_ref_model_new(lh_network_get(spec->id));
    lh_rng rng = lh_rng_at(lh_key_of_seed(21), 0, 0, 0);
    for (int i = 0; i < model->tensor_count; i++) {
        const lh_ref_tensor *tensor = &model->tensors[i];
        double half_range = tensor->rows > 1 ? 1 / sqrt(tensor->rows) : 0.5;
        double mean = strstr(tensor->name, "scale") ? 1 : 0;
        for (int e = 0; e < tensor->rows * tensor->columns; e++)
            tensor->value[e] = mean + half_range * (lh_rng_word(&rng) / 2147483648.0 - 1);
    }
    return model;
}

lh_parity_case lh_parity_make_random_case(const lh_spec *spec) {
    const lh_ref_network *network = lh_network_get(spec->id);
    bool is_scored = false;
    for (int i = 0; i < network->family_count; i++) is_scored = is_scored || network->families[i].has_score;
    return (lh_parity_case){.vectors = is_scored ? "alibi" : "none", .spec = spec};
}

void lh_parity_set_limit(lh_ref_model *model, int limit) {
    static const double offsets[LH_PARITY_LIMITS] = {
        -1e6, /* no key matches */
        -45,  /* the sum of the weights is far below the least divisor */
        -30,  /* the sum of the weights is near the least divisor */
        -12,  /* the sum of the weights is above the least divisor */
        1e6,  /* the first key always matches */
    };
    int found = 0;
    for (int i = 0; i < model->tensor_count; i++) {
        if (!strstr(model->tensors[i].name, "geometric.offset")) continue;
        *model->tensors[i].value = offsets[limit];
        found++;
    }
    assert_true(found > 0);
}

/* ---- comparisons ---- */

void lh_parity_load_gradients(const lh_st_file *file, lh_ref_model *model) {
    for (int i = 0; i < model->tensor_count; i++) {
        char name[64];
        int count = 0;
        snprintf(name, sizeof name, "gradient.%s", model->tensors[i].name);
        double *gradient = lh_vectors_read_doubles(file, name, &count);
        assert_true(gradient || strcmp(model->tensors[i].name, "score.slope") == 0);
        if (gradient) memcpy(model->tensors[i].gradient, gradient, (size_t)count * sizeof *gradient);
        else *model->tensors[i].gradient = NAN;
        free(gradient);
    }
}

/* A vector of gradients that is compared tensor by tensor. */
typedef struct gradient_check {
    const void *gradient;
    int real_bytes;
    double tolerance; /* relative to a tensor's largest element, or to min_scale if it is larger */
    double min_scale;
    char *covered; /* whether an element of the vector has been compared */
} gradient_check;

static void check_tensor(const gradient_check *c, const lh_tensor *tensor, int columns, int count,
                         const double *expected) {
    double *actual = lh_parity_reserve((size_t)count * sizeof *actual);
    for (int e = 0; e < count; e++) {
        size_t offset = compute_offset(tensor, columns, e);
        actual[e] = lh_real_read(c->gradient, c->real_bytes, (int64_t)offset);
        c->covered[offset] = 1;
    }
    if (!isnan(*expected))
        lh_assert_close(actual, expected, count, 0,
                        c->tolerance * fmax(lh_parity_find_largest((size_t)count, expected), c->min_scale));
    free(actual);
}

void lh_parity_check_gradients(const lh_spec *spec, int real_bytes, const void *gradient, const lh_ref_model *model,
                               double tolerance) {
    double max_gradient = 0;
    for (int i = 0; i < model->tensor_count; i++) {
        const lh_ref_tensor *expected = &model->tensors[i];
        max_gradient = fmax(max_gradient,
                            lh_parity_find_largest((size_t)(expected->rows * expected->columns), expected->gradient));
    }
    gradient_check c = {.gradient = gradient,
                        .real_bytes = real_bytes,
                        .tolerance = tolerance,
                        .covered = lh_parity_reserve((size_t)spec->parameter_storage)};
    for (int i = 0; i < model->tensor_count; i++) {
        const lh_ref_tensor *expected = &model->tensors[i];
        c.min_scale = expected->rows * expected->columns == 1 ? max_gradient / 30 : max_gradient / 100;
        check_tensor(&c, require_tensor(spec, expected->name), expected->columns, expected->rows * expected->columns,
                     expected->gradient);
    }
    for (int64_t i = 0; i < spec->parameter_storage; i++)
        if (!c.covered[i]) assert_true(lh_real_read(gradient, real_bytes, i) == 0);
    free(c.covered);
}

void lh_parity_check_values(int real_bytes, const void *values, const double *expected, size_t count,
                            double tolerance) {
    double *actual = lh_parity_to_doubles(values, real_bytes, count);
    lh_assert_close(actual, expected, count, 0, tolerance * lh_parity_find_largest(count, expected));
    free(actual);
}

lh_parity_counts lh_parity_count(const lh_ref_batch *batch, const lh_spec *spec, const double *logits,
                                 const uint8_t *mask) {
    lh_parity_counts out = {0};
    int classes = spec->classes;
    for (int b = 0; b < batch->sequences; b++) {
        int errors = 0, is_counted = spec->task->loss == LH_LOSS_UNMASKED;
        for (int i = b * batch->labels; i < (b + 1) * batch->labels; i++) {
            int best = 0;
            for (int v = 1; v < classes; v++)
                if (logits[i * classes + v] > logits[i * classes + best]) best = v;
            is_counted |= mask[i];
            out.counted += mask[i];
            out.correct += mask[i] && best == batch->label[i];
            errors += mask[i] && best != batch->label[i];
        }
        out.sequences += is_counted;
        out.exact += is_counted && errors == 0;
    }
    out.positions = spec->task->loss == LH_LOSS_COUNTED ? out.counted : (int64_t)batch->sequences * batch->labels;
    return out;
}

double lh_parity_sum_uncertainty(const lh_ref_batch *batch, const lh_spec *spec, const double *logits,
                                 const uint8_t *mask) {
    double uncertainty = 0;
    for (int i = 0; i < batch->sequences * batch->labels; i++) {
        const double *row = logits + (size_t)i * (size_t)spec->classes;
        double max_logit = row[0], sum = 0;
        for (int v = 1; v < spec->classes; v++) max_logit = fmax(max_logit, row[v]);
        for (int v = 0; v < spec->classes; v++) sum += exp(row[v] - max_logit);
        if (spec->task->loss != LH_LOSS_COUNTED || mask[i]) uncertainty += log(sum);
    }
    return uncertainty;
}

/* ---- memory ---- */

static const lh_memory_plan *find_memory_plan(const char *id, const char *level) {
    for (int i = 0; i < lh_memory_plan_count; i++)
        if (strcmp(lh_memory_plans[i].id, id) == 0 && strcmp(lh_memory_plans[i].level, level) == 0)
            return &lh_memory_plans[i];
    fail_msg("%s at %s is in no plan", id, level);
    return NULL;
}

void lh_parity_check_memory(const lh_spec *spec) {
    static const char *const KINDS_OF_MEMORY[] = {"a workspace", "shared memory", "tables"};
    for (const lh_cpu_program *const *program = spec->cpu; *program; program++) {
        if (!lh_level_is_supported((*program)->level)) continue;
        const lh_memory_plan *expected = find_memory_plan(spec->id, (*program)->level);
        lh_shape shape = {
            .sequences = expected->sequences, .length = {expected->length[0], expected->length[1]}, .labels = 1};
        size_t tables = (*program)->tables_bytes ? (*program)->tables_bytes(shape.length) : 0;
        size_t actual[] = {(*program)->workspace_bytes(&shape, LH_MODE_TRAIN), (*program)->shared_bytes(&shape),
                           tables};
        size_t planned[] = {expected->workspace, expected->shared, expected->tables};
        for (int i = 0; i < 3; i++)
            if (actual[i] != planned[i])
                fail_msg("%s at %s: %s of %zu bytes, planned are %zu", spec->id, expected->level, KINDS_OF_MEMORY[i],
                         actual[i], planned[i]);
    }
}

/* ---- batches ---- */

/* Writes ascending integers below `end`, with random gaps if `has_gaps`. */
static void ascend(lh_rng *rng, bool has_gaps, int end, int tokens, int32_t *out) {
    for (int t = 0, value = 0; t < tokens; t++, value++) {
        int last = end - tokens + t;
        if (has_gaps && lh_rng_below(rng, 2)) value++;
        out[t] = value < last ? value : last;
    }
}

/* Chooses for every sequence the token to which its one label belongs. */
static void fill_places(lh_rng *rng, int tokens, uint16_t *place) {
    for (int b = 0; b < LH_PARITY_SEQUENCES; b++) place[b] = (uint16_t)lh_rng_below(rng, (uint32_t)tokens);
}

/* The number of blank tokens, which have no row in a linear embedding. */
static int count_blank_tokens(const lh_spec *spec) {
    const lh_ref_network *network = lh_network_get(spec->id);
    int blanks = 0;
    for (int i = 0; i < network->scopes->operation_count; i++) blanks += network->scopes->operations[i].blanks;
    return blanks;
}

/* The number of tokens for which every table of tokens has a row. */
static int64_t count_token_rows(const lh_spec *spec) {
    int64_t rows = UINT16_MAX;
    for (int i = 0; i < spec->tensor_count; i++) {
        const lh_tensor *t = &spec->tensors[i];
        bool is_table =
            strncmp(t->name, "embed.", 6) == 0 || strcmp(t->name, "input.weight") == 0; /* a recurrence's table */
        if (is_table && t->rank == 2 && t->shape[0] < rows) rows = t->shape[0];
    }
    return rows;
}

static void fill_examples(lh_rng *rng, const lh_spec *spec, lh_parity_size size, lh_parity_batch *out) {
    uint32_t kinds = (uint32_t)(count_token_rows(spec) + count_blank_tokens(spec)), classes = (uint32_t)spec->classes;
    for (int i = 0; i < LH_PARITY_SEQUENCES * size.tokens; i++) out->token[i] = (uint16_t)lh_rng_below(rng, kinds);
    for (int i = 0; i < LH_PARITY_SEQUENCES * size.labels; i++) {
        out->label[i] = (uint16_t)lh_rng_below(rng, classes);
        out->mask[i] = lh_rng_below(rng, 4) > 0;
    }
    for (int i = 0; i < LH_PARITY_SEQUENCES * size.target; i++) out->target[i] = (uint16_t)lh_rng_below(rng, kinds);
}

/* Makes ALiBi's scores for all pairs of streams; each family gets the scores for its streams of queries and keys. */
static void fill_scores(const lh_ref_network *network, lh_parity_size size, lh_parity_batch *out) {
    const int length[LH_MAX_STREAMS] = {size.tokens, size.target};
    for (int q = 0; q < LH_MAX_STREAMS; q++)
        for (int k = 0; k < LH_MAX_STREAMS; k++) {
            for (int p = 0; p < length[q] * length[k]; p++) out->distances[p] = p % length[k] - p / length[k];
            lh_vectors_compute_alibi(LH_PARITY_HEADS, length[q] * length[k], out->distances, out->score[q][k]);
        }
    assert_in_range(network->family_count, 1, LH_PARITY_FAMILIES);
    for (int s = 0; s < network->scope_count; s++) {
        const lh_ref_scope *scope = &network->scopes[s];
        for (int i = 0; i < scope->operation_count; i++) {
            const lh_ref_operation *op = &scope->operations[i];
            if (op->kind == LH_REF_ATTENTION)
                out->scores[op->family] = out->score[scope->values[op->x[0]].stream][scope->values[op->x[1]].stream];
        }
    }
}

/* Makes positions, distances and scores for the tokens of one stream by the case's encoding, and chooses the token of
 * each label. */
static void place_tokens(lh_rng *rng, const lh_parity_case *c, const lh_vectors_facts *facts, lh_parity_size size,
                         lh_parity_batch *out) {
    int tokens = size.tokens;
    ascend(rng, c->spec->position_range[0] > 0, facts->positions, tokens, out->positions);
    ascend(rng, c->spec->distance_range[0] > 0, facts->positions, tokens, out->sampled_distances);
    out->sampled_distances[0] = 0;
    lh_vectors_compute_distances(facts, tokens, out->positions, out->sampled_distances, out->distances);
    lh_vectors_compute_alibi(facts->heads, tokens * tokens, out->distances, out->score[0][0]);
    fill_places(rng, tokens, out->place);
}

/* Makes positions and scores for the tokens of two streams; the position of a token is its index. */
static void place_pair(const lh_spec *spec, lh_parity_size size, lh_parity_batch *out) {
    assert_true(spec->position_range[0] + spec->distance_range[0] == 0);
    for (int t = 0; t < LH_PARITY_LONGEST; t++) out->positions[t] = t;
    fill_scores(lh_network_get(spec->id), size, out);
}

void lh_parity_make_batch(const lh_parity_case *c, lh_parity_size size, uint32_t first_example, lh_parity_batch *out) {
    enum { STEP = 77 };
    bool is_pair = c->spec->format->streams > 1;
    lh_st_file *file = lh_vectors_open(c->vectors);
    lh_vectors_facts facts = lh_vectors_read_facts(file);
    lh_rng rng = lh_rng_at(lh_key_of_seed(9), (uint32_t)size.tokens, 0, 0);
    lh_st_free(file);
    assert_int_equal(facts.heads, LH_PARITY_HEADS);
    size.target = is_pair ? size.target : 0;
    if (c->spec->format->locate) size.labels = 1; /* formats with `locate` have one label per sequence */
    fill_examples(&rng, c->spec, size, out);
    if (is_pair) place_pair(c->spec, size, out);
    else place_tokens(&rng, c, &facts, size, out);
    memset(out->score_gradient, 0, sizeof out->score_gradient);
    out->batch = (lh_ref_batch){.sequences = LH_PARITY_SEQUENCES,
                                .tokens = size.tokens,
                                .labels = size.labels,
                                .token = out->token,
                                .target_tokens = size.target,
                                .target = is_pair ? out->target : NULL,
                                .label = out->label,
                                .mask = c->spec->task->loss == LH_LOSS_COUNTED ? out->mask : NULL,
                                .place = c->spec->format->locate ? out->place : NULL,
                                .positions = out->positions,
                                .position_rows = 1,
                                .distances = is_pair ? NULL : out->distances,
                                .score = facts.alibi && !is_pair ? out->score[0][0] : NULL,
                                .scores = facts.alibi && is_pair ? out->scores : NULL,
                                .score_gradient = facts.alibi && !is_pair ? out->score_gradient : NULL,
                                .dropping = LH_REF_IN_TRAINING,
                                .key = lh_key_of_seed(0xfeedULL << 32 | 5),
                                .step = STEP,
                                .first_example = first_example,
                                .passes = c->spec->passes,
                                .loss_scale = 1.0 / (LH_PARITY_SEQUENCES * size.labels),
                                .backward = true};
}

void lh_parity_make_evaluation(const lh_spec *spec, lh_ref_batch *batch) {
    batch->backward = false;
    batch->dropping = spec->eval.dropout ? LH_REF_IN_EVALUATION : LH_REF_NO_DROPOUT;
    batch->draw = LH_PARITY_DRAW;
    batch->noise = lh_network_get(spec->id)->noise != LH_REF_NO_NOISE ? 0.7 : 0;
}

double lh_parity_run(lh_ref_model *model, lh_parity_batch *data, double *logits) {
    int pairs = data->batch.tokens * data->batch.tokens;
    lh_ref_tensor *slopes = lh_ref_model_find(model, "score.slope");
    lh_ref_model_clear(model);
    double loss = lh_ref_run(model, &data->batch, logits);
    for (int i = 0; slopes && i < LH_PARITY_HEADS * pairs; i++) /* a score is its slope times a constant */
        slopes->gradient[i / pairs] += data->score_gradient[i] * data->score[0][0][i] / slopes->value[i / pairs];
    return loss;
}

double lh_parity_run_each(lh_ref_model *model, const lh_ref_batch *batch, int32_t *positions, int stride,
                          double *logits, int classes) {
    double loss = 0;
    lh_ref_model_clear(model);
    for (int s = 0; s < batch->sequences; s++) {
        lh_ref_batch sequence = *batch;
        sequence.sequences = 1;
        sequence.token += s * batch->tokens;
        sequence.label += s * batch->labels;
        sequence.first_example += (uint32_t)s;
        sequence.positions = positions + s * stride;
        loss += lh_ref_run(model, &sequence, logits + (size_t)(s * batch->labels * classes));
    }
    return loss;
}
