% local branch_drops = dropout.kind == "bernoulli"
% local mask0 = eval_dropout and "mask_at(0)" or "training ? mask_at(0) : (const unsigned char *)0"
% local mask1 = eval_dropout and "mask_at(1)" or "training ? mask_at(1) : (const unsigned char *)0"
% local dbranch = branch_drops and "dbranch" or "gradient"
/* The products of a layer. */
NOINLINE void to_query_key_value(int rows, const real *x, const real *weight, real *y) {
    product(rows, 3 * WIDTH, WIDTH, COLUMNS, x, WIDTH, ROWS, weight, 3 * WIDTH, FINISH_STORE, (const real *)0, y,
            QUERY_STRIDE);
}
% if normaliser.directional then
NOINLINE void to_direction(int rows, const real *x, const real *weight, real *y) {
    product(rows, DIRECTION_WIDTH, WIDTH, COLUMNS, x, WIDTH, ROWS, weight, DIRECTION_WIDTH, FINISH_STORE,
            (const real *)0, y, DIRECTION_WIDTH);
}
% end
NOINLINE void to_attention_output(int rows, const real *x, const real *weight, real *y) {
    product(rows, WIDTH, WIDTH, COLUMNS, x, WIDTH, ROWS, weight, WIDTH, FINISH_STORE, (const real *)0, y, WIDTH);
}
NOINLINE void to_hidden(int rows, const real *x, const real *weight, const real *bias, real *y) {
    product(rows, FEEDFORWARD, WIDTH, COLUMNS, x, WIDTH, ROWS, weight, FEEDFORWARD, FINISH_BIAS_RELU, bias, y,
            FEEDFORWARD);
}
NOINLINE void to_feedforward_output(int rows, const real *x, const real *weight, const real *bias, real *y) {
    product(rows, WIDTH, FEEDFORWARD, COLUMNS, x, FEEDFORWARD, ROWS, weight, WIDTH, FINISH_BIAS, bias, y, WIDTH);
}
NOINLINE void from_query_key_value(int rows, const real *dy, const real *weight, real *gradient) {
    product(rows, WIDTH, 3 * WIDTH, COLUMNS, dy, QUERY_STRIDE, COLUMNS, weight, 3 * WIDTH, FINISH_ADD, gradient,
            gradient, WIDTH);
}
% if normaliser.directional then
NOINLINE void from_direction(int rows, const real *dy, const real *weight, real *gradient) {
    product(rows, WIDTH, DIRECTION_WIDTH, COLUMNS, dy, DIRECTION_WIDTH, COLUMNS, weight, DIRECTION_WIDTH, FINISH_ADD,
            gradient, gradient, WIDTH);
}
% end
NOINLINE void from_attention_output(int rows, const real *dy, const real *weight, real *dx) {
    product(rows, WIDTH, WIDTH, COLUMNS, dy, WIDTH, COLUMNS, weight, WIDTH, FINISH_STORE, (const real *)0, dx, WIDTH);
}
NOINLINE void from_hidden(int rows, const real *dy, const real *weight, real *gradient) {
    product(rows, WIDTH, FEEDFORWARD, COLUMNS, dy, FEEDFORWARD, COLUMNS, weight, FEEDFORWARD, FINISH_ADD, gradient,
            gradient, WIDTH);
}
NOINLINE void from_feedforward_output(int rows, const real *dy, const real *weight, const real *hidden, real *dx) {
    product(rows, FEEDFORWARD, WIDTH, COLUMNS, dy, WIDTH, COLUMNS, weight, WIDTH, FINISH_RELU_GRAD, hidden, dx,
            FEEDFORWARD);
}
NOINLINE void query_key_value_grad(int rows, const real *x, const real *dy, real *dw) {
    product(WIDTH, 3 * WIDTH, rows, ROWS, x, WIDTH, ROWS, dy, QUERY_STRIDE, FINISH_STORE, (const real *)0, dw,
            3 * WIDTH);
}
% if normaliser.directional then
NOINLINE void direction_grad(int rows, const real *x, const real *dy, real *dw) {
    product(WIDTH, DIRECTION_WIDTH, rows, ROWS, x, WIDTH, ROWS, dy, DIRECTION_WIDTH, FINISH_STORE, (const real *)0, dw,
            DIRECTION_WIDTH);
}
% end
NOINLINE void attention_output_grad(int rows, const real *x, const real *dy, real *dw) {
    product(WIDTH, WIDTH, rows, ROWS, x, WIDTH, ROWS, dy, WIDTH, FINISH_STORE, (const real *)0, dw, WIDTH);
}
NOINLINE void up_grad(int rows, const real *x, const real *dy, real *dw, real *db) {
    product(WIDTH, FEEDFORWARD, rows, ROWS, x, WIDTH, ROWS, dy, FEEDFORWARD, FINISH_STORE, (const real *)0, dw,
            FEEDFORWARD);
    column_sums(rows, FEEDFORWARD, dy, db);
}
NOINLINE void down_grad(int rows, const real *x, const real *dy, real *dw, real *db) {
    product(FEEDFORWARD, WIDTH, rows, ROWS, x, FEEDFORWARD, ROWS, dy, WIDTH, FINISH_STORE, (const real *)0, dw, WIDTH);
    column_sums(rows, WIDTH, dy, db);
}

/* One post-norm encoder block: Ruoss et al. 2023, section 3; Vaswani et al. 2017. In evaluation out may be input. */
INLINE void layer_forward(${branch_drops and not eval_dropout and "real *out, const bool training" or "real *out"}) {
    const layer_parameters *p = &block()->view.p->layer[block()->l];
    const workspace *w = &block()->work;
    const layer_state *s = &block()->layer;
    const int rows = block()->sequences * block()->view.T;
    to_query_key_value(rows, block()->input, p->query_key_value, s->query_key_value);
% if normaliser.directional then
    to_direction(rows, block()->input, p->direction, s->direction);
% end
% if rotation.kind == "rope" then
    rotate(1, s->query_key_value);
% end
    attend();
    to_attention_output(rows, s->attended, p->attention_output, w->branch);
% if branch_drops then
    residual_norm(rows, block()->input, w->branch, ${mask0}, p->norm1_scale,
            p->norm1_offset, s->xhat1, s->rstd1, s->norm1);
% else
    residual_norm(rows, block()->input, w->branch, p->norm1_scale, p->norm1_offset, s->xhat1, s->rstd1, s->norm1);
% end
    to_hidden(rows, s->norm1, p->up, p->up_bias, s->hidden);
    to_feedforward_output(rows, s->hidden, p->down, p->down_bias, w->branch);
% if branch_drops then
    residual_norm(rows, s->norm1, w->branch, ${mask1}, p->norm2_scale,
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
    attend_backward(${cuda.layer_gradients and "g" or ""});
% if rotation.kind == "rope" then
    rotate(-1, w->dquery_key_value);
% end
    query_key_value_grad(rows, block()->input, w->dquery_key_value, g->query_key_value);
    from_query_key_value(rows, w->dquery_key_value, p->query_key_value, w->gradient);
% if normaliser.directional then
    direction_grad(rows, block()->input, w->ddirection, g->direction);
    from_direction(rows, w->ddirection, p->direction, w->gradient);
% end
}
