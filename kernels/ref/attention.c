/* Reference attention of one sequence; see ref.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"
#include "kernels/ref/scalar.h"

static int count_keys(const lh_ref_attention *shape) { return shape->keys ? shape->keys : shape->tokens; }

static double get_divisor(const lh_ref_attention *shape) { return shape->undivided ? 1 : sqrt(shape->head_width); }

typedef struct rotation_table {
    const double *cosine, *sine; /* [rows][head_width / 2]; NULL: no rotation */
} rotation_table;

static rotation_table get_query_rotation(const lh_ref_attention *shape) {
    return (rotation_table){shape->cosine, shape->sine};
}

static rotation_table get_key_rotation(const lh_ref_attention *shape) {
    return shape->key_cosine ? (rotation_table){shape->key_cosine, shape->key_sine} : get_query_rotation(shape);
}

/* Returns a copy of x[tokens][heads][head_width], rotated unless the table is NULL; the caller frees it. */
static double *copy_rotated(const lh_ref_attention *shape, int tokens, rotation_table rotation, const double *x) {
    size_t count = (size_t)tokens * shape->heads * shape->head_width;
    double *copy = malloc(count * sizeof *copy);
    if (!copy) abort();
    memcpy(copy, x, count * sizeof *copy);
    if (rotation.cosine)
        lh_ref_rotate(tokens, shape->heads, shape->rotated_heads, shape->head_width, rotation.cosine, rotation.sine,
                      copy);
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

static double get_temperature(const lh_ref_attention *shape) { return shape->temperature > 0 ? shape->temperature : 1; }

/* The dropout factor of a pair's weight. */
static double get_keep_factor(const lh_ref_attention *shape, int h, int i, int j) {
    return shape->keep ? shape->keep[((size_t)h * shape->tokens + i) * count_keys(shape) + j] : 1;
}

/* The logit of query i and key j of head h. */
static double compute_logit(const lh_ref_attention *shape, const double *q, const double *k, int h, int i, int j) {
    int T = shape->tokens, S = count_keys(shape), D = shape->head_width, C = shape->heads * D;
    const double *query = q + i * C + h * D, *key = k + j * C + h * D;
    double sum = 0;
    for (int d = 0; d < D; d++) {
        sum += (query[d] + get_element(shape->content_bias, h * D + d)) * key[d];
        if (shape->relative)
            sum += (query[d] + get_element(shape->position_bias, h * D + d)) *
                   shape->relative[((size_t)i * S + j) * C + h * D + d];
    }
    double score = sum / get_divisor(shape) + (shape->score ? shape->score[((size_t)h * T + i) * S + j] : 0);
    return score / get_temperature(shape);
}

void lh_ref_attend(const lh_ref_attention *shape, const double *q, const double *k, const double *v, double *weights,
                   double *out) {
    int T = shape->tokens, S = count_keys(shape), D = shape->head_width, C = shape->heads * D;
    double *rotated_q = copy_rotated(shape, shape->tokens, get_query_rotation(shape), q);
    double *rotated_k = copy_rotated(shape, count_keys(shape), get_key_rotation(shape), k);
    for (int h = 0; h < shape->heads; h++) {
        for (int i = 0; i < T; i++) {
            double *row = weights + ((size_t)h * T + i) * S, *o = out + i * C + h * D;
            for (int j = 0; j < S; j++) row[j] = compute_logit(shape, rotated_q, rotated_k, h, i, j);
            if (shape->logits) memcpy(shape->logits + ((size_t)h * T + i) * S, row, (size_t)S * sizeof *row);
            apply_softmax(S, row);
            for (int d = 0; d < D; d++) {
                o[d] = 0;
                for (int j = 0; j < S; j++) o[d] += get_keep_factor(shape, h, i, j) * row[j] * v[j * C + h * D + d];
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
static void add_pair_grad(const lh_ref_attention *shape, const double *q, const double *k, int h, int i, int j,
                          double dproduct, double *dq, double *dk, const lh_ref_pair_grad *dpair) {
    int S = count_keys(shape), D = shape->head_width, C = shape->heads * D;
    for (int d = 0; d < D; d++) {
        int query = i * C + h * D + d, key = j * C + h * D + d, c = h * D + d;
        size_t row = ((size_t)i * S + j) * C + c;
        dq[query] += dproduct * k[key];
        dk[key] += dproduct * (q[query] + get_element(shape->content_bias, c));
        if (shape->content_bias) dpair->content_bias[c] += dproduct * k[key];
        if (!shape->relative) continue;
        dq[query] += dproduct * shape->relative[row];
        dpair->relative[row] += dproduct * (q[query] + get_element(shape->position_bias, c));
        if (shape->position_bias) dpair->position_bias[c] += dproduct * shape->relative[row];
    }
}

/* With p_j the weights of one query: dp_j = keep_j dout . v_j, dscore_j = p_j (dp_j - mean) / temperature, where mean
 * is the sum over all keys l of p_l dp_l. */
void lh_ref_attend_grad(const lh_ref_attention *shape, const double *q, const double *k, const double *v,
                        const double *weights, const double *dout, double *dq, double *dk, double *dv,
                        const lh_ref_pair_grad *dpair) {
    int T = shape->tokens, S = count_keys(shape), D = shape->head_width, C = shape->heads * D;
    double *rotated_q = copy_rotated(shape, shape->tokens, get_query_rotation(shape), q);
    double *rotated_k = copy_rotated(shape, count_keys(shape), get_key_rotation(shape), k);
    memset(dq, 0, (size_t)T * C * sizeof *dq);
    memset(dk, 0, (size_t)S * C * sizeof *dk);
    memset(dv, 0, (size_t)S * C * sizeof *dv);
    for (int h = 0; h < shape->heads; h++) {
        for (int i = 0; i < T; i++) {
            const double *row = weights + ((size_t)h * T + i) * S, *dout_row = dout + i * C + h * D;
            double mean = 0;
            for (int j = 0; j < S; j++)
                mean += row[j] * get_keep_factor(shape, h, i, j) * dot(D, dout_row, v + j * C + h * D);
            for (int j = 0; j < S; j++) {
                int key = j * C + h * D;
                double keep = get_keep_factor(shape, h, i, j), dp = keep * dot(D, dout_row, v + key);
                double dscore = row[j] * (dp - mean) / get_temperature(shape);
                for (int d = 0; d < D; d++) dv[key + d] += keep * row[j] * dout_row[d];
                add_pair_grad(shape, rotated_q, rotated_k, h, i, j, dscore / get_divisor(shape), dq, dk, dpair);
                if (dpair->score) dpair->score[((size_t)h * T + i) * S + j] += dscore;
            }
        }
    }
    if (shape->cosine) {
        lh_ref_unrotate(T, shape->heads, shape->rotated_heads, D, shape->cosine, shape->sine, dq);
        lh_ref_unrotate(S, shape->heads, shape->rotated_heads, D, get_key_rotation(shape).cosine,
                        get_key_rotation(shape).sine, dk);
    }
    free(rotated_q);
    free(rotated_k);
}
