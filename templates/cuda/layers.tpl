% local drops = dropouts[1] ~= nil
% local branch_drops = dropout.kind == "bernoulli"
% local embedding_drops = additive.dropout.kind == "bernoulli"
% local dbranch = branch_drops and "dbranch" or "gradient"
% local random, by_sequence = positions.kind == "randomized", positions.kind == "sequence"
% local row_place = by_sequence and "position[row]" or random and "position[row % v->T]" or "row % v->T"
% local place = by_sequence and "position[row]" or input_draw and "v->draws[row % v->T]" or "row % v->T"
% local table_row = positions.first == 1 and "(" .. place .. " - FIRST_POSITION)" or by_sequence and place or "(" .. place .. ")"
% local embed_adds = ({ none = "", sinusoid = " + sinusoid of its position",
%     learned = " + learned vector of its position" })[additive.kind]
% if drops then
/* The masks of the ${eval_dropout and "block" or "shard"}'s dropout sites. */
INLINE void draw_masks(${eval_dropout and "const bool training" or "void"}) {
    const lh_cuda_step *in = &block()->step;
    const int bytes = in->T[0] * (WIDTH / 8), sequences = block()->sequences;
    for (int e = threadIdx.x; e < DROPOUT_SITES * sequences * bytes; e += THREADS) {
        const int site = e / (sequences * bytes), row = e % (sequences * bytes);
% if embedding_drops and branch_drops then
        const unsigned int layer = (site + 1) / 2, place = site > 0 ? (site - 1) % 2 : 0;
        const unsigned int below = site > 0 ? (unsigned int)BRANCH_DROP_BELOW : (unsigned int)EMBEDDING_DROP_BELOW;
% elseif branch_drops then
        const unsigned int layer = site / 2 + 1, place = site % 2, below = BRANCH_DROP_BELOW;
% else
        const unsigned int layer = site, place = 0, below = EMBEDDING_DROP_BELOW;
% end
% if eval_dropout then
        const unsigned int in_counter = training ? DROPOUT_DOMAIN << 24 | layer << 8 | place
                : EVAL_DROPOUT_DOMAIN << 24 | in->draw << 8 | (2 * layer + place);
        block()->work.keep[e] = keep_byte(in->key, in->step, block()->first + row / bytes, in_counter, row % bytes,
                below);
% else
        block()->work.keep[e] = keep_byte(in->key, in->step, block()->first + row / bytes,
                DROPOUT_DOMAIN << 24 | layer << 8 | place, row % bytes, below);
% end
    }
    __syncthreads();
}

% if branch_drops then
/* The mask of a place within the layer: 0 behind attention, 1 behind the feed-forward network. */
INLINE const unsigned char *mask_at(int place) {
    const int site = ${embedding_drops and "1 + " or ""}2 * block()->l + place;
    return block()->work.keep + (size_t)site * block()->sequences * block()->view.T * (WIDTH / 8);
}

% end
% end
/* The first layer's input = scaled token embedding${embed_adds}. */
NOINLINE void embed(${embedding_drops and not eval_dropout and "const bool training" or "void"}) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const int rows = block()->sequences * v->T;
% if by_sequence and additive.kind ~= "none" then
    const int *position = positions_of_sequences();
% end
    for (int e = 4 * threadIdx.x; e < rows * WIDTH; e += 4 * THREADS) {
        const int row = e / WIDTH, c = e % WIDTH;
        quad x = *(const quad *)(v->p->token + block()->tokens[row] * WIDTH + c);
% if additive.kind == "sinusoid" then
        const quad place = *(const quad *)(v->tables[${place}].sinusoid + c);
% elseif additive.kind == "learned" then
        const quad place = *(const quad *)(v->p->position_table + ${table_row} * WIDTH + c);
% end
#pragma unroll
        for (int i = 0; i < 4; i++) {
% if additive.kind ~= "none" then
            x.v[i] = x.v[i] * EMBEDDING_SCALE + place.v[i];
% else
            x.v[i] *= EMBEDDING_SCALE;
% end
% if embedding_drops and eval_dropout then
            x.v[i] = kept(w->keep, e + i) ? x.v[i] * ${additive.dropout.name}_KEEP_SCALE : 0;
% elseif embedding_drops then
            if (training) x.v[i] = kept(w->keep, e + i) ? x.v[i] * ${additive.dropout.name}_KEEP_SCALE : 0;
% end
        }
        *(quad *)(w->input + e) = x;
    }
    __syncthreads();
}

/* Gradients of a shard's embeddings: a thread owns an element and adds up its rows in order. */
NOINLINE void embed_backward(${cuda.gradients} *g) {
    is_global(g);
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const unsigned short *tokens = block()->tokens;
    const int sequences = block()->sequences, rows = sequences * v->T;
% if embedding_drops then
    for (int e = threadIdx.x; e < rows * WIDTH; e += THREADS)
        w->gradient[e] = kept(w->keep, e) ? w->gradient[e] * ${additive.dropout.name}_KEEP_SCALE : 0;
    __syncthreads();
% end
    for (int e = threadIdx.x; e < TOKENS * WIDTH; e += THREADS) {
        const int token = e / WIDTH, c = e % WIDTH;
        real sum = 0;
        for (int first = 0; first < rows; first += SUMMANDS) {
            bool has[SUMMANDS];
            real part[SUMMANDS];
#pragma unroll
            for (int u = 0; u < SUMMANDS; u++) has[u] = first + u < rows && tokens[first + u] == token;
#pragma unroll
            for (int u = 0; u < SUMMANDS; u++) part[u] = has[u] ? w->gradient[(first + u) * WIDTH + c] : 0;
#pragma unroll
            for (int u = 0; u < SUMMANDS; u++) sum += part[u];
        }
        g->token[e] = sum * EMBEDDING_SCALE;
    }
% if additive.kind == "learned" and by_sequence then
    const int *position = positions_of_sequences();
    for (int e = threadIdx.x; e < POSITION_ROWS * WIDTH; e += THREADS) g->position_table[e] = 0;
    /* One sequence's positions differ from one another. */
    for (int sequence = 0; sequence < sequences; sequence++) {
        __syncthreads();
        for (int e = threadIdx.x; e < v->T * WIDTH; e += THREADS) {
            const int row = sequence * v->T + e / WIDTH, c = e % WIDTH;
            g->position_table[${table_row} * WIDTH + c] += w->gradient[row * WIDTH + c];
        }
    }
% elseif additive.kind == "learned" then
    for (int e = threadIdx.x; e < v->T * WIDTH; e += THREADS) {
        real sum = 0;
        for (int sequence = 0; sequence < sequences; sequence++) sum += w->gradient[sequence * v->T * WIDTH + e];
        block()->sums.places[e] = sum;
    }
% end
    __syncthreads();
}
% if rotation.kind == "rope" then

/* Turns queries and keys of all rows by their positions: direction 1; turns their gradients back: -1. */
NOINLINE void rotate(int direction, real *query_key_value) {
    const step_view *v = &block()->view;
    const int rows = block()->sequences * v->T;
% if by_sequence then
    const int *position = positions_of_sequences();
% elseif random then
    const int *position = positions_of(v, block()->l);
% end
    const int row_quads = 2 * WIDTH / 4, count = rows * row_quads;
    is_global(v->tables);
    is_global(query_key_value);
    for (int q = threadIdx.x; q < count; q += THREADS) {
        const int row = q / row_quads, c = q % row_quads * 4;
        const real *turn = v->tables[${row_place}].rotation + c % ROTATION_PERIOD;
        real *at = query_key_value + row * QUERY_STRIDE + c;
        const quad x = *(const quad *)at, cosine = *(const quad *)turn, sine = *(const quad *)(turn + ROTATION_PERIOD);
        quad y;
#pragma unroll
        for (int i = 0; i < 4; i++) y.v[i] = x.v[i] * cosine.v[i] + direction * (x.v[i ^ 1] * sine.v[i]);
        *(quad *)at = y;
    }
    __syncthreads();
}
% end

% if branch_drops then
/* Drops out rows of a branch, as norms have them. */
INLINE void drop_rows(const unsigned char *keep, int first, int rows, real x[NORM_ROWS][ROW_PART]) {
    bool there[NORM_ROWS][ROW_PART];
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            const int row = first + r * WARPS, c = threadIdx.x % WARP + u * WARP;
            there[r][u] = row < rows && c < WIDTH && kept(keep, row * WIDTH + c);
        }
    }
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) x[r][u] = there[r][u] ? x[r][u] * BRANCH_KEEP_SCALE : 0;
    }
}

/* out = norm(residual + branch), the branch dropped out${eval_dropout and "" or " where there is a mask"}. */
NOINLINE void residual_norm(int rows, const real *residual, const real *branch, const unsigned char *keep,
        const real *scale, const real *offset, real *xhat, real *rstd, real *out) {
% else
/* out = norm(residual + branch) */
NOINLINE void residual_norm(int rows, const real *residual, const real *branch, const real *scale, const real *offset,
        real *xhat, real *rstd, real *out) {
% end
    is_global(rstd);
    real by[ROW_PART], add[ROW_PART];
    load_row(scale, 0, 1, by);
    load_row(offset, 0, 1, add);
    for (int first = threadIdx.x / WARP; first < rows; first += NORM_ROWS * WARPS) {
        real z[NORM_ROWS][ROW_PART], y[NORM_ROWS][ROW_PART], inverse[NORM_ROWS];
#pragma unroll
        for (int r = 0; r < NORM_ROWS; r++) {
            load_row(residual, first + r * WARPS, rows, z[r]);
            load_row(branch, first + r * WARPS, rows, y[r]);
        }
% if branch_drops and eval_dropout then
        drop_rows(keep, first, rows, y);
% elseif branch_drops then
        if (keep) drop_rows(keep, first, rows, y);
% end
#pragma unroll
        for (int r = 0; r < NORM_ROWS; r++) {
#pragma unroll
            for (int u = 0; u < ROW_PART; u++) z[r][u] += y[r][u];
        }
        norm_rows(z, inverse);
#pragma unroll
        for (int r = 0; r < NORM_ROWS; r++) {
            const int row = first + r * WARPS;
            if (threadIdx.x % WARP == 0 && row < rows) rstd[row] = inverse[r];
            store_row(z[r], row, rows, xhat);
#pragma unroll
            for (int u = 0; u < ROW_PART; u++) y[r][u] = z[r][u] * by[u] + add[u];
            store_row(y[r], row, rows, out);
        }
    }
    __syncthreads();
}

% if branch_drops then
/* In place: w->gradient of the norm's output becomes that of its sum, w->dbranch that of the branch. */
NOINLINE void residual_norm_grad(int rows, const unsigned char *keep, const real *xhat, const real *rstd,
        const real *scale, real *dscale, real *doffset) {
    real *gradient = block()->work.gradient, *dbranch = block()->work.dbranch;
% else
/* In place: w->gradient of the norm's output becomes that of its sum, which is also that of the branch. */
NOINLINE void residual_norm_grad(int rows, const real *xhat, const real *rstd, const real *scale, real *dscale,
        real *doffset) {
    real *gradient = block()->work.gradient;
% end
    is_global(rstd);
    norm_sums sums = {{0}, {0}};
    real by[ROW_PART];
    load_row(scale, 0, 1, by);
    for (int first = threadIdx.x / WARP; first < rows; first += NORM_ROWS * WARPS) {
        real g[NORM_ROWS][ROW_PART], x[NORM_ROWS][ROW_PART], inverse[NORM_ROWS];
#pragma unroll
        for (int r = 0; r < NORM_ROWS; r++) {
            const int row = first + r * WARPS;
            load_row(gradient, row, rows, g[r]);
            load_row(xhat, row, rows, x[r]);
            inverse[r] = row < rows ? rstd[row] : 0;
        }
        take_rows(g, x, &sums);
        norm_rows_grad(g, x, inverse, by);
#pragma unroll
        for (int r = 0; r < NORM_ROWS; r++) store_row(g[r], first + r * WARPS, rows, gradient);
% if branch_drops then
        drop_rows(keep, first, rows, g);
#pragma unroll
        for (int r = 0; r < NORM_ROWS; r++) store_row(g[r], first + r * WARPS, rows, dbranch);
% end
    }
    store_norm_sums(&sums, dscale, doffset);
}
