/* Sums over some pairs of a query and a key; pairs[S keys][T queries] has a number for each pair:
 *   sum_cross_keys            pairs of query i
 *   sum_cross_diagonal        pairs with query - key = o
 *   sum_cross_antidiagonal    pairs with query + key = t */

INLINE real sum_cross_keys(const real *pairs, int i, int T, int S) {
    real sum = 0;
    for (int j = 0; j < S; j++) sum += pairs[(size_t)j * T + i];
    return sum;
}

INLINE real sum_cross_diagonal(const real *pairs, int o, int T, int S) {
    real sum = 0;
    for (int i = o > 0 ? o : 0; i < T && i - o < S; i++) sum += pairs[(size_t)(i - o) * T + i];
    return sum;
}

INLINE real sum_cross_antidiagonal(const real *pairs, int t, int T, int S) {
    real sum = 0;
    for (int i = t < S ? 0 : t - S + 1; i < T && i <= t; i++) sum += pairs[(size_t)(t - i) * T + i];
    return sum;
}
