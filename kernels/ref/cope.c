/* Two references for one sequence: contextual positions, and terms of scores with sums over keys; see ref.h. */
#include <math.h>
#include <stdlib.h>

#include "kernels/ref/ref.h"
#include "kernels/ref/scalar.h"

/* ---- contextual positions ---- */

/* Whether the gate of key s is part of the count of key j, for query i. */
static bool is_counted(const lh_ref_cope *settings, int i, int j, int s) {
    if (settings->mistake == LH_REF_COUNTED_FROM_START) return s <= j;
    return s >= j && s <= i - (settings->mistake == LH_REF_OWN_GATE_LEFT_OUT);
}

/* A query of a head, with the gates and counts of its keys. */
typedef struct query_row {
    int i, offset; /* offset: index in q of the first element of the query */
    double *gate, *count;
} query_row;

static double get_gate_scale(const lh_ref_cope *settings) {
    return settings->mistake == LH_REF_GATES_UNSCALED ? 1 : 1 / sqrt(settings->head_width);
}

static double get_term_scale(const lh_ref_cope *settings) {
    return settings->divided ? 1 / sqrt(settings->head_width) : 1;
}

/* Computes the gates and counts of a query's keys. */
static void compute_counts(const lh_ref_cope *settings, const double *q, const double *k, int h, query_row *row) {
    int D = settings->head_width, C = settings->heads * D;
    for (int j = 0; j <= row->i; j++)
        row->gate[j] = sigmoid(get_gate_scale(settings) * dot(D, q + row->offset, k + j * C + h * D));
    for (int j = 0; j <= row->i; j++) {
        row->count[j] = 0;
        for (int s = 0; s <= row->i; s++)
            if (is_counted(settings, row->i, j, s)) row->count[j] += row->gate[s];
        row->count[j] = fmin(row->count[j], settings->rows - 1);
    }
}

/* Calls visit for every query of every head. */
static void visit_queries(const lh_ref_cope *settings, const double *q, const double *k,
                          void (*visit)(void *context, int h, const query_row *row), void *context) {
    int T = settings->tokens, D = settings->head_width;
    double *gate = calloc((size_t)T, sizeof *gate), *count = calloc((size_t)T, sizeof *count);
    if (!gate || !count) abort();
    for (int h = 0; h < settings->heads; h++) {
        for (int i = 0; i < T; i++) {
            query_row row = {i, (i * settings->heads + h) * D, gate, count};
            compute_counts(settings, q, k, h, &row);
            visit(context, h, &row);
        }
    }
    free(gate);
    free(count);
}

/* Arguments of one call, for the functions that visit_queries calls. */
typedef struct pass {
    const lh_ref_cope *settings;
    const double *q, *k, *dscore;
    double *score, *dq, *dk, *dtable;
} pass;

/* Returns a row of the table. */
static const double *get_vector(const pass *p, double row) {
    return p->settings->table + (int)row * p->settings->head_width;
}

static void add_terms(void *context, int h, const query_row *row) {
    const pass *p = context;
    int T = p->settings->tokens, D = p->settings->head_width;
    for (int j = 0; j <= row->i; j++) {
        double low = floor(row->count[j]), high = ceil(row->count[j]), share = row->count[j] - low;
        p->score[((size_t)h * T + row->i) * T + j] +=
            get_term_scale(p->settings) * ((1 - share) * dot(D, p->q + row->offset, get_vector(p, low)) +
                                           share * dot(D, p->q + row->offset, get_vector(p, high)));
    }
}

void lh_ref_cope_terms(const lh_ref_cope *settings, const double *q, const double *k, double *score) {
    pass p = {.settings = settings, .q = q, .k = k, .score = score};
    visit_queries(settings, q, k, add_terms, &p);
}

/* Propagates dgate, the gradient of gate s, to the query and the key. */
static void add_gate_grad(const pass *p, int h, const query_row *row, int s, double dgate) {
    int D = p->settings->head_width, key = (s * p->settings->heads + h) * D;
    double dproduct = dgate * row->gate[s] * (1 - row->gate[s]) * get_gate_scale(p->settings);
    for (int d = 0; d < D; d++) {
        p->dq[row->offset + d] += dproduct * p->k[key + d];
        p->dk[key + d] += dproduct * p->q[row->offset + d];
    }
}

static void add_term_grads(void *context, int h, const query_row *row) {
    const pass *p = context;
    int T = p->settings->tokens, D = p->settings->head_width;
    for (int j = 0; j <= row->i; j++) {
        double low = floor(row->count[j]), high = ceil(row->count[j]), share = row->count[j] - low;
        double dterm = get_term_scale(p->settings) * p->dscore[((size_t)h * T + row->i) * T + j], dcount = 0;
        for (int d = 0; d < D; d++) {
            double low_value = get_vector(p, low)[d], high_value = get_vector(p, high)[d];
            p->dq[row->offset + d] += dterm * ((1 - share) * low_value + share * high_value);
            p->dtable[(int)low * D + d] += dterm * (1 - share) * p->q[row->offset + d];
            p->dtable[(int)high * D + d] += dterm * share * p->q[row->offset + d];
            dcount += dterm * p->q[row->offset + d] * (high_value - low_value);
        }
        for (int s = 0; s <= row->i && p->settings->mistake != LH_REF_COUNTS_DETACHED; s++)
            if (is_counted(p->settings, row->i, j, s)) add_gate_grad(p, h, row, s, dcount);
    }
}

void lh_ref_cope_grad(const lh_ref_cope *settings, const double *q, const double *k, const double *dscore, double *dq,
                      double *dk, double *dtable) {
    pass p = {.settings = settings, .q = q, .k = k, .dscore = dscore, .dq = dq, .dk = dk, .dtable = dtable};
    visit_queries(settings, q, k, add_term_grads, &p);
}

/* ---- sums over keys ---- */

static const double LINEAR_FACTOR = 0.25, DECAY = 0.1; /* constants of the formula of lh_ref_row_sums (ref.h) */

/* Whether the sums of query i and key j contain the terms of key s. */
static bool is_in_sum(const lh_ref_row_sums *settings, int i, int j, int s) {
    if (settings->mistake == LH_REF_SUMMED_FROM_START) return s <= j;
    return s >= j + (settings->mistake == LH_REF_KEY_LEFT_OUT) && s <= i - (settings->mistake == LH_REF_QUERY_LEFT_OUT);
}

/* Query i of head h, with the logits of its keys. */
typedef struct logits_row {
    int h, i;
    double *logit;
} logits_row;

/* Computes two sums over keys for a query and key j: *gates, the sum of gates; *linear, the sum of logits, each times
 * the slope and a factor that falls with the distance. */
static void compute_sums(const lh_ref_row_sums *settings, const logits_row *row, int j, double *gates, double *linear) {
    *gates = *linear = 0;
    for (int s = 0; s <= row->i; s++) {
        if (!is_in_sum(settings, row->i, j, s)) continue;
        *gates += sigmoid(settings->sharpness[row->h] * row->logit[s]);
        *linear += settings->slope[row->h] * row->logit[s] * exp(DECAY * (s - row->i));
    }
}

/* Calls visit for every query of every head. */
static void visit_rows(const lh_ref_row_sums *settings, const double *q, const double *k,
                       void (*visit)(void *context, const logits_row *row), void *context) {
    int T = settings->tokens, D = settings->head_width, C = settings->heads * D;
    double *logit = calloc((size_t)T, sizeof *logit);
    if (!logit) abort();
    for (int h = 0; h < settings->heads; h++) {
        for (int i = 0; i < T; i++) {
            for (int s = 0; s <= i; s++) logit[s] = dot(D, q + i * C + h * D, k + s * C + h * D) / sqrt(D);
            visit(context, &(logits_row){h, i, logit});
        }
    }
    free(logit);
}

/* Pointers of one call. */
typedef struct sums_pass {
    const lh_ref_row_sums *settings;
    const double *q, *k, *dscore;
    double *score, *dq, *dk, *dsharpness, *dslope;
} sums_pass;

static size_t get_pair_index(const sums_pass *p, const logits_row *row, int j) {
    return ((size_t)row->h * (size_t)p->settings->tokens + (size_t)row->i) * (size_t)p->settings->tokens + (size_t)j;
}

static void add_sum_terms(void *context, const logits_row *row) {
    const sums_pass *p = context;
    for (int j = 0; j <= row->i; j++) {
        double gates, linear;
        compute_sums(p->settings, row, j, &gates, &linear);
        p->score[get_pair_index(p, row, j)] += LINEAR_FACTOR * linear - p->settings->slope[row->h] * log(1 + gates);
    }
}

void lh_ref_row_sum_terms(const lh_ref_row_sums *settings, const double *q, const double *k, double *score) {
    sums_pass p = {.settings = settings, .q = q, .k = k, .score = score};
    visit_rows(settings, q, k, add_sum_terms, &p);
}

/* Propagates dgates and dlinear, the gradients of two sums, through the terms of key s: to the sharpness and the slope,
 * and through the logit to the query and the key. */
static void add_logit_grad(const sums_pass *p, const logits_row *row, int s, double dgates, double dlinear) {
    int D = p->settings->head_width, C = p->settings->heads * D, query = row->i * C + row->h * D,
        key = s * C + row->h * D;
    double sharpness = p->settings->sharpness[row->h], logit = row->logit[s], gate = sigmoid(sharpness * logit);
    double dgate = dgates * gate * (1 - gate), decay = exp(DECAY * (s - row->i));
    p->dsharpness[row->h] += dgate * logit;
    p->dslope[row->h] += dlinear * logit * decay;
    if (p->settings->mistake == LH_REF_SUMS_DETACHED) return;
    double dlogit = (dgate * sharpness + dlinear * p->settings->slope[row->h] * decay) / sqrt(D);
    for (int d = 0; d < D; d++) {
        p->dq[query + d] += dlogit * p->k[key + d];
        p->dk[key + d] += dlogit * p->q[query + d];
    }
}

static void add_sum_grads(void *context, const logits_row *row) {
    const sums_pass *p = context;
    for (int j = 0; j <= row->i; j++) {
        double gates, linear, dterm = p->dscore[get_pair_index(p, row, j)];
        compute_sums(p->settings, row, j, &gates, &linear);
        p->dslope[row->h] -= dterm * log(1 + gates);
        for (int s = 0; s <= row->i; s++)
            if (is_in_sum(p->settings, row->i, j, s))
                add_logit_grad(p, row, s, -dterm * p->settings->slope[row->h] / (1 + gates), dterm * LINEAR_FACTOR);
    }
}

void lh_ref_row_sum_grad(const lh_ref_row_sums *settings, const double *q, const double *k, const double *dscore,
                         double *dq, double *dk, double *dsharpness, double *dslope) {
    sums_pass p = {.settings = settings,
                   .q = q,
                   .k = k,
                   .dscore = dscore,
                   .dq = dq,
                   .dk = dk,
                   .dsharpness = dsharpness,
                   .dslope = dslope};
    visit_rows(settings, q, k, add_sum_grads, &p);
}
