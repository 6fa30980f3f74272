/* Instructions of the tensor cores. The PTX manual describes the fragments of mma.m16n8k8 and mma.m16n8k16. Results
 * are written to `sum`, not to the registers of the addends c. If results and addends shared registers, the compiler
 * would add copies of c to the PTX code. */

INLINE unsigned int to_tf32(float x) {
    unsigned int rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return rounded;
}

INLINE unsigned int pack_bf16(float low, float high) {
    unsigned int packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

/* c [16 x 8] += a [16 x 8] b [8 x 8]. */
INLINE void mma_tf32(float c[4], const unsigned int a[4], const unsigned int b[2]) {
    float sum[4];
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%10, %11, %12, %13};"
        : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
#pragma unroll
    for (int i = 0; i < 4; i++) c[i] = sum[i];
}

/* c [16 x 8] += a [16 x 16] b [16 x 8]. */
INLINE void mma_bf16(float c[4], const unsigned int a[4], const unsigned int b[2]) {
    float sum[4];
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%10, %11, %12, %13};"
        : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
#pragma unroll
    for (int i = 0; i < 4; i++) c[i] = sum[i];
}

/* 2^x and log2(x). The relative error is about 2^-22; for log2 of x between 1/2 and 2 this is the absolute error.
 * Subnormal numbers count as 0. */
INLINE float exp2_approximate(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}

INLINE float log2_approximate(float x) {
    float exponent;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(exponent) : "f"(x));
    return exponent;
}
