/* Running sums along a row of numbers, in order; one thread computes a row. */

/* Adds to each of `count` numbers all numbers before it. */
INLINE void add_earlier(real *x, int count) {
    real sum = 0;
    assume_global(x);
#pragma unroll 8
    for (int j = 0; j < count; j++) x[j] = sum += x[j];
}

/* Adds to each of `count` numbers all numbers after it. */
INLINE void add_later(real *x, int count) {
    real sum = 0;
    assume_global(x);
#pragma unroll 8
    for (int j = count - 1; j >= 0; j--) x[j] = sum += x[j];
}
