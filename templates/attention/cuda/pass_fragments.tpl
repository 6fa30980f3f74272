% -- A pass over a shard's queries or keys, called rows. A warp computes WARP_ROWS rows of a head at a time. Fields:
% --   comment      the function's comment
% --   pass         the function's name without its prefix, and its parameters
% --   constant     "const " if the pass does not change the head
% --   body         the template for the rows of one warp; it may read `row`, the index of the lane's first row
% --   lane         "query" or "key": the array of the lane's row indices, limited to the last row; `body` may read it
% --   rows         the number of rows: "T" or "S"
% --   count        the number of rows on the other side
% --   lane_index   for bounds_fragments.tpl: the variable of a row's index
% --   first, last  for bounds_fragments.tpl: the slots for the bounds
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
