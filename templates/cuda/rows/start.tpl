% local format_real = precision == "float64" and f64 or f32
enum { START_DOMAIN = 10u, EVAL_START_DOMAIN = 11u }; /* LH_DOMAIN_START, LH_DOMAIN_EVAL_START: the high bits of a site */

/* x [rows][WIDTH] = ${format_real(deviation)} times normal random numbers, which belong to the step in training and to the draw in evaluation. */
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
