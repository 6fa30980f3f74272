% local relative_on = relative.kind ~= "none"
% if relative_on then
% if not relative.toeplitz and relative.kind == "transformer_xl" then
/* The signed distance of vector x of a set. */
INLINE int relative_distance(const step_view *v, int set, int x) { return pair_rows_of(v, set).distance[x]; }
% elseif not relative.toeplitz then
% elseif draws_distances then
/* The signed distance of pairs whose query - key is x - (T - 1), as layers of a set see it. */
INLINE int relative_distance(const step_view *v, int set, int x) {
    return drawn_distance(distances_of(v, set), v->T - 1 - x);
}
% else
/* The signed distance of pairs whose query - key is x - (T - 1). */
INLINE int relative_distance(const step_view *v, int set, int x) {
    (void)set;
    return v->T - 1 - x;
}
% end

% end
% if relative.kind == "transformer_xl" then
/* Sinusoids of the sets' signed distances: sines are odd, cosines even. */
INLINE void make_codes(const step_view *v, int first, int stride) {
    const int room = distance_count(v->T);
    for (int set = 0; set < RELATIVE_SETS; set++) {
        const int count = row_count(v, set);
        for (int e = first; e < count * WIDTH; e += stride) {
            const int c = e % WIDTH, distance = relative_distance(v, set, e / WIDTH);
            const real code = v->tables[distance < 0 ? -distance : distance].sinusoid[c];
            v->shared.codes[(size_t)set * room * WIDTH + e] = distance < 0 && c < WIDTH / 2 ? -code : code;
        }
    }
}

% local columns, from = cuda.slice and "SLICE" or "WIDTH", cuda.slice and " + channel" or ""
% local of_head = cuda.slice and "(size_t)(channel / HEAD_WIDTH) * count + first" or "first"
/* Of layer l the rows from the first on, as many as a tile has, head by head, and their products with the position
 * bias${cuda.slice and ": of the heads whose channels are channel .. channel + SLICE - 1" or ""}. */
% if cuda.slice then
NOINLINE void make_rows(const step_view *v, int l, int first, int channel) {
% else
NOINLINE void make_rows(const step_view *v, int l, int first) {
% end
    const int room = distance_count(v->T), count = row_count(v, l), here = min(count - first, (int)TILE);
    const size_t set = RELATIVE_SETS > 1 ? l : 0, of_head = ${of_head};
    const real *bias = v->p->${device.attends.block}[l].${device.attends.prefix}position_bias${from};
    real *rows = v->shared.rows + (size_t)l * room * WIDTH + of_head * HEAD_WIDTH;
    real *row_bias = v->shared.row_bias + (size_t)l * room * HEADS + of_head;
    product_tiles(1, 1, here, ${columns}, WIDTH, COLUMNS, v->shared.codes + (set * room + first) * WIDTH, WIDTH, ROWS,
                  v->p->${device.attends.block}[l].${device.attends.prefix}relative${from}, WIDTH, FINISH_BY_HEAD, (const real *)0, rows, count);
    for (int e = threadIdx.x; e < ${columns} / HEAD_WIDTH * here; e += THREADS) {
        const int h = e / here, x = h * count + e % here;
        real sum = 0;
        for (int d = 0; d < HEAD_WIDTH; d++) sum += rows[x * HEAD_WIDTH + d] * bias[h * HEAD_WIDTH + d];
        row_bias[x] = sum * LOGIT_SCALE;
    }
}

% elseif relative.kind == "shaw" then
% if relative.toeplitz then
/* The row of the table for a distance. */
INLINE int table_row(int distance) {
    int near = distance < ${relative.farthest} ? distance : ${relative.farthest};
    return (near > -CLIP ? near : -CLIP) + CLIP;
}

% end
/* The rows of all layers. */
NOINLINE void make_rows(const step_view *v, int first, int stride) {
    const int count = distance_count(v->T);
    for (int e = first; e < ${stack.count} * count * HEAD_WIDTH; e += stride) {
        const int l = e / HEAD_WIDTH / count, x = e / HEAD_WIDTH % count;
% if relative.toeplitz then
        const int row = table_row(relative_distance(v, RELATIVE_SETS > 1 ? l : 0, x));
% else
        const int row = x;
% end
        v->shared.rows[e] = v->p->${device.attends.block}[l].${device.attends.prefix}relative_table[row * HEAD_WIDTH + e % HEAD_WIDTH];
    }
}

% end
% if cuda.begins then
/* Makes the tables that all blocks of the step read; on return they are there. */
NOINLINE void begin_step(void) {
    const step_view *v = &block()->view;
    team *t = &block()->members;
% if relative.kind == "transformer_xl" then
    make_codes(v, t->rank * THREADS + (int)threadIdx.x, t->blocks * THREADS);
    team_barrier(t);
    int part = t->rank; /* blocks take tiles in turn, from layer to layer */
    for (int l = 0; l < ${stack.count}; l++) {
        const int tiles = (row_count(v, l) + TILE - 1) / TILE;
% if cuda.slice then
        for (; part < tiles * (WIDTH / SLICE); part += t->blocks)
            make_rows(v, l, part % tiles * TILE, part / tiles * SLICE);
        part -= tiles * (WIDTH / SLICE);
% else
        for (; part < tiles; part += t->blocks) make_rows(v, l, part * TILE);
        part -= tiles;
% end
    }
% end
% if relative.kind == "shaw" then
    make_rows(v, t->rank * THREADS + (int)threadIdx.x, t->blocks * THREADS);
% end
% if score.kind ~= "none" and score.cuda.stages[1] then
    for (int stage = 0; stage < SCORE_STAGES; stage++) {
        for (int l = 0; l < SCORE_SETS; l++) {
            score_tables tables;
            score_tables_of(v, l, &tables);
            make_score(stage, v, l, &tables, t->rank * THREADS + (int)threadIdx.x, t->blocks * THREADS);
        }
        if (stage + 1 < SCORE_STAGES) team_barrier(t);
    }
% end
    team_barrier(t);
}
% end
