/* Sums over rows by a block. Each of `columns` adjacent threads has one column. Threads with the same column divide its
 * rows among them, and their sums are added in the order of threads. */

enum {
    SPAN = WIDTH < THREADS ? WIDTH : THREADS, /* columns that a block sums at a time, for rows of WIDTH columns */
    SUMMANDS = 8                              /* numbers that a thread loads at a time */
};

/* The rows of a thread: first_row, then every row_step-th row. columns <= THREADS. */
INLINE int first_row(const int columns) { return (int)threadIdx.x / columns; }
INLINE int row_step(const int columns) { return (THREADS - 1 - (int)threadIdx.x % columns) / columns + 1; }

/* Loads rows row, row + step, ... of a column, whose rows are `stride` elements apart; 0 from `rows` on. */
INLINE void fetch_rows(const real *a, int row, int step, int rows, int stride, real part[SUMMANDS]) {
    assume_global(a);
#pragma unroll
    for (int u = 0; u < SUMMANDS; u++) part[u] = row + u * step < rows ? a[(row + u * step) * stride] : 0;
}

/* The sum of the parts of all threads with the same column; only the first of them gets it. All threads call it. */
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

/* A thread's part of a sum over rows, of a or of a * b; a and b point to the thread's column. */
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
