/* Stored reference vectors of encoder-decoders; see pairs.h. */
#include "reference/pairs.h"

#include <stdlib.h>
#include <string.h>

const char *const lh_pairs_name[LH_PAIRS_FILES] = {
    "encoder_decoder", "identity_encoder", "drawn_layers", "masks", "lines",     "abc_a",
    "abc_b",           "abc_b_left",       "abc_c",        "abc_d", "abc_lines", "abc_lines_sinusoid",
    "abc_alibi",       "abc_rope",         "abc_shaw"};

void lh_pairs_read_lengths(const lh_st_file *file, int length[LH_PAIRS_LENGTHS]) {
    lh_vectors_read_numbers(file, "lengths", LH_PAIRS_LENGTHS, length);
}

lh_ref_model *lh_pairs_make_model(const lh_st_file *file, const lh_ref_network *network) {
    lh_ref_model *model = lh_ref_model_new(network);
    for (int i = 0; i < model->tensor_count; i++) lh_vectors_load_weight(file, &model->tensors[i]);
    return model;
}

/* Reads positions, 0, 1, 2, ... if the file stores none. */
static int32_t *read_positions(const lh_st_file *file, int n, const char *name, int count) {
    int32_t *out = lh_vectors_read_integers(file, lh_vectors_find(file, "data", n, name), count);
    if (out) return out;
    out = lh_vectors_allocate((size_t)count, sizeof *out);
    for (int i = 0; i < count; i++) out[i] = i;
    return out;
}

/* Reads distances, those of indices if the file stores none. */
static int32_t *read_distances(const lh_st_file *file, int n, const char *name, int queries, int keys) {
    int32_t *out = lh_vectors_read_integers(file, lh_vectors_find(file, "data", n, name), queries * keys);
    if (out) return out;
    out = lh_vectors_allocate((size_t)(queries * keys), sizeof *out);
    for (int i = 0; i < queries * keys; i++) out[i] = i % keys - i / keys;
    return out;
}

static uint16_t *read_symbols(const lh_st_file *file, int n, const char *name, int count) {
    uint16_t *symbols = lh_vectors_read_symbols(file, lh_vectors_find(file, "data", n, name), count);
    if (!symbols) lh_vectors_fail(name, "missing");
    return symbols;
}

/* Reads a result that every file has. */
static double *read_result(const lh_st_file *file, int n, const char *name, int count) {
    double *values = lh_vectors_read_tensor(file, lh_vectors_find(file, "result", n, name), count);
    if (!values) lh_vectors_fail(name, "missing");
    return values;
}

/* Writes ALiBi as Press et al. define it for causal attention, which only the decoder of abc_alibi has. */
static void write_causal_alibi(int heads, int queries, int keys, double *score) {
    for (int i = 0; i < heads * queries * keys; i++) {
        lh_ref_pair pair = {i / (queries * keys), heads, i / keys % queries, i % keys};
        score[i] = lh_ref_alibi(pair);
    }
}

/* Fills pairs, score and places of each family. Families are in this order: the encoder's if there is one, the
 * decoder's, that of cross-attention. */
static void fill_places(const lh_st_file *file, const lh_ref_network *network, int n, lh_pairs_case *out) {
    static const char *const names[] = {"cross.pairs", "decoder.pairs", "encoder.pairs"};
    for (int f = 0; f < network->family_count; f++) {
        int from_end = network->family_count - 1 - f, heads = network->families[f].heads;
        int query_stream = from_end == 2 ? 0 : 1, key_stream = from_end == 1 ? 1 : 0;
        int length[] = {out->batch.tokens, out->batch.target_tokens};
        int queries = length[query_stream], keys = length[key_stream];
        out->pairs[f] = read_distances(file, n, names[from_end], queries, keys);
        out->score[f] = lh_vectors_allocate((size_t)(heads * queries * keys), sizeof(double));
        lh_vectors_compute_alibi(heads, queries * keys, out->pairs[f], out->score[f]);
        if (from_end == 1 && strcmp(network->id, "abc_alibi") == 0)
            write_causal_alibi(heads, queries, keys, out->score[f]);
        out->places[f] = (lh_ref_family_positions){1, out->positions[query_stream], out->positions[key_stream],
                                                   out->pairs[f], out->score[f]};
    }
}

/* Reads the results that only files of arithmetic.py have. */
static void read_more_results(const lh_st_file *file, const lh_ref_network *network, int n, lh_pairs_case *out) {
    static const char *const names[LH_MAX_STREAMS] = {"cross", "decoder"};
    int m = out->batch.target_tokens, heads = network->families[network->family_count - 1].heads;
    const int keys[LH_MAX_STREAMS] = {n, m};
    int answers = out->batch.sequences * m;
    out->greedy = lh_vectors_read_integers(file, lh_vectors_find(file, "result", n, "greedy"), answers);
    for (int s = 0; out->greedy && s < LH_MAX_STREAMS; s++)
        out->attention[s] = read_result(file, n, names[s], answers * heads * keys[s]);
}

void lh_pairs_read_case(const lh_st_file *file, const lh_ref_network *network, int n, lh_pairs_case *out) {
    const lh_st_tensor *target = lh_vectors_find(file, "data", n, "target");
    int sequences = lh_vectors_get_size(target, "target", 2, 0), m = lh_vectors_get_size(target, "target", 2, 1);
    *out = (lh_pairs_case){
        .token = read_symbols(file, n, "source", sequences * n),
        .target = read_symbols(file, n, "target", sequences * m),
        .label = read_symbols(file, n, "label", sequences * m),
        .positions = {read_positions(file, n, "source.positions", n), read_positions(file, n, "target.positions", m)},
        .distances = {read_positions(file, n, "source.distances", n), read_positions(file, n, "target.distances", m)},
        .logits = read_result(file, n, "logits", sequences * m * network->classes)};
    double *mean = read_result(file, n, "loss", 1);
    out->loss = *mean;
    free(mean);
    out->batch = (lh_ref_batch){.sequences = sequences,
                                .tokens = n,
                                .target_tokens = m,
                                .labels = m,
                                .token = out->token,
                                .target = out->target,
                                .label = out->label,
                                .family_positions = out->places,
                                .input_positions = {out->positions[0], out->positions[1]},
                                .loss_scale = 1.0 / (sequences * m),
                                .backward = true};
    fill_places(file, network, n, out);
    read_more_results(file, network, n, out);
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
