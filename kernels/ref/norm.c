/* Reference norms; see ref.h. */
#include <math.h>

#include "kernels/ref/ref.h"

static const double EPSILON = 1e-5;

/* Computes the mean of a row, and inverse = 1 / sqrt(variance + epsilon). */
static void compute_statistics(int width, const double *x, double *mean, double *inverse) {
    double sum = 0, square = 0;
    for (int c = 0; c < width; c++) sum += x[c];
    *mean = sum / width;
    for (int c = 0; c < width; c++) square += (x[c] - *mean) * (x[c] - *mean);
    *inverse = 1 / sqrt(square / width + EPSILON);
}

void lh_ref_layer_norm(int rows, int width, const double *x, const double *scale, const double *offset, double *y) {
    for (int m = 0; m < rows; m++, x += width, y += width) {
        double mean, inverse;
        compute_statistics(width, x, &mean, &inverse);
        for (int c = 0; c < width; c++) y[c] = (x[c] - mean) * inverse * scale[c] + offset[c];
    }
}

/* With n = (x - mean) inverse and g = dy scale: dx = inverse (g - mean(g) - n mean(g n)). */
void lh_ref_layer_norm_grad(int rows, int width, const double *x, const double *scale, const double *dy, double *dx,
                            double *dscale, double *doffset) {
    for (int m = 0; m < rows; m++, x += width, dy += width, dx += width) {
        double mean, inverse, mean_g = 0, mean_gn = 0;
        compute_statistics(width, x, &mean, &inverse);
        for (int c = 0; c < width; c++) {
            double n = (x[c] - mean) * inverse, g = dy[c] * scale[c];
            dscale[c] += dy[c] * n;
            doffset[c] += dy[c];
            mean_g += g / width;
            mean_gn += g * n / width;
        }
        for (int c = 0; c < width; c++) {
            double n = (x[c] - mean) * inverse, g = dy[c] * scale[c];
            dx[c] = inverse * (g - mean_g - n * mean_gn);
        }
    }
}

static double compute_inverse_rms(int width, const double *x) {
    double square = 0;
    for (int c = 0; c < width; c++) square += x[c] * x[c];
    return 1 / sqrt(square / width + EPSILON);
}

void lh_ref_rms_norm(int rows, int width, const double *x, const double *scale, double *y) {
    for (int m = 0; m < rows; m++, x += width, y += width) {
        double inverse = compute_inverse_rms(width, x);
        for (int c = 0; c < width; c++) y[c] = x[c] * inverse * scale[c];
    }
}

/* With n = x inverse and g = dy scale: dx = inverse (g - n mean(g n)). */
void lh_ref_rms_norm_grad(int rows, int width, const double *x, const double *scale, const double *dy, double *dx,
                          double *dscale) {
    for (int m = 0; m < rows; m++, x += width, dy += width, dx += width) {
        double inverse = compute_inverse_rms(width, x), mean_gn = 0;
        for (int c = 0; c < width; c++) {
            dscale[c] += dy[c] * x[c] * inverse;
            mean_gn += dy[c] * scale[c] * x[c] * inverse / width;
        }
        for (int c = 0; c < width; c++) dx[c] = inverse * (dy[c] * scale[c] - x[c] * inverse * mean_gn);
    }
}
