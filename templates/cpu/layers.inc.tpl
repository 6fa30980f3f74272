% local directional = normaliser.directional
% local by_sequence = positions.kind == "sequence"
% local index = by_sequence and "position[m]" or input_draw and "position[m % w->length]" or "m % w->length"
% local input_place = index
% if additive.kind == "learned" and positions.first == 1 then
% input_place = "(" .. index .. " - " .. PREFIX .. "FIRST_POSITION)"
% end
% local embed_adds = ({ none = "", sinusoid = " + sinusoid of its position",
%     learned = " + learned vector of its position" })[additive.kind]
% local if_drops = eval_dropout and "" or "if (train) "
% local attention_keep = eval_dropout and "s->attention_keep" or "train ? s->attention_keep : NULL"
% local feedforward_keep = eval_dropout and "s->feedforward_keep" or "train ? s->feedforward_keep : NULL"
% include("parts/banner.tpl", { template = "cpu/layers.inc.tpl", about = about.layers })
% if dropouts[1] then

/* Masks for every sequence of the block at one site. */
static void draw_masks(const workspace *w, uint32_t layer, uint32_t place, uint16_t drop_below, int8_t *keep) {
    const lh_cpu_step *step = w->step;
% if eval_dropout then
    uint32_t site = step->mode == LH_MODE_TRAIN ? lh_site(LH_DOMAIN_DROPOUT, layer, place)
            : lh_site(LH_DOMAIN_EVAL_DROPOUT, step->draw.example, 2 * layer + place);
    for (int s = 0; s < w->sequences; s++)
        dropout_keep(step->key, step->step, w->block->first_example + (uint32_t)s, site, w->length * WIDTH, drop_below,
                keep + (size_t)s * (size_t)w->length * WIDTH);
% else
    for (int s = 0; s < w->sequences; s++)
        dropout_keep(step->key, step->step, w->block->first_example + (uint32_t)s,
                lh_site(LH_DOMAIN_DROPOUT, layer, place), w->length * WIDTH, drop_below,
                keep + (size_t)s * (size_t)w->length * WIDTH);
% end
}
% end
% if by_sequence then
% local first = positions.first == 1 and PREFIX .. "FIRST_POSITION" or "0"
% local range = PREFIX .. "MAX_POSITION" .. (positions.first == 1 and " - 1" or "")

/* Positions of every sequence of the block. */
static void draw_positions(const workspace *w) {
    const lh_cpu_step *step = w->step;
    int T = w->length;
    for (int s = 0; s < w->sequences; s++)
        if (step->positions) memcpy(w->position + s * T, step->positions, (size_t)T * sizeof(int32_t));
        else
            lh_draw_sequence(&step->draw, w->block->first_example + (uint32_t)s, ${first}, ${range}, T,
                    ${positions.sorted_text}, w->position + s * T, w->position_scratch);
}
% end

/* x [tokens][WIDTH] = scaled token embedding${embed_adds}. */
static void embed(const workspace *w, real *x) {
    const parameters *p = w->step->parameters;
% if additive.kind == "sinusoid" then
    const position_row *table = w->step->tables;
% end
% if positions.kind == "sequence" and additive.kind ~= "none" then
    const int32_t *position = w->position;
% elseif input_draw then
    const int32_t *position = ((const shared *)w->step->shared)->${prefix}position[0];
% end
% if positions.kind == "sequence" then
    draw_positions(w);
% end
    for (int m = 0; m < w->tokens; m++) {
        const real *token = p->token + w->block->tokens[0][m] * WIDTH;
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
    if (w->step->mode != LH_MODE_TRAIN) return;
% end
% if additive.dropout.kind == "bernoulli" then
    draw_masks(w, 0, 0, ${additive.dropout.name}_DROP_BELOW, w->embedding_keep);
    dropout_apply(w->tokens * WIDTH, w->embedding_keep, ${additive.dropout.name}_KEEP_SCALE, x);
% end
}

static void embed_backward(const workspace *w, parameters *g) {
% if additive.dropout.kind == "bernoulli" then
    dropout_apply(w->tokens * WIDTH, w->embedding_keep, ${additive.dropout.name}_KEEP_SCALE, w->gradient);
% end
% if additive.kind == "learned" and positions.kind == "sequence" then
    const int32_t *position = w->position;
% elseif additive.kind == "learned" and input_draw then
    const int32_t *position = ((const shared *)w->step->shared)->${prefix}position[0];
% end
    for (int m = 0; m < w->tokens; m++) {
        const real *d = w->gradient + m * WIDTH;
        real *token = g->token + w->block->tokens[0][m] * WIDTH;
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
static void layer_forward(workspace *w, int l, const layer_parameters *p, layer_state *s, real *output) {
    const layer_panels *panels = &((const shared *)w->step->shared)->layer[l];
    bool train = w->step->mode == LH_MODE_TRAIN;
    const real *input = train ? s->input : w->output;
    to_query_key_value(w->rows, input, panels->query_key_value, s->query_key_value);
% if directional then
    to_direction(w->rows, input, panels->direction, p->direction_bias, s->direction);
    attention_self(w, l, &s->self, s->query_key_value, s->direction, s->attended);
% else
    attention_self(w, l, &s->self, s->query_key_value, s->attended);
% end
    to_attention_output(w->rows, s->attended, panels->attention_output, w->branch);
% if dropout.kind == "bernoulli" then
    ${if_drops}draw_masks(w, (uint32_t)l + 1, 0, BRANCH_DROP_BELOW, s->attention_keep);
    residual_norm(w, input, ${attention_keep}, p->norm1_scale, p->norm1_offset, s->norm1_xhat,
            s->norm1_rstd, s->norm1);
% else
    residual_norm(w, input, p->norm1_scale, p->norm1_offset, s->norm1_xhat, s->norm1_rstd, s->norm1);
% end
    to_hidden(w->rows, s->norm1, panels->up, p->up_bias, s->hidden);
    to_feedforward_output(w->rows, s->hidden, panels->down, p->down_bias, w->branch);
% if dropout.kind == "bernoulli" then
    ${if_drops}draw_masks(w, (uint32_t)l + 1, 1, BRANCH_DROP_BELOW, s->feedforward_keep);
    residual_norm(w, s->norm1, ${feedforward_keep}, p->norm2_scale, p->norm2_offset, s->norm2_xhat,
            s->norm2_rstd, output);
% else
    residual_norm(w, s->norm1, p->norm2_scale, p->norm2_offset, s->norm2_xhat, s->norm2_rstd, output);
% end
}

/* w->gradient: of the block's output on entry, of its input on return. */
static void layer_backward(workspace *w, int l, const layer_parameters *p, layer_parameters *g, const layer_state *s) {
    const layer_panels *panels = &((const shared *)w->step->shared)->layer[l];
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
% if directional then
    attention_self_backward(w, l, &s->self, s->query_key_value, s->direction, s->attended, w->dattended,
            w->dquery_key_value, w->ddirection);
% else
    attention_self_backward(w, l, &s->self, s->query_key_value, s->attended, w->dattended, w->dquery_key_value);
% end
    query_key_value_grad(w->tokens, s->input, w->dquery_key_value, g->query_key_value);
    from_query_key_value(w->rows, w->dquery_key_value, panels->query_key_value_transposed, w->gradient);
% if directional then
    direction_grad(w->tokens, s->input, w->ddirection, g->direction, g->direction_bias);
    from_direction(w->rows, w->ddirection, panels->direction_transposed, w->gradient);
% end
}
