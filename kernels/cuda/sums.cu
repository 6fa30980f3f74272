/* Sums over rows by a block. Neighbours in it have a column each, `columns` of them side by side; threads with the same
 * column share its rows out among them, and what they come to is added up in their order. */

enum {
    SPAN = WIDTH < THREADS ? WIDTH : THREADS, /* columns side by side, where there is one for each channel */
    SUMMANDS = 8                              /* that a thread has in flight */
};

/* The rows of a thread: first_row, and every row_step from there on. columns <= THREADS */
INLINE int first_row(const int columns) { return (int)threadIdx.x / columns; }
INLINE int row_step(const int columns) { return (THREADS - 1 - (int)threadIdx.x % columns) / columns + 1; }

/* Rows row, row + step, ... of a column, `stride` elements apart; 0 from `rows` on. */
INLINE void fetch_rows(const real *a, int row, int step, int rows, int stride, real part[SUMMANDS]) {
    is_global(a);
#pragma unroll
    for (int u = 0; u < SUMMANDS; u++) part[u] = row + u * step < rows ? a[(row + u * step) * stride] : 0;
}

/* The sum of the parts of all threads that have a column; for the first of them. All threads of the block call it. */
INLINE real add_parts(real part, const int columns) {
    real *room = staging();
    __syncthreads();
    room[threadIdx.x] = part;
    __syncthreads();
    if ((int)threadIdx.x >= columns) return 0;
#pragma unroll 8
    for (int first = columns; first < THREADS; first += columns)
        if (first + (int)threadIdx.x < THREADS) part += room[first + (int)threadIdx.x];
    return part;
}

/* Over rows, the sum of a, or of a times b, each with its stride: a thread's part, where it has the column. */
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

/* sum[c] = the sum over rows of a[row][c], rows `stride` apart. */
INLINE void strided_sums(int rows, const int columns, int stride, const real *a, real *sum) {
    const int span = columns < THREADS ? columns : THREADS;
    is_global(sum);
    for (int first = 0; first < columns; first += span) {
        const int c = first + (int)threadIdx.x % span;
        const real part = c < columns ? sum_rows(rows, span, a + c, stride) : 0, total = add_parts(part, span);
        if ((int)threadIdx.x < span && c < columns) sum[c] = total;
    }
    __syncthreads();
}

INLINE void column_sums(int rows, const int columns, const real *a, real *sum) {
    strided_sums(rows, columns, columns, a, sum);
}

/* Adds the sums of the columns to sum. */
INLINE void add_column_sums(int rows, const int columns, const real *a, real *sum) {
    const int span = columns < THREADS ? columns : THREADS;
    is_global(sum);
    for (int first = 0; first < columns; first += span) {
        const int c = first + (int)threadIdx.x % span;
        const real part = c < columns ? sum_rows(rows, span, a + c, columns) : 0, total = add_parts(part, span);
        if ((int)threadIdx.x < span && c < columns) sum[c] += total;
    }
    __syncthreads();
}
