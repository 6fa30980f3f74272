/* Activations and gates, forward and backward. One block processes rows of N numbers; N is a multiple of four.
 * A gate reads rows of 2 N numbers: y = activation(left half) * right half.
 * A thread processes SUMMANDS numbers at a time, in quads of four adjacent numbers.
 * Successive quads of a thread are THREADS quads apart.
 * Activations: x and y may be the same array, and so may dy and dx.
 * Gates: x and dx may be the same array; y must not overlap x.
 * References: lh_ref_activation, lh_ref_gate. */

/* Loads the quads with indices first, first + THREADS, ...; quads from index `count` on are 0. */
INLINE void load_numbers(const real *x, int first, int count, real part[SUMMANDS]) {
    assume_global(x);
#pragma unroll
    for (int u = 0; u < SUMMANDS / 4; u++) {
        const int q = first + u * THREADS;
        quad four = {{0, 0, 0, 0}};
        if (q < count) four = *(const quad *)(x + 4 * q);
#pragma unroll
        for (int i = 0; i < 4; i++) part[4 * u + i] = four.v[i];
    }
}

INLINE void store_numbers(const real part[SUMMANDS], int first, int count, real *x) {
    assume_global(x);
#pragma unroll
    for (int u = 0; u < SUMMANDS / 4; u++) {
        const int q = first + u * THREADS;
        const quad four = {{part[4 * u], part[4 * u + 1], part[4 * u + 2], part[4 * u + 3]}};
        if (q < count) *(quad *)(x + 4 * q) = four;
    }
}

/* Loads quads of the left halves of rows to `gate` and quads of the right halves to `up`.
 * first: index of the thread's first quad among the quads of all left halves.
 * count: number of quads in all left halves. */
INLINE void load_halves(const int N, const real *x, int first, int count, real gate[SUMMANDS], real up[SUMMANDS]) {
    assume_global(x);
#pragma unroll
    for (int u = 0; u < SUMMANDS / 4; u++) {
        const int q = first + u * THREADS;
        const real *source = x + 4 * (q + q / (N / 4) * (N / 4));
        quad left = {{0, 0, 0, 0}}, right = {{0, 0, 0, 0}};
        if (q < count) left = *(const quad *)source;
        if (q < count) right = *(const quad *)(source + N);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            gate[4 * u + i] = left.v[i];
            up[4 * u + i] = right.v[i];
        }
    }
}

/* Stores quads at the addresses from which load_halves loads them. */
INLINE void store_halves(const int N, const real gate[SUMMANDS], const real up[SUMMANDS], int first, int count,
                         real *x) {
    assume_global(x);
#pragma unroll
    for (int u = 0; u < SUMMANDS / 4; u++) {
        const int q = first + u * THREADS;
        real *source = x + 4 * (q + q / (N / 4) * (N / 4));
        const quad left = {{gate[4 * u], gate[4 * u + 1], gate[4 * u + 2], gate[4 * u + 3]}};
        const quad right = {{up[4 * u], up[4 * u + 1], up[4 * u + 2], up[4 * u + 3]}};
        if (q < count) *(quad *)source = left;
        if (q < count) *(quad *)(source + N) = right;
    }
}

/* Returns the standard normal distribution function at x; *density is its derivative.
 * Every activation except ReLU is x P(x) for a distribution function P. Its slope is P(x) + x P'(x). */
INLINE real normal_cdf(real x, real *density) {
    real weight, share = (real)0.5 + (real)0.5 * erf_and_weight(x * (real)0.70710678118654752440, &weight);
    *density = weight * (real)0.39894228040143267794;
    return share;
}

/* normal_cdf, approximated by sigmoid(u), where u = 2 sqrt(2 / pi) (x + 0.044715 x^3). */
INLINE real normal_cdf_tanh(real x, real *density) {
    const real linear = (real)1.5957691216057308, cubic = (real)0.07135481627260025;
    real squared = x * x, share = sigmoid_real(x * (linear + cubic * squared));
    *density = share * (1 - share) * (linear + 3 * cubic * squared);
    return share;
}

INLINE real logistic_cdf(real x, real *density) {
    real share = sigmoid_real(x);
    *density = share * (1 - share);
    return share;
}

INLINE real gelu_real(real x) {
    real density;
    return x * normal_cdf(x, &density);
}

INLINE real gelu_slope(real x) {
    real density, share = normal_cdf(x, &density);
    return share + x * density;
}

INLINE real gelu_tanh_real(real x) {
    real density;
    return x * normal_cdf_tanh(x, &density);
}

INLINE real gelu_tanh_slope(real x) {
    real density, share = normal_cdf_tanh(x, &density);
    return share + x * density;
}

INLINE real silu_real(real x) {
    real density;
    return x * logistic_cdf(x, &density);
}

INLINE real silu_slope(real x) {
    real density, share = logistic_cdf(x, &density);
    return share + x * density;
}

INLINE void relu(int rows, const int N, const real *x, real *y) {
    const int count = rows * (N / 4);
    for (int first = (int)threadIdx.x; first < count; first += SUMMANDS / 4 * THREADS) {
        real a[SUMMANDS];
        load_numbers(x, first, count, a);
#pragma unroll
        for (int i = 0; i < SUMMANDS; i++) a[i] = a[i] > 0 ? a[i] : 0;
        store_numbers(a, first, count, y);
    }
    __syncthreads();
}

/* x: the input or the output of ReLU. */
INLINE void relu_grad(int rows, const int N, const real *x, const real *dy, real *dx) {
    const int count = rows * (N / 4);
    for (int first = (int)threadIdx.x; first < count; first += SUMMANDS / 4 * THREADS) {
        real a[SUMMANDS], d[SUMMANDS];
        load_numbers(x, first, count, a);
        load_numbers(dy, first, count, d);
#pragma unroll
        for (int i = 0; i < SUMMANDS; i++) d[i] = a[i] > 0 ? d[i] : 0;
        store_numbers(d, first, count, dx);
    }
    __syncthreads();
}

INLINE void gelu(int rows, const int N, const real *x, real *y) {
    const int count = rows * (N / 4);
    for (int first = (int)threadIdx.x; first < count; first += SUMMANDS / 4 * THREADS) {
        real a[SUMMANDS];
        load_numbers(x, first, count, a);
#pragma unroll
        for (int i = 0; i < SUMMANDS; i++) a[i] = gelu_real(a[i]);
        store_numbers(a, first, count, y);
    }
    __syncthreads();
}

INLINE void gelu_grad(int rows, const int N, const real *x, const real *dy, real *dx) {
    const int count = rows * (N / 4);
    for (int first = (int)threadIdx.x; first < count; first += SUMMANDS / 4 * THREADS) {
        real a[SUMMANDS], d[SUMMANDS];
        load_numbers(x, first, count, a);
        load_numbers(dy, first, count, d);
#pragma unroll
        for (int i = 0; i < SUMMANDS; i++) d[i] *= gelu_slope(a[i]);
        store_numbers(d, first, count, dx);
    }
    __syncthreads();
}

INLINE void gelu_tanh(int rows, const int N, const real *x, real *y) {
    const int count = rows * (N / 4);
    for (int first = (int)threadIdx.x; first < count; first += SUMMANDS / 4 * THREADS) {
        real a[SUMMANDS];
        load_numbers(x, first, count, a);
#pragma unroll
        for (int i = 0; i < SUMMANDS; i++) a[i] = gelu_tanh_real(a[i]);
        store_numbers(a, first, count, y);
    }
    __syncthreads();
}

INLINE void gelu_tanh_grad(int rows, const int N, const real *x, const real *dy, real *dx) {
    const int count = rows * (N / 4);
    for (int first = (int)threadIdx.x; first < count; first += SUMMANDS / 4 * THREADS) {
        real a[SUMMANDS], d[SUMMANDS];
        load_numbers(x, first, count, a);
        load_numbers(dy, first, count, d);
#pragma unroll
        for (int i = 0; i < SUMMANDS; i++) d[i] *= gelu_tanh_slope(a[i]);
        store_numbers(d, first, count, dx);
    }
    __syncthreads();
}

INLINE void silu(int rows, const int N, const real *x, real *y) {
    const int count = rows * (N / 4);
    for (int first = (int)threadIdx.x; first < count; first += SUMMANDS / 4 * THREADS) {
        real a[SUMMANDS];
        load_numbers(x, first, count, a);
#pragma unroll
        for (int i = 0; i < SUMMANDS; i++) a[i] = silu_real(a[i]);
        store_numbers(a, first, count, y);
    }
    __syncthreads();
}

INLINE void silu_grad(int rows, const int N, const real *x, const real *dy, real *dx) {
    const int count = rows * (N / 4);
    for (int first = (int)threadIdx.x; first < count; first += SUMMANDS / 4 * THREADS) {
        real a[SUMMANDS], d[SUMMANDS];
        load_numbers(x, first, count, a);
        load_numbers(dy, first, count, d);
#pragma unroll
        for (int i = 0; i < SUMMANDS; i++) d[i] *= silu_slope(a[i]);
        store_numbers(d, first, count, dx);
    }
    __syncthreads();
}

INLINE void swiglu(int rows, const int N, const real *x, real *y) {
    const int count = rows * (N / 4);
    for (int first = (int)threadIdx.x; first < count; first += SUMMANDS / 4 * THREADS) {
        real gate[SUMMANDS], up[SUMMANDS];
        load_halves(N, x, first, count, gate, up);
#pragma unroll
        for (int i = 0; i < SUMMANDS; i++) gate[i] = silu_real(gate[i]) * up[i];
        store_numbers(gate, first, count, y);
    }
    __syncthreads();
}

INLINE void swiglu_grad(int rows, const int N, const real *x, const real *dy, real *dx) {
    const int count = rows * (N / 4);
    for (int first = (int)threadIdx.x; first < count; first += SUMMANDS / 4 * THREADS) {
        real gate[SUMMANDS], up[SUMMANDS], d[SUMMANDS];
        load_halves(N, x, first, count, gate, up);
        load_numbers(dy, first, count, d);
#pragma unroll
        for (int i = 0; i < SUMMANDS; i++) {
            up[i] *= d[i] * silu_slope(gate[i]); /* now the gradient of gate[i] */
            d[i] *= silu_real(gate[i]);          /* now the gradient of up[i] */
        }
        store_halves(N, up, d, first, count, dx);
    }
    __syncthreads();
}

INLINE void geglu(int rows, const int N, const real *x, real *y) {
    const int count = rows * (N / 4);
    for (int first = (int)threadIdx.x; first < count; first += SUMMANDS / 4 * THREADS) {
        real gate[SUMMANDS], up[SUMMANDS];
        load_halves(N, x, first, count, gate, up);
#pragma unroll
        for (int i = 0; i < SUMMANDS; i++) gate[i] = gelu_real(gate[i]) * up[i];
        store_numbers(gate, first, count, y);
    }
    __syncthreads();
}

INLINE void geglu_grad(int rows, const int N, const real *x, const real *dy, real *dx) {
    const int count = rows * (N / 4);
    for (int first = (int)threadIdx.x; first < count; first += SUMMANDS / 4 * THREADS) {
        real gate[SUMMANDS], up[SUMMANDS], d[SUMMANDS];
        load_halves(N, x, first, count, gate, up);
        load_numbers(dy, first, count, d);
#pragma unroll
        for (int i = 0; i < SUMMANDS; i++) {
            up[i] *= d[i] * gelu_slope(gate[i]); /* now the gradient of gate[i] */
            d[i] *= gelu_real(gate[i]);          /* now the gradient of up[i] */
        }
        store_halves(N, up, d, first, count, dx);
    }
    __syncthreads();
}
