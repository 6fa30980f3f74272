/* Reference geometric attention of one sequence, computed directly from the formulas; see ref.h. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"
#include "kernels/ref/scalar.h"

static double *allocate(size_t count) {
    double *p = calloc(count, sizeof *p);
    if (!p) abort();
    return p;
}

/* Whether query i tries key k before key j: k is nearer, or equally far and to the right. */
static bool is_tried_before(int i, int k, int j) {
    return k != i && (abs(i - k) < abs(i - j) || (j < i && k == 2 * i - j));
}

double lh_ref_geometric_row(int tokens, int query, const double *logit, double *weight) {
    double total = 0;
    for (int j = 0; j < tokens; j++) {
        weight[j] = j == query ? 0 : sigmoid(logit[j]);
        for (int k = 0; k < tokens; k++)
            if (is_tried_before(query, k, j)) weight[j] *= sigmoid(-logit[k]);
        total += weight[j];
    }
    return total;
}

/* A_j is the weight of key j: log A_j = log P_j + the sum of log(1 - P_k) over the keys k that the query tries before
 * j. The derivatives with respect to the logit of a key are 1 - P for log P, and -P for log(1 - P). */
void lh_ref_geometric_row_grad(int tokens, int query, const double *logit, const double *weight, const double *dweight,
                               double *dlogit) {
    for (int m = 0; m < tokens; m++) {
        dlogit[m] = 0;
        if (m == query) continue;
        for (int j = 0; j < tokens; j++) {
            if (j == m) dlogit[m] += dweight[j] * weight[j] * sigmoid(-logit[m]);
            if (is_tried_before(query, m, j)) dlogit[m] -= dweight[j] * weight[j] * sigmoid(logit[m]);
        }
    }
}

/* Returns the value of `direction` for query i and the side, right or left, on which key j lies. */
static double get_direction(const lh_ref_geometric *settings, int h, int i, int j) {
    return settings->direction ? settings->direction[(i * settings->heads + h) * 2 + (j < i)] : 0;
}

/* Returns (q_i + b) . k_j of head h. */
static double compute_match(const lh_ref_geometric *settings, const double *q, const double *k, int h, int i, int j) {
    int D = settings->head_width, C = settings->heads * D;
    const double *key = k + j * C + h * D;
    return dot(D, q + i * C + h * D, key) + dot(D, settings->content_bias + h * D, key);
}

/* Writes the logits of one query; the logit of the query with itself is -infinity. */
static void compute_logits(const lh_ref_geometric *settings, const double *q, const double *k, int h, int i,
                           double *logit) {
    for (int j = 0; j < settings->tokens; j++)
        logit[j] = j == i ? -INFINITY
                          : settings->scale * compute_match(settings, q, k, h, i, j) +
                                settings->direction_scale * get_direction(settings, h, i, j) + settings->offset;
}

/* The divisor of a query's weights. */
static double choose_divisor(const lh_ref_geometric *settings, double total) {
    return settings->normalised ? fmax(total, LH_REF_LEAST_TOTAL) : 1;
}

void lh_ref_geometric_attend(const lh_ref_geometric *settings, const double *q, const double *k, const double *v,
                             double *weights, double *out) {
    int T = settings->tokens, D = settings->head_width, C = settings->heads * D;
    double *logit = allocate((size_t)T);
    memset(out, 0, (size_t)T * C * sizeof *out);
    for (int h = 0; h < settings->heads; h++) {
        for (int i = 0; i < T; i++) {
            double *row = weights + ((size_t)h * T + i) * T;
            compute_logits(settings, q, k, h, i, logit);
            double divisor = choose_divisor(settings, lh_ref_geometric_row(T, i, logit, row));
            for (int j = 0; j < T; j++) {
                row[j] /= divisor;
                for (int d = 0; d < D; d++) out[i * C + h * D + d] += row[j] * v[j * C + h * D + d];
            }
            if (settings->logits) memcpy(settings->logits + ((size_t)h * T + i) * T, logit, (size_t)T * sizeof *logit);
        }
    }
    free(logit);
}

/* Writes dweight, the gradient of the undivided weights of query i, from the gradient of the output. The divisor has a
 * gradient only if it is the sum of weights, `total`. */
static void compute_weights_grad(const lh_ref_geometric *settings, int h, int i, const double *row, double total,
                                 const double *v, const double *dout, double *dweight) {
    int T = settings->tokens, D = settings->head_width, C = settings->heads * D;
    double mean = 0;
    for (int j = 0; j < T; j++) dweight[j] = dot(D, dout + i * C + h * D, v + j * C + h * D);
    double divisor = choose_divisor(settings, total);
    for (int j = 0; j < T && divisor == total; j++) mean += row[j] / total * dweight[j];
    for (int j = 0; j < T; j++) dweight[j] = (dweight[j] - mean) / divisor;
}

/* Adds the gradients of a pair from the gradient of its logit. */
static void add_pair_grad(const lh_ref_geometric *settings, const double *q, const double *k, int h, int i, int j,
                          double dlogit, double *dq, double *dk, lh_ref_geometric_grad *grad) {
    int D = settings->head_width, C = settings->heads * D;
    grad->scale += dlogit * compute_match(settings, q, k, h, i, j);
    grad->offset += dlogit;
    grad->direction_scale += dlogit * get_direction(settings, h, i, j);
    if (settings->direction)
        grad->direction[(i * settings->heads + h) * 2 + (j < i)] += dlogit * settings->direction_scale;
    for (int d = 0; d < D; d++) {
        int query = i * C + h * D + d, key = j * C + h * D + d, c = h * D + d;
        dq[query] += dlogit * settings->scale * k[key];
        grad->content_bias[c] += dlogit * settings->scale * k[key];
        dk[key] += dlogit * settings->scale * (q[query] + settings->content_bias[c]);
    }
}

void lh_ref_geometric_attend_grad(const lh_ref_geometric *settings, const double *q, const double *k, const double *v,
                                  const double *dout, double *dq, double *dk, double *dv, lh_ref_geometric_grad *grad) {
    int T = settings->tokens, D = settings->head_width, C = settings->heads * D;
    double *logit = allocate((size_t)T), *row = allocate((size_t)T);
    double *dweight = allocate((size_t)T), *dlogit = allocate((size_t)T);
    memset(dq, 0, (size_t)T * C * sizeof *dq);
    memset(dk, 0, (size_t)T * C * sizeof *dk);
    memset(dv, 0, (size_t)T * C * sizeof *dv);
    for (int h = 0; h < settings->heads; h++) {
        for (int i = 0; i < T; i++) {
            compute_logits(settings, q, k, h, i, logit);
            double total = lh_ref_geometric_row(T, i, logit, row);
            double divisor = choose_divisor(settings, total);
            compute_weights_grad(settings, h, i, row, total, v, dout, dweight);
            lh_ref_geometric_row_grad(T, i, logit, row, dweight, dlogit);
            for (int j = 0; j < T; j++) {
                for (int d = 0; d < D; d++) dv[j * C + h * D + d] += row[j] / divisor * dout[i * C + h * D + d];
                if (j != i) add_pair_grad(settings, q, k, h, i, j, dlogit[j], dq, dk, grad);
            }
        }
    }
    free(logit);
    free(row);
    free(dweight);
    free(dlogit);
}
