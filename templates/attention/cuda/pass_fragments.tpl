% -- A pass over the rows of a shard, queries or keys; a warp computes WARP_ROWS rows of a head at a time. Fields:
% --   comment      the function's comment
% --   pass         the function's name without its prefix, and its parameters
% --   constant     "const " if the pass does not change the head
% --   body         the template for the rows of one warp; it may read `row`, the index of the lane's first row, and the
% --                array that `lane` names
% --   lane         the name of the array of indices of the lane's rows, "query" or "key"; the index of the last row
% --                replaces larger indices
% --   rows, count  the number of rows, "T" or "S", and the number of rows on the other side
% --   lane_index, first, last   for bounds_fragments.tpl: the variable of a row's index, and the slots for the bounds
/* ${comment} */
NOINLINE void ${prefix}${pass} {
    % include("attention/cuda/opening.tpl")
    const int T = v->${attends.T};
    const int S = v->${attends.S};
    const unsigned int tiles = (${rows} + ${PREFIX}WARP_ROWS - 1u) / ${PREFIX}WARP_ROWS;
    % slot("tables")
#pragma unroll 1
    for (unsigned int task = threadIdx.x / WARP; task < sequences * ${PREFIX}HEADS * tiles; task += WARPS) {
        const int h = task / tiles % ${PREFIX}HEADS, sequence = task / tiles / ${PREFIX}HEADS;
        const int row = task % tiles * ${PREFIX}WARP_ROWS + tile_row(), head_offset = task / tiles * T;
        int ${lane}[2 * ${PREFIX}GROUPS];
#pragma unroll
        for (int r = 0; r < 2 * ${PREFIX}GROUPS; r++) ${lane}[r] = min(row + r * GROUP_ROWS / 2, ${rows} - 1);
        ${constant}${prefix}head a = ${prefix}make_head(v, l, s, &tables, sequence, h);
        % include(body)
    }
    __syncthreads();
}
