/* Lets a C compiler compile kernels/cuda/functions.cu in place of kernels/cpu/functions.h, with vectors of one
 * element. */
#ifndef LH_DEVICE_FUNCTIONS_H
#define LH_DEVICE_FUNCTIONS_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/cpu/level.h"

#define INLINE static inline

enum { LANES = 1 };
typedef real vector __attribute__((vector_size(REAL_BYTES)));

INLINE vector broadcast(real x) { return (vector){x}; }
INLINE vector load(const real *p) { return broadcast(*p); }
INLINE void store(real *p, vector x) { *p = x[0]; }

#define BITS_OF(name, from, to) \
    INLINE to name(from x) { \
        to y; \
        memcpy(&y, &x, sizeof y); \
        return y; \
    }
BITS_OF(__float_as_int, float, int)
BITS_OF(__int_as_float, int, float)
BITS_OF(__float_as_uint, float, unsigned)
BITS_OF(__uint_as_float, unsigned, float)
BITS_OF(__double_as_longlong, double, long long)
BITS_OF(__longlong_as_double, long long, double)

#if REAL_BYTES == 8
#include "kernels/cuda/functions_float64.cu"
#else
#include "kernels/cuda/functions_float32.cu"
#endif

#include "kernels/cuda/functions.cu"

#define OF_ONE(name, scalar) \
    INLINE vector name(vector x) { return broadcast(scalar(x[0])); }
#define OF_TWO(name, scalar) \
    INLINE vector name(vector a, vector b) { return broadcast(scalar(a[0], b[0])); }
OF_ONE(exp_of, exp_real)
OF_ONE(log_of, log_real)
OF_ONE(log1p_of, log1p_real)
OF_ONE(sqrt_of, sqrt_real)
OF_ONE(tanh_of, tanh_real)
OF_ONE(sigmoid_of, sigmoid_real)
OF_ONE(log_sigmoid_of, log_sigmoid_real)
OF_ONE(erf_of, erf_real)
OF_ONE(sin_of, sin_real)
OF_ONE(cos_of, cos_real)
OF_ONE(abs_of, abs_real)
OF_ONE(floor_of, floor_real)
OF_TWO(minimum, minimum_real)
OF_TWO(pow_of, pow_real)
OF_TWO(mod_of, mod_real)

INLINE vector vector_erf_and_weight(vector x, vector *weight) {
    real w;
    vector y = broadcast(erf_and_weight(x[0], &w));
    *weight = broadcast(w);
    return y;
}
#define erf_and_weight vector_erf_and_weight

#endif
