/* Products with narrow results, divided among warps. A warp computes a part of 16 x 16 results, so many warps have
 * work and no warp needs the sums of another warp. Operands are loaded in quads, four adjacent elements; only
 * weights in the order ROWS are loaded in couples, two adjacent elements. Lane 4 g + t loads rows 2 g and 2 g + 1
 * of x and columns 2 g and 2 g + 1 of weights; of the results in these rows, it stores columns 4 t to 4 t + 3. Sizes
 * are constants after inlining, and multiples of 16. Reference: lh_ref_matmul. */

enum { NARROW_PART = 16 /* rows and columns of a part */ };

/* Two adjacent elements of an operand, which one instruction loads. */
struct __align__(2 * sizeof(stored)) stored_couple {
    stored v[2];
};

/* The index of the lane's first row, which is also the index of its first column of weights. */
INLINE int narrow_lane(void) { return (int)(threadIdx.x % WARP / 4 * 2); }

/* Packs four values along k into words; a word holds DEPTH (1 or 2) values. */
INLINE void quad_words(const bool rounded, const stored_quad x, operand_word words[WORDS]) {
#pragma unroll
    for (int i = 0; i < WORDS; i++) words[i] = stored_word(rounded, x.v[DEPTH * i], x.v[DEPTH * i + DEPTH - 1]);
}

/* Loads the lane's 4 x 2 weights: part[c] gets the weights of four k in the lane's column c. `weight` points to the
 * lane's first weight. */
INLINE void fetch_narrow_weights(const order along, const real *weight, const int stride, stored_quad part[2]) {
    if (along == COLUMNS) {
#pragma unroll
        for (int c = 0; c < 2; c++) part[c] = *(const stored_quad *)(weight + c * stride);
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const stored_couple x = *(const stored_couple *)(weight + k * stride);
        part[0].v[k] = x.v[0];
        part[1].v[k] = x.v[1];
    }
}

/* The number of elements along k in an unrolled loop: in a longer loop, prefetched operands take too many registers. */
INLINE int narrow_chunk(const int K) { return K % 96 == 0 ? 96 : K % 64 == 0 ? 64 : K % 48 == 0 ? 48 : GROUP; }

/* Adds the products of one group of elements along k. */
INLINE void multiply_narrow(const operand_word a[2][WORDS], const operand_word b[2][WORDS], real sum[2][4]) {
#pragma unroll
    for (int i = 0; i < WORDS; i += 2) {
        const operand_word rows_of_x[4] = {a[0][i], a[1][i], a[0][i + 1], a[1][i + 1]};
#pragma unroll
        for (int c = 0; c < 2; c++) {
            const operand_word column_of_weights[2] = {b[c][i], b[c][i + 1]};
            multiply_step(rows_of_x, column_of_weights, sum[c]);
        }
    }
}

/* Adds the products of x[rows][K], from `row` on, with the weights of a warp's columns. x_rounded: x is already
 * rounded; rounded: the weights are already rounded. stores: warps whose first column is 0 also write x to stored_x
 * (store_pair). */
INLINE void add_narrow_products(const bool x_rounded, const bool rounded, int row, int rows, const int K, const real *x,
                                const bool stores, real *stored_x, const order along, const real *weight,
                                const int stride, int column, real sum[2][4]) {
    const int first = row + narrow_lane(), first_column = column + narrow_lane(), chunk = narrow_chunk(K);
    const bool stores_x = stores && column == 0 && first < rows;
    const real *starts[2];
#pragma unroll
    for (int e = 0; e < 2; e++) starts[e] = get_row(x + lane_quad(), min(first + e, rows - 1), K);
    weight += along == ROWS ? lane_quad() * stride + first_column : first_column * stride + lane_quad();
    stored_x += first * K + 2 * lane_quad();
#pragma unroll 1
    for (int begin = 0; begin < K; begin += chunk) {
        stored_quad next_a[2], next_b[2];
#pragma unroll
        for (int e = 0; e < 2; e++) next_a[e] = *(const stored_quad *)(starts[e] + begin);
        fetch_narrow_weights(along, weight + (along == ROWS ? begin * stride : begin), stride, next_b);
#pragma unroll
        for (int i = 0; i < chunk; i += GROUP) {
            const int next = begin + i + GROUP;
            operand_word a[2][WORDS], b[2][WORDS];
#pragma unroll
            for (int e = 0; e < 2; e++) {
                quad_words(x_rounded, next_a[e], a[e]);
                quad_words(rounded, next_b[e], b[e]);
            }
            if (stores_x) store_pair(along, next_a, a, stored_x + 2 * (begin + i));
            if (i + GROUP < chunk) {
#pragma unroll
                for (int e = 0; e < 2; e++) next_a[e] = *(const stored_quad *)(starts[e] + next);
                fetch_narrow_weights(along, weight + (along == ROWS ? next * stride : next), stride, next_b);
            }
            multiply_narrow(a, b, sum);
        }
    }
}

/* sized_product for at most NARROW columns. */
INLINE void narrow_product(const bool x_rounded, const bool rounded, int rows, const int columns, const int K,
                           const real *x, const bool stores, real *stored_x, const order along, const real *weight,
                           const int stride, const result_form form, const real *extra, real *out) {
    const int parts_per_row = columns / NARROW_PART,
              parts = (int)((rows + NARROW_PART - 1u) / NARROW_PART) * parts_per_row;
#pragma unroll 1
    for (int part = warp_number(); part < parts; part += WARPS) {
        const int row = part / parts_per_row * NARROW_PART, column = part % parts_per_row * NARROW_PART;
        const int first_column = column + lane_quad();
        real sum[2][4] = {};
        quad add[2];
        add_narrow_products(x_rounded, rounded, row, rows, K, x, stores, stored_x, along, weight, stride, column, sum);
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const int r = row + narrow_lane() + e;
            if (r < rows) add[e] = fetch_extra(form.epilogue, r, first_column, extra, columns);
        }
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const int r = row + narrow_lane() + e;
            quad z = {{sum[0][2 * e], sum[1][2 * e], sum[0][2 * e + 1], sum[1][2 * e + 1]}};
            z = finish_quad(form.epilogue, z, add[e]);
            if (form.scaled) scale_quad(form, first_column, &z);
            if (r < rows) write_quad(form, r, first_column, z, out, columns);
        }
    }
    __syncthreads();
}
