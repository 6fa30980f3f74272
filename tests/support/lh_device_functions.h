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

#define DEFINE_BIT_CAST(name, from, to) \
    INLINE to name(from x) { \
        to y; \
        memcpy(&y, &x, sizeof y); \
        return y; \
    }
DEFINE_BIT_CAST(__float_as_int, float, int)
DEFINE_BIT_CAST(__int_as_float, int, float)
DEFINE_BIT_CAST(__float_as_uint, float, unsigned)
DEFINE_BIT_CAST(__uint_as_float, unsigned, float)
DEFINE_BIT_CAST(__double_as_longlong, double, long long)
DEFINE_BIT_CAST(__longlong_as_double, long long, double)

#if REAL_BYTES == 8
#include "kernels/cuda/functions_float64.cu"
#else
#include "kernels/cuda/functions_float32.cu"
#endif

#include "kernels/cuda/functions.cu"

#define DEFINE_UNARY(name, scalar) \
    INLINE vector name(vector x) { return broadcast(scalar(x[0])); }
#define DEFINE_BINARY(name, scalar) \
    INLINE vector name(vector a, vector b) { return broadcast(scalar(a[0], b[0])); }
DEFINE_UNARY(exp_of, exp_real)
DEFINE_UNARY(log_of, log_real)
DEFINE_UNARY(log1p_of, log1p_real)
DEFINE_UNARY(sqrt_of, sqrt_real)
DEFINE_UNARY(tanh_of, tanh_real)
DEFINE_UNARY(sigmoid_of, sigmoid_real)
DEFINE_UNARY(log_sigmoid_of, log_sigmoid_real)
DEFINE_UNARY(erf_of, erf_real)
DEFINE_UNARY(sin_of, sin_real)
DEFINE_UNARY(cos_of, cos_real)
DEFINE_UNARY(abs_of, abs_real)
DEFINE_UNARY(floor_of, floor_real)
DEFINE_BINARY(minimum, minimum_real)
DEFINE_BINARY(pow_of, pow_real)
DEFINE_BINARY(mod_of, mod_real)

INLINE vector vector_erf_and_weight(vector x, vector *weight) {
    real w;
    vector y = broadcast(erf_and_weight(x[0], &w));
    *weight = broadcast(w);
    return y;
}
/* From here on, the name means the function for vectors. */
#define erf_and_weight vector_erf_and_weight

#endif
