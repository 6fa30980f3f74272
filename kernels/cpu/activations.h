/* Activations and gates as separate passes over rows of N numbers, forward and backward.
 *
 * The backward pass reads the input. Activations: y may be x, and dx may be dy. Gates: y must not overlap x, and dx may
 * be x. Every call is compiled for its constant N, a multiple of 16. Reference: lh_ref_activation, lh_ref_gate.
 */
#ifndef LONGHAND_KERNELS_ACTIVATIONS_H
#define LONGHAND_KERNELS_ACTIVATIONS_H

#include "kernels/cpu/functions.h"

/* ---- one vector: except for ReLU, f(x) = x P(x), with a distribution function P, so that f'(x) = P(x) + x P'(x) ----
 */

/* P of GELU, the standard normal distribution function; density: its derivative, the normal density. */
INLINE vector normal_cdf(vector x, vector *density) {
    vector weight, share = (real)0.5 + (real)0.5 * erf_and_weight(x * (real)0.70710678118654752440, &weight);
    *density = weight * (real)0.39894228040143267794; /* 1 / sqrt(2 pi) */
    return share;
}

/* normal_cdf, approximated by (1 + tanh(u)) / 2 = sigmoid(2 u), where 2 u = 2 sqrt(2 / pi) (x + 0.044715 x^3). */
INLINE vector normal_cdf_tanh(vector x, vector *density) {
    const real linear = (real)1.5957691216057308, cubic = (real)0.07135481627260025; /* cubic: 0.044715 * linear */
    vector squared = x * x, share = sigmoid_of(x * (linear + cubic * squared));
    *density = share * (1 - share) * (linear + 3 * cubic * squared);
    return share;
}

INLINE vector logistic_cdf(vector x, vector *density) {
    vector share = sigmoid_of(x);
    *density = share * (1 - share);
    return share;
}

/* GELU, its tanh approximation and SiLU: Hendrycks and Gimpel 2016, "Gaussian Error Linear Units". */
INLINE vector gelu_of(vector x) {
    vector density;
    return x * normal_cdf(x, &density);
}

INLINE vector gelu_slope(vector x) {
    vector density, share = normal_cdf(x, &density);
    return share + x * density;
}

INLINE vector gelu_tanh_of(vector x) {
    vector density;
    return x * normal_cdf_tanh(x, &density);
}

INLINE vector gelu_tanh_slope(vector x) {
    vector density, share = normal_cdf_tanh(x, &density);
    return share + x * density;
}

INLINE vector silu_of(vector x) {
    vector density;
    return x * logistic_cdf(x, &density);
}

INLINE vector silu_slope(vector x) {
    vector density, share = logistic_cdf(x, &density);
    return share + x * density;
}

/* ---- activations: y = f(x), dx = dy f'(x), all [rows][N] ---- */

INLINE void relu(int rows, const int N, const real *x, real *y) {
    for (int i = 0; i < rows * N; i += LANES) store(y + i, keep_where(load(x + i) > 0, load(x + i)));
}

/* x: the input or the output of ReLU. */
INLINE void relu_grad(int rows, const int N, const real *x, const real *dy, real *dx) {
    for (int i = 0; i < rows * N; i += LANES) store(dx + i, keep_where(load(x + i) > 0, load(dy + i)));
}

INLINE void gelu(int rows, const int N, const real *x, real *y) {
    for (int i = 0; i < rows * N; i += LANES) store(y + i, gelu_of(load(x + i)));
}

INLINE void gelu_grad(int rows, const int N, const real *x, const real *dy, real *dx) {
    for (int i = 0; i < rows * N; i += LANES) store(dx + i, load(dy + i) * gelu_slope(load(x + i)));
}

INLINE void gelu_tanh(int rows, const int N, const real *x, real *y) {
    for (int i = 0; i < rows * N; i += LANES) store(y + i, gelu_tanh_of(load(x + i)));
}

INLINE void gelu_tanh_grad(int rows, const int N, const real *x, const real *dy, real *dx) {
    for (int i = 0; i < rows * N; i += LANES) store(dx + i, load(dy + i) * gelu_tanh_slope(load(x + i)));
}

INLINE void silu(int rows, const int N, const real *x, real *y) {
    for (int i = 0; i < rows * N; i += LANES) store(y + i, silu_of(load(x + i)));
}

INLINE void silu_grad(int rows, const int N, const real *x, const real *dy, real *dx) {
    for (int i = 0; i < rows * N; i += LANES) store(dx + i, load(dy + i) * silu_slope(load(x + i)));
}

/* ---- gates: y [rows][N] = f(gate) * up; a row of x [rows][2 N] holds gate[N], then up[N], and dx their gradients
 * ---- */

/* Shazeer 2020, "GLU Variants Improve Transformer". */
INLINE void swiglu(int rows, const int N, const real *x, real *y) {
    for (int m = 0; m < rows; m++, x += 2 * N, y += N)
        for (int n = 0; n < N; n += LANES) store(y + n, silu_of(load(x + n)) * load(x + N + n));
}

INLINE void swiglu_grad(int rows, const int N, const real *x, const real *dy, real *dx) {
    for (int m = 0; m < rows; m++, x += 2 * N, dy += N, dx += 2 * N) {
        for (int n = 0; n < N; n += LANES) {
            vector gate = load(x + n), up = load(x + N + n), d = load(dy + n);
            store(dx + n, d * up * silu_slope(gate));
            store(dx + N + n, d * silu_of(gate));
        }
    }
}

INLINE void geglu(int rows, const int N, const real *x, real *y) {
    for (int m = 0; m < rows; m++, x += 2 * N, y += N)
        for (int n = 0; n < N; n += LANES) store(y + n, gelu_of(load(x + n)) * load(x + N + n));
}

INLINE void geglu_grad(int rows, const int N, const real *x, const real *dy, real *dx) {
    for (int m = 0; m < rows; m++, x += 2 * N, dy += N, dx += 2 * N) {
        for (int n = 0; n < N; n += LANES) {
            vector gate = load(x + n), up = load(x + N + n), d = load(dy + n);
            store(dx + n, d * up * gelu_slope(gate));
            store(dx + N + n, d * gelu_of(gate));
        }
    }
}

#endif
