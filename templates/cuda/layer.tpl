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

/* The parameters of the block's layer, where their gradients go, and the rows of its sequences: read again for each
 * operation, as what is kept over a call takes registers from what is called. */
INLINE const layer_parameters *weights(void) { return block()->view.p->layer + block()->l; }
INLINE layer_parameters *dweights(void) { return block()->gradient->layer + block()->l; }
INLINE int all_rows(void) { return block()->sequences * block()->view.T; }

/* One post-norm encoder block: Ruoss et al. 2023, section 3; Vaswani et al. 2017. In evaluation input and output are
 * one. */
INLINE void layer_forward(${branch_drops and not eval_dropout and "const bool training" or "void"}) {
    const workspace *w = &block()->work;
    const layer_state *s = &block()->layer;
    product_forward(all_rows(), 3 * WIDTH, WIDTH, block()->input, weights()->query_key_value, (const real *)0, false,
            s->query_key_value);
% if normaliser.directional then
    product_forward(all_rows(), DIRECTION_WIDTH, WIDTH, block()->input, weights()->direction, (const real *)0, false,
            s->direction);
% end
% if rotation.kind == "rope" then
    rotate(1, s->query_key_value);
% end
    attend();
    product_forward(all_rows(), WIDTH, WIDTH, s->attended, weights()->attention_output, (const real *)0, false,
            w->branch);
% if branch_drops then
    residual_norm(all_rows(), block()->input, w->branch, ${mask0},
            weights()->norm1_scale, weights()->norm1_offset, s->xhat1, s->rstd1, s->norm1);
% else
    residual_norm(all_rows(), block()->input, w->branch, weights()->norm1_scale, weights()->norm1_offset, s->xhat1,
            s->rstd1, s->norm1);
% end
    product_forward(all_rows(), FEEDFORWARD, WIDTH, s->norm1, weights()->up, weights()->up_bias, true, s->hidden);
    product_forward(all_rows(), WIDTH, FEEDFORWARD, s->hidden, weights()->down, weights()->down_bias, false, w->branch);
% if branch_drops then
    residual_norm(all_rows(), s->norm1, w->branch, ${mask1},
            weights()->norm2_scale, weights()->norm2_offset, s->xhat2, s->rstd2, s->output);
% else
    residual_norm(all_rows(), s->norm1, w->branch, weights()->norm2_scale, weights()->norm2_offset, s->xhat2, s->rstd2,
            s->output);
% end
}

/* The workspace's gradient: of the block's output on entry, of its input on return. Every gradient of the layer's
 * parameters is written. */
INLINE void layer_backward(void) {
    const workspace *w = &block()->work;
    const layer_state *s = &block()->layer;
% if branch_drops then
    residual_norm_grad(all_rows(), mask_at(1), s->xhat2, s->rstd2, weights()->norm2_scale, dweights()->norm2_scale,
            dweights()->norm2_offset);
% else
    residual_norm_grad(all_rows(), s->xhat2, s->rstd2, weights()->norm2_scale, dweights()->norm2_scale,
            dweights()->norm2_offset);
% end
    product_gradient(FEEDFORWARD, WIDTH, all_rows(), s->hidden, w->${dbranch}, dweights()->down);
    column_sums(all_rows(), WIDTH, w->${dbranch}, dweights()->down_bias);
    product_backward(all_rows(), FEEDFORWARD, WIDTH, w->${dbranch}, weights()->down, s->hidden, true, w->dhidden);
    product_gradient(WIDTH, FEEDFORWARD, all_rows(), s->norm1, w->dhidden, dweights()->up);
    column_sums(all_rows(), FEEDFORWARD, w->dhidden, dweights()->up_bias);
    product_backward(all_rows(), WIDTH, FEEDFORWARD, w->dhidden, weights()->up, w->gradient, false, w->gradient);
% if branch_drops then
    residual_norm_grad(all_rows(), mask_at(0), s->xhat1, s->rstd1, weights()->norm1_scale, dweights()->norm1_scale,
            dweights()->norm1_offset);
% else
    residual_norm_grad(all_rows(), s->xhat1, s->rstd1, weights()->norm1_scale, dweights()->norm1_scale,
            dweights()->norm1_offset);
% end
    product_gradient(WIDTH, WIDTH, all_rows(), s->attended, w->${dbranch}, dweights()->attention_output);
    product_backward(all_rows(), WIDTH, WIDTH, w->${dbranch}, weights()->attention_output, (const real *)0, false,
            w->dattended);
    attend_backward(${cuda.layer_gradients and "dweights()" or ""});
% if rotation.kind == "rope" then
    rotate(-1, w->dquery_key_value);
% end
    product_gradient(WIDTH, 3 * WIDTH, all_rows(), block()->input, w->dquery_key_value, dweights()->query_key_value);
    product_backward(all_rows(), WIDTH, 3 * WIDTH, w->dquery_key_value, weights()->query_key_value, w->gradient, false,
            w->gradient);
% if normaliser.directional then
    product_gradient(WIDTH, DIRECTION_WIDTH, all_rows(), block()->input, w->ddirection, dweights()->direction);
    product_backward(all_rows(), WIDTH, DIRECTION_WIDTH, w->ddirection, weights()->direction, w->gradient, false,
            w->gradient);
% end
}
