/* Stored reference vectors for the C tests; see vectors.h. */
#include "reference/vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const lh_vectors_encoding[LH_VECTORS_ENCODINGS] = {
    "none",         "sincos",    "learned",     "rope",     "rand_sincos",
    "rand_learned", "rand_rope", "rope_linear", "rope_ntk", "rope_yarn"};
const int lh_vectors_length[LH_VECTORS_LENGTHS] = {1, 5, LH_VECTORS_GRADIENT_LENGTH};

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

/* The scalings as reference.py has them: four times the 36 tokens of the longest stored batch. */
static const lh_ref_rope *rope_of(const char *encoding) {
    static const lh_ref_rope plain = {.base = 10000};
    static const lh_ref_rope linear = {.base = 10000, .scaling = LH_REF_LINEAR, .factor = 4};
    static const lh_ref_rope ntk = {.base = 10000, .scaling = LH_REF_NTK, .factor = 4};
    static const lh_ref_rope yarn = {.base = 10000,
                                     .scaling = LH_REF_YARN,
                                     .factor = 4,
                                     .original_length = 2 * LH_VECTORS_GRADIENT_LENGTH,
                                     .beta_slow = 0.25,
                                     .beta_fast = 4,
                                     .attention_factor = 1.1386294361119891}; /* 0.1 ln 4 + 1 */
    if (strcmp(encoding, "rope_linear") == 0) return &linear;
    if (strcmp(encoding, "rope_ntk") == 0) return &ntk;
    if (strcmp(encoding, "rope_yarn") == 0) return &yarn;
    return strstr(encoding, "rope") ? &plain : NULL;
}

lh_ref_encoder *lh_vectors_encoder(const lh_st_file *file, const char *encoding) {
    lh_ref_sizes sizes = {.vocabulary = 7, .classes = 5, .width = 16, .heads = 2, .feedforward = 32, .layers = 2};
    if (strstr(encoding, "sincos")) sizes.additive = LH_REF_SINUSOID;
    if (strstr(encoding, "learned")) {
        sizes.additive = LH_REF_LEARNED;
        sizes.rows = 64;
    }
    sizes.rotation = rope_of(encoding);
    lh_ref_encoder *encoder = lh_ref_encoder_new(&sizes);
    for (int i = 0; i < encoder->tensor_count; i++) {
        lh_ref_tensor *tensor = &encoder->tensors[i];
        int count = 0;
        double *value = lh_vectors_doubles(file, tensor->name, &count);
        if (!value || count != tensor->rows * tensor->columns) broken(tensor->name, "missing or of another size");
        memcpy(tensor->value, value, (size_t)count * sizeof *value);
        free(value);
    }
    return encoder;
}

/* The tensor <group>.n<n>.<name>. */
static double *case_doubles(const lh_st_file *file, const char *group, int n, const char *name, int want) {
    char full[64];
    int count = 0;
    snprintf(full, sizeof full, "%s.n%d.%s", group, n, name);
    double *values = lh_vectors_doubles(file, full, &count);
    if (!values || count != want) broken(full, "missing or of another size");
    return values;
}

lh_vectors_case lh_vectors_case_of(const lh_st_file *file, int n) {
    enum { SEQUENCES = 3, EMPTY = 6, CLASSES = 5 };
    int tokens = 2 * n;
    lh_vectors_case out = {.token = malloc(sizeof(uint16_t) * SEQUENCES * (size_t)tokens),
                           .label = malloc(sizeof(uint16_t) * SEQUENCES * (size_t)n),
                           .positions = malloc(sizeof(int32_t) * (size_t)tokens)};
    if (!out.token || !out.label || !out.positions) abort();
    double *input = case_doubles(file, "data", n, "input", SEQUENCES * n);
    double *target = case_doubles(file, "data", n, "target", SEQUENCES * n);
    double *positions = case_doubles(file, "data", n, "positions", tokens);
    double *loss = case_doubles(file, "result", n, "loss", 1);
    for (int b = 0; b < SEQUENCES; b++) {
        for (int i = 0; i < n; i++) {
            out.token[b * tokens + i] = (uint16_t)input[b * n + i];
            out.token[b * tokens + n + i] = EMPTY;
            out.label[b * n + i] = (uint16_t)target[b * n + i];
        }
    }
    for (int t = 0; t < tokens; t++) out.positions[t] = (int32_t)positions[t];
    out.logits = case_doubles(file, "result", n, "logits", SEQUENCES * n * CLASSES);
    out.loss = *loss;
    out.batch = (lh_ref_batch){.sequences = SEQUENCES,
                               .tokens = tokens,
                               .labels = n,
                               .token = out.token,
                               .label = out.label,
                               .positions = out.positions,
                               .draws = 1,
                               .loss_scale = 1.0 / (SEQUENCES * n),
                               .backward = true};
    free(input);
    free(target);
    free(positions);
    free(loss);
    return out;
}

void lh_vectors_case_free(lh_vectors_case *stored) {
    free(stored->token);
    free(stored->label);
    free(stored->positions);
    free(stored->logits);
}
