/* Products of float32 on tensor cores (m16n8k8). An operand is split into two numbers in tf32, high and low. Three
 * instructions add all products of these numbers except low * low. The relative error is about 2^-22. */

enum { DEPTH = 1 /* elements along k in one word */ };

/* x = high + low + rest, |rest| <= 2^-23 |x|: high is x rounded to tf32; low is x - high, cut off to tf32. */
struct split {
    unsigned int high, low;

    __device__ __forceinline__ operator float() const { return __uint_as_float(high) + __uint_as_float(low); }
};

INLINE split word(float x, float) {
    const unsigned int high = to_tf32(x);
    return {high, __float_as_uint(x - __uint_as_float(high)) & 0xffffe000u};
}

INLINE void multiply_step(const split a[4], const split b[2], float sum[4]) {
    const unsigned int high_a[4] = {a[0].high, a[1].high, a[2].high, a[3].high}, high_b[2] = {b[0].high, b[1].high},
                       low_a[4] = {a[0].low, a[1].low, a[2].low, a[3].low}, low_b[2] = {b[0].low, b[1].low};
    mma_tf32(sum, low_a, high_b);
    mma_tf32(sum, high_a, low_b);
    mma_tf32(sum, high_a, high_b);
}
