/* Kernels that call the functions of kernels/cuda/mma.cu, for test_emulation.c. */

/* out [2][threads]: the bits of in [threads] as tf32; then the bits as bf16, and those of 1 in the upper half. */
extern "C" __global__ void rounding_kernel(const float *in, unsigned int *out) {
    out[threadIdx.x] = to_tf32(in[threadIdx.x]);
    out[blockDim.x + threadIdx.x] = pack_bf16(in[threadIdx.x], 1.0f);
}

/* One warp: c [16][8] += a [16][8] b [8][8], with operands rounded to tf32. */
extern "C" __global__ void tf32_kernel(const float *a, const float *b, float *c) {
    int g = (int)threadIdx.x / 4, t = (int)threadIdx.x % 4;
    unsigned int fa[4], fb[2];
    float fc[4];
    for (int i = 0; i < 4; i++) fa[i] = to_tf32(a[(g + i % 2 * 8) * 8 + t + i / 2 * 4]);
    for (int i = 0; i < 2; i++) fb[i] = to_tf32(b[(t + i * 4) * 8 + g]);
    for (int i = 0; i < 4; i++) fc[i] = c[(g + i / 2 * 8) * 8 + 2 * t + i % 2];
    mma_tf32(fc, fa, fb);
    for (int i = 0; i < 4; i++) c[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = fc[i];
}

/* One warp: c [16][8] += a [16][16] b [16][8], with operands rounded to bf16. */
extern "C" __global__ void bf16_kernel(const float *a, const float *b, float *c) {
    int g = (int)threadIdx.x / 4, t = (int)threadIdx.x % 4;
    unsigned int fa[4], fb[2];
    float fc[4];
    for (int i = 0; i < 4; i++) {
        const float *element = a + (g + i % 2 * 8) * 16 + 2 * t + i / 2 * 8;
        fa[i] = pack_bf16(element[0], element[1]);
    }
    for (int i = 0; i < 2; i++) fb[i] = pack_bf16(b[(2 * t + i * 8) * 8 + g], b[(2 * t + i * 8 + 1) * 8 + g]);
    for (int i = 0; i < 4; i++) fc[i] = c[(g + i / 2 * 8) * 8 + 2 * t + i % 2];
    mma_bf16(fc, fa, fb);
    for (int i = 0; i < 4; i++) c[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = fc[i];
}
