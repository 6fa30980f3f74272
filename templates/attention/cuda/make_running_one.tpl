% local row_width = running.projected_values[1] and PREFIX .. requested_value.constant
/* Computes the ${running.words} of one new token of each sequence; the ${running.words} of earlier tokens are cached. */
INLINE void ${prefix}make_running_one(void) {
    % include("attention/cuda/opening.tpl")
    const int T = v->${attends.T}, j = block()->current;
    for (int e = threadIdx.x; e < sequences * ${PREFIX}HEADS; e += THREADS) {
        const int h = e % ${PREFIX}HEADS, sequence = e / ${PREFIX}HEADS, token = sequence * T + j;
        const real *values = s->${attends.contribution} + sequence * ${row_width}; % if row_width
        real *r = s->${prefix}running + (size_t)sequence * ${running.row_count} * T;
        % include("attention/cuda/token_values.tpl")
        % include("parts/statements.tpl", { list = running.fill })
        if (j > 0) r[${row} * T + j] += r[${row} * T + j - 1]; % for _, row in ipairs(running.rows)
    }
    __syncthreads();
}
