/* Stored reference vectors of encoder-decoders; see pairs.h. */
#include "reference/pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const lh_pairs_name[LH_PAIRS_FILES] = {
    "encoder_decoder", "identity_encoder", "drawn_layers", "masks", "lines",     "abc_a",
    "abc_b",           "abc_b_left",       "abc_c",        "abc_d", "abc_lines", "abc_lines_sinusoid",
    "abc_alibi",       "abc_rope",         "abc_shaw"};

void lh_pairs_lengths(const lh_st_file *file, int length[LH_PAIRS_LENGTHS]) {
    lh_vectors_numbers(file, "lengths", LH_PAIRS_LENGTHS, length);
}

static void fail_broken(const char *what) {
    fprintf(stderr, "tests/reference: %s: missing or of another size\n", what);
    abort();
}

static void *allocate(size_t count, size_t size) {
    void *p = calloc(count + 1, size);
    if (!p) abort();
    return p;
}

/* `count` numbers of a tensor of the file; the caller frees them. */
static double *numbers(const lh_st_file *file, const char *name, int expected) {
    int count = 0;
    double *values = lh_vectors_doubles(file, name, &count);
    if (!values || count != expected) fail_broken(name);
    return values;
}

lh_ref_model *lh_pairs_model(const lh_st_file *file, const lh_ref_network *network) {
    lh_ref_model *model = lh_ref_model_new(network);
    for (int i = 0; i < model->tensor_count; i++) {
        lh_ref_tensor *tensor = &model->tensors[i];
        int count = tensor->rows * tensor->columns;
        double *value = numbers(file, tensor->name, count);
        memcpy(tensor->value, value, (size_t)count * sizeof *value);
        free(value);
    }
    return model;
}

/* NULL: the file has no such tensor. */
static int32_t *read_integers(const lh_st_file *file, const char *kind, int n, const char *name, int count) {
    char full[64];
    snprintf(full, sizeof full, "%s.n%d.%s", kind, n, name);
    if (!lh_st_find(file, full)) return NULL;
    double *values = numbers(file, full, count);
    int32_t *out = allocate((size_t)count, sizeof *out);
    for (int i = 0; i < count; i++) out[i] = (int32_t)values[i];
    free(values);
    return out;
}

/* Positions of a file, or 0, 1, 2, ... if the file stores none. */
static int32_t *indices(const lh_st_file *file, int n, const char *name, int count) {
    int32_t *out = read_integers(file, "data", n, name, count);
    if (out) return out;
    out = allocate((size_t)count, sizeof *out);
    for (int i = 0; i < count; i++) out[i] = i;
    return out;
}

/* Distances of a file, or indices of keys minus indices of queries if the file stores none. */
static int32_t *differences(const lh_st_file *file, int n, const char *name, int queries, int keys) {
    int32_t *out = read_integers(file, "data", n, name, queries * keys);
    if (out) return out;
    out = allocate((size_t)(queries * keys), sizeof *out);
    for (int i = 0; i < queries * keys; i++) out[i] = i % keys - i / keys;
    return out;
}

static uint16_t *read_symbols(const lh_st_file *file, int n, const char *name, int count) {
    int32_t *values = read_integers(file, "data", n, name, count);
    if (!values) fail_broken(name);
    uint16_t *out = allocate((size_t)count, sizeof *out);
    for (int i = 0; i < count; i++) out[i] = (uint16_t)values[i];
    free(values);
    return out;
}

/* ALiBi as Press et al. have it, for queries that see only what is before them: of the decoder of abc_alibi alone. */
static void straighten(int heads, int queries, int keys, double *score) {
    for (int i = 0; i < heads * queries * keys; i++) {
        lh_ref_pair pair = {i / (queries * keys), heads, i / keys % queries, i % keys};
        score[i] = lh_ref_alibi(pair);
    }
}

/* Families stand in the order of their attentions: the encoder's if there is one, the decoder's, cross-attention's.
 * Every score is ALiBi. */
static void fill_places(const lh_st_file *file, const lh_ref_network *network, int n, lh_pairs_case *out) {
    static const char *const names[] = {"cross.pairs", "decoder.pairs", "encoder.pairs"};
    for (int f = 0; f < network->family_count; f++) {
        int from_end = network->family_count - 1 - f, heads = network->families[f].heads;
        int of_queries = from_end == 2 ? 0 : 1, of_keys = from_end == 1 ? 1 : 0;
        int length[] = {out->batch.tokens, out->batch.target_tokens}, pairs = length[of_queries] * length[of_keys];
        out->pairs[f] = differences(file, n, names[from_end], length[of_queries], length[of_keys]);
        out->score[f] = allocate((size_t)(heads * pairs), sizeof(double));
        lh_vectors_alibi(heads, pairs, out->pairs[f], out->score[f]);
        if (from_end == 1 && strcmp(network->id, "abc_alibi") == 0)
            straighten(heads, length[of_queries], length[of_keys], out->score[f]);
        out->places[f] =
            (lh_ref_places){1, out->positions[of_queries], out->positions[of_keys], out->pairs[f], out->score[f]};
    }
}

/* Reads the results of a batch other than its logits. */
static void read_results(const lh_st_file *file, const lh_ref_network *network, int n, lh_pairs_case *out) {
    static const char *const names[LH_MAX_STREAMS] = {"cross", "decoder"};
    int m = out->batch.target_tokens, heads = network->families[network->family_count - 1].heads;
    const int keys[LH_MAX_STREAMS] = {n, m};
    out->greedy = read_integers(file, "result", n, "greedy", out->batch.sequences * m);
    for (int s = 0; out->greedy && s < LH_MAX_STREAMS; s++) {
        char name[64];
        snprintf(name, sizeof name, "result.n%d.%s", n, names[s]);
        out->attention[s] = numbers(file, name, out->batch.sequences * heads * m * keys[s]);
    }
}

/* Size of an axis of data.n<n>.<name>. */
static int get_size(const lh_st_file *file, int n, const char *name, int axis) {
    char full[64];
    snprintf(full, sizeof full, "data.n%d.%s", n, name);
    const lh_st_tensor *tensor = lh_st_find(file, full);
    if (!tensor || tensor->rank != 2) fail_broken(full);
    return (int)tensor->shape[axis];
}

void lh_pairs_case_read(const lh_st_file *file, const lh_ref_network *network, int n, lh_pairs_case *out) {
    char logits[64], loss[64];
    int sequences = get_size(file, n, "target", 0), m = get_size(file, n, "target", 1);
    *out = (lh_pairs_case){
        .token = read_symbols(file, n, "source", sequences * n),
        .target = read_symbols(file, n, "target", sequences * m),
        .label = read_symbols(file, n, "label", sequences * m),
        .positions = {indices(file, n, "source.positions", n), indices(file, n, "target.positions", m)},
        .distances = {indices(file, n, "source.distances", n), indices(file, n, "target.distances", m)}};
    snprintf(logits, sizeof logits, "result.n%d.logits", n);
    snprintf(loss, sizeof loss, "result.n%d.loss", n);
    out->logits = numbers(file, logits, sequences * m * network->classes);
    double *mean = numbers(file, loss, 1);
    out->loss = *mean;
    free(mean);
    out->batch = (lh_ref_batch){.sequences = sequences,
                                .tokens = n,
                                .target_tokens = m,
                                .labels = m,
                                .token = out->token,
                                .target = out->target,
                                .label = out->label,
                                .places = out->places,
                                .input_positions = {out->positions[0], out->positions[1]},
                                .loss_scale = 1.0 / (sequences * m),
                                .backward = true};
    fill_places(file, network, n, out);
    read_results(file, network, n, out);
}

void lh_pairs_case_free(lh_pairs_case *stored) {
    free(stored->logits);
    free(stored->greedy);
    free(stored->token);
    free(stored->target);
    free(stored->label);
    for (int s = 0; s < LH_MAX_STREAMS; s++) {
        free(stored->positions[s]);
        free(stored->distances[s]);
        free(stored->attention[s]);
    }
    for (int f = 0; f < LH_PAIRS_MOST_FAMILIES; f++) {
        free(stored->pairs[f]);
        free(stored->score[f]);
    }
}
