/* Stored reference vectors for the C tests; see vectors.h. */
#include "reference/vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const lh_vectors_name[LH_VECTORS_FILES] = {
    "none",
    "sincos",
    "learned",
    "rope",
    "rand_sincos",
    "rand_learned",
    "rand_rope",
    "rope_linear",
    "rope_ntk",
    "rope_yarn",
    "relative",
    "rand_relative",
    "rand_relative_clamped",
    "rand_relative_difference",
    "shaw",
    "alibi",
    "rand_alibi",
    "geometric",
    "geometric_raw",
    "geometric_plain",
    "decoder_none",
    "decoder_rope",
    "decoder_relative",
    "decoder_alibi",
    "decoder_window",
    "encoder_gelu_pre",
    "encoder_geglu_geometric",
    "lst_probe",
};

void lh_vectors_fail(const char *file, const char *problem) {
    fprintf(stderr, "tests/reference: %s: %s\n", file, problem);
    abort();
}

void *lh_vectors_allocate(size_t count, size_t size) {
    void *p = calloc(count + 1, size);
    if (!p) abort();
    return p;
}

lh_st_file *lh_vectors_open(const char *name) {
    char path[128];
    lh_error error = {""};
    lh_st_file *file = NULL;
    snprintf(path, sizeof path, "tests/reference/%s.safetensors", name);
    if (lh_st_read(path, &file, &error) != LH_OK) lh_vectors_fail(path, error.text);
    return file;
}

static int64_t count_elements(const lh_st_tensor *tensor) {
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= tensor->shape[i];
    return count;
}

double *lh_vectors_read_doubles(const lh_st_file *file, const char *name, int *count) {
    const lh_st_tensor *tensor = lh_st_find(file, name);
    if (!tensor) return NULL;
    *count = (int)count_elements(tensor);
    double *out = lh_vectors_allocate((size_t)*count, sizeof *out);
    for (int i = 0; i < *count; i++) {
        if (strcmp(tensor->dtype, "F64") == 0) {
            memcpy(&out[i], (const char *)tensor->data + (size_t)i * sizeof(double), sizeof(double));
        } else if (strcmp(tensor->dtype, "F32") == 0) {
            float value;
            memcpy(&value, (const char *)tensor->data + (size_t)i * sizeof value, sizeof value);
            out[i] = value;
        } else if (strcmp(tensor->dtype, "I32") == 0) {
            int32_t value;
            memcpy(&value, (const char *)tensor->data + (size_t)i * sizeof value, sizeof value);
            out[i] = value;
        } else {
            lh_vectors_fail(name, tensor->dtype);
        }
    }
    return out;
}

const lh_st_tensor *lh_vectors_find(const lh_st_file *file, const char *group, int n, const char *name) {
    char full[64];
    snprintf(full, sizeof full, "%s.n%d.%s", group, n, name);
    return lh_st_find(file, full);
}

int lh_vectors_get_size(const lh_st_tensor *tensor, const char *name, int rank, int axis) {
    if (!tensor || tensor->rank != rank) lh_vectors_fail(name, "missing or of another shape");
    return (int)tensor->shape[axis];
}

double *lh_vectors_read_tensor(const lh_st_file *file, const lh_st_tensor *tensor, int count) {
    int found = 0;
    double *values = tensor ? lh_vectors_read_doubles(file, tensor->name, &found) : NULL;
    if (tensor && found != count) lh_vectors_fail(tensor->name, "of another size");
    return values;
}

int32_t *lh_vectors_read_integers(const lh_st_file *file, const lh_st_tensor *tensor, int count) {
    if (!tensor) return NULL;
    double *values = lh_vectors_read_tensor(file, tensor, count);
    int32_t *out = lh_vectors_allocate((size_t)count, sizeof *out);
    for (int i = 0; i < count; i++) out[i] = (int32_t)values[i];
    free(values);
    return out;
}

uint16_t *lh_vectors_read_symbols(const lh_st_file *file, const lh_st_tensor *tensor, int count) {
    if (!tensor) return NULL;
    double *values = lh_vectors_read_tensor(file, tensor, count);
    uint16_t *out = lh_vectors_allocate((size_t)count, sizeof *out);
    for (int i = 0; i < count; i++) out[i] = (uint16_t)values[i];
    free(values);
    return out;
}

void lh_vectors_load_weight(const lh_st_file *file, lh_ref_tensor *tensor) {
    int count = tensor->rows * tensor->columns;
    double *values = lh_vectors_read_tensor(file, lh_st_find(file, tensor->name), count);
    if (!values) lh_vectors_fail(tensor->name, "missing");
    memcpy(tensor->value, values, (size_t)count * sizeof *values);
    free(values);
}

/* ---- metadata ---- */

static const char *get_metadata(const lh_st_file *file, const char *key) {
    const char *value = lh_st_find_metadata(file, key);
    if (!value) lh_vectors_fail(key, "not in the metadata");
    return value;
}

/* Reads a number from the text, and moves the text past it. */
static int take_number(const char *key, const char **text) {
    char *end;
    long value = strtol(*text, &end, 10);
    if (end == *text || value < 1 || value > INT16_MAX) lh_vectors_fail(key, *text);
    *text = end;
    return (int)value;
}

static int read_number(const lh_st_file *file, const char *key) {
    int value;
    lh_vectors_read_numbers(file, key, 1, &value);
    return value;
}

void lh_vectors_read_numbers(const lh_st_file *file, const char *key, int count, int *out) {
    const char *text = get_metadata(file, key);
    for (int i = 0; i < count; i++) out[i] = take_number(key, &text);
}

/* Returns the index of the metadata's text in `texts`, which end with NULL. */
static int find_text(const lh_st_file *file, const char *key, const char *const *texts) {
    const char *value = get_metadata(file, key);
    int i = 0;
    while (texts[i] && strcmp(texts[i], value) != 0) i++;
    if (!texts[i]) lh_vectors_fail(key, value);
    return i;
}

lh_vectors_facts lh_vectors_read_facts(const lh_st_file *file) {
    static const char *const distances[] = {"of positions", "drawn", "drawn, clamped", NULL};
    static const char *const scores[] = {"none", "alibi", NULL};
    int kind = find_text(file, "distances", distances);
    lh_vectors_facts facts = {.gradient_length = read_number(file, "gradient"),
                              .heads = read_number(file, "heads"),
                              .positions = read_number(file, "positions"),
                              .samples_distances = kind > 0,
                              .clamped = kind == 2,
                              .alibi = find_text(file, "score", scores) == 1};
    lh_vectors_read_numbers(file, "lengths", LH_VECTORS_LENGTHS, facts.length);
    return facts;
}

/* ---- networks ---- */

const lh_ref_network *lh_vectors_find_network(const char *name) {
    static const char *const prefixes[] = {"parity_", "parity_float64_", ""};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char id[64];
        snprintf(id, sizeof id, "%s%s", prefixes[i], name);
        const lh_ref_network *network = lh_network_find(id);
        if (network) return network;
    }
    lh_vectors_fail(name, "no spec has this network");
}

bool lh_vectors_is_compiled(const char *name) { return strncmp(lh_vectors_find_network(name)->id, "parity_", 7) == 0; }

/* The slope of head h in ALiBi: 2^(-8 / heads), its square, and so on. */
static double compute_slope(int heads, int h) { return exp2(-8.0 * (h + 1) / heads); }

static void set_slopes(int heads, lh_ref_tensor *tensor) {
    if (tensor->rows * tensor->columns != heads) lh_vectors_fail(tensor->name, "not a slope for each head");
    for (int h = 0; h < heads; h++) tensor->value[h] = compute_slope(heads, h);
}

lh_ref_model *lh_vectors_make_model(const lh_st_file *file, const lh_ref_network *network) {
    lh_vectors_facts facts = lh_vectors_read_facts(file);
    lh_ref_model *model = lh_ref_model_new(network);
    const lh_st_tensor *logits = lh_vectors_find(file, "result", facts.length[0], "logits");
    if (lh_vectors_get_size(logits, "logits", 3, 2) != network->classes)
        lh_vectors_fail(network->id, "has another number of classes");
    for (int i = 0; i < model->tensor_count; i++) {
        lh_ref_tensor *tensor = &model->tensors[i];
        if (strcmp(tensor->name, "score.slope") == 0) set_slopes(facts.heads, tensor);
        else lh_vectors_load_weight(file, tensor);
    }
    return model;
}

/* ---- pairs of tokens ---- */

void lh_vectors_compute_distances(const lh_vectors_facts *facts, int T, const int32_t *positions,
                                  const int32_t *sampled_distances, int32_t *distances) {
    for (int i = 0; i < T; i++) {
        for (int j = 0; j < T; j++) {
            int32_t *out = &distances[i * T + j];
            if (!facts->samples_distances) *out = positions[j] - positions[i];
            else if (facts->clamped) *out = j < i ? facts->positions - sampled_distances[i - j] : facts->positions - 1;
            else *out = j < i ? -sampled_distances[i - j] : sampled_distances[j - i];
        }
    }
}

void lh_vectors_compute_alibi(int heads, int pairs, const int32_t *distances, double *score) {
    for (int h = 0; h < heads; h++)
        for (int pair = 0; pair < pairs; pair++)
            score[h * pairs + pair] =
                compute_slope(heads, h) * (distances[pair] < 0 ? distances[pair] + 0.5 : -distances[pair]);
}

/* ---- batches ---- */

static int32_t *read_integers(const lh_st_file *file, int n, const char *name, int count) {
    return lh_vectors_read_integers(file, lh_vectors_find(file, "data", n, name), count);
}

static uint16_t *read_symbols(const lh_st_file *file, int n, const char *name, int count) {
    return lh_vectors_read_symbols(file, lh_vectors_find(file, "data", n, name), count);
}

lh_vectors_case lh_vectors_read_case(const lh_st_file *file, int n) {
    lh_vectors_facts facts = lh_vectors_read_facts(file);
    const lh_st_tensor *token = lh_vectors_find(file, "data", n, "tokens");
    const lh_st_tensor *logits = lh_vectors_find(file, "result", n, "logits");
    int tokens = lh_vectors_get_size(token, "tokens", 2, 1), labels = lh_vectors_get_size(logits, "logits", 3, 1);
    int sequences = lh_vectors_get_size(token, "tokens", 2, 0), classes = lh_vectors_get_size(logits, "logits", 3, 2);
    lh_vectors_case out = {.input_length = n,
                           .input = read_symbols(file, n, "input", sequences * n),
                           .token = read_symbols(file, n, "tokens", sequences * tokens),
                           .label = read_symbols(file, n, "target", sequences * labels),
                           .place = read_symbols(file, n, "place", sequences * labels),
                           .positions = read_integers(file, n, "positions", tokens),
                           .sampled_distances = read_integers(file, n, "drawn", tokens),
                           .distances = read_integers(file, n, "distances", tokens * tokens)};
    if (!out.input || !out.token || !out.label) lh_vectors_fail("input, tokens, target", "missing");
    if (!out.positions || facts.samples_distances != (out.sampled_distances != NULL))
        lh_vectors_fail("positions, drawn", "not as the metadata says");
    if (facts.alibi && !out.distances) lh_vectors_fail("distances", "missing");
    if (facts.alibi) {
        out.score = lh_vectors_allocate((size_t)(facts.heads * tokens * tokens), sizeof *out.score);
        lh_vectors_compute_alibi(facts.heads, tokens * tokens, out.distances, out.score);
    }
    double *loss = lh_vectors_read_tensor(file, lh_vectors_find(file, "result", n, "loss"), 1);
    if (!loss) lh_vectors_fail("loss", "missing");
    out.logits = lh_vectors_read_tensor(file, logits, sequences * labels * classes);
    out.loss = *loss;
    out.batch = (lh_ref_batch){.sequences = sequences,
                               .tokens = tokens,
                               .labels = labels,
                               .token = out.token,
                               .label = out.label,
                               .place = out.place,
                               .positions = out.positions,
                               .position_rows = 1,
                               .distances = out.distances,
                               .score = out.score,
                               .loss_scale = 1.0 / (sequences * labels),
                               .backward = true};
    free(loss);
    return out;
}

void lh_vectors_case_free(lh_vectors_case *stored) {
    free(stored->input);
    free(stored->token);
    free(stored->label);
    free(stored->place);
    free(stored->positions);
    free(stored->sampled_distances);
    free(stored->distances);
    free(stored->score);
    free(stored->logits);
}
