/* Recurrent networks with a memory; see network.h. Every step keeps a copy of the whole memory, and every cell is
 * computed in every step. The tokens are one-hot; state and memory before the first step are zero. */
#include <math.h>
#include <string.h>

#include "kernels/ref/tape.h"

enum { ACTIONS = 3 };

/* All steps of a sequence. C cells of W numbers. */
typedef struct steps {
    int T, N, C, W;
    double *h;      /* [T][N] states */
    double *memory; /* [T + 1][C][W] before the first step and after each */
    double *value;  /* [T][W] the cell to write */
    double *action; /* [T][ACTIONS] probabilities */
} steps;

static steps new_steps(const tape_entry *entry, int T, int N) {
    int W = get_tensor(entry, LH_REF_READ)->rows, C = entry->op->cells ? entry->op->cells : T + 1;
    return (steps){T,
                   N,
                   C,
                   W,
                   allocate_doubles((size_t)(T * N)),
                   allocate_doubles((size_t)((T + 1) * C * W)),
                   allocate_doubles((size_t)(T * W)),
                   allocate_doubles((size_t)(T * ACTIONS))};
}

static void free_steps(steps *s) {
    free(s->h);
    free(s->memory);
    free(s->value);
    free(s->action);
}

/* y[N] += x[K] w[K][N] + b; b may be NULL. */
static void add_linear(int K, int N, const double *x, const double *w, const double *b, double *y) {
    for (int n = 0; n < N; n++) {
        y[n] += b ? b[n] : 0;
        for (int k = 0; k < K; k++) y[n] += x[k] * w[k * N + n];
    }
}

/* The gradients of add_linear are added to dx, dw and db; db may be NULL. */
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

/* The cell that an action moves to place c: its place before the step, C for the value, -1 for an empty cell. */
static int find_source(int action, int c, int C) {
    enum { PUSH, POP };
    if (action == PUSH) return c > 0 ? c - 1 : C;
    if (action == POP) return c + 1 < C ? c + 1 : -1;
    return c;
}

static const double *get_source(const steps *s, int t, int action, int c) {
    static const double empty[64] = {0};
    int from = find_source(action, c, s->C);
    return from < 0 ? empty : from == s->C ? s->value + t * s->W : s->memory + (t * s->C + from) * s->W;
}

static void choose_actions(const tape_entry *entry, int N, const double *h, double *action) {
    double largest = -INFINITY, total = 0;
    memset(action, 0, ACTIONS * sizeof *action);
    add_linear(N, ACTIONS, h, get_parameter(entry, LH_REF_ACTIONS), get_parameter(entry, LH_REF_ACTIONS_BIAS), action);
    for (int a = 0; a < ACTIONS; a++) largest = fmax(largest, action[a]);
    for (int a = 0; a < ACTIONS; a++) total += action[a] = exp(action[a] - largest);
    for (int a = 0; a < ACTIONS; a++) action[a] /= total;
}

static void run_step(const tape_entry *entry, steps *s, int t, int token) {
    int N = s->N, C = s->C, W = s->W;
    double *h = s->h + t * N, *after = s->memory + (t + 1) * C * W;
    for (int n = 0; n < N; n++)
        h[n] = get_parameter(entry, LH_REF_INPUT)[token * N + n] + get_parameter(entry, LH_REF_INPUT_BIAS)[n] +
               get_parameter(entry, LH_REF_RECURRENT_BIAS)[n];
    add_linear(W, N, s->memory + t * C * W, get_parameter(entry, LH_REF_READ), NULL, h);
    if (t > 0) add_linear(N, N, h - N, get_parameter(entry, LH_REF_RECURRENT), NULL, h);
    for (int n = 0; n < N; n++) h[n] = fmax(h[n], 0);
    add_linear(N, W, h, get_parameter(entry, LH_REF_VALUE), get_parameter(entry, LH_REF_VALUE_BIAS), s->value + t * W);
    choose_actions(entry, N, h, s->action + t * ACTIONS);
    for (int c = 0; c < C; c++)
        for (int a = 0; a < ACTIONS; a++)
            for (int k = 0; k < W; k++) after[c * W + k] += s->action[t * ACTIONS + a] * get_source(s, t, a, c)[k];
}

static steps run_steps(const run *r, const tape_entry *entry) {
    const node *out = get_output(entry);
    steps s = new_steps(entry, out->rows, out->width);
    for (int t = 0; t < s.T; t++)
        run_step(entry, &s, t, r->batch->token[(size_t)r->sequence * (size_t)r->batch->tokens + (size_t)t]);
    return s;
}

/* Adds to dh what the changes of the memory contribute. after: the gradient of the memory after the step; before, zero
 * at first, becomes that of the memory before it. */
static void change_memory_grad(const tape_entry *entry, const steps *s, int t, const double *after, double *before,
                               double *dh) {
    int N = s->N, C = s->C, W = s->W;
    const double *action = s->action + t * ACTIONS, *h = s->h + t * N;
    double daction[ACTIONS] = {0}, mean = 0, *dvalue = allocate_doubles((size_t)W);
    for (int c = 0; c < C; c++)
        for (int a = 0; a < ACTIONS; a++) {
            int from = find_source(a, c, C);
            double *to = from < 0 ? NULL : from == C ? dvalue : before + from * W;
            for (int k = 0; k < W; k++) {
                daction[a] += after[c * W + k] * get_source(s, t, a, c)[k];
                if (to) to[k] += action[a] * after[c * W + k];
            }
        }
    for (int a = 0; a < ACTIONS; a++) mean += action[a] * daction[a];
    for (int a = 0; a < ACTIONS; a++) daction[a] = action[a] * (daction[a] - mean);
    add_linear_grad(N, ACTIONS, h, get_parameter(entry, LH_REF_ACTIONS), daction, dh,
                    get_gradient(entry, LH_REF_ACTIONS), get_gradient(entry, LH_REF_ACTIONS_BIAS));
    add_linear_grad(N, W, h, get_parameter(entry, LH_REF_VALUE), dvalue, dh, get_gradient(entry, LH_REF_VALUE),
                    get_gradient(entry, LH_REF_VALUE_BIAS));
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
    size_t numbers = (size_t)(s.C * s.W);
    double *dmemory = allocate_doubles(numbers), *dh = allocate_doubles((size_t)N);
    for (int t = s.T - 1; t >= 0; t--) {
        const uint16_t *token = r->batch->token + (size_t)r->sequence * (size_t)r->batch->tokens + (size_t)t;
        double *before = allocate_doubles(numbers), *dbefore = allocate_doubles((size_t)N);
        add((size_t)N, dh, out->d + t * N);
        change_memory_grad(entry, &s, t, dmemory, before, dh);
        for (int n = 0; n < N; n++) dh[n] = s.h[t * N + n] > 0 ? dh[n] : 0;
        add((size_t)N, get_gradient(entry, LH_REF_INPUT) + *token * N, dh);
        add((size_t)N, get_gradient(entry, LH_REF_INPUT_BIAS), dh);
        add((size_t)N, get_gradient(entry, LH_REF_RECURRENT_BIAS), dh);
        add_linear_grad(s.W, N, s.memory + t * s.C * s.W, get_parameter(entry, LH_REF_READ), dh, before,
                        get_gradient(entry, LH_REF_READ), NULL);
        if (t > 0)
            add_linear_grad(N, N, s.h + (t - 1) * N, get_parameter(entry, LH_REF_RECURRENT), dh, dbefore,
                            get_gradient(entry, LH_REF_RECURRENT), NULL);
        memcpy(dmemory, before, numbers * sizeof *dmemory);
        memcpy(dh, dbefore, (size_t)N * sizeof *dh);
        free(before);
        free(dbefore);
    }
    free(dmemory);
    free(dh);
    free_steps(&s);
}
