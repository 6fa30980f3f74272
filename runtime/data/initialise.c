/* See initialise.h. Every value is computed in double and rounded once. */
#include "base/exact.h"

#include "data/initialise.h"

#include <string.h>

#include "base/real.h"
#include "longhand/math.h"

/* A uniform number in the open interval (0, 1): the middle of one of 2^32 equal intervals. */
static double make_uniform(uint32_t word) { return ((double)word + 0.5) * 0x1p-32; }

/* A uniform number in [-1, 1), a multiple of 2^-23. Its product with a positive bound, rounded to float, is therefore
 * below the bound. */
static double make_signed_uniform(uint32_t word) { return (double)(word >> 8) * 0x1p-23 - 1.0; }

/* Computes a random value from one word. lower_tail: the probability that a normal number is below -2; truncated normal
 * numbers are between -2 and 2. */
static double make_random_value(const lh_tensor *tensor, double lower_tail, uint32_t word) {
    if (tensor->init == LH_INIT_UNIFORM) return tensor->value * make_signed_uniform(word);
    if (tensor->init == LH_INIT_NORMAL) return tensor->value * lh_normal_quantile(make_uniform(word));
    return tensor->value * lh_normal_quantile(lower_tail + make_uniform(word) * (1.0 - 2.0 * lower_tail));
}

/* Writes the initial values of one tensor. With LH_INIT_VALUES, tensor->value is the index of its first value. */
static void fill_tensor(const lh_tensor *tensor, const double *values, lh_rng rng, int real_bytes, void *parameters) {
    int64_t rows = lh_count_tensor_rows(tensor), columns = lh_count_tensor_columns(tensor);
    double lower_tail = lh_normal_cumulative(-2.0);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++) {
            double value = tensor->value;
            if (tensor->init == LH_INIT_VALUES) value = values[(int64_t)tensor->value + r * columns + c];
            else if (tensor->init != LH_INIT_CONSTANT) value = make_random_value(tensor, lower_tail, lh_rng_word(&rng));
            lh_real_write(parameters, real_bytes, tensor->offset + r * tensor->stride + c, value);
        }
    }
}

void lh_initialise(const lh_spec *spec, uint64_t seed, int real_bytes, void *parameters) {
    memset(parameters, 0, (size_t)spec->parameter_storage * (size_t)real_bytes);
    for (int t = 0; t < spec->tensor_count; t++) {
        lh_rng rng = lh_rng_at(lh_key_of_seed(seed), 0, (uint32_t)t, lh_site(LH_DOMAIN_INIT, 0, 0));
        fill_tensor(&spec->tensors[t], spec->initial_values, rng, real_bytes, parameters);
    }
}
