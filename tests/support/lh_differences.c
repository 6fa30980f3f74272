/* See lh_differences.h. */
#include "lh_differences.h"

#include "longhand/rng.h"
#include "lh_test.h"

/* Tolerance for a difference quotient. One term of an objective has an error of 1e-10 by truncation and of 1e-16 / 1e-5
 * by rounding. An objective has about a hundred terms; the rest of the tolerance is margin. */
static const double QUOTIENT_TOLERANCE = 2e-7;

void lh_test_fill_values(uint64_t seed, int count, double *x) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(seed), 0, 0, 0);
    for (int i = 0; i < count; i++) x[i] = lh_rng_word(&rng) / 2147483648.0 - 1;
}

double lh_test_compute_weighted_sum(int count, const double *weight, const double *x) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += weight[i] * x[i];
    return sum;
}

void lh_test_check_gradient(double (*objective)(void *), void *context, int count, double *x, const double *analytic) {
    const double step = 1e-5;
    for (int i = 0; i < count; i++) {
        double original = x[i];
        x[i] = original + step;
        double upper = objective(context);
        x[i] = original - step;
        double numeric = (upper - objective(context)) / (2 * step);
        x[i] = original;
        lh_assert_close(&analytic[i], &numeric, 1, QUOTIENT_TOLERANCE, QUOTIENT_TOLERANCE);
    }
}
