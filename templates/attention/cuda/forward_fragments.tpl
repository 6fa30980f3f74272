% local of_keys = { lane = "query", of_lane = "i", first = "first_key", last = "end_key", count = "S" }
/* Computes the layer's attended values, and stores the values of the softmax that the backward pass needs. */
NOINLINE void ${prefix}attend(const bool training) {
    const step_view *v = &block()->view;
    const ${attends.state} *s = &block()->${attends.block};
    const int sequences = block()->sequences, T = v->${attends.T};
    const int tiles = (T + ${PREFIX}WARP_ROWS - 1) / ${PREFIX}WARP_ROWS;
    const int S = v->${attends.S};
    const int l = block()->l;
    % slot("tables")
#pragma unroll 1
    for (int task = threadIdx.x / WARP; task < sequences * ${PREFIX}HEADS * tiles; task += WARPS) {
        const int h = task / tiles % ${PREFIX}HEADS, sequence = task / tiles / ${PREFIX}HEADS;
        const int row = task % tiles * ${PREFIX}WARP_ROWS + tile_row();
        int query[2 * ${PREFIX}GROUPS];
#pragma unroll
        for (int r = 0; r < 2 * ${PREFIX}GROUPS; r++) query[r] = min(row + r * GROUP_ROWS / 2, T - 1);
        ${attends.asks and "" or "const "}${prefix}head a = ${prefix}head_at(v, l, s, &tables, sequence, h);
        % slot("unless_training")
        const real *queries = computed(a.query + part_channel()), *keys = computed(a.key + part_channel()),
                *values = computed(a.value + tile_row());
        operand_word rows[${PREFIX}GROUPS * ${PREFIX}STEPS][4];
        real largest[2 * ${PREFIX}GROUPS], sum[2 * ${PREFIX}GROUPS], out[${PREFIX}GROUPS * ${PREFIX}TILES][4];
#pragma unroll
        for (int r = 0; r < 2 * ${PREFIX}GROUPS; r++) {
            largest[r] = (real)-1e30;
            sum[r] = 0;
        }
#pragma unroll
        for (int group = 0; group < ${PREFIX}GROUPS; group++)
            load_rows_of_head(queries + query[2 * group] * ${PREFIX}QUERY_STRIDE,
                    queries + query[2 * group + 1] * ${PREFIX}QUERY_STRIDE, ${PREFIX}HEAD_WIDTH,
                    ${PREFIX}LOGIT_SCALE${attends.to_bits}, rows + group * ${PREFIX}STEPS);
        clear_tiles(${PREFIX}GROUPS, ${PREFIX}HEAD_WIDTH, out);
        % include("attention/cuda/bounds_fragments.tpl", of_keys)
#pragma unroll 1
        for (int first = begin; first < end; first += STEP) {
            real score[DEPTH * ${PREFIX}GROUPS][4], weights[DEPTH * ${PREFIX}GROUPS][4], highest[2 * ${PREFIX}GROUPS];
#pragma unroll
            for (int r = 0; r < 2 * ${PREFIX}GROUPS; r++) highest[r] = largest[r];
#pragma unroll
            for (int n = 0; n < DEPTH; n++) {
                const int at = first + n * TILE_COLUMNS;
                const int key = min(at + tile_row(), S - 1) * ${attends.key_stride};
                multiply_heads(${PREFIX}GROUPS, rows, keys + key, ${PREFIX}HEAD_WIDTH, 1, score + n * ${PREFIX}GROUPS);
#pragma unroll
                for (int e = 0; e < 4 * ${PREFIX}GROUPS; e++) {
                    const int place = at + tile_column() + e % 2;
                    real *own = score[n * ${PREFIX}GROUPS + e / 4] + e % 4;
% if terms.scaled or terms.spans then
                    const int i = query[e / 2];
                    const int j = min(place, S - 1);
% end
                    *own = LOG2E * (${inline("score", "*own")}); % if terms.scaled
                    const bool there = place < S && ${inline("exists", "")}; % if terms.spans
                    const bool there = place < S; % else
                    if (!there) *own = (real)-1e30;
                    highest[e / 2] = fmax(highest[e / 2], *own);
                }
            }
#pragma unroll
            for (int r = 0; r < 2 * ${PREFIX}GROUPS; r++) {
                highest[r] = tile_row_largest(highest[r]);
                const real shrink = weight_of(largest[r] - highest[r]);
                largest[r] = highest[r];
                sum[r] *= shrink;
#pragma unroll
                for (int c = 0; c < 2 * ${PREFIX}TILES; c++)
                    out[r / 2 * ${PREFIX}TILES + c / 2][r % 2 * 2 + c % 2] *= shrink;
            }
#pragma unroll
            for (int e = 0; e < 4 * DEPTH * ${PREFIX}GROUPS; e++) {
                const int r = e / 2 % (2 * ${PREFIX}GROUPS);
% if terms.drops then
                const int i = query[r];
                const int j = min(first + e / 4 / ${PREFIX}GROUPS * TILE_COLUMNS + tile_column() + e % 2, S - 1);
% end
                const real weight = weight_of(score[e / 4][e % 4] - largest[r]);
                sum[r] += weight;
                weights[e / 4][e % 4] = ${inline("weight_of_key", "weight")};
            }
            add_rows_of_head(${PREFIX}GROUPS, weights, values, ${attends.key_stride}, first, S, ${PREFIX}HEAD_WIDTH, out);
        }
#pragma unroll
        for (int r = 0; r < 2 * ${PREFIX}GROUPS; r++) sum[r] = tile_row_sum(sum[r]);
#pragma unroll
        for (int r = 0; r < 2 * ${PREFIX}GROUPS; r++) {
            const int token = row + r * GROUP_ROWS / 2;
            if (token >= T) continue;
            real *to = s->${attends.out} + ((size_t)sequence * T + token) * WIDTH + h * ${PREFIX}HEAD_WIDTH;
            store_row_of_head(out + r / 2 * ${PREFIX}TILES, r % 2, ${PREFIX}HEAD_WIDTH, 1 / sum[r],
                    to + tile_column());
            if (tile_column() == 0)
                s->${prefix}log_sum[task / tiles * T + token] = largest[r] + log_of_weight(sum[r]);
        }
    }
    __syncthreads();
}
