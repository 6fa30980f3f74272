/* Shared functions of the tests of kernels/ref: fixed values, tolerances, gradients against central differences. */
#ifndef LH_DIFFERENCES_H
#define LH_DIFFERENCES_H

#include <stdint.h>

/* Tolerances for both the relative and the absolute error. */
static const double EXACT = 1e-14;     /* a handful of operations in double */
static const double SIX_DIGITS = 6e-7; /* values published with six decimals */

/* Fills x with values in [-1, 1) that depend on the seed alone. */
void lh_test_fill_values(uint64_t seed, int count, double *x);

double lh_test_compute_weighted_sum(int count, const double *weight, const double *x);

/* Compares analytic, the derivatives of the objective by x, with central differences of step 1e-5. */
void lh_test_check_gradient(double (*objective)(void *), void *context, int count, double *x, const double *analytic);

#endif
