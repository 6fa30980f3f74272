% local format_real = precision == "float64" and f64 or f32
/* LH_DOMAIN_START and LH_DOMAIN_EVAL_START, stored in bits 24 and above of a site */
enum { START_DOMAIN = 10u, EVAL_START_DOMAIN = 11u };

/* x [rows][WIDTH] = ${format_real(deviation)} times normal random numbers. Each step of training and each draw of an
 * evaluation has its own numbers. */
NOINLINE void ${name}(int rows, const bool training, real *x) {
    const lh_cuda_step *in = &block()->step;
    const unsigned int site = training ? START_DOMAIN << 24 : EVAL_START_DOMAIN << 24 | in->draw << 8;
    const int T = block()->view.${T};
    for (int e = 4 * threadIdx.x; e < rows * WIDTH; e += 4 * THREADS) {
        const int row = e / WIDTH, c = e % WIDTH;
        quad normal = normal_quad(in->key, in->step, in->first + block()->first + row / T, site, (row % T * WIDTH + c) / 4);
#pragma unroll
        for (int i = 0; i < 4; i++) normal.v[i] *= ${format_real(deviation)};
        *(quad *)(x + e) = normal;
    }
    __syncthreads();
}
