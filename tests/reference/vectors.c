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

static void broken(const char *what, const char *why) {
    fprintf(stderr, "tests/reference: %s: %s\n", what, why);
    abort();
}

lh_st_file *lh_vectors_open(const char *name) {
    char path[128];
    lh_error error = {""};
    lh_st_file *file = NULL;
    snprintf(path, sizeof path, "tests/reference/%s.safetensors", name);
    if (lh_st_read(path, &file, &error) != LH_OK) broken(path, error.text);
    return file;
}

static int64_t count_elements(const lh_st_tensor *tensor) {
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= tensor->shape[i];
    return count;
}

double *lh_vectors_doubles(const lh_st_file *file, const char *name, int *count) {
    const lh_st_tensor *tensor = lh_st_find(file, name);
    if (!tensor) return NULL;
    *count = (int)count_elements(tensor);
    double *out = malloc((size_t)(*count + 1) * sizeof *out);
    if (!out) abort();
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
            broken(name, tensor->dtype);
        }
    }
    return out;
}

/* The tensor <group>.n<n>.<name>, or NULL. */
static const lh_st_tensor *find(const lh_st_file *file, const char *group, int n, const char *name) {
    char full[64];
    snprintf(full, sizeof full, "%s.n%d.%s", group, n, name);
    return lh_st_find(file, full);
}

/* Size of an axis of a tensor that must have `rank` axes. */
static int get_size(const lh_st_tensor *tensor, const char *name, int rank, int axis) {
    if (!tensor || tensor->rank != rank) broken(name, "missing or of another shape");
    return (int)tensor->shape[axis];
}

/* ---- what a file's metadata say ---- */

static const char *metadata(const lh_st_file *file, const char *key) {
    const char *value = lh_st_metadata(file, key);
    if (!value) broken(key, "not in the metadata");
    return value;
}

/* Reads a number from the text and moves past it. */
static int take_number(const char *key, const char **text) {
    char *end;
    long value = strtol(*text, &end, 10);
    if (end == *text || value < 1 || value > INT16_MAX) broken(key, *text);
    *text = end;
    return (int)value;
}

static int metadata_number(const lh_st_file *file, const char *key) {
    int value;
    lh_vectors_numbers(file, key, 1, &value);
    return value;
}

void lh_vectors_numbers(const lh_st_file *file, const char *key, int count, int *out) {
    const char *text = metadata(file, key);
    for (int i = 0; i < count; i++) out[i] = take_number(key, &text);
}

/* Index of the metadata's word in `words`, which end with NULL. */
static int metadata_word(const lh_st_file *file, const char *key, const char *const *words) {
    const char *value = metadata(file, key);
    int i = 0;
    while (words[i] && strcmp(words[i], value) != 0) i++;
    if (!words[i]) broken(key, value);
    return i;
}

lh_vectors_facts lh_vectors_read_facts(const lh_st_file *file) {
    static const char *const distances[] = {"of positions", "drawn", "drawn, clamped", NULL};
    static const char *const scores[] = {"none", "alibi", NULL};
    int how = metadata_word(file, "distances", distances);
    lh_vectors_facts facts = {.gradient_length = metadata_number(file, "gradient"),
                              .heads = metadata_number(file, "heads"),
                              .positions = metadata_number(file, "positions"),
                              .drawn = how > 0,
                              .clamped = how == 2,
                              .alibi = metadata_word(file, "score", scores) == 1};
    lh_vectors_numbers(file, "lengths", LH_VECTORS_LENGTHS, facts.length);
    return facts;
}

/* ---- networks ---- */

const lh_ref_network *lh_vectors_network(const char *name) {
    static const char *const prefixes[] = {"parity_", "parity_float64_", ""};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char id[64];
        snprintf(id, sizeof id, "%s%s", prefixes[i], name);
        const lh_ref_network *network = lh_network_find(id);
        if (network) return network;
    }
    broken(name, "no spec has this network");
    return NULL;
}

bool lh_vectors_compiled(const char *name) { return strncmp(lh_vectors_network(name)->id, "parity_", 7) == 0; }

/* Slope of head h in ALiBi: 2^(-8 / heads), its square, and so on. */
static double compute_slope(int heads, int h) { return exp2(-8.0 * (h + 1) / heads); }

static void set_slopes(int heads, lh_ref_tensor *tensor) {
    if (tensor->rows * tensor->columns != heads) broken(tensor->name, "not a slope for each head");
    for (int h = 0; h < heads; h++) tensor->value[h] = compute_slope(heads, h);
}

lh_ref_model *lh_vectors_model(const lh_st_file *file, const lh_ref_network *network) {
    lh_vectors_facts facts = lh_vectors_read_facts(file);
    lh_ref_model *model = lh_ref_model_new(network);
    if (get_size(find(file, "result", facts.length[0], "logits"), "logits", 3, 2) != network->classes)
        broken(network->id, "has another number of classes");
    for (int i = 0; i < model->tensor_count; i++) {
        lh_ref_tensor *tensor = &model->tensors[i];
        int count = 0;
        if (strcmp(tensor->name, "score.slope") == 0) {
            set_slopes(facts.heads, tensor);
            continue;
        }
        double *value = lh_vectors_doubles(file, tensor->name, &count);
        if (!value || count != tensor->rows * tensor->columns) broken(tensor->name, "missing or of another size");
        memcpy(tensor->value, value, (size_t)count * sizeof *value);
        free(value);
    }
    return model;
}

/* ---- pairs of tokens ---- */

void lh_vectors_distances(const lh_vectors_facts *facts, int T, const int32_t *positions, const int32_t *drawn,
                          int32_t *distances) {
    for (int i = 0; i < T; i++) {
        for (int j = 0; j < T; j++) {
            int32_t *out = &distances[i * T + j];
            if (!facts->drawn) *out = positions[j] - positions[i];
            else if (facts->clamped) *out = j < i ? facts->positions - drawn[i - j] : facts->positions - 1;
            else *out = j < i ? -drawn[i - j] : drawn[j - i];
        }
    }
}

void lh_vectors_alibi(int heads, int pairs, const int32_t *distances, double *score) {
    for (int h = 0; h < heads; h++)
        for (int pair = 0; pair < pairs; pair++)
            score[h * pairs + pair] =
                compute_slope(heads, h) * (distances[pair] < 0 ? distances[pair] + 0.5 : -distances[pair]);
}

/* ---- batches ---- */

static double *doubles(const lh_st_file *file, const lh_st_tensor *tensor, const char *name, int expected) {
    int count = 0;
    double *values = tensor ? lh_vectors_doubles(file, tensor->name, &count) : NULL;
    if (!values || count != expected) broken(name, "missing or of another size");
    return values;
}

static int32_t *integers(const lh_st_file *file, int n, const char *name, int count) {
    const lh_st_tensor *tensor = find(file, "data", n, name);
    if (!tensor) return NULL;
    double *values = doubles(file, tensor, name, count);
    int32_t *out = malloc((size_t)count * sizeof *out);
    if (!out) abort();
    for (int i = 0; i < count; i++) out[i] = (int32_t)values[i];
    free(values);
    return out;
}

/* NULL: the file has no such tensor. */
static uint16_t *symbols(const lh_st_file *file, int n, const char *name, int count) {
    if (!find(file, "data", n, name)) return NULL;
    double *values = doubles(file, find(file, "data", n, name), name, count);
    uint16_t *out = malloc((size_t)count * sizeof *out);
    if (!out) abort();
    for (int i = 0; i < count; i++) out[i] = (uint16_t)values[i];
    free(values);
    return out;
}

lh_vectors_case lh_vectors_read_case(const lh_st_file *file, int n) {
    lh_vectors_facts facts = lh_vectors_read_facts(file);
    const lh_st_tensor *token = find(file, "data", n, "tokens"), *logits = find(file, "result", n, "logits");
    int tokens = get_size(token, "tokens", 2, 1), labels = get_size(logits, "logits", 3, 1);
    int sequences = get_size(token, "tokens", 2, 0), classes = get_size(logits, "logits", 3, 2);
    lh_vectors_case out = {.input_length = n,
                           .input = symbols(file, n, "input", sequences * n),
                           .token = symbols(file, n, "tokens", sequences * tokens),
                           .label = symbols(file, n, "target", sequences * labels),
                           .place = symbols(file, n, "place", sequences * labels),
                           .positions = integers(file, n, "positions", tokens),
                           .drawn = integers(file, n, "drawn", tokens),
                           .distances = integers(file, n, "distances", tokens * tokens)};
    if (!out.input || !out.token || !out.label) broken("input, tokens, target", "missing");
    if (!out.positions || facts.drawn != (out.drawn != NULL)) broken("positions, drawn", "not as the metadata says");
    if (facts.alibi && !out.distances) broken("distances", "missing");
    if (facts.alibi) {
        out.score = malloc(sizeof(double) * (size_t)(facts.heads * tokens * tokens));
        if (!out.score) abort();
        lh_vectors_alibi(facts.heads, tokens * tokens, out.distances, out.score);
    }
    double *loss = doubles(file, find(file, "result", n, "loss"), "loss", 1);
    out.logits = doubles(file, logits, "logits", sequences * labels * classes);
    out.loss = *loss;
    out.batch = (lh_ref_batch){.sequences = sequences,
                               .tokens = tokens,
                               .labels = labels,
                               .token = out.token,
                               .label = out.label,
                               .place = out.place,
                               .positions = out.positions,
                               .draws = 1,
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
    free(stored->drawn);
    free(stored->distances);
    free(stored->score);
    free(stored->logits);
}
