/* Reference attention of one sequence; see ref.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"
#include "kernels/ref/scalar.h"

static int count_keys(const lh_ref_attention *settings) { return settings->keys ? settings->keys : settings->tokens; }

static double get_divisor(const lh_ref_attention *settings) {
    return settings->undivided ? 1 : sqrt(settings->head_width);
}

typedef struct rotation_table {
    const double *cosine, *sine; /* [rows][head_width / 2]; NULL: no rotation */
} rotation_table;

static rotation_table get_query_rotation(const lh_ref_attention *settings) {
    return (rotation_table){settings->cosine, settings->sine};
}

static rotation_table get_key_rotation(const lh_ref_attention *settings) {
    return settings->key_cosine ? (rotation_table){settings->key_cosine, settings->key_sine}
                                : get_query_rotation(settings);
}

/* Returns a copy of x[tokens][heads][head_width], rotated unless the table is NULL; the caller frees it. */
static double *copy_rotated(const lh_ref_attention *settings, int tokens, rotation_table rotation, const double *x) {
    size_t count = (size_t)tokens * settings->heads * settings->head_width;
    double *copy = malloc(count * sizeof *copy);
    if (!copy) abort();
    memcpy(copy, x, count * sizeof *copy);
    if (rotation.cosine)
        lh_ref_rotate(tokens, settings->heads, settings->rotated_heads, settings->head_width, rotation.cosine,
                      rotation.sine, copy);
    return copy;
}

/* Replaces x by its softmax; subtracts the largest score first, so that exp cannot overflow. */
static void apply_softmax(int count, double *x) {
    double max_score = x[0], sum = 0;
    for (int i = 1; i < count; i++) max_score = fmax(max_score, x[i]);
    for (int i = 0; i < count; i++) {
        x[i] = exp(x[i] - max_score);
        sum += x[i];
    }
    for (int i = 0; i < count; i++) x[i] /= sum;
}

/* Returns x[i], or 0 if x is NULL. */
static double get_element(const double *x, int i) { return x ? x[i] : 0; }

static double get_temperature(const lh_ref_attention *settings) {
    return settings->temperature > 0 ? settings->temperature : 1;
}

/* The dropout factor of a pair's weight. */
static double get_keep_factor(const lh_ref_attention *settings, int h, int i, int j) {
    return settings->keep ? settings->keep[((size_t)h * settings->tokens + i) * count_keys(settings) + j] : 1;
}

/* The logit of query i and key j of head h. */
static double compute_logit(const lh_ref_attention *settings, const double *q, const double *k, int h, int i, int j) {
    int T = settings->tokens, S = count_keys(settings), D = settings->head_width, C = settings->heads * D;
    const double *query = q + i * C + h * D, *key = k + j * C + h * D;
    double sum = 0;
    for (int d = 0; d < D; d++) {
        sum += (query[d] + get_element(settings->content_bias, h * D + d)) * key[d];
        if (settings->relative)
            sum += (query[d] + get_element(settings->position_bias, h * D + d)) *
                   settings->relative[((size_t)i * S + j) * C + h * D + d];
    }
    double score = sum / get_divisor(settings) + (settings->score ? settings->score[((size_t)h * T + i) * S + j] : 0);
    return score / get_temperature(settings);
}

void lh_ref_attend(const lh_ref_attention *settings, const double *q, const double *k, const double *v, double *weights,
                   double *out) {
    int T = settings->tokens, S = count_keys(settings), D = settings->head_width, C = settings->heads * D;
    double *rotated_q = copy_rotated(settings, settings->tokens, get_query_rotation(settings), q);
    double *rotated_k = copy_rotated(settings, count_keys(settings), get_key_rotation(settings), k);
    for (int h = 0; h < settings->heads; h++) {
        for (int i = 0; i < T; i++) {
            double *row = weights + ((size_t)h * T + i) * S, *o = out + i * C + h * D;
            for (int j = 0; j < S; j++) row[j] = compute_logit(settings, rotated_q, rotated_k, h, i, j);
            if (settings->logits) memcpy(settings->logits + ((size_t)h * T + i) * S, row, (size_t)S * sizeof *row);
            apply_softmax(S, row);
            for (int d = 0; d < D; d++) {
                o[d] = 0;
                for (int j = 0; j < S; j++) o[d] += get_keep_factor(settings, h, i, j) * row[j] * v[j * C + h * D + d];
            }
        }
    }
    free(rotated_q);
    free(rotated_k);
}

/* Adds the gradients of a pair of a query and a key.
 *   dproduct  the gradient of `sum` in compute_logit
 *   q, k      rotated
 *   dq, dk    gradients of the rotated query and key */
static void add_pair_grad(const lh_ref_attention *settings, const double *q, const double *k, int h, int i, int j,
                          double dproduct, double *dq, double *dk, const lh_ref_pair_grad *dpair) {
    int S = count_keys(settings), D = settings->head_width, C = settings->heads * D;
    for (int d = 0; d < D; d++) {
        int query = i * C + h * D + d, key = j * C + h * D + d, c = h * D + d;
        size_t row = ((size_t)i * S + j) * C + c;
        dq[query] += dproduct * k[key];
        dk[key] += dproduct * (q[query] + get_element(settings->content_bias, c));
        if (settings->content_bias) dpair->content_bias[c] += dproduct * k[key];
        if (!settings->relative) continue;
        dq[query] += dproduct * settings->relative[row];
        dpair->relative[row] += dproduct * (q[query] + get_element(settings->position_bias, c));
        if (settings->position_bias) dpair->position_bias[c] += dproduct * settings->relative[row];
    }
}

/* With p_j the weights of one query: dp_j = keep_j dout . v_j, dscore_j = p_j (dp_j - mean) / temperature, where mean
 * is the sum over all keys l of p_l dp_l. */
void lh_ref_attend_grad(const lh_ref_attention *settings, const double *q, const double *k, const double *v,
                        const double *weights, const double *dout, double *dq, double *dk, double *dv,
                        const lh_ref_pair_grad *dpair) {
    int T = settings->tokens, S = count_keys(settings), D = settings->head_width, C = settings->heads * D;
    double *rotated_q = copy_rotated(settings, settings->tokens, get_query_rotation(settings), q);
    double *rotated_k = copy_rotated(settings, count_keys(settings), get_key_rotation(settings), k);
    memset(dq, 0, (size_t)T * C * sizeof *dq);
    memset(dk, 0, (size_t)S * C * sizeof *dk);
    memset(dv, 0, (size_t)S * C * sizeof *dv);
    for (int h = 0; h < settings->heads; h++) {
        for (int i = 0; i < T; i++) {
            const double *row = weights + ((size_t)h * T + i) * S, *dout_row = dout + i * C + h * D;
            double mean = 0;
            for (int j = 0; j < S; j++)
                mean += row[j] * get_keep_factor(settings, h, i, j) * dot(D, dout_row, v + j * C + h * D);
            for (int j = 0; j < S; j++) {
                int key = j * C + h * D;
                double keep = get_keep_factor(settings, h, i, j), dp = keep * dot(D, dout_row, v + key);
                double dscore = row[j] * (dp - mean) / get_temperature(settings);
                for (int d = 0; d < D; d++) dv[key + d] += keep * row[j] * dout_row[d];
                add_pair_grad(settings, rotated_q, rotated_k, h, i, j, dscore / get_divisor(settings), dq, dk, dpair);
                if (dpair->score) dpair->score[((size_t)h * T + i) * S + j] += dscore;
            }
        }
    }
    if (settings->cosine) {
        lh_ref_unrotate(T, settings->heads, settings->rotated_heads, D, settings->cosine, settings->sine, dq);
        lh_ref_unrotate(S, settings->heads, settings->rotated_heads, D, get_key_rotation(settings).cosine,
                        get_key_rotation(settings).sine, dk);
    }
    free(rotated_q);
    free(rotated_k);
}
