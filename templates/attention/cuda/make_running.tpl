% local row_width = running.projected_values[1] and PREFIX .. requested_value.constant
% local if_sum = running.sum_row_count ~= running.row_count and ("if (e %% (%s) < %s) "):format(running.row_count, running.sum_row_count) or ""
/* Computes the ${running.words} of all tokens of a shard. */
INLINE void ${prefix}make_running(void) {
    % include("attention/cuda/opening.tpl")
    const int T = v->${attends.T};
    for (int e = threadIdx.x; e < sequences * T * ${PREFIX}HEADS; e += THREADS) {
        const int h = e % ${PREFIX}HEADS, token = e / ${PREFIX}HEADS, sequence = token / T, j = token % T;
        const real *values = s->${attends.contribution} + (size_t)token * ${row_width}; % if row_width
        real *r = s->${prefix}running + (size_t)sequence * ${running.row_count} * T;
        % include("attention/cuda/token_values.tpl")
        % include("parts/statements.tpl", { list = running.fill })
    }
    __syncthreads();
% if running.sum_row_count then
    for (int e = threadIdx.x; e < sequences * ${running.row_count}; e += THREADS)
        ${if_sum}add_earlier(s->${prefix}running + (size_t)e * T, T);
    __syncthreads();
% end
}
