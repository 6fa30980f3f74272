/* Recurrent networks with a memory; see network.h. Tokens are one-hot. State and memory are zero before the first
 * step. */
#include <math.h>
#include <string.h>

#include "kernels/ref/tape.h"

enum { LAYERS = 3 };

/* The values of all steps of a sequence. */
typedef struct steps {
    int T;                 /* number of steps */
    int N;                 /* width of the state */
    int C;                 /* number of cells of the memory */
    int W;                 /* width of a cell */
    int A;                 /* number of actions */
    int jump;              /* number of cells by which a jump moves a tape */
    double *h;             /* [T][N] states */
    double *memory;        /* [T + 1][C][W] memory before the first step and after each step */
    double *value[LAYERS]; /* [T][columns] outputs of the layers that compute the written value; NULL: no such layer */
    double *probability;   /* [T][A] probabilities of the actions */
} steps;

/* Returns the weight of a layer that computes the written value; NULL: no such layer. */
static const lh_ref_tensor *get_layer(const tape_entry *entry, int layer) {
    return layer < LAYERS ? get_tensor(entry, LH_REF_VALUE + 2 * layer) : NULL;
}

static steps new_steps(const run *r, const tape_entry *entry) {
    const node *out = get_output(entry);
    steps s = {.T = out->rows, .N = out->width, .W = get_tensor(entry, LH_REF_READ)->rows};
    s.C = entry->op->cells ? entry->op->cells : s.T + 1;
    s.A = get_tensor(entry, LH_REF_ACTIONS)->columns;
    s.jump = (r->batch->tokens - r->batch->labels) % s.C;
    s.h = allocate_doubles((size_t)(s.T * s.N));
    s.memory = allocate_doubles((size_t)((s.T + 1) * s.C * s.W));
    for (int i = 0; get_layer(entry, i); i++)
        s.value[i] = allocate_doubles((size_t)(s.T * get_layer(entry, i)->columns));
    s.probability = allocate_doubles((size_t)(s.T * s.A));
    return s;
}

/* Returns the value that step t writes. */
static double *get_value(const steps *s, int t) {
    int last = 0;
    while (last + 1 < LAYERS && s->value[last + 1]) last++;
    return s->value[last] + t * s->W;
}

static void free_steps(steps *s) {
    free(s->h);
    free(s->memory);
    for (int i = 0; i < LAYERS; i++) free(s->value[i]);
    free(s->probability);
}

/* y[N] += x[K] w[K][N] + b; b may be NULL. */
static void add_linear(int K, int N, const double *x, const double *w, const double *b, double *y) {
    for (int n = 0; n < N; n++) {
        y[n] += b ? b[n] : 0;
        for (int k = 0; k < K; k++) y[n] += x[k] * w[k * N + n];
    }
}

/* Adds the gradients of add_linear to dx, dw and db; db may be NULL. */
static void add_linear_grad(int K, int N, const double *x, const double *w, const double *dy, double *dx, double *dw,
                            double *db) {
    for (int n = 0; n < N; n++) {
        if (db) db[n] += dy[n];
        for (int k = 0; k < K; k++) {
            dx[k] += w[k * N + n] * dy[n];
            dw[k * N + n] += x[k] * dy[n];
        }
    }
}

/* Returns the source of cell c under an action of a stack:
 *   0 to C - 1  the cell that is copied to cell c
 *   C           the written value
 *   -1          none: cell c becomes empty */
static int find_source_of_stack(int action, int c, int C) {
    enum { PUSH, POP };
    if (action == PUSH) return c > 0 ? c - 1 : C;
    if (action == POP) return c + 1 < C ? c + 1 : -1;
    return c;
}

/* Returns the source of cell c under an action of a stack or a tape. A tape gets the written value in cell 0, then
 * moves. */
static int find_source(lh_ref_cell kind, const steps *s, int action, int c) {
    enum { STAY, LEFT, RIGHT, JUMP_LEFT, JUMP_RIGHT };
    if (kind == LH_REF_STACK_RNN) return find_source_of_stack(action, c, s->C);
    int distance = action == LEFT         ? 1
                   : action == RIGHT      ? s->C - 1
                   : action == JUMP_LEFT  ? s->jump
                   : action == JUMP_RIGHT ? s->C - s->jump
                                          : 0;
    int from = (c + distance) % s->C;
    return from > 0 ? from : s->C;
}

/* Returns the content of cell c after an action in step t. */
static const double *get_source(lh_ref_cell kind, const steps *s, int t, int action, int c) {
    int from = find_source(kind, s, action, c);
    if (from < 0) return s->memory; /* zeros: the memory before the first step */
    if (from == s->C) return get_value(s, t);
    return s->memory + (t * s->C + from) * s->W;
}

/* Computes the probabilities of the actions: the softmax of a linear layer of the state h. */
static void compute_probabilities(const tape_entry *entry, const steps *s, const double *h, double *probability) {
    double max_logit = -INFINITY, total = 0;
    add_linear(s->N, s->A, h, get_parameter(entry, LH_REF_ACTIONS), get_parameter(entry, LH_REF_ACTIONS_BIAS),
               probability);
    for (int a = 0; a < s->A; a++) max_logit = fmax(max_logit, probability[a]);
    for (int a = 0; a < s->A; a++) total += probability[a] = exp(probability[a] - max_logit);
    for (int a = 0; a < s->A; a++) probability[a] /= total;
}

/* Computes the value that step t writes. All layers except the last have a ReLU. */
static void make_value(const tape_entry *entry, const steps *s, int t, const double *h) {
    const double *x = h;
    for (int i = 0; get_layer(entry, i); i++) {
        const lh_ref_tensor *weight = get_layer(entry, i);
        double *y = s->value[i] + t * weight->columns;
        add_linear(weight->rows, weight->columns, x, weight->value, get_parameter(entry, LH_REF_VALUE + 2 * i + 1), y);
        for (int n = 0; get_layer(entry, i + 1) && n < weight->columns; n++) y[n] = fmax(y[n], 0);
        x = y;
    }
}

/* Adds to dh and to gradients of parameters. dvalue: gradient of the written value. */
static void make_value_grad(const tape_entry *entry, const steps *s, int t, const double *dvalue, double *dh) {
    double *dy = allocate_doubles((size_t)s->W);
    memcpy(dy, dvalue, (size_t)s->W * sizeof *dy);
    int last = 0;
    while (get_layer(entry, last + 1)) last++;
    for (int i = last; i >= 0; i--) {
        const lh_ref_tensor *weight = get_layer(entry, i);
        const double *x = i > 0 ? s->value[i - 1] + t * weight->rows : s->h + t * s->N;
        double *dx = allocate_doubles((size_t)weight->rows);
        add_linear_grad(weight->rows, weight->columns, x, weight->value, dy, dx, weight->gradient,
                        get_gradient(entry, LH_REF_VALUE + 2 * i + 1));
        for (int n = 0; i > 0 && n < weight->rows; n++) dx[n] = x[n] > 0 ? dx[n] : 0;
        free(dy);
        dy = dx;
    }
    add((size_t)s->N, dh, dy);
    free(dy);
}

static void run_step(const tape_entry *entry, steps *s, int t, int token) {
    int N = s->N, C = s->C, W = s->W;
    double *h = s->h + t * N, *next_memory = s->memory + (t + 1) * C * W;
    for (int n = 0; n < N; n++)
        h[n] = get_parameter(entry, LH_REF_INPUT)[token * N + n] + get_parameter(entry, LH_REF_INPUT_BIAS)[n] +
               get_parameter(entry, LH_REF_RECURRENT_BIAS)[n];
    add_linear(W, N, s->memory + t * C * W, get_parameter(entry, LH_REF_READ), NULL, h);
    if (t > 0) add_linear(N, N, h - N, get_parameter(entry, LH_REF_RECURRENT), NULL, h);
    for (int n = 0; n < N; n++) h[n] = fmax(h[n], 0);
    make_value(entry, s, t, h);
    compute_probabilities(entry, s, h, s->probability + t * s->A);
    for (int c = 0; c < C; c++)
        for (int a = 0; a < s->A; a++)
            for (int k = 0; k < W; k++)
                next_memory[c * W + k] += s->probability[t * s->A + a] * get_source(entry->op->cell, s, t, a, c)[k];
}

static steps run_steps(const run *r, const tape_entry *entry) {
    steps s = new_steps(r, entry);
    for (int t = 0; t < s.T; t++)
        run_step(entry, &s, t, r->batch->token[(size_t)r->sequence * (size_t)r->batch->tokens + (size_t)t]);
    return s;
}

/* Propagates gradients through the actions of step t; adds to gradients of parameters.
 *   dnext      gradient of the memory after the step
 *   dprevious  gradient of the memory before the step, added to
 *   dh         gradient of the state, added to */
static void propagate_memory_grad(const tape_entry *entry, const steps *s, int t, const double *dnext,
                                  double *dprevious, double *dh) {
    int C = s->C, W = s->W;
    const double *probability = s->probability + t * s->A, *h = s->h + t * s->N;
    double *dprobability = allocate_doubles((size_t)s->A), *dlogit = allocate_doubles((size_t)s->A),
           *dvalue = allocate_doubles((size_t)W), mean = 0;
    for (int c = 0; c < C; c++)
        for (int a = 0; a < s->A; a++) {
            int from = find_source(entry->op->cell, s, a, c);
            double *to = from < 0 ? NULL : from == C ? dvalue : dprevious + from * W;
            for (int k = 0; k < W; k++) {
                dprobability[a] += dnext[c * W + k] * get_source(entry->op->cell, s, t, a, c)[k];
                if (to) to[k] += probability[a] * dnext[c * W + k];
            }
        }
    for (int a = 0; a < s->A; a++) mean += probability[a] * dprobability[a];
    for (int a = 0; a < s->A; a++) dlogit[a] = probability[a] * (dprobability[a] - mean);
    add_linear_grad(s->N, s->A, h, get_parameter(entry, LH_REF_ACTIONS), dlogit, dh,
                    get_gradient(entry, LH_REF_ACTIONS), get_gradient(entry, LH_REF_ACTIONS_BIAS));
    make_value_grad(entry, s, t, dvalue, dh);
    free(dprobability);
    free(dlogit);
    free(dvalue);
}

void lh_ref_memory_forward(run *r, tape_entry *entry) {
    node *out = get_output(entry);
    steps s = run_steps(r, entry);
    memcpy(out->x, s.h, count_elements(out) * sizeof *out->x);
    free_steps(&s);
}

void lh_ref_memory_backward(run *r, tape_entry *entry) {
    node *out = get_output(entry);
    steps s = run_steps(r, entry);
    int N = s.N;
    size_t memory_size = (size_t)(s.C * s.W);
    double *dmemory = allocate_doubles(memory_size), *dh = allocate_doubles((size_t)N);
    for (int t = s.T - 1; t >= 0; t--) {
        const uint16_t *token = r->batch->token + (size_t)r->sequence * (size_t)r->batch->tokens + (size_t)t;
        double *dprevious = allocate_doubles(memory_size), *dprevious_h = allocate_doubles((size_t)N);
        add((size_t)N, dh, out->d + t * N);
        propagate_memory_grad(entry, &s, t, dmemory, dprevious, dh);
        for (int n = 0; n < N; n++) dh[n] = s.h[t * N + n] > 0 ? dh[n] : 0;
        add((size_t)N, get_gradient(entry, LH_REF_INPUT) + *token * N, dh);
        add((size_t)N, get_gradient(entry, LH_REF_INPUT_BIAS), dh);
        add((size_t)N, get_gradient(entry, LH_REF_RECURRENT_BIAS), dh);
        add_linear_grad(s.W, N, s.memory + t * s.C * s.W, get_parameter(entry, LH_REF_READ), dh, dprevious,
                        get_gradient(entry, LH_REF_READ), NULL);
        if (t > 0)
            add_linear_grad(N, N, s.h + (t - 1) * N, get_parameter(entry, LH_REF_RECURRENT), dh, dprevious_h,
                            get_gradient(entry, LH_REF_RECURRENT), NULL);
        memcpy(dmemory, dprevious, memory_size * sizeof *dmemory);
        memcpy(dh, dprevious_h, (size_t)N * sizeof *dh);
        free(dprevious);
        free(dprevious_h);
    }
    free(dmemory);
    free(dh);
    free_steps(&s);
}
