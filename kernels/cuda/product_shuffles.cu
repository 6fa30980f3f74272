/* The tensor cores' product of fragments, computed by shuffles within a warp in the precision of `real`: slow, for
 * tests in float64. Lanes hold the same elements as in mma.m16n8k8. */

enum { DEPTH = 1 /* elements along k in one word */ };

INLINE real word(real x, real) { return x; }

/* sum [16 x 8] += a [16 x 8] b [8 x 8]. */
INLINE void multiply_step(const real a[4], const real b[2], real sum[4]) {
    const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const real upper = __shfl_sync(0xffffffffu, a[k / 4 * 2], 4 * g + k % 4),
                   lower = __shfl_sync(0xffffffffu, a[k / 4 * 2 + 1], 4 * g + k % 4),
                   left = __shfl_sync(0xffffffffu, b[k / 4], 8 * t + k % 4),
                   right = __shfl_sync(0xffffffffu, b[k / 4], 8 * t + 4 + k % 4);
        sum[0] += upper * left;
        sum[1] += upper * right;
        sum[2] += lower * left;
        sum[3] += lower * right;
    }
}
