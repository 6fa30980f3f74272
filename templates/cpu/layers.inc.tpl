% local geometric, directional = normaliser.kind == "geometric", normaliser.directional
% local if_drops = eval_dropout and "" or "if (train) "
% local attention_keep = eval_dropout and "s->attention_keep" or "train ? s->attention_keep : NULL"
% local feedforward_keep = eval_dropout and "s->feedforward_keep" or "train ? s->feedforward_keep : NULL"
% include("parts/banner.tpl", { template = "cpu/layers.inc.tpl", about = about.layers })

/* What one layer keeps for its backward pass; rows are tokens. */
typedef struct layer_state {
    real *input; /* [tokens][WIDTH] */
    real *query_key_value; /* [tokens][3 WIDTH]${rotated} */
% if geometric then
    kept_attention attention; /* attention_self.inc */
% else
    real *weights, *inverse_sum; /* attention_self.inc */
% end
    real *attended; /* [tokens][WIDTH] heads side by side */
    real *norm1_xhat, *norm1_rstd; /* [tokens][WIDTH], [tokens] */
    real *norm1; /* [tokens][WIDTH] input of the feed-forward network */
    real *hidden; /* [tokens][FEEDFORWARD] */
    real *norm2_xhat, *norm2_rstd;
% if dropout.kind == "bernoulli" then
    int8_t *attention_keep, *feedforward_keep; /* [tokens][WIDTH] 0 or -1 */
% end
} layer_state;

typedef struct workspace {
    int length, sequences, tokens, rows; /* rows: tokens rounded up to whole tiles */
% if not geometric then
    size_t weights_step;
% end
    layer_state layer[LAYERS];
    real *output; /* [rows][WIDTH] of the last layer */
    real *branch; /* [rows][WIDTH] what a residual connection adds */
% if additive.dropout.kind == "bernoulli" then
    int8_t *embedding_keep;
% end
    real *gradient, *dbranch, *dattended; /* [rows][WIDTH] */
    real *dhidden; /* [rows][FEEDFORWARD] */
    real *dquery_key_value; /* [rows][3 WIDTH] */
% if directional then
    real *ddirection; /* [rows][DIRECTION_WIDTH] */
% end
    head_scratch head;
% if positions.kind == "sequence" then
    int32_t *position, *position_scratch; /* [tokens] of every sequence, drawn by embed; [MAX_POSITION] */
% end
% if sums then
    shard_sums sums;
% end
} workspace;

% if not early_take then
% include("cpu/take.tpl")

% end
static void lay_out_layer(layer_state *s, const workspace *w, char *memory, size_t *used, lh_mode mode) {
    size_t row = (size_t)w->rows * sizeof(real);
% if not geometric then
    size_t groups = (size_t)(round_up(w->length, LANES) / LANES);
    size_t heads = mode == LH_MODE_TRAIN ? (size_t)w->sequences * HEADS * groups : 1;
    size_t sums = mode == LH_MODE_TRAIN ? (size_t)w->sequences * HEADS * groups : groups;
% end
    if (mode == LH_MODE_TRAIN) s->input = take(memory, used, row * WIDTH);
    s->query_key_value = take(memory, used, row * 3 * WIDTH);
% if geometric then
    lay_out_attention(&s->attention, memory, used, w->length, w->rows, w->sequences * HEADS, mode == LH_MODE_TRAIN);
% else
    s->weights = take(memory, used, heads * group_weights(w->length) * sizeof(real));
    s->inverse_sum = take(memory, used, sums * LANES * sizeof(real));
% end
    s->attended = take(memory, used, row * WIDTH);
    s->norm1_xhat = take(memory, used, row * WIDTH);
    s->norm1_rstd = take(memory, used, row);
    s->norm1 = take(memory, used, row * WIDTH);
    s->hidden = take(memory, used, row * FEEDFORWARD);
    s->norm2_xhat = take(memory, used, row * WIDTH);
    s->norm2_rstd = take(memory, used, row);
% if dropout.kind == "bernoulli" and eval_dropout then
    s->attention_keep = take(memory, used, (size_t)w->rows * WIDTH + KEEP_PAD);
    s->feedforward_keep = take(memory, used, (size_t)w->rows * WIDTH + KEEP_PAD);
% elseif dropout.kind == "bernoulli" then
    if (mode == LH_MODE_TRAIN) {
        s->attention_keep = take(memory, used, (size_t)w->rows * WIDTH + KEEP_PAD);
        s->feedforward_keep = take(memory, used, (size_t)w->rows * WIDTH + KEEP_PAD);
    }
% end
}

/* Places everything a block needs into memory and returns the bytes used. */
static size_t lay_out(workspace *w, char *memory, const lh_shape *shape, lh_mode mode) {
    size_t used = 0;
    w->length = shape->length[0];
    w->sequences = shape->sequences;
    w->tokens = w->sequences * w->length;
    w->rows = round_up(w->tokens, TILE_ROWS);
% if not geometric then
    w->weights_step = mode == LH_MODE_TRAIN ? group_weights(w->length) : 0;
% end
    size_t row = (size_t)w->rows * sizeof(real);
% if sums then
    if (mode == LH_MODE_TRAIN) lay_out_sums(&w->sums, memory, &used, w->length);
% end
    for (int l = 0; l < (mode == LH_MODE_TRAIN ? LAYERS : 1); l++)
        lay_out_layer(&w->layer[l], w, memory, &used, mode);
    w->output = take(memory, &used, row * WIDTH);
    w->branch = take(memory, &used, row * WIDTH);
% if geometric then
    w->head.columns = take(memory, &used, 2 * HEAD_WIDTH * (size_t)column_stride(w->length) * sizeof(real));
% end
% if positions.kind == "sequence" then
    w->position = take(memory, &used, (size_t)w->tokens * sizeof(int32_t));
    w->position_scratch = take(memory, &used, MAX_POSITION * sizeof(int32_t));
% end
% if eval_dropout and additive.dropout.kind == "bernoulli" then
    w->embedding_keep = take(memory, &used, (size_t)w->rows * WIDTH + KEEP_PAD);
% end
    if (mode != LH_MODE_TRAIN) return used;
% if additive.dropout.kind == "bernoulli" and not eval_dropout then
    w->embedding_keep = take(memory, &used, (size_t)w->rows * WIDTH + KEEP_PAD);
% end
    w->gradient = take(memory, &used, row * WIDTH);
    w->dbranch = take(memory, &used, row * WIDTH);
    w->dattended = take(memory, &used, row * WIDTH);
    w->dhidden = take(memory, &used, row * FEEDFORWARD);
    w->dquery_key_value = take(memory, &used, row * 3 * WIDTH);
% if directional then
    w->ddirection = take(memory, &used, row * DIRECTION_WIDTH);
% end
    size_t groups = (size_t)(round_up(w->length, LANES) / LANES);
% if relative.toeplitz then
    w->head.dlogits = take(memory, &used, (groups * group_dlogits(w->length) + KEYS * LANES) * sizeof(real));
% else
    w->head.dlogits = take(memory, &used, groups * group_weights(w->length) * sizeof(real));
% end
    w->head.rows = take(memory, &used, (size_t)w->length * ${relative.vectors} * HEAD_WIDTH * sizeof(real));
    return used;
}
% if dropouts[1] then

/* Masks for every sequence of the block at one site. */
static void draw_masks(const lh_cpu_step *step, const lh_cpu_block *block, const workspace *w, uint32_t layer,
        uint32_t place, uint16_t drop_below, int8_t *keep) {
% if eval_dropout then
    uint32_t site = step->mode == LH_MODE_TRAIN ? lh_site(LH_DOMAIN_DROPOUT, layer, place)
            : lh_site(LH_DOMAIN_EVAL_DROPOUT, step->draw.example, 2 * layer + place);
    for (int s = 0; s < w->sequences; s++)
        dropout_keep(step->key, step->step, block->first_example + (uint32_t)s, site, w->length * WIDTH, drop_below,
                keep + (size_t)s * (size_t)w->length * WIDTH);
% else
    for (int s = 0; s < w->sequences; s++)
        dropout_keep(step->key, step->step, block->first_example + (uint32_t)s,
                lh_site(LH_DOMAIN_DROPOUT, layer, place), w->length * WIDTH, drop_below,
                keep + (size_t)s * (size_t)w->length * WIDTH);
% end
}
% end
% if positions.kind == "sequence" then

/* Positions of every sequence of the block. */
static void draw_positions(const lh_cpu_step *step, const lh_cpu_block *block, const workspace *w) {
    int T = w->length;
    for (int s = 0; s < w->sequences; s++)
        if (step->positions[0]) memcpy(w->position + s * T, step->positions[0], (size_t)T * sizeof(int32_t));
        else
            lh_draw_sequence(&step->draw, block->first_example + (uint32_t)s, ${positions.first_text}, ${positions.range_text}, T,
                    ${positions.sorted_text}, w->position + s * T, w->position_scratch);
}
% end

/* x [tokens][WIDTH] = scaled token embedding${embed_adds}. */
static void embed(const lh_cpu_step *step, const lh_cpu_block *block, const workspace *w, real *x) {
    const parameters *p = step->parameters;
% if additive.kind == "sinusoid" then
    const position_row *table = step->tables;
% end
% if positions.kind == "sequence" and additive.kind ~= "none" then
    const int32_t *position = w->position;
% elseif input_draw then
    const int32_t *position = ((const shared *)step->shared)->position[0];
% end
% if positions.kind == "sequence" then
    draw_positions(step, block, w);
% end
    for (int m = 0; m < w->tokens; m++) {
        const real *token = p->token + block->tokens[0][m] * WIDTH;
% if additive.kind == "sinusoid" then
        const real *place = table[${input_place}].sinusoid;
% elseif additive.kind == "learned" then
        const real *place = p->position_table + ${input_place} * WIDTH;
% end
        for (int c = 0; c < WIDTH; c += LANES)
% if additive.kind == "none" then
            store(x + m * WIDTH + c, load(token + c) * EMBEDDING_SCALE);
% else
            store(x + m * WIDTH + c, load(token + c) * EMBEDDING_SCALE + load(place + c));
% end
    }
% if additive.dropout.kind == "bernoulli" and not eval_dropout then
    if (step->mode != LH_MODE_TRAIN) return;
% end
% if additive.dropout.kind == "bernoulli" then
    draw_masks(step, block, w, 0, 0, ${additive.dropout.name}_DROP_BELOW, w->embedding_keep);
    dropout_apply(w->tokens * WIDTH, w->embedding_keep, ${additive.dropout.name}_KEEP_SCALE, x);
% end
}

static void embed_backward(${embed_backward_step}const lh_cpu_block *block, const workspace *w, parameters *g) {
% if additive.dropout.kind == "bernoulli" then
    dropout_apply(w->tokens * WIDTH, w->embedding_keep, ${additive.dropout.name}_KEEP_SCALE, w->gradient);
% end
% if additive.kind == "learned" and positions.kind == "sequence" then
    const int32_t *position = w->position;
% elseif additive.kind == "learned" and input_draw then
    const int32_t *position = ((const shared *)step->shared)->position[0];
% end
    for (int m = 0; m < w->tokens; m++) {
        const real *d = w->gradient + m * WIDTH;
        real *token = g->token + block->tokens[0][m] * WIDTH;
% if additive.kind == "learned" then
        real *place = g->position_table + ${input_place} * WIDTH;
% end
% if additive.kind == "learned" then
        for (int c = 0; c < WIDTH; c += LANES) {
            store(token + c, load(token + c) + load(d + c) * EMBEDDING_SCALE);
            store(place + c, load(place + c) + load(d + c));
        }
% else
        for (int c = 0; c < WIDTH; c += LANES)
            store(token + c, load(token + c) + load(d + c) * EMBEDDING_SCALE);
% end
    }
}

/* The products of a layer, each compiled once. Where dx holds the residual connection's gradient, they add to it. */
NOINLINE void to_query_key_value(int rows, const real *x, const real *panels, real *y) {
    matmul(rows, WIDTH, 3 * WIDTH, x, panels, y, FINISH_STORE, NULL);
}
% if directional then
NOINLINE void to_direction(int rows, const real *x, const real *panels, const real *bias, real *y) {
    matmul(rows, WIDTH, DIRECTION_WIDTH, x, panels, y, FINISH_BIAS, bias);
}
% end
NOINLINE void to_attention_output(int rows, const real *x, const real *panels, real *y) {
    matmul(rows, WIDTH, WIDTH, x, panels, y, FINISH_STORE, NULL);
}
NOINLINE void to_hidden(int rows, const real *x, const real *panels, const real *bias, real *y) {
    matmul(rows, WIDTH, FEEDFORWARD, x, panels, y, FINISH_BIAS_RELU, bias);
}
NOINLINE void to_feedforward_output(int rows, const real *x, const real *panels, const real *bias, real *y) {
    matmul(rows, FEEDFORWARD, WIDTH, x, panels, y, FINISH_BIAS, bias);
}
NOINLINE void from_query_key_value(int rows, const real *dy, const real *panels, real *dx) {
    matmul(rows, 3 * WIDTH, WIDTH, dy, panels, dx, FINISH_ADD, dx);
}
% if directional then
NOINLINE void from_direction(int rows, const real *dy, const real *panels, real *dx) {
    matmul(rows, DIRECTION_WIDTH, WIDTH, dy, panels, dx, FINISH_ADD, dx);
}
% end
NOINLINE void from_attention_output(int rows, const real *dy, const real *panels, real *dx) {
    matmul(rows, WIDTH, WIDTH, dy, panels, dx, FINISH_STORE, NULL);
}
NOINLINE void from_hidden(int rows, const real *dy, const real *panels, real *dx) {
    matmul(rows, FEEDFORWARD, WIDTH, dy, panels, dx, FINISH_ADD, dx);
}
NOINLINE void from_feedforward_output(int rows, const real *dy, const real *panels, const real *hidden, real *dx) {
    matmul(rows, WIDTH, FEEDFORWARD, dy, panels, dx, FINISH_RELU_GRAD, hidden);
}
NOINLINE void query_key_value_grad(int tokens, const real *x, const real *dy, real *dw) {
    matmul_weight_grad(tokens, WIDTH, 3 * WIDTH, x, dy, dw);
}
% if directional then
NOINLINE void direction_grad(int tokens, const real *x, const real *dy, real *dw, real *db) {
    matmul_weight_grad(tokens, WIDTH, DIRECTION_WIDTH, x, dy, dw);
    bias_grad(tokens, DIRECTION_WIDTH, dy, db);
}
% end
NOINLINE void attention_output_grad(int tokens, const real *x, const real *dy, real *dw) {
    matmul_weight_grad(tokens, WIDTH, WIDTH, x, dy, dw);
}
NOINLINE void up_grad(int tokens, const real *x, const real *dy, real *dw, real *db) {
    matmul_weight_grad(tokens, WIDTH, FEEDFORWARD, x, dy, dw);
    bias_grad(tokens, FEEDFORWARD, dy, db);
}
NOINLINE void down_grad(int tokens, const real *x, const real *dy, real *dw, real *db) {
    matmul_weight_grad(tokens, FEEDFORWARD, WIDTH, x, dy, dw);
    bias_grad(tokens, WIDTH, dy, db);
}

% if dropout.kind == "bernoulli" and eval_dropout then
/* output = norm(residual + branch), the branch dropped out. */
NOINLINE void residual_norm(const workspace *w, const real *residual, const int8_t *keep, const real *scale,
        const real *offset, real *xhat, real *rstd, real *output) {
    add_dropout_norm(w->tokens, WIDTH, residual, w->branch, keep, BRANCH_KEEP_SCALE, scale, offset, xhat, rstd,
            output);
}

% elseif dropout.kind == "bernoulli" then
/* output = norm(residual + branch), the branch dropped out in training. */
NOINLINE void residual_norm(const workspace *w, const real *residual, const int8_t *keep, const real *scale,
        const real *offset, real *xhat, real *rstd, real *output) {
    if (keep)
        add_dropout_norm(w->tokens, WIDTH, residual, w->branch, keep, BRANCH_KEEP_SCALE, scale, offset, xhat, rstd,
                output);
    else add_norm(w->tokens, WIDTH, residual, w->branch, scale, offset, xhat, rstd, output);
}

% else
/* output = norm(residual + branch). */
NOINLINE void residual_norm(const workspace *w, const real *residual, const real *scale, const real *offset,
                            real *xhat, real *rstd, real *output) {
    add_norm(w->tokens, WIDTH, residual, w->branch, scale, offset, xhat, rstd, output);
}

% end
% if dropout.kind == "bernoulli" then
/* In place: w->gradient of the norm's output becomes that of its sum, w->dbranch that of the branch. */
NOINLINE void residual_norm_grad(const workspace *w, const int8_t *keep, const real *xhat, const real *rstd,
        const real *scale, real *dscale, real *doffset) {
    add_dropout_norm_grad(w->tokens, WIDTH, w->gradient, xhat, rstd, scale, keep, BRANCH_KEEP_SCALE, w->gradient,
            w->dbranch, dscale, doffset);
}
% else
/* In place: w->gradient of the norm's output becomes that of its sum, which is also that of the branch. */
NOINLINE void residual_norm_grad(const workspace *w, const real *xhat, const real *rstd, const real *scale,
                                 real *dscale, real *doffset) {
    add_norm_grad(w->tokens, WIDTH, w->gradient, xhat, rstd, scale, w->gradient, dscale, doffset);
}
% end

/* One post-norm encoder block: Ruoss et al. 2023, section 3; Vaswani et al. 2017. In evaluation output may be input. */
static void layer_forward(const lh_cpu_step *step, ${layer_argument}
        const layer_parameters *p, layer_state *s, real *output) {
% if dropout.kind == "bernoulli" and not eval_dropout then
    bool train = step->mode == LH_MODE_TRAIN;
% end
    const layer_panels *panels = &((const shared *)step->shared)->layer[l];
    const real *input = step->mode == LH_MODE_TRAIN ? s->input : w->output;
    to_query_key_value(w->rows, input, panels->query_key_value, s->query_key_value);
% if directional then
    to_direction(w->rows, input, panels->direction, p->direction_bias, s->attention.direction);
% end
% if geometric then
    attention_self(step, l, w->sequences, w->length, s->query_key_value, s->attention, w->head.columns,
            s->attended${position_pass});
% else
    attention_self(${step_pass}w->sequences, w->length, s->query_key_value, s->attended, s->weights, w->weights_step,
            s->inverse_sum${position_pass});
% end
    to_attention_output(w->rows, s->attended, panels->attention_output, w->branch);
% if dropout.kind == "bernoulli" then
    ${if_drops}draw_masks(step, block, w, (uint32_t)l + 1, 0, BRANCH_DROP_BELOW, s->attention_keep);
    residual_norm(w, input, ${attention_keep}, p->norm1_scale, p->norm1_offset, s->norm1_xhat,
            s->norm1_rstd, s->norm1);
% else
    residual_norm(w, input, p->norm1_scale, p->norm1_offset, s->norm1_xhat, s->norm1_rstd, s->norm1);
% end
    to_hidden(w->rows, s->norm1, panels->up, p->up_bias, s->hidden);
    to_feedforward_output(w->rows, s->hidden, panels->down, p->down_bias, w->branch);
% if dropout.kind == "bernoulli" then
    ${if_drops}draw_masks(step, block, w, (uint32_t)l + 1, 1, BRANCH_DROP_BELOW, s->feedforward_keep);
    residual_norm(w, s->norm1, ${feedforward_keep}, p->norm2_scale, p->norm2_offset, s->norm2_xhat,
            s->norm2_rstd, output);
% else
    residual_norm(w, s->norm1, p->norm2_scale, p->norm2_offset, s->norm2_xhat, s->norm2_rstd, output);
% end
}

/* w->gradient: of the block's output on entry, of its input on return. */
static void layer_backward(const lh_cpu_step *step, const workspace *w, int l, const layer_parameters *p,
        layer_parameters *g, const layer_state *s) {
    const layer_panels *panels = &((const shared *)step->shared)->layer[l];
% if dropout.kind == "bernoulli" then
    const real *dbranch = w->dbranch;
    residual_norm_grad(w, s->feedforward_keep, s->norm2_xhat, s->norm2_rstd, p->norm2_scale, g->norm2_scale,
            g->norm2_offset);
% else
    const real *dbranch = w->gradient;
    residual_norm_grad(w, s->norm2_xhat, s->norm2_rstd, p->norm2_scale, g->norm2_scale, g->norm2_offset);
% end
    down_grad(w->tokens, s->hidden, dbranch, g->down, g->down_bias);
    from_feedforward_output(w->rows, dbranch, panels->down_transposed, s->hidden, w->dhidden);
    up_grad(w->tokens, s->norm1, w->dhidden, g->up, g->up_bias);
    from_hidden(w->rows, w->dhidden, panels->up_transposed, w->gradient);
% if dropout.kind == "bernoulli" then
    residual_norm_grad(w, s->attention_keep, s->norm1_xhat, s->norm1_rstd, p->norm1_scale, g->norm1_scale,
            g->norm1_offset);
% else
    residual_norm_grad(w, s->norm1_xhat, s->norm1_rstd, p->norm1_scale, g->norm1_scale, g->norm1_offset);
% end
    attention_output_grad(w->tokens, s->attended, dbranch, g->attention_output);
    from_attention_output(w->rows, dbranch, panels->attention_output_transposed, w->dattended);
% if geometric then
    attention_self_backward(step, l, w->sequences, w->length, s->query_key_value, s->attention,
            ${normaliser.normalised and "s->attended, " or ""}w->dattended, &w->head, &w->sums, ${directional and "w->ddirection, " or ""}w->dquery_key_value${position_pass});
% else
    attention_self_backward(${back_step_pass}w->sequences, w->length, s->query_key_value, s->attended,
            w->dattended, s->weights, s->inverse_sum, &w->head, ${sums_pass}w->dquery_key_value${position_pass});
% end
    query_key_value_grad(w->tokens, s->input, w->dquery_key_value, g->query_key_value);
    from_query_key_value(w->rows, w->dquery_key_value, panels->query_key_value_transposed, w->gradient);
% if directional then
    direction_grad(w->tokens, s->input, w->ddirection, g->direction, g->direction_bias);
    from_direction(w->rows, w->ddirection, panels->direction_transposed, w->gradient);
% end
}
