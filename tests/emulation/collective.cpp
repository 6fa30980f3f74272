/* Collective operations of a warp: shuffles, votes, products of fragments. */
#include "collective.h"

#include "cuda_emulation.h"

static const char *do_nothing(void *const *, unsigned) { return NULL; }

void __syncwarp(unsigned mask, const char *file, int line) {
    lh_collective_join({"__syncwarp", file, line, mask, do_nothing, NULL});
}

struct shuffle {
    unsigned long long value, result;
    int source;
};

static const char *run_shuffle(void *const *arguments, unsigned lanes) {
    for (unsigned remaining = lanes; remaining; remaining &= remaining - 1) {
        shuffle *lane_arguments = static_cast<shuffle *>(arguments[__builtin_ctz(remaining)]);
        if (lane_arguments->source < 0 || lane_arguments->source >= warpSize || !(lanes >> lane_arguments->source & 1))
            return "a thread reads a lane that takes no part";
        lane_arguments->result = static_cast<shuffle *>(arguments[lane_arguments->source])->value;
    }
    return NULL;
}

unsigned long long lh_shuffle(const char *name, unsigned mask, unsigned long long bits, int source, const char *file,
                              int line) {
    shuffle lane_arguments = {bits, 0, source};
    lh_collective_join({name, file, line, mask, run_shuffle, &lane_arguments});
    return lane_arguments.result;
}

struct vote {
    int predicate;
    unsigned result;
};

static const char *run_ballot(void *const *arguments, unsigned lanes) {
    unsigned result = 0;
    for (int i = 0; i < warpSize; i++)
        if (lanes >> i & 1) result |= (unsigned)(static_cast<vote *>(arguments[i])->predicate != 0) << i;
    for (int i = 0; i < warpSize; i++)
        if (lanes >> i & 1) static_cast<vote *>(arguments[i])->result = result;
    return NULL;
}

unsigned __ballot_sync(unsigned mask, int predicate, const char *file, int line) {
    vote lane_arguments = {predicate, 0};
    lh_collective_join({"__ballot_sync", file, line, mask, run_ballot, &lane_arguments});
    return lane_arguments.result;
}

struct fragments {
    float *c;
    const unsigned *a, *b;
};

/* c += a b for a [16][K] and b [K][8], gathered from the warp. The sum is in double, so it is rounded to float once. */
template <int K> static void multiply(void *const *arguments, const float (*a)[K], const float (*b)[8]) {
    for (int lane = 0; lane < warpSize; lane++) {
        float *c = static_cast<fragments *>(arguments[lane])->c;
        for (int i = 0; i < 4; i++) {
            int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
            double sum = (double)c[i];
            for (int k = 0; k < K; k++) sum += (double)a[row][k] * (double)b[k][column];
            c[i] = (float)sum;
        }
    }
}

static const char *run_tf32(void *const *arguments, unsigned lanes) {
    if (lanes != 0xffffffffu) return "needs all 32 threads of a warp";
    float a[16][8], b[8][8];
    const unsigned operand_bits = 0xffffe000u; /* the bits that the hardware reads */
    for (int lane = 0; lane < warpSize; lane++) {
        const fragments *lane_arguments = static_cast<const fragments *>(arguments[lane]);
        int g = lane / 4, t = lane % 4;
        for (int i = 0; i < 4; i++)
            a[g + i % 2 * 8][t + i / 2 * 4] = __uint_as_float(lane_arguments->a[i] & operand_bits);
        for (int i = 0; i < 2; i++) b[t + i * 4][g] = __uint_as_float(lane_arguments->b[i] & operand_bits);
    }
    multiply<8>(arguments, a, b);
    return NULL;
}

static const char *run_bf16(void *const *arguments, unsigned lanes) {
    if (lanes != 0xffffffffu) return "needs all 32 threads of a warp";
    float a[16][16], b[16][8];
    for (int lane = 0; lane < warpSize; lane++) {
        const fragments *lane_arguments = static_cast<const fragments *>(arguments[lane]);
        int g = lane / 4, t = lane % 4;
        for (int half = 0; half < 2; half++) { /* the lower 16 bits are the lower k */
            int shift = half ? 0 : 16, k = 2 * t + half;
            for (int i = 0; i < 4; i++)
                a[g + i % 2 * 8][k + i / 2 * 8] = __uint_as_float(lane_arguments->a[i] << shift & 0xffff0000u);
            for (int i = 0; i < 2; i++) b[k + i * 8][g] = __uint_as_float(lane_arguments->b[i] << shift & 0xffff0000u);
        }
    }
    multiply<16>(arguments, a, b);
    return NULL;
}

void mma_tf32(float c[4], const unsigned a[4], const unsigned b[2], const char *file, int line) {
    fragments lane_arguments = {c, a, b};
    lh_collective_join({"mma_tf32", file, line, 0xffffffffu, run_tf32, &lane_arguments});
}

void mma_bf16(float c[4], const unsigned a[4], const unsigned b[2], const char *file, int line) {
    fragments lane_arguments = {c, a, b};
    lh_collective_join({"mma_bf16", file, line, 0xffffffffu, run_bf16, &lane_arguments});
}

float exp2_approximate(float x) {
    const float power = exp2f(x);
    return power < 0x1p-126f ? 0 : power;
}

float log2_approximate(float x) { return log2f(x); }

unsigned to_tf32(float x) {
    if (x != x) return 0x7fffffffu;
    unsigned bits = __float_as_uint(x);
    return isinf(x) ? bits : (bits + 0x1000u) & 0xffffe000u;
}

static unsigned to_bf16(float x) {
    if (x != x) return 0x7fffu;
    unsigned bits = __float_as_uint(x);
    return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

unsigned pack_bf16(float low, float high) { return to_bf16(high) << 16 | to_bf16(low); }
