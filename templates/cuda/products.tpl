/* The products of the network. Each function is compiled once, since less code fits better into the instruction cache. */
% if not cuts_by_warp then
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
% end
% if not cuda.by_team or cuda.multiplies_tables then
NOINLINE void product_gradient(int rows, int columns, int K, const real *x, const real *dy, real *dw) {
    product(rows, columns, K, ROWS, x, rows, ROWS, dy, columns, FINISH_STORE, NULL, dw, columns);
}
% end
