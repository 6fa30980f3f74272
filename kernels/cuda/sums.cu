/* Sums over rows by a block. Thread i has column i % columns. Threads with the same column divide the rows among them.
 * The sums of these threads are added in the order of threads. */

enum {
    SPAN = WIDTH < THREADS ? WIDTH : THREADS, /* columns that a block sums at a time, for rows of WIDTH columns */
    SUMMANDS = 8                              /* numbers that a thread loads at a time */
};

/* The rows of a thread: first_row, then every row_step-th row. columns <= THREADS. */
INLINE int first_row(const int columns) { return (int)threadIdx.x / columns; }
INLINE int row_step(const int columns) { return (THREADS - 1 - (int)threadIdx.x % columns) / columns + 1; }

/* Loads the rows row, row + step, ... of a column, with 0 for rows beyond `rows`. Rows are `stride` elements apart. */
INLINE void fetch_rows(const real *a, int row, int step, int rows, int stride, real part[SUMMANDS]) {
    assume_global(a);
#pragma unroll
    for (int u = 0; u < SUMMANDS; u++) part[u] = row + u * step < rows ? a[(row + u * step) * stride] : 0;
}

/* Adds the parts of all threads with the same column. Returns the sum to the first of these threads, and 0 to the
 * others. All threads of the block call this function. */
INLINE real add_parts(real part, const int columns) {
    real *partials = staging();
    __syncthreads();
    partials[threadIdx.x] = part;
    __syncthreads();
    if ((int)threadIdx.x >= columns) return 0;
#pragma unroll 8
    for (int first = columns; first < THREADS; first += columns)
        if (first + (int)threadIdx.x < THREADS) part += partials[first + (int)threadIdx.x];
    return part;
}

/* sum_rows: a thread's part of the sum of `a` over rows; dot_rows: its part of the sum of `a * b`. `a` and `b` point
 * to the thread's column. */
INLINE real sum_rows(int rows, const int columns, const real *a, int stride) {
    const int step = row_step(columns);
    real sum = 0;
    for (int row = first_row(columns); row < rows; row += SUMMANDS * step) {
        real x[SUMMANDS];
        fetch_rows(a, row, step, rows, stride, x);
#pragma unroll
        for (int u = 0; u < SUMMANDS; u++) sum += x[u];
    }
    return sum;
}

INLINE real dot_rows(int rows, const int columns, const real *a, int stride_a, const real *b, int stride_b) {
    const int step = row_step(columns);
    real sum = 0;
    for (int row = first_row(columns); row < rows; row += SUMMANDS * step) {
        real x[SUMMANDS], y[SUMMANDS];
        fetch_rows(a, row, step, rows, stride_a, x);
        fetch_rows(b, row, step, rows, stride_b, y);
#pragma unroll
        for (int u = 0; u < SUMMANDS; u++) sum += x[u] * y[u];
    }
    return sum;
}

/* sum[c] = the sum over rows of a[row][c]; rows are `stride` apart. */
INLINE void column_sums(int rows, const int columns, int stride, const real *a, real *sum) {
    const int span = columns < THREADS ? columns : THREADS;
    assume_global(sum);
    for (int first = 0; first < columns; first += span) {
        const int c = first + (int)threadIdx.x % span;
        const real part = c < columns ? sum_rows(rows, span, a + c, stride) : 0, total = add_parts(part, span);
        if ((int)threadIdx.x < span && c < columns) sum[c] = total;
    }
    __syncthreads();
}

/* sum[c] += the sum over rows of a[row][c]. */
INLINE void add_column_sums(int rows, const int columns, const real *a, real *sum) {
    const int span = columns < THREADS ? columns : THREADS;
    assume_global(sum);
    for (int first = 0; first < columns; first += span) {
        const int c = first + (int)threadIdx.x % span;
        const real part = c < columns ? sum_rows(rows, span, a + c, columns) : 0, total = add_parts(part, span);
        if ((int)threadIdx.x < span && c < columns) sum[c] += total;
    }
    __syncthreads();
}

/* table[place[t]] += dy[t] for T rows of WIDTH columns; place[t] is the index of a row of the table. If several t
 * have the same place, the thread of the first one adds all their rows, in order. */
INLINE void add_placed_rows(int T, const int *place, const real *dy, real *table) {
    assume_global(place);
    assume_global(dy);
    assume_global(table);
    for (int e = 4 * threadIdx.x; e < T * WIDTH; e += 4 * THREADS) {
        const int t = e / WIDTH, c = e % WIDTH, own_place = place[t];
        bool is_first = true;
        quad sum = {{0, 0, 0, 0}}, part[SUMMANDS];
        for (int first = 0; is_first && first < T; first += SUMMANDS) {
#pragma unroll
            for (int u = 0; u < SUMMANDS; u++) {
                const bool adds = first + u < T && place[first + u] == own_place;
                is_first = is_first && !(adds && first + u < t);
                part[u] = adds ? *(const quad *)(dy + (first + u) * WIDTH + c) : quad{{0, 0, 0, 0}};
            }
#pragma unroll
            for (int i = 0; i < 4 * SUMMANDS; i++) sum.v[i % 4] += part[i / 4].v[i % 4];
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (is_first) table[own_place * WIDTH + c + i] += sum.v[i];
    }
}
