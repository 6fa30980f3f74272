/* A thread's vector of `count` channels of a head. Only its first `available` channels exist; the others are loaded as
 * 0 and not stored. */

INLINE void load_channels(const int count, const int available, real *x, const real *from) {
    assume_global(from);
#pragma unroll
    for (int d = 0; d < count; d += 4) {
        quad part = {{0, 0, 0, 0}};
        if (d < available) part = *(const quad *)(from + d);
#pragma unroll
        for (int i = 0; i < 4; i++) x[d + i] = part.v[i];
    }
}

INLINE void store_channels(const int count, const int available, const real *x, real scale, real *to) {
    assume_global(to);
#pragma unroll
    for (int d = 0; d < count; d += 4) {
        quad part;
#pragma unroll
        for (int i = 0; i < 4; i++) part.v[i] = x[d + i] * scale;
        if (d < available) *(quad *)(to + d) = part;
    }
}

INLINE real dot_channels(const int count, const real *x, const real *y) {
    real sum = 0;
#pragma unroll
    for (int d = 0; d < count; d++) sum += x[d] * y[d];
    return sum;
}

/* x += factor * y */
INLINE void add_channels(const int count, real *x, real factor, const real *y) {
#pragma unroll
    for (int d = 0; d < count; d++) x[d] += factor * y[d];
}

/* The sum over the adjacent lanes of a head, with the same bits in each of these lanes.
 * mask: has a bit for each lane of the head. */
INLINE real sum_head_lanes(const int lanes, unsigned int mask, real sum) {
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(mask, sum, distance);
    return sum;
}

/* dbias = scale * the sum of keys * key_sums over all rows.
 * dbias: the gradient of the bias that is added to queries in products with keys.
 * keys: rows that are `stride` elements apart.
 * key_sums [rows][heads]: for each key, the sum of the gradients of its logits. */
INLINE void content_bias_grad(const int head_width, const int stride, int rows, const real *keys, const real *key_sums,
                              real scale, real *dbias) {
    assume_global(dbias);
    for (int first = 0; first < WIDTH; first += SPAN) {
        const int c = first + threadIdx.x % SPAN, h = c / head_width;
        const real part = c < WIDTH ? dot_rows(rows, SPAN, keys + c, stride, key_sums + h, WIDTH / head_width) : 0;
        const real sum = add_parts(part, SPAN);
        if (threadIdx.x < SPAN && c < WIDTH) dbias[c] = sum * scale;
    }
}

/* Computes dbias and drows for `columns` channels from `first` on.
 * dbias: the gradient of the bias that is added to queries in products with vectors of distances.
 * rows [heads][count][head_width]: the vectors.
 * row_sums [heads][count]: for each vector, the sum of the gradients of its logits.
 * drows [count][WIDTH]: the gradient of the vectors; becomes (drows + row_sums * bias) * scale. */
INLINE void position_bias_grad(const int head_width, const int columns, int count, int first, real scale,
                               const real *bias, const real *rows, const real *row_sums, real *drows, real *dbias) {
    assume_global(row_sums);
    assume_global(drows);
    assume_global(dbias);
    const int channel = first + threadIdx.x % columns, h = channel / head_width;
    const real *row = rows + (size_t)h * count * head_width + channel % head_width;
    const real sum = add_parts(dot_rows(count, columns, row, head_width, row_sums + h * count, 1), columns);
    if ((int)threadIdx.x < columns) dbias[channel] = sum * scale;
    for (int e = 4 * threadIdx.x; e < count * columns; e += 4 * THREADS) {
        const int x = e / columns, c = first + e % columns;
        const quad part = *(const quad *)(bias + c);
        const real row_sum = row_sums[c / head_width * count + x];
        quad drow = *(const quad *)(drows + x * WIDTH + c);
#pragma unroll
        for (int i = 0; i < 4; i++) drow.v[i] = (drow.v[i] + row_sum * part.v[i]) * scale;
        *(quad *)(drows + x * WIDTH + c) = drow;
    }
    __syncthreads();
}

/* row_bias [heads][count] = scaled products of a bias with rows [heads][count][head_width].
 * columns: number of channels of the processed heads.
 * used: number of processed rows of each head. */
INLINE void bias_rows(const int head_width, const int columns, int used, int count, real scale, const real *rows,
                      const real *bias, real *row_bias) {
    for (int e = threadIdx.x; e < columns / head_width * used; e += THREADS) {
        const int h = e / used, x = h * count + e % used;
        real sum = 0;
        for (int d = 0; d < head_width; d++) sum += rows[x * head_width + d] * bias[h * head_width + d];
        row_bias[x] = sum * scale;
    }
}

/* Rotates two pairs of channels.
 * cosines: the cosines of the four channels. Their sines follow `period` elements later, negated for even channels.
 * direction: 1, or -1 in the backward pass. */
INLINE void rotate_quad(real *channels, const real *cosines, const int period, int direction) {
    const quad x = *(const quad *)channels, cosine = *(const quad *)cosines, sine = *(const quad *)(cosines + period);
    quad y;
#pragma unroll
    for (int i = 0; i < 4; i++) y.v[i] = x.v[i] * cosine.v[i] + direction * (x.v[i ^ 1] * sine.v[i]);
    *(quad *)channels = y;
}
