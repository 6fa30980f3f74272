/* Reference terms of scores with values of tokens: sums of forget gates, and gates of additive GRAPE; see ref.h. */
#include <math.h>
#include <stdlib.h>

#include "kernels/ref/ref.h"
#include "kernels/ref/scalar.h"

/* ---- forget gates ---- */

static int get_smaller(int a, int b) { return a < b ? a : b; }

void lh_ref_forget(int tokens, int heads, int sign, const double *gate, double *score) {
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < tokens; i++)
            for (int j = 0; j < tokens; j++, score++)
                for (int s = get_smaller(i, j) + 1; s <= i || s <= j; s++)
                    *score += log_sigmoid(sign * gate[s * heads + h]);
}

void lh_ref_forget_grad(int tokens, int heads, int sign, const double *gate, const double *dscore, double *dgate) {
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < tokens; i++)
            for (int j = 0; j < tokens; j++, dscore++)
                for (int s = get_smaller(i, j) + 1; s <= i || s <= j; s++)
                    dgate[s * heads + h] += *dscore * sign * sigmoid(-sign * gate[s * heads + h]);
}

/* ---- additive GRAPE ---- */

static double softplus(double x) { return -log_sigmoid(-x); }

/* The number that divides a vector: its norm, but at least 1e-6. */
static double find_divisor(const lh_ref_grape *settings, const double *vector) {
    if (settings->mistake == LH_REF_VECTORS_UNDIVIDED) return 1;
    return fmax(sqrt(dot(settings->head_width, vector, vector)), 1e-6);
}

static double get_scale(const lh_ref_grape *settings) {
    return settings->mistake == LH_REF_PRODUCTS_UNSCALED ? 1 : 1 / sqrt(settings->head_width);
}

/* The argument of a gate's softplus. */
static double get_product(const lh_ref_grape *settings, const double *row, const double *vector) {
    return get_scale(settings) * dot(settings->head_width, row, vector) / find_divisor(settings, vector);
}

/* Adds to drow and dvector. dproduct: gradient of the result of get_product. */
static void add_product_grad(const lh_ref_grape *settings, double dproduct, const double *row, const double *vector,
                             double *drow, double *dvector) {
    double divisor = find_divisor(settings, vector), scale = get_scale(settings) * dproduct / divisor;
    double projection = dot(settings->head_width, row, vector) / (divisor * divisor);
    if (settings->mistake == LH_REF_VECTORS_UNDIVIDED || divisor <= 1e-6) projection = 0;
    for (int d = 0; d < settings->head_width; d++) {
        if (settings->mistake != LH_REF_GATES_DETACHED) drow[d] += scale * vector[d];
        dvector[d] += scale * (row[d] - projection * vector[d]);
    }
}

/* A pair of query i and key j of head h. The term of the pair is -distance * weight * gates. */
typedef struct pair {
    int h, i, j;
    int query, key; /* first elements of the gates' rows in q and in k */
    double distance;
    double gates;  /* sum of the two gates */
    double weight; /* slope * softplus(strength) */
    double query_product, key_product;
} pair;

static double find_weight(const lh_ref_grape *settings, int h) {
    double strength = settings->strength[h];
    double weight = settings->mistake == LH_REF_STRENGTH_PLAIN ? strength : softplus(strength);
    return weight * lh_ref_alibi_slope(h, settings->heads);
}

/* Calls visit for every pair of every head. */
static void visit_pairs(const lh_ref_grape *settings, const double *q, const double *k,
                        void (*visit)(void *context, const pair *p), void *context) {
    int T = settings->tokens, H = settings->heads, D = settings->head_width;
    bool is_exchanged = settings->mistake == LH_REF_TOKENS_EXCHANGED;
    for (int e = 0; e < H * T * T; e++) {
        pair p = {.h = e / T / T, .i = e / T % T, .j = e % T};
        p.query = ((is_exchanged ? p.j : p.i) * H + p.h) * D;
        p.key = ((is_exchanged ? p.i : p.j) * H + p.h) * D;
        p.distance = abs(p.i - p.j);
        p.weight = find_weight(settings, p.h);
        if (settings->query_vector)
            p.query_product = get_product(settings, q + p.query, settings->query_vector + p.h * D);
        if (settings->key_vector) p.key_product = get_product(settings, k + p.key, settings->key_vector + p.h * D);
        p.gates = (settings->query_vector ? softplus(p.query_product) : 0) +
                  (settings->key_vector ? softplus(p.key_product) : 0);
        visit(context, &p);
    }
}

/* Arguments of lh_ref_grape_terms, for add_term. */
typedef struct terms_context {
    const lh_ref_grape *settings;
    double *score;
} terms_context;

static void add_term(void *context, const pair *p) {
    const terms_context *c = context;
    int T = c->settings->tokens;
    c->score[(p->h * T + p->i) * T + p->j] -= p->distance * p->weight * p->gates;
}

void lh_ref_grape_terms(const lh_ref_grape *settings, const double *q, const double *k, double *score) {
    terms_context c = {settings, score};
    visit_pairs(settings, q, k, add_term, &c);
}

/* Arguments of lh_ref_grape_terms_grad, for add_term_grad. */
typedef struct grad_context {
    const lh_ref_grape *settings;
    const double *q, *k, *dscore;
    const lh_ref_grape_grad *grad;
} grad_context;

static void add_term_grad(void *context, const pair *p) {
    const grad_context *c = context;
    const lh_ref_grape *settings = c->settings;
    int T = settings->tokens, D = settings->head_width;
    double dterm = -p->distance * c->dscore[(p->h * T + p->i) * T + p->j],
           slope = lh_ref_alibi_slope(p->h, settings->heads);
    double softplus_derivative = settings->mistake == LH_REF_STRENGTH_PLAIN ? 1 : sigmoid(settings->strength[p->h]);
    c->grad->strength[p->h] += dterm * p->gates * slope * softplus_derivative;
    if (settings->query_vector)
        add_product_grad(settings, dterm * p->weight * sigmoid(p->query_product), c->q + p->query,
                         settings->query_vector + p->h * D, c->grad->q + p->query, c->grad->query_vector + p->h * D);
    if (settings->key_vector)
        add_product_grad(settings, dterm * p->weight * sigmoid(p->key_product), c->k + p->key,
                         settings->key_vector + p->h * D, c->grad->k + p->key, c->grad->key_vector + p->h * D);
}

void lh_ref_grape_terms_grad(const lh_ref_grape *settings, const double *q, const double *k, const double *dscore,
                             const lh_ref_grape_grad *grad) {
    grad_context c = {.settings = settings, .q = q, .k = k, .dscore = dscore, .grad = grad};
    visit_pairs(settings, q, k, add_term_grad, &c);
}
