/* Stored reference vectors for the C tests; see vectors.h. */
#include "reference/vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const lh_vectors_encoding[LH_VECTORS_ENCODINGS] = {
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
};
const int lh_vectors_length[LH_VECTORS_LENGTHS] = {1, 5, LH_VECTORS_GRADIENT_LENGTH};
const double lh_vectors_slope[2] = {1.0 / 16, 1.0 / 256};

static void broken(const char *what, const char *why) {
    fprintf(stderr, "tests/reference: %s: %s\n", what, why);
    abort();
}

lh_st_file *lh_vectors_open(const char *encoding) {
    char path[128];
    lh_error error = {""};
    lh_st_file *file = NULL;
    snprintf(path, sizeof path, "tests/reference/%s.safetensors", encoding);
    if (lh_st_read(path, &file, &error) != LH_OK) broken(path, error.text);
    return file;
}

static int64_t elements(const lh_st_tensor *tensor) {
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= tensor->shape[i];
    return count;
}

double *lh_vectors_doubles(const lh_st_file *file, const char *name, int *count) {
    const lh_st_tensor *tensor = lh_st_find(file, name);
    if (!tensor) return NULL;
    *count = (int)elements(tensor);
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

const lh_ref_network *lh_vectors_network(const char *encoding) {
    char id[64];
    snprintf(id, sizeof id, strcmp(encoding, "geometric") == 0 ? "parity_float64_%s" : "parity_%s", encoding);
    return lh_network_of(id);
}

static void set_slopes(lh_ref_tensor *tensor) {
    if (tensor->rows * tensor->columns != 2) broken(tensor->name, "not a slope for each of two heads");
    for (int h = 0; h < 2; h++) tensor->value[h] = lh_vectors_slope[h];
}

lh_ref_model *lh_vectors_model(const lh_st_file *file, const lh_ref_network *network) {
    lh_ref_model *model = lh_ref_model_new(network);
    for (int i = 0; i < model->tensor_count; i++) {
        lh_ref_tensor *tensor = &model->tensors[i];
        int count = 0;
        if (strcmp(tensor->name, "score.slope") == 0) {
            set_slopes(tensor);
            continue;
        }
        double *value = lh_vectors_doubles(file, tensor->name, &count);
        if (!value || count != tensor->rows * tensor->columns) broken(tensor->name, "missing or of another size");
        memcpy(tensor->value, value, (size_t)count * sizeof *value);
        free(value);
    }
    return model;
}

bool lh_vectors_draws_distances(const char *encoding) {
    return strcmp(encoding, "rand_relative") == 0 || strcmp(encoding, "rand_relative_clamped") == 0 ||
           strcmp(encoding, "rand_alibi") == 0;
}

void lh_vectors_distances(const char *encoding, int T, const int32_t *positions, const int32_t *drawn,
                          int32_t *distances) {
    bool clamped = strstr(encoding, "clamped") != NULL;
    for (int i = 0; i < T; i++) {
        for (int j = 0; j < T; j++) {
            int32_t *out = &distances[i * T + j];
            if (!lh_vectors_draws_distances(encoding)) *out = positions[j] - positions[i];
            else if (clamped) *out = j < i ? LH_VECTORS_RANGE - drawn[i - j] : LH_VECTORS_RANGE - 1;
            else *out = j < i ? -drawn[i - j] : drawn[j - i];
        }
    }
}

void lh_vectors_alibi(int T, const int32_t *distances, double *score) {
    for (int h = 0; h < 2; h++)
        for (int pair = 0; pair < T * T; pair++)
            score[h * T * T + pair] =
                lh_vectors_slope[h] * (distances[pair] < 0 ? distances[pair] + 0.5 : -distances[pair]);
}

/* The tensor <group>.n<n>.<name>, or NULL. */
static double *find_doubles(const lh_st_file *file, const char *group, int n, const char *name, int want) {
    char full[64];
    int count = 0;
    snprintf(full, sizeof full, "%s.n%d.%s", group, n, name);
    double *values = lh_vectors_doubles(file, full, &count);
    if (values && count != want) broken(full, "of another size");
    return values;
}

static double *case_doubles(const lh_st_file *file, const char *group, int n, const char *name, int want) {
    double *values = find_doubles(file, group, n, name, want);
    if (!values) broken(name, "missing");
    return values;
}

static int32_t *case_integers(const lh_st_file *file, int n, const char *name, int count) {
    double *values = find_doubles(file, "data", n, name, count);
    if (!values) return NULL;
    int32_t *out = malloc((size_t)count * sizeof *out);
    if (!out) abort();
    for (int i = 0; i < count; i++) out[i] = (int32_t)values[i];
    free(values);
    return out;
}

lh_vectors_case lh_vectors_case_of(const lh_st_file *file, int n) {
    enum { SEQUENCES = 3, EMPTY = 6, CLASSES = 5 };
    int tokens = 2 * n;
    lh_vectors_case out = {.token = malloc(sizeof(uint16_t) * SEQUENCES * (size_t)tokens),
                           .label = malloc(sizeof(uint16_t) * SEQUENCES * (size_t)n),
                           .positions = case_integers(file, n, "positions", tokens),
                           .drawn = case_integers(file, n, "drawn", tokens),
                           .distances = case_integers(file, n, "distances", tokens * tokens)};
    if (!out.token || !out.label || !out.positions) abort();
    const char *encoding = lh_st_metadata(file, "encoding");
    if (encoding && strstr(encoding, "alibi")) {
        out.score = malloc(sizeof(double) * 2 * (size_t)tokens * (size_t)tokens);
        if (!out.score) abort();
        lh_vectors_alibi(tokens, out.distances, out.score);
    }
    double *input = case_doubles(file, "data", n, "input", SEQUENCES * n);
    double *target = case_doubles(file, "data", n, "target", SEQUENCES * n);
    double *loss = case_doubles(file, "result", n, "loss", 1);
    for (int b = 0; b < SEQUENCES; b++) {
        for (int i = 0; i < n; i++) {
            out.token[b * tokens + i] = (uint16_t)input[b * n + i];
            out.token[b * tokens + n + i] = EMPTY;
            out.label[b * n + i] = (uint16_t)target[b * n + i];
        }
    }
    out.logits = case_doubles(file, "result", n, "logits", SEQUENCES * n * CLASSES);
    out.loss = *loss;
    out.batch = (lh_ref_batch){.sequences = SEQUENCES,
                               .tokens = tokens,
                               .labels = n,
                               .token = out.token,
                               .label = out.label,
                               .positions = out.positions,
                               .draws = 1,
                               .distances = out.distances,
                               .score = out.score,
                               .loss_scale = 1.0 / (SEQUENCES * n),
                               .backward = true};
    free(input);
    free(target);
    free(loss);
    return out;
}

void lh_vectors_case_free(lh_vectors_case *stored) {
    free(stored->token);
    free(stored->label);
    free(stored->positions);
    free(stored->drawn);
    free(stored->distances);
    free(stored->score);
    free(stored->logits);
}
