% -- Copies the current token's queries, keys and values to the cache, from which attention then reads all tokens.
real *cache = ${attends.block}_${attends.q}_cache(block()->${attends.index});
for (int e = 4 * threadIdx.x; e < sequences * ${PREFIX}QUERY_STRIDE; e += 4 * THREADS) {
    const int sequence = e / ${PREFIX}QUERY_STRIDE;
    const size_t row = (size_t)sequence * (T - 1) + block()->current; /* e already skips `sequence` rows, so row * stride + e lies in row sequence * T + current */
    if (block()->current < block()->cached.begin[sequence]) continue; /* the pass over whole sequences has cached this row */
    *(quad *)(cache + row * ${PREFIX}QUERY_STRIDE + e) = *(const quad *)(s->${attends.q} + e);
}
__syncthreads();
if (threadIdx.x == 0) block()->${attends.block}.${attends.q} = cache; /* attention reads the rows of all tokens */
__syncthreads();
