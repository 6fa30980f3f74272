/* Dot products of rows with one learned vector of each head, and their gradients. The vector may be divided by its
 * norm. A row and a vector have `count` channels, in whole quads. */

#define LEAST_NORM ((real)1e-6) /* divisor of vectors with a smaller norm */

INLINE real multiply_rows(const int count, const real *a, const real *b) {
    real sum = 0;
    assume_global(a);
    assume_global(b);
#pragma unroll 4
    for (int d = 0; d < count; d += 4) {
        const quad x = *(const quad *)(a + d), y = *(const quad *)(b + d);
#pragma unroll
        for (int i = 0; i < 4; i++) sum += x.v[i] * y.v[i];
    }
    return sum;
}

INLINE real find_divisor(const int count, const real *vector) {
    const real norm = sqrt_real(multiply_rows(count, vector, vector));
    return norm > LEAST_NORM ? norm : LEAST_NORM;
}

/* drow += dproduct * vector: adds the gradient of a row that comes from its product with a vector. */
INLINE void add_row_grad(const int count, real dproduct, const real *vector, real *drow) {
    assume_global(vector);
    assume_global(drow);
#pragma unroll 4
    for (int d = 0; d < count; d += 4) {
        const quad x = *(const quad *)(vector + d);
        quad y = *(const quad *)(drow + d);
#pragma unroll
        for (int i = 0; i < 4; i++) y.v[i] += dproduct * x.v[i];
        *(quad *)(drow + d) = y;
    }
}

/* dvectors holds gradients of vectors that were divided by their norms; the function replaces them by the gradients
 * of the undivided vectors. It begins with a barrier, since other threads have computed dvectors, and ends without a
 * barrier. */
INLINE void divide_by_norms_grad(const int heads, const int count, const real *vectors, real *dvectors) {
    assume_global(dvectors);
    __syncthreads();
    for (int h = (int)threadIdx.x; h < heads; h += THREADS) {
        const real *vector = vectors + h * count;
        real *dvector = dvectors + h * count;
        const real divisor = find_divisor(count, vector);
        const real along = divisor > LEAST_NORM ? multiply_rows(count, vector, dvector) / (divisor * divisor) : 0;
        for (int d = 0; d < count; d++) dvector[d] = (dvector[d] - along * vector[d]) / divisor;
    }
}
