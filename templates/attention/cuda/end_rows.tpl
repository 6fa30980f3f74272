/* Of `columns` channels from the first on: the gradient of layer l's position bias; drows becomes that of the rows. */
INLINE void ${prefix}end_rows(int l, int first, const int columns, const real *rows, const real *row_sums, real *drows,
        real *dbias) {
    is_global(row_sums);
    is_global(drows);
    is_global(dbias);
    const step_view *v = &block()->view;
    const int count = ${prefix}row_count(v, l), channel = first + threadIdx.x % columns, h = channel / ${PREFIX}HEAD_WIDTH;
    const real *row = rows + (size_t)h * count * ${PREFIX}HEAD_WIDTH + channel % ${PREFIX}HEAD_WIDTH;
    const real sum = add_parts(dot_rows(count, columns, row, ${PREFIX}HEAD_WIDTH, row_sums + h * count, 1), columns);
    if ((int)threadIdx.x < columns) dbias[channel] = sum * ${PREFIX}LOGIT_SCALE;
    for (int e = 4 * threadIdx.x; e < count * columns; e += 4 * THREADS) {
        const int x = e / columns, c = first + e % columns;
        const quad bias = *(const quad *)(v->p->${attends.block}[l].${prefix}position_bias + c);
        const real row_sum = row_sums[c / ${PREFIX}HEAD_WIDTH * count + x];
        quad drow = *(const quad *)(drows + x * WIDTH + c);
#pragma unroll
        for (int i = 0; i < 4; i++) drow.v[i] = (drow.v[i] + row_sum * bias.v[i]) * ${PREFIX}LOGIT_SCALE;
        *(quad *)(drows + x * WIDTH + c) = drow;
    }
    __syncthreads();
}
