% local row_width = running.projected_values[1] and PREFIX .. requested_value.constant
% local if_is_sum_row = "" -- of the row_count rows of a sequence, the first sum_row_count hold sums
% if running.sum_row_count and running.sum_row_count ~= running.row_count then
% if_is_sum_row = ("if (e %% (%s) < %s) "):format(running.row_count, running.sum_row_count)
% end
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
        ${if_is_sum_row}add_earlier(s->${prefix}running + (size_t)e * T, T);
    __syncthreads();
% end
}
