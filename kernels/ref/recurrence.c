/* Simple RNN and LSTM; see network.h. Tokens are one-hot. The state is zero before the first step. */
#include <math.h>

#include "kernels/ref/scalar.h"
#include "kernels/ref/tape.h"

/* Writes the sums of a step, W x + b + U h + b' in network.h. previous: the state h before the step; NULL: zero. */
static void make_sums(const tape_entry *entry, int token, const double *previous, double *sums) {
    const lh_ref_tensor *recurrent = get_tensor(entry, LH_REF_RECURRENT);
    const double *bias = get_parameter(entry, LH_REF_RECURRENT_BIAS);
    for (int n = 0; n < recurrent->columns; n++) {
        sums[n] = get_parameter(entry, LH_REF_INPUT)[token * recurrent->columns + n] +
                  get_parameter(entry, LH_REF_INPUT_BIAS)[n] + (bias ? bias[n] : 0);
        for (int k = 0; previous && k < recurrent->rows; k++)
            sums[n] += previous[k] * recurrent->value[k * recurrent->columns + n];
    }
}

/* Adds to the gradients of the parameters. Writes dprevious, the gradient of `previous`. */
static void make_sums_grad(const tape_entry *entry, int token, const double *previous, const double *dsums,
                           double *dprevious) {
    const lh_ref_tensor *recurrent = get_tensor(entry, LH_REF_RECURRENT);
    int rows = recurrent->rows, columns = recurrent->columns;
    double *dbias = get_gradient(entry, LH_REF_RECURRENT_BIAS);
    add((size_t)columns, get_gradient(entry, LH_REF_INPUT) + token * columns, dsums);
    add((size_t)columns, get_gradient(entry, LH_REF_INPUT_BIAS), dsums);
    if (dbias) add((size_t)columns, dbias, dsums);
    for (int k = 0; k < rows; k++) {
        dprevious[k] = 0;
        for (int n = 0; n < columns; n++) {
            dprevious[k] += recurrent->value[k * columns + n] * dsums[n];
            if (previous) recurrent->gradient[k * columns + n] += previous[k] * dsums[n];
        }
    }
}

/* Writes the state of N channels after a step. previous_cell, cell: the cells of an LSTM before and after the step. */
static void make_state(lh_ref_cell kind, int N, const double *sums, const double *previous_cell, double *cell,
                       double *state) {
    for (int n = 0; n < N; n++) {
        if (kind == LH_REF_LSTM) {
            double i = sums[n], g = sums[N + n], f = sums[2 * N + n], o = sums[3 * N + n];
            cell[n] = sigmoid(f + 1) * previous_cell[n] + sigmoid(i) * tanh(g);
            state[n] = sigmoid(o) * tanh(cell[n]);
        } else {
            state[n] = fmax(sums[n], 0);
        }
    }
}

/* Writes dsums, the gradients of the sums.
 *   dstate  gradient of the state
 *   dcell   read as the gradient of cell, written as the gradient of previous_cell */
static void make_state_grad(lh_ref_cell kind, int N, const double *sums, const double *previous_cell,
                            const double *cell, const double *dstate, double *dcell, double *dsums) {
    for (int n = 0; n < N; n++) {
        if (kind == LH_REF_LSTM) {
            double i = sigmoid(sums[n]), g = tanh(sums[N + n]), f = sigmoid(sums[2 * N + n] + 1),
                   o = sigmoid(sums[3 * N + n]), c = tanh(cell[n]), dc = dcell[n] + dstate[n] * o * (1 - c * c);
            dsums[n] = dc * g * i * (1 - i);
            dsums[N + n] = dc * i * (1 - g * g);
            dsums[2 * N + n] = dc * previous_cell[n] * f * (1 - f);
            dsums[3 * N + n] = dstate[n] * c * o * (1 - o);
            dcell[n] = dc * f;
        } else {
            dsums[n] = sums[n] > 0 ? dstate[n] : 0;
        }
    }
}

static const uint16_t *get_tokens(const run *r) {
    return r->batch->token + (size_t)r->sequence * (size_t)r->batch->tokens;
}

/* Runs all steps and writes
 *   states  [T][N]
 *   sums    [T][columns of the recurrent weight]
 *   cells   [T + 1][N] cells after each step; row 0: cells before the first step, set by the caller */
static void run_steps(const run *r, const tape_entry *entry, int T, int N, double *states, double *sums,
                      double *cells) {
    int columns = get_tensor(entry, LH_REF_RECURRENT)->columns;
    for (int t = 0; t < T; t++) {
        make_sums(entry, get_tokens(r)[t], t > 0 ? states + (t - 1) * N : NULL, sums + t * columns);
        make_state(entry->op->cell, N, sums + t * columns, cells + t * N, cells + (t + 1) * N, states + t * N);
    }
}

void lh_ref_recurrence_forward(run *r, tape_entry *entry) {
    if (get_tensor(entry, LH_REF_READ)) {
        lh_ref_memory_forward(r, entry);
        return;
    }
    node *out = get_output(entry);
    int columns = get_tensor(entry, LH_REF_RECURRENT)->columns;
    double *sums = allocate_doubles((size_t)(out->rows * columns)),
           *cells = allocate_doubles((size_t)((out->rows + 1) * out->width));
    run_steps(r, entry, out->rows, out->width, out->x, sums, cells);
    free(sums);
    free(cells);
}

void lh_ref_recurrence_backward(run *r, tape_entry *entry) {
    if (get_tensor(entry, LH_REF_READ)) {
        lh_ref_memory_backward(r, entry);
        return;
    }
    node *out = get_output(entry);
    int N = out->width, columns = get_tensor(entry, LH_REF_RECURRENT)->columns;
    double *sums = allocate_doubles((size_t)(out->rows * columns)), *dsums = allocate_doubles((size_t)columns),
           *cells = allocate_doubles((size_t)((out->rows + 1) * N)), *dcell = allocate_doubles((size_t)N),
           *dstate = allocate_doubles((size_t)N);
    run_steps(r, entry, out->rows, N, out->x, sums, cells);
    for (int t = out->rows - 1; t >= 0; t--) {
        add((size_t)N, dstate, out->d + t * N);
        make_state_grad(entry->op->cell, N, sums + t * columns, cells + t * N, cells + (t + 1) * N, dstate, dcell,
                        dsums);
        make_sums_grad(entry, get_tokens(r)[t], t > 0 ? out->x + (t - 1) * N : NULL, dsums, dstate);
    }
    free(sums);
    free(dsums);
    free(cells);
    free(dcell);
    free(dstate);
}
