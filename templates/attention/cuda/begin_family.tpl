% local of_view = attends.lengths_of_view
% local relative_on = relative.kind ~= "none"
% if relative_on then
% if not relative.toeplitz and relative.kind == "transformer_xl" then
/* The signed distance of vector x of a set. */
INLINE int ${prefix}relative_distance(const step_view *v, int set, int x) { return ${prefix}pair_rows_of(v, set).distance[x]; }
% elseif not relative.toeplitz then
% elseif positions.distance.draws then
/* The signed distance of pairs whose query - key is x - (${cross and "S" or "T"} - 1), as layers of a set see it. */
INLINE int ${prefix}relative_distance(const step_view *v, int set, int x) {
    return ${prefix}drawn_distance(${prefix}distances_of(v, set), v->${attends.S} - 1 - x);
}
% else
/* The signed distance of pairs whose query - key is x - (${cross and "S" or "T"} - 1). */
INLINE int ${prefix}relative_distance(const step_view *v, int set, int x) {
    (void)set;
    return v->${attends.S} - 1 - x;
}
% end

% end
% if relative.kind == "transformer_xl" then
/* Sinusoids of the sets' signed distances: sines are odd, cosines even. */
INLINE void ${prefix}make_codes(const step_view *v, int first, int stride) {
    const int room = ${prefix}distance_count(${of_view});
    for (int set = 0; set < ${PREFIX}RELATIVE_SETS; set++) {
        const int count = ${prefix}row_count(v, set);
        for (int e = first; e < count * WIDTH; e += stride) {
            const int c = e % WIDTH, distance = ${prefix}relative_distance(v, set, e / WIDTH);
            const real code = v->tables[distance < 0 ? -distance : distance].sinusoid[c];
            v->shared.${prefix}codes[(size_t)set * room * WIDTH + e] = distance < 0 && c < WIDTH / 2 ? -code : code;
        }
    }
}

% local columns, from = attends.slice and PREFIX .. "SLICE" or "WIDTH", attends.slice and " + channel" or ""
% local of_head = attends.slice and "(size_t)(channel / " .. PREFIX .. "HEAD_WIDTH) * count + first" or "first"
/* Of layer l the rows from the first on, as many as a tile has, head by head, and their products with the position
 * bias${attends.slice and ": of the heads whose channels are channel .. channel + SLICE - 1" or ""}. */
% if attends.slice then
NOINLINE void ${prefix}make_rows(const step_view *v, int l, int first, int channel) {
% else
NOINLINE void ${prefix}make_rows(const step_view *v, int l, int first) {
% end
    const int room = ${prefix}distance_count(${of_view}), count = ${prefix}row_count(v, l), here = min(count - first, (int)TILE);
    const size_t set = ${PREFIX}RELATIVE_SETS > 1 ? l : 0, of_head = ${of_head};
    const real *bias = v->p->${attends.block}[l].${prefix}position_bias${from};
    real *rows = v->shared.${prefix}rows + (size_t)l * room * WIDTH + of_head * ${PREFIX}HEAD_WIDTH;
    real *row_bias = v->shared.${prefix}row_bias + (size_t)l * room * ${PREFIX}HEADS + of_head;
    product_tiles(1, 1, here, ${columns}, WIDTH, COLUMNS, v->shared.${prefix}codes + (set * room + first) * WIDTH, WIDTH, ROWS,
                  v->p->${attends.block}[l].${prefix}relative${from}, WIDTH, FINISH_BY_HEAD, (const real *)0, rows, count);
    for (int e = threadIdx.x; e < ${columns} / ${PREFIX}HEAD_WIDTH * here; e += THREADS) {
        const int h = e / here, x = h * count + e % here;
        real sum = 0;
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) sum += rows[x * ${PREFIX}HEAD_WIDTH + d] * bias[h * ${PREFIX}HEAD_WIDTH + d];
        row_bias[x] = sum * ${PREFIX}LOGIT_SCALE;
    }
}

% elseif relative.kind == "shaw" then
% if relative.toeplitz then
/* The row of the table for a distance. */
INLINE int ${prefix}table_row(int distance) {
    int near = distance < ${relative.farthest} ? distance : ${relative.farthest};
    return (near > -${PREFIX}CLIP ? near : -${PREFIX}CLIP) + ${PREFIX}CLIP;
}

% end
/* The rows of all layers. */
NOINLINE void ${prefix}make_rows(const step_view *v, int first, int stride) {
    const int count = ${prefix}distance_count(${of_view});
    for (int e = first; e < ${stack.count} * count * ${PREFIX}HEAD_WIDTH; e += stride) {
        const int l = e / ${PREFIX}HEAD_WIDTH / count, x = e / ${PREFIX}HEAD_WIDTH % count;
% if relative.toeplitz then
        const int row = ${prefix}table_row(${prefix}relative_distance(v, ${PREFIX}RELATIVE_SETS > 1 ? l : 0, x));
% else
        const int row = x;
% end
        v->shared.${prefix}rows[e] = v->p->${attends.block}[l].${prefix}relative_table[row * ${PREFIX}HEAD_WIDTH + e % ${PREFIX}HEAD_WIDTH];
    }
}

% end
