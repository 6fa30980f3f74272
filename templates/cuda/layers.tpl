% local drops = dropouts[1] ~= nil
% local branch_drops = dropout.kind == "bernoulli"
% local embedding_drops = additive.dropout.kind == "bernoulli"
% local first_site = embedding_drops and 1 or 0
% local dbranch = branch_drops and "dbranch" or "gradient"
% local random = positions.kind == "randomized"
% local learned_places = additive.kind == "learned"
% if drops then
/* The masks of the shard's dropout sites. */
INLINE void draw_masks(void) {
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
        block()->work.keep[e] = keep_byte(in->key, in->step, block()->first + row / bytes,
                DROPOUT_DOMAIN << 24 | layer << 8 | place, row % bytes, below);
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
INLINE void embed(${embedding_drops and "const bool training" or "void"}) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const int rows = block()->sequences * v->T;
    for (int e = threadIdx.x; e < rows * WIDTH; e += THREADS) {
        const int row = e / WIDTH, c = e % WIDTH;
        real x = v->p->token[block()->tokens[row] * WIDTH + c] * EMBEDDING_SCALE;
% if additive.kind == "sinusoid" then
        x += v->tables[${input_draw and "v->draws[row % v->T]" or "row % v->T"}].sinusoid[c];
% elseif additive.kind == "learned" then
        x += v->p->position_table[(${input_draw and "v->draws[row % v->T]" or "row % v->T"}) * WIDTH + c];
% end
% if embedding_drops then
        if (training) x = kept(w->keep, e) ? x * ${additive.dropout.name}_KEEP_SCALE : 0;
% end
        w->input[e] = x;
    }
    __syncthreads();
}

/* Gradients of a shard's embeddings: a thread owns an element and adds up its rows in order. */
INLINE void embed_backward(parameters *g) {
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
% if learned_places then
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
% if random then
    const int *position = positions_of(v, block()->l);
% end
    for (int e = threadIdx.x; e < rows * WIDTH; e += THREADS) {
        const int row = e / WIDTH, c = e % WIDTH * 2;
        const real *turn = v->tables[${random and "position[row % v->T]" or "row % v->T"}].rotation + c % ROTATION_PERIOD;
        real *x = query_key_value + row * QUERY_STRIDE + c, first = x[0], second = x[1];
        x[0] = first * turn[0] + direction * (second * turn[ROTATION_PERIOD]);
        x[1] = second * turn[1] + direction * (first * turn[ROTATION_PERIOD + 1]);
    }
    __syncthreads();
}
% end

% if branch_drops then
/* out = norm(residual + branch), the branch dropped out where there is a mask; a warp per row. */
INLINE void residual_norm(int rows, const real *residual, const real *branch, const unsigned char *keep,
        const real *scale, const real *offset, real *xhat, real *rstd, real *out) {
% else
/* out = norm(residual + branch); a warp per row. */
INLINE void residual_norm(int rows, const real *residual, const real *branch, const real *scale, const real *offset,
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
                z[u] = residual[e] + (keep ? kept(keep, e) ? whole * BRANCH_KEEP_SCALE : 0 : whole);
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

/* The products of a layer, each compiled once. */
INLINE void to_query_key_value(int rows, const real *x, const real *weight, real *y) {
    product(rows, 3 * WIDTH, WIDTH, COLUMNS, x, WIDTH, ROWS, weight, 3 * WIDTH, FINISH_STORE, (const real *)0, y,
            QUERY_STRIDE);
}
INLINE void to_attention_output(int rows, const real *x, const real *weight, real *y) {
    product(rows, WIDTH, WIDTH, COLUMNS, x, WIDTH, ROWS, weight, WIDTH, FINISH_STORE, (const real *)0, y, WIDTH);
}
INLINE void to_hidden(int rows, const real *x, const real *weight, const real *bias, real *y) {
    product(rows, FEEDFORWARD, WIDTH, COLUMNS, x, WIDTH, ROWS, weight, FEEDFORWARD, FINISH_BIAS_RELU, bias, y,
            FEEDFORWARD);
}
INLINE void to_feedforward_output(int rows, const real *x, const real *weight, const real *bias, real *y) {
    product(rows, WIDTH, FEEDFORWARD, COLUMNS, x, FEEDFORWARD, ROWS, weight, WIDTH, FINISH_BIAS, bias, y, WIDTH);
}
INLINE void from_query_key_value(int rows, const real *dy, const real *weight, real *gradient) {
    product(rows, WIDTH, 3 * WIDTH, COLUMNS, dy, QUERY_STRIDE, COLUMNS, weight, 3 * WIDTH, FINISH_ADD, gradient,
            gradient, WIDTH);
}
INLINE void from_attention_output(int rows, const real *dy, const real *weight, real *dx) {
    product(rows, WIDTH, WIDTH, COLUMNS, dy, WIDTH, COLUMNS, weight, WIDTH, FINISH_STORE, (const real *)0, dx, WIDTH);
}
INLINE void from_hidden(int rows, const real *dy, const real *weight, real *gradient) {
    product(rows, WIDTH, FEEDFORWARD, COLUMNS, dy, FEEDFORWARD, COLUMNS, weight, FEEDFORWARD, FINISH_ADD, gradient,
            gradient, WIDTH);
}
INLINE void from_feedforward_output(int rows, const real *dy, const real *weight, const real *hidden, real *dx) {
    product(rows, FEEDFORWARD, WIDTH, COLUMNS, dy, WIDTH, COLUMNS, weight, WIDTH, FINISH_RELU_GRAD, hidden, dx,
            FEEDFORWARD);
}
INLINE void query_key_value_grad(int rows, const real *x, const real *dy, real *dw) {
    product(WIDTH, 3 * WIDTH, rows, ROWS, x, WIDTH, ROWS, dy, QUERY_STRIDE, FINISH_STORE, (const real *)0, dw,
            3 * WIDTH);
}
INLINE void attention_output_grad(int rows, const real *x, const real *dy, real *dw) {
    product(WIDTH, WIDTH, rows, ROWS, x, WIDTH, ROWS, dy, WIDTH, FINISH_STORE, (const real *)0, dw, WIDTH);
}
INLINE void up_grad(int rows, const real *x, const real *dy, real *dw, real *db) {
    product(WIDTH, FEEDFORWARD, rows, ROWS, x, WIDTH, ROWS, dy, FEEDFORWARD, FINISH_STORE, (const real *)0, dw,
            FEEDFORWARD);
    column_sums(rows, FEEDFORWARD, dy, db);
}
INLINE void down_grad(int rows, const real *x, const real *dy, real *dw, real *db) {
    product(FEEDFORWARD, WIDTH, rows, ROWS, x, FEEDFORWARD, ROWS, dy, WIDTH, FINISH_STORE, (const real *)0, dw, WIDTH);
    column_sums(rows, WIDTH, dy, db);
}

/* One post-norm encoder block: Ruoss et al. 2023, section 3; Vaswani et al. 2017. In evaluation out may be input. */
INLINE void layer_forward(${branch_drops and "real *out, const bool training" or "real *out"}) {
    const layer_parameters *p = &block()->view.p->layer[block()->l];
    const workspace *w = &block()->work;
    const layer_state *s = &block()->layer;
    const int rows = block()->sequences * block()->view.T;
    to_query_key_value(rows, block()->input, p->query_key_value, s->query_key_value);
% if rotation.kind == "rope" then
    rotate(1, s->query_key_value);
% end
    attend();
    to_attention_output(rows, s->attended, p->attention_output, w->branch);
% if branch_drops then
    residual_norm(rows, block()->input, w->branch, training ? mask_at(0) : (const unsigned char *)0, p->norm1_scale,
            p->norm1_offset, s->xhat1, s->rstd1, s->norm1);
% else
    residual_norm(rows, block()->input, w->branch, p->norm1_scale, p->norm1_offset, s->xhat1, s->rstd1, s->norm1);
% end
    to_hidden(rows, s->norm1, p->up, p->up_bias, s->hidden);
    to_feedforward_output(rows, s->hidden, p->down, p->down_bias, w->branch);
% if branch_drops then
    residual_norm(rows, s->norm1, w->branch, training ? mask_at(1) : (const unsigned char *)0, p->norm2_scale,
            p->norm2_offset, s->xhat2, s->rstd2, out);
% else
    residual_norm(rows, s->norm1, w->branch, p->norm2_scale, p->norm2_offset, s->xhat2, s->rstd2, out);
% end
}

/* The workspace's gradient: of the block's output on entry, of its input on return. Every gradient of the layer's
 * parameters is written to g. */
INLINE void layer_backward(layer_parameters *g) {
    const layer_parameters *p = &block()->view.p->layer[block()->l];
    const workspace *w = &block()->work;
    const layer_state *s = &block()->layer;
    const int rows = block()->sequences * block()->view.T;
% if branch_drops then
    residual_norm_grad(rows, mask_at(1), s->xhat2, s->rstd2, p->norm2_scale, g->norm2_scale, g->norm2_offset);
% else
    residual_norm_grad(rows, s->xhat2, s->rstd2, p->norm2_scale, g->norm2_scale, g->norm2_offset);
% end
    down_grad(rows, s->hidden, w->${dbranch}, g->down, g->down_bias);
    from_feedforward_output(rows, w->${dbranch}, p->down, s->hidden, w->dhidden);
    up_grad(rows, s->norm1, w->dhidden, g->up, g->up_bias);
    from_hidden(rows, w->dhidden, p->up, w->gradient);
% if branch_drops then
    residual_norm_grad(rows, mask_at(0), s->xhat1, s->rstd1, p->norm1_scale, g->norm1_scale, g->norm1_offset);
% else
    residual_norm_grad(rows, s->xhat1, s->rstd1, p->norm1_scale, g->norm1_scale, g->norm1_offset);
% end
    attention_output_grad(rows, s->attended, w->${dbranch}, g->attention_output);
    from_attention_output(rows, w->${dbranch}, p->attention_output, w->dattended);
    attend_backward(${relative.biases and "g" or ""});
% if rotation.kind == "rope" then
    rotate(-1, w->dquery_key_value);
% end
    query_key_value_grad(rows, block()->input, w->dquery_key_value, g->query_key_value);
    from_query_key_value(rows, w->dquery_key_value, p->query_key_value, w->gradient);
}
