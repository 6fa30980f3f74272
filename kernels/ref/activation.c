/* Reference activations and gates; see ref.h. */
#include <math.h>

#include "kernels/ref/ref.h"

static const double PI = 3.14159265358979323846;

/* Compute the argument of tanh in GELU's tanh approximation, and the derivative of the argument. */
static double get_tanh_argument(double x) { return sqrt(2 / PI) * (x + 0.044715 * x * x * x); }
static double get_tanh_argument_slope(double x) { return sqrt(2 / PI) * (1 + 3 * 0.044715 * x * x); }

static double get_value(lh_ref_nonlinearity f, double x) {
    switch (f) {
    case LH_REF_RELU: return x > 0 ? x : 0;
    case LH_REF_GELU: return x * erfc(-x / sqrt(2)) / 2;
    case LH_REF_GELU_TANH: return x * (1 + tanh(get_tanh_argument(x))) / 2;
    case LH_REF_SILU: return x / (1 + exp(-x));
    }
    return NAN;
}

static double get_slope(lh_ref_nonlinearity f, double x) {
    double t = tanh(get_tanh_argument(x)), s = 1 / (1 + exp(-x));
    switch (f) {
    case LH_REF_RELU: return x > 0;
    case LH_REF_GELU: return erfc(-x / sqrt(2)) / 2 + x * exp(-x * x / 2) / sqrt(2 * PI);
    case LH_REF_GELU_TANH: return (1 + t) / 2 + x * (1 - t * t) * get_tanh_argument_slope(x) / 2;
    case LH_REF_SILU: return s + x * s * (1 - s);
    }
    return NAN;
}

void lh_ref_activation(lh_ref_nonlinearity f, int count, const double *x, double *y) {
    for (int i = 0; i < count; i++) y[i] = get_value(f, x[i]);
}

void lh_ref_activation_grad(lh_ref_nonlinearity f, int count, const double *x, const double *dy, double *dx) {
    for (int i = 0; i < count; i++) dx[i] = dy[i] * get_slope(f, x[i]);
}

void lh_ref_gate(lh_ref_nonlinearity f, int rows, int width, const double *x, double *y) {
    for (int m = 0; m < rows; m++, x += 2 * width, y += width)
        for (int c = 0; c < width; c++) y[c] = get_value(f, x[c]) * x[width + c];
}

void lh_ref_gate_grad(lh_ref_nonlinearity f, int rows, int width, const double *x, const double *dy, double *dx) {
    for (int m = 0; m < rows; m++, x += 2 * width, dy += width, dx += 2 * width) {
        for (int c = 0; c < width; c++) {
            dx[c] = dy[c] * x[width + c] * get_slope(f, x[c]);
            dx[width + c] = dy[c] * get_value(f, x[c]);
        }
    }
}
