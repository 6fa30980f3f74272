/* Reference stick-breaking attention of one sequence, computed directly from the formulas; see ref.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"
#include "kernels/ref/scalar.h"

static double *allocate(size_t count) {
    double *p = calloc(count, sizeof *p);
    if (!p) abort();
    return p;
}

/* Whether query i has key j. */
static int is_reached(const lh_ref_stick *settings, int i, int j) {
    return j < i + (settings->own_key != (settings->mistake == LH_REF_STICK_OTHER_START));
}

/* Whether the weight of key j has the factor 1 - P_s. */
static int is_passed(const lh_ref_stick *settings, int i, int s, int j) {
    if (settings->mistake == LH_REF_STICK_FARTHEST_FIRST) return s < j;
    return is_reached(settings, i, s) && (s > j || (s == j && settings->mistake == LH_REF_STICK_SELF_PASSED));
}

/* Whether value i gets the rest of the stick as its weight. */
static int has_rest(const lh_ref_stick *settings) {
    return settings->own_value != (settings->mistake == LH_REF_STICK_OTHER_REST);
}

double lh_ref_stick_row(const lh_ref_stick *settings, int i, const double *logit, double *weight) {
    double log_rest = 0;
    for (int j = 0; j < settings->tokens; j++) {
        weight[j] = 0;
        if (!is_reached(settings, i, j)) continue;
        double sum = log_sigmoid(logit[j]);
        for (int s = 0; s <= i; s++)
            if (is_passed(settings, i, s, j)) sum += log_sigmoid(-logit[s]);
        weight[j] = exp(sum);
        log_rest += log_sigmoid(-logit[j]);
    }
    return exp(log_rest);
}

void lh_ref_stick_row_grad(const lh_ref_stick *settings, int i, const double *logit, const double *dweight,
                           double drest, double *dlogit) {
    double *weight = allocate((size_t)settings->tokens), rest = lh_ref_stick_row(settings, i, logit, weight);
    for (int m = 0; m < settings->tokens; m++) {
        dlogit[m] = 0;
        if (!is_reached(settings, i, m)) continue;
        double match = exp(log_sigmoid(logit[m])), miss = exp(log_sigmoid(-logit[m]));
        for (int j = 0; j < settings->tokens; j++) {
            if (j == m) dlogit[m] += dweight[j] * weight[j] * miss;
            if (is_passed(settings, i, m, j)) dlogit[m] -= dweight[j] * weight[j] * match;
        }
        dlogit[m] -= drest * rest * match;
    }
    free(weight);
}

/* Returns a copy of x[tokens][heads][head_width], rotated if settings->cosine is not NULL; the caller frees it. */
static double *copy_rotated(const lh_ref_stick *settings, const double *x) {
    size_t count = (size_t)settings->tokens * settings->heads * settings->head_width;
    double *copy = allocate(count);
    memcpy(copy, x, count * sizeof *copy);
    if (settings->cosine)
        lh_ref_rotate(settings->tokens, settings->heads, settings->rotated_heads, settings->head_width,
                      settings->cosine, settings->sine, copy);
    return copy;
}

static void compute_logits(const lh_ref_stick *settings, const double *q, const double *k, int h, int i,
                           double *logit) {
    int D = settings->head_width, C = settings->heads * D;
    for (int j = 0; j < settings->tokens; j++)
        logit[j] = is_reached(settings, i, j) ? dot(D, q + i * C + h * D, k + j * C + h * D) / sqrt(D) : -INFINITY;
}

void lh_ref_stick_attend(const lh_ref_stick *settings, const double *q, const double *k, const double *v,
                         double *logits, double *weights, double *out) {
    int T = settings->tokens, D = settings->head_width, C = settings->heads * D;
    double *rotated_q = copy_rotated(settings, q), *rotated_k = copy_rotated(settings, k);
    memset(out, 0, (size_t)T * C * sizeof *out);
    for (int h = 0; h < settings->heads; h++) {
        for (int i = 0; i < T; i++) {
            double *logit = logits + ((size_t)h * T + i) * T, *row = weights + ((size_t)h * T + i) * T;
            compute_logits(settings, rotated_q, rotated_k, h, i, logit);
            double rest = lh_ref_stick_row(settings, i, logit, row);
            for (int d = h * D; d < (h + 1) * D; d++) {
                for (int j = 0; j < T; j++) out[i * C + d] += row[j] * v[j * C + d];
                if (has_rest(settings)) out[i * C + d] += rest * v[i * C + d];
            }
        }
    }
    free(rotated_q);
    free(rotated_k);
}

/* Adds the gradients from query i of head h. q, k: rotated; dq, dk: gradients of the rotated vectors. */
static void add_query_grad(const lh_ref_stick *settings, const double *q, const double *k, const double *v, int h,
                           int i, const double *dout, double *dq, double *dk, double *dv) {
    int T = settings->tokens, D = settings->head_width, C = settings->heads * D, query = i * C + h * D;
    double *logit = allocate((size_t)T), *weight = allocate((size_t)T);
    double *dweight = allocate((size_t)T), *dlogit = allocate((size_t)T);
    compute_logits(settings, q, k, h, i, logit);
    double rest = lh_ref_stick_row(settings, i, logit, weight);
    for (int j = 0; j < T; j++) dweight[j] = dot(D, dout + query, v + j * C + h * D);
    lh_ref_stick_row_grad(settings, i, logit, dweight, has_rest(settings) ? dweight[i] : 0, dlogit);
    for (int d = 0; d < D; d++) {
        for (int j = 0; j < T; j++) {
            int key = j * C + h * D + d;
            dq[query + d] += dlogit[j] * k[key] / sqrt(D);
            dk[key] += dlogit[j] * q[query + d] / sqrt(D);
            dv[key] += weight[j] * dout[query + d];
        }
        if (has_rest(settings)) dv[query + d] += rest * dout[query + d];
    }
    free(logit);
    free(weight);
    free(dweight);
    free(dlogit);
}

void lh_ref_stick_attend_grad(const lh_ref_stick *settings, const double *q, const double *k, const double *v,
                              const double *dout, double *dq, double *dk, double *dv) {
    int T = settings->tokens, D = settings->head_width;
    size_t count = (size_t)T * settings->heads * D;
    double *rotated_q = copy_rotated(settings, q), *rotated_k = copy_rotated(settings, k);
    memset(dq, 0, count * sizeof *dq);
    memset(dk, 0, count * sizeof *dk);
    memset(dv, 0, count * sizeof *dv);
    for (int h = 0; h < settings->heads; h++)
        for (int i = 0; i < T; i++) add_query_grad(settings, rotated_q, rotated_k, v, h, i, dout, dq, dk, dv);
    if (settings->cosine) {
        lh_ref_unrotate(T, settings->heads, settings->rotated_heads, D, settings->cosine, settings->sine, dq);
        lh_ref_unrotate(T, settings->heads, settings->rotated_heads, D, settings->cosine, settings->sine, dk);
    }
    free(rotated_q);
    free(rotated_k);
}
