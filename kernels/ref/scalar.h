/* Functions of numbers that several references share. */
#ifndef LONGHAND_REF_SCALAR_H
#define LONGHAND_REF_SCALAR_H

#include <math.h>

/* The scalar product of two vectors. */
static inline double dot(int count, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

/* 1 / (1 + e^-x), without overflow. */
static inline double sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }

/* ln sigmoid(x), without overflow. */
static inline double log_sigmoid(double x) { return fmin(x, 0) - log1p(exp(-fabs(x))); }

#endif
