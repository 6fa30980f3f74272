/* See peak.h. Intrinsics ensure that the loops consist of multiply-adds only (plain x86-64: products and sums). Target
 * attributes let one file have the loops of all levels, independently of compiler flags. */
#include "bench/peak.h"

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define LOOP v4_floats
#define LEVEL __attribute__((target("avx512f")))
#define VECTOR __m512
#define SPREAD(x) _mm512_set1_ps(x)
#define FMA(x, a, b) _mm512_fmadd_ps(x, a, b)
#define CHAINS 24
#include "bench/peak_loop.inc"

#define LOOP v4_doubles
#define LEVEL __attribute__((target("avx512f")))
#define VECTOR __m512d
#define SPREAD(x) _mm512_set1_pd(x)
#define FMA(x, a, b) _mm512_fmadd_pd(x, a, b)
#define CHAINS 24
#include "bench/peak_loop.inc"

#define LOOP v3_floats
#define LEVEL __attribute__((target("avx2,fma")))
#define VECTOR __m256
#define SPREAD(x) _mm256_set1_ps(x)
#define FMA(x, a, b) _mm256_fmadd_ps(x, a, b)
#define CHAINS 12
#include "bench/peak_loop.inc"

#define LOOP v3_doubles
#define LEVEL __attribute__((target("avx2,fma")))
#define VECTOR __m256d
#define SPREAD(x) _mm256_set1_pd(x)
#define FMA(x, a, b) _mm256_fmadd_pd(x, a, b)
#define CHAINS 12
#include "bench/peak_loop.inc"

#define LOOP plain_floats
#define LEVEL
#define VECTOR __m128
#define SPREAD(x) _mm_set1_ps(x)
#define FMA(x, a, b) _mm_add_ps(_mm_mul_ps(x, a), b)
#define CHAINS 12
#include "bench/peak_loop.inc"

#define LOOP plain_doubles
#define LEVEL
#define VECTOR __m128d
#define SPREAD(x) _mm_set1_pd(x)
#define FMA(x, a, b) _mm_add_pd(_mm_mul_pd(x, a), b)
#define CHAINS 12
#include "bench/peak_loop.inc"

#elif defined(__aarch64__)
#include <arm_neon.h>

#define LOOP plain_floats
#define LEVEL
#define VECTOR float32x4_t
#define SPREAD(x) vdupq_n_f32(x)
#define FMA(x, a, b) vfmaq_f32(b, x, a)
#define CHAINS 24
#include "bench/peak_loop.inc"

#define LOOP plain_doubles
#define LEVEL
#define VECTOR float64x2_t
#define SPREAD(x) vdupq_n_f64(x)
#define FMA(x, a, b) vfmaq_f64(b, x, a)
#define CHAINS 24
#include "bench/peak_loop.inc"
#endif

static const struct {
    const char *level;
    lh_peak_function *floats, *doubles;
} peaks[] = {
#if defined(__x86_64__)
    {"x86-64-v4", v4_floats, v4_doubles},
    {"x86-64-v3", v3_floats, v3_doubles},
    {"x86-64", plain_floats, plain_doubles},
#elif defined(__aarch64__)
    {"aarch64", plain_floats, plain_doubles},
#endif
    {"", NULL, NULL},
};

lh_peak_function *lh_peak_find(const char *level, int real_bytes) {
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++)
        if (strcmp(peaks[i].level, level) == 0) return real_bytes == 8 ? peaks[i].doubles : peaks[i].floats;
    return NULL;
}
