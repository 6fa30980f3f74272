% local branch_drops = dropout.kind == "bernoulli"
% local mask0 = eval_dropout and "mask_at(0)" or "training ? mask_at(0) : (const unsigned char *)0"
% local mask1 = eval_dropout and "mask_at(1)" or "training ? mask_at(1) : (const unsigned char *)0"
% local dbranch = branch_drops and "dbranch" or "gradient"
/* The products of a layer, each compiled once: code has to come from a cache, too. */
NOINLINE void product_forward(int rows, int columns, int K, const real *x, const real *weight, const real *bias,
        bool rectified, real *y) {
    product(rows, columns, K, COLUMNS, x, K, ROWS, weight, columns, rectified ? FINISH_BIAS_RELU : FINISH_BIAS, bias, y,
            columns);
}
NOINLINE void product_backward(int rows, int columns, int K, const real *dy, const real *weight, const real *extra,
        bool rectified, real *dx) {
    product(rows, columns, K, COLUMNS, dy, K, COLUMNS, weight, K, rectified ? FINISH_RELU_GRAD : FINISH_ADD, extra, dx,
            columns);
}
NOINLINE void product_gradient(int rows, int columns, int K, const real *x, const real *dy, real *dw) {
    product(rows, columns, K, ROWS, x, rows, ROWS, dy, columns, FINISH_STORE, (const real *)0, dw, columns);
}

/* One post-norm encoder block: Ruoss et al. 2023, section 3; Vaswani et al. 2017. In evaluation out may be input. */
INLINE void layer_forward(${branch_drops and not eval_dropout and "real *out, const bool training" or "real *out"}) {
    const layer_parameters *p = &block()->view.p->layer[block()->l];
    const workspace *w = &block()->work;
    const layer_state *s = &block()->layer;
    const int rows = block()->sequences * block()->view.T;
    product_forward(rows, 3 * WIDTH, WIDTH, block()->input, p->query_key_value, (const real *)0, false,
            s->query_key_value);
% if normaliser.directional then
    product_forward(rows, DIRECTION_WIDTH, WIDTH, block()->input, p->direction, (const real *)0, false, s->direction);
% end
% if rotation.kind == "rope" then
    rotate(1, s->query_key_value);
% end
    attend();
    product_forward(rows, WIDTH, WIDTH, s->attended, p->attention_output, (const real *)0, false, w->branch);
% if branch_drops then
    residual_norm(rows, block()->input, w->branch, ${mask0}, p->norm1_scale,
            p->norm1_offset, s->xhat1, s->rstd1, s->norm1);
% else
    residual_norm(rows, block()->input, w->branch, p->norm1_scale, p->norm1_offset, s->xhat1, s->rstd1, s->norm1);
% end
    product_forward(rows, FEEDFORWARD, WIDTH, s->norm1, p->up, p->up_bias, true, s->hidden);
    product_forward(rows, WIDTH, FEEDFORWARD, s->hidden, p->down, p->down_bias, false, w->branch);
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
    product_gradient(FEEDFORWARD, WIDTH, rows, s->hidden, w->${dbranch}, g->down);
    column_sums(rows, WIDTH, w->${dbranch}, g->down_bias);
    product_backward(rows, FEEDFORWARD, WIDTH, w->${dbranch}, p->down, s->hidden, true, w->dhidden);
    product_gradient(WIDTH, FEEDFORWARD, rows, s->norm1, w->dhidden, g->up);
    column_sums(rows, FEEDFORWARD, w->dhidden, g->up_bias);
    product_backward(rows, WIDTH, FEEDFORWARD, w->dhidden, p->up, w->gradient, false, w->gradient);
% if branch_drops then
    residual_norm_grad(rows, mask_at(0), s->xhat1, s->rstd1, p->norm1_scale, g->norm1_scale, g->norm1_offset);
% else
    residual_norm_grad(rows, s->xhat1, s->rstd1, p->norm1_scale, g->norm1_scale, g->norm1_offset);
% end
    product_gradient(WIDTH, WIDTH, rows, s->attended, w->${dbranch}, g->attention_output);
    product_backward(rows, WIDTH, WIDTH, w->${dbranch}, p->attention_output, (const real *)0, false, w->dattended);
    attend_backward(${cuda.layer_gradients and "g" or ""});
% if rotation.kind == "rope" then
    rotate(-1, w->dquery_key_value);
% end
    product_gradient(WIDTH, 3 * WIDTH, rows, block()->input, w->dquery_key_value, g->query_key_value);
    product_backward(rows, WIDTH, 3 * WIDTH, w->dquery_key_value, p->query_key_value, w->gradient, false, w->gradient);
% if normaliser.directional then
    product_gradient(WIDTH, DIRECTION_WIDTH, rows, block()->input, w->ddirection, g->direction);
    product_backward(rows, WIDTH, DIRECTION_WIDTH, w->ddirection, p->direction, w->gradient, false, w->gradient);
% end
}
