/* Reference matrix products; see ref.h. */
#include "kernels/ref/ref.h"

void lh_ref_matmul(int rows, int in, int out, const double *x, const double *w, const double *b, double *y) {
    for (int m = 0; m < rows; m++) {
        for (int n = 0; n < out; n++) {
            double sum = b ? b[n] : 0;
            for (int k = 0; k < in; k++) sum += x[m * in + k] * w[k * out + n];
            y[m * out + n] = sum;
        }
    }
}

void lh_ref_matmul_input_grad(int rows, int in, int out, const double *dy, const double *w, double *dx) {
    for (int m = 0; m < rows; m++) {
        for (int k = 0; k < in; k++) {
            double sum = 0;
            for (int n = 0; n < out; n++) sum += dy[m * out + n] * w[k * out + n];
            dx[m * in + k] = sum;
        }
    }
}

void lh_ref_matmul_weight_grad(int rows, int in, int out, const double *x, const double *dy, double *dw, double *db) {
    for (int m = 0; m < rows; m++) {
        for (int n = 0; n < out; n++) {
            for (int k = 0; k < in; k++) dw[k * out + n] += x[m * in + k] * dy[m * out + n];
            if (db) db[n] += dy[m * out + n];
        }
    }
}
