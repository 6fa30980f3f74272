/* Steps of recurrent networks, forward and backward, for `rows` sequences at once.
 *
 * The sums of a step are W x + b + U h. The token x is one-hot, so W x is a row of W. matmul.h computes U h.
 * N is the width of the state, a constant in every call. M is the number of sums. Both are multiples of 16.
 * Source: Deletang et al. 2023, "Neural Networks and the Chomsky Hierarchy", and their code. Reference:
 * lh_ref_recurrence.
 */
#ifndef LONGHAND_KERNELS_RECURRENCE_H
#define LONGHAND_KERNELS_RECURRENCE_H

#include "kernels/cpu/functions.h"

/* ---- the input's part of the sums ---- */

/* For each row m: sums[m] = table[token[m * stride]] + bias, where each of the three is a vector of M elements. */
INLINE void token_sums(int rows, const int M, const uint16_t *token, int stride, const real *table, const real *bias,
                       real *restrict sums) {
    for (int m = 0; m < rows; m++, sums += M) {
        const real *row = table + token[m * stride] * M;
        for (int n = 0; n < M; n += LANES) store(sums + n, load(row + n) + load(bias + n));
    }
}

/* For each row m: dtable[token[m * stride]] += dsums[m], where both are vectors of M elements. */
INLINE void token_sums_grad(int rows, const int M, const uint16_t *token, int stride, const real *restrict dsums,
                            real *dtable) {
    for (int m = 0; m < rows; m++, dsums += M) {
        real *row = dtable + token[m * stride] * M;
        for (int n = 0; n < M; n += LANES) add_at(row + n, load(dsums + n));
    }
}

/* ---- simple RNN: h = relu(sums + b'), with the second bias b' ---- */

/* states [rows][N]: on entry the sums, on return the states. */
INLINE void rnn_step(int rows, const int N, const real *bias, real *states) {
    for (int m = 0; m < rows; m++, states += N) {
        for (int n = 0; n < N; n += LANES) {
            vector sum = load(states + n) + load(bias + n);
            store(states + n, keep_where(sum > 0, sum));
        }
    }
}

/* d [rows][N]: on entry the gradients of the states, on return the gradients of the sums.
 * later [rows][N]: gradients from the next step, which are added to those of the states; NULL in the last step. */
INLINE void rnn_step_grad(int rows, const int N, const real *states, const real *later, real *d) {
    for (int i = 0; i < rows * N; i += LANES) {
        vector dstate = load(d + i);
        if (later) dstate += load(later + i);
        store(d + i, keep_where(load(states + i) > 0, dstate));
    }
}

/* ---- LSTM: c = sigmoid(f + 1) c + sigmoid(i) tanh(g), h = sigmoid(o) tanh(c); Hochreiter and Schmidhuber 1997 ---- */

/* gates [rows][4 N]: on entry the sums i, g, f, o, on return the sigmoids of i, f, o and the tanh of g.
 * before [rows][N]: the cells before the step; NULL: zeros.
 * cells [rows][N]: the cells after the step; may be `before`. */
INLINE void lstm_step(int rows, const int N, const real *before, real *gates, real *cells, real *restrict states) {
    for (int m = 0; m < rows; m++, gates += 4 * N, cells += N, states += N) {
        for (int n = 0; n < N; n += LANES) {
            vector input = sigmoid_of(load(gates + n)), candidate = tanh_of(load(gates + N + n));
            vector forget = sigmoid_of(load(gates + 2 * N + n) + 1), output = sigmoid_of(load(gates + 3 * N + n));
            vector cell = input * candidate;
            if (before) cell += forget * load(before + m * N + n);
            store(gates + n, input);
            store(gates + N + n, candidate);
            store(gates + 2 * N + n, forget);
            store(gates + 3 * N + n, output);
            store(cells + n, cell);
            store(states + n, output * tanh_of(cell));
        }
    }
}

/* gates [rows][4 N]: on entry the values that lstm_step wrote, on return the gradients of the sums.
 * dstates [rows][N]: the gradients of the states.
 * dcells [rows][N]: on entry zeros in the last step, else the dcells that the call for the next step returned;
 * on return the gradients of `before`. */
INLINE void lstm_step_grad(int rows, const int N, const real *before, const real *cells, const real *dstates,
                           real *restrict dcells, real *restrict gates) {
    for (int m = 0; m < rows; m++, gates += 4 * N, cells += N, dstates += N, dcells += N) {
        for (int n = 0; n < N; n += LANES) {
            vector input = load(gates + n), candidate = load(gates + N + n), forget = load(gates + 2 * N + n);
            vector output = load(gates + 3 * N + n), squashed = tanh_of(load(cells + n)), dstate = load(dstates + n);
            vector dcell = load(dcells + n) + dstate * output * (1 - squashed * squashed);
            vector dforget = {0};
            if (before) dforget = dcell * load(before + m * N + n) * forget * (1 - forget);
            store(gates + n, dcell * candidate * input * (1 - input));
            store(gates + N + n, dcell * input * (1 - candidate * candidate));
            store(gates + 2 * N + n, dforget);
            store(gates + 3 * N + n, dstate * squashed * output * (1 - output));
            store(dcells + n, dcell * forget);
        }
    }
}

#endif
