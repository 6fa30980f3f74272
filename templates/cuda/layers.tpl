% local drops = dropouts[1] ~= nil
% local branch_drops = dropout.kind == "bernoulli"
% local embedding_drops = additive.dropout.kind == "bernoulli"
% local first_site = embedding_drops and 1 or 0
% local dbranch = branch_drops and "dbranch" or "gradient"
% local random, by_sequence = positions.kind == "randomized", positions.kind == "sequence"
% local row_place = by_sequence and "position[row]" or random and "position[row % v->T]" or "row % v->T"
% if drops then
/* The masks of the ${eval_dropout and "block" or "shard"}'s dropout sites. */
INLINE void draw_masks(${eval_dropout and "const bool training" or "void"}) {
    const lh_cuda_step *in = &block()->step;
    const int bytes = in->T * (WIDTH / 8), sequences = block()->sequences;
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
    const int site = ${first_site} + 2 * block()->l + place;
    return block()->work.keep + (size_t)site * block()->sequences * block()->view.T * (WIDTH / 8);
}

% end
% end
/* The first layer's input = scaled token embedding${embed_adds}. */
INLINE void embed(${embedding_drops and not eval_dropout and "const bool training" or "void"}) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const int rows = block()->sequences * v->T;
% if by_sequence and additive.kind ~= "none" then
    const int *position = positions_of_sequences();
% end
    for (int e = threadIdx.x; e < rows * WIDTH; e += THREADS) {
        const int row = e / WIDTH, c = e % WIDTH;
        real x = v->p->token[block()->tokens[row] * WIDTH + c] * EMBEDDING_SCALE;
% if additive.kind == "sinusoid" then
        x += v->tables[${input_place_cuda}].sinusoid[c];
% elseif additive.kind == "learned" then
        x += v->p->position_table[${input_row_cuda} * WIDTH + c];
% end
% if embedding_drops and eval_dropout then
        x = kept(w->keep, e) ? x * ${additive.dropout.name}_KEEP_SCALE : 0;
% elseif embedding_drops then
        if (training) x = kept(w->keep, e) ? x * ${additive.dropout.name}_KEEP_SCALE : 0;
% end
        w->input[e] = x;
    }
    __syncthreads();
}

/* Gradients of a shard's embeddings: a thread owns an element and adds up its rows in order. */
INLINE void embed_backward(${cuda.gradients} *g) {
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
        real sum = 0;
        for (int row = 0; row < rows; row++)
            if (tokens[row] == e / WIDTH) sum += w->gradient[row * WIDTH + e % WIDTH];
        g->token[e] = sum * EMBEDDING_SCALE;
    }
% if additive.kind == "learned" and by_sequence then
    const int *position = positions_of_sequences();
    for (int e = threadIdx.x; e < POSITION_ROWS * WIDTH; e += THREADS) g->position_table[e] = 0;
    __syncthreads();
    for (int c = threadIdx.x; c < WIDTH; c += THREADS)
        for (int row = 0; row < rows; row++)
            g->position_table[${input_row_cuda} * WIDTH + c] += w->gradient[row * WIDTH + c];
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
INLINE void rotate(const int direction, real *query_key_value) {
    const step_view *v = &block()->view;
    const int rows = block()->sequences * v->T;
% if by_sequence then
    const int *position = positions_of_sequences();
% elseif random then
    const int *position = positions_of(v, block()->l);
% end
    for (int e = threadIdx.x; e < rows * WIDTH; e += THREADS) {
        const int row = e / WIDTH, c = e % WIDTH * 2;
        const real *turn = v->tables[${row_place}].rotation + c % ROTATION_PERIOD;
        real *x = query_key_value + row * QUERY_STRIDE + c, first = x[0], second = x[1];
        x[0] = first * turn[0] + direction * (second * turn[ROTATION_PERIOD]);
        x[1] = second * turn[1] + direction * (first * turn[ROTATION_PERIOD + 1]);
    }
    __syncthreads();
}
% end

% if branch_drops then
/* out = norm(residual + branch), the branch dropped out${eval_dropout and "" or " where there is a mask"}; a warp per row. */
NOINLINE void residual_norm(int rows, const real *residual, const real *branch, const unsigned char *keep,
        const real *scale, const real *offset, real *xhat, real *rstd, real *out) {
% else
/* out = norm(residual + branch); a warp per row. */
NOINLINE void residual_norm(int rows, const real *residual, const real *branch, const real *scale, const real *offset,
        real *xhat, real *rstd, real *out) {
% end
    const int lane = threadIdx.x % WARP;
    is_global(residual);
    is_global(branch);
    is_global(xhat);
    is_global(out);
    for (int row = threadIdx.x / WARP; row < rows; row += WARPS) {
        real z[ROW_PART], mean = 0, square = 0;
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            const int c = lane + u * WARP, e = row * WIDTH + c;
            z[u] = 0;
            if (c < WIDTH) {
% if branch_drops then
                const real whole = branch[e];
% if eval_dropout then
                z[u] = residual[e] + (kept(keep, e) ? whole * BRANCH_KEEP_SCALE : 0);
% else
                z[u] = residual[e] + (keep ? kept(keep, e) ? whole * BRANCH_KEEP_SCALE : 0 : whole);
% end
% else
                z[u] = residual[e] + branch[e];
% end
            }
            mean += z[u];
        }
        mean = warp_sum(mean) / WIDTH;
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            z[u] = lane + u * WARP < WIDTH ? z[u] - mean : 0;
            square += z[u] * z[u];
        }
        const real inverse = 1 / sqrt(warp_sum(square) / WIDTH + (real)1e-5);
        if (lane == 0) rstd[row] = inverse;
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            const int c = lane + u * WARP, e = row * WIDTH + c;
            if (c < WIDTH) {
                xhat[e] = z[u] * inverse;
                out[e] = z[u] * inverse * scale[c] + offset[c];
            }
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
    const int lane = threadIdx.x % WARP;
    is_global(xhat);
    is_global(gradient);
    norm_sums(rows, gradient, xhat, dscale, doffset);
    for (int row = threadIdx.x / WARP; row < rows; row += WARPS) {
        real d[ROW_PART];
        norm_row_grad(gradient + row * WIDTH, xhat + row * WIDTH, rstd[row], scale, d);
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            const int c = lane + u * WARP, e = row * WIDTH + c;
            if (c < WIDTH) {
                gradient[e] = d[u];
% if branch_drops then
                dbranch[e] = kept(keep, e) ? d[u] * BRANCH_KEEP_SCALE : 0;
% end
            }
        }
    }
    __syncthreads();
}
