% local scratch_of_set = attends.end_by_layer and (" + (size_t)l * %sscore_scratch(%s)"):format(prefix, attends.lengths_of_view) or ""
% if relative.kind == "transformer_xl" then
const int ${prefix}room = ${prefix}distance_count(${attends.lengths_of_view});
% if cuda.products == "library" then
for (int part = t->rank; part < ${stack.count} * (WIDTH / ${PREFIX}SLICE); part += t->blocks) {
    const int l = part / (WIDTH / ${PREFIX}SLICE), first = part % (WIDTH / ${PREFIX}SLICE) * ${PREFIX}SLICE;
% else
for (int l = t->rank; l < ${stack.count}; l += t->blocks) {
% end
    const int set = ${PREFIX}RELATIVE_SETS > 1 ? l : 0, count = ${prefix}row_count(v, l);
    real *drows = sums.${prefix}rows + (size_t)l * ${prefix}room * WIDTH, *row_sums = sums.${prefix}row_sums + (size_t)l * ${prefix}room * ${PREFIX}HEADS;
    const real *rows = v->shared.${prefix}rows + (size_t)l * ${prefix}room * WIDTH;
% if cuda.products == "library" then
    ${prefix}end_rows(l, first, ${PREFIX}SLICE, rows, row_sums, drows, g->${attends.block}[l].${prefix}position_bias);
% else
    ${prefix}end_rows(l, 0, WIDTH, rows, row_sums, drows, g->${attends.block}[l].${prefix}position_bias);
% end
% if cuda.products == "library" then
    product(WIDTH, ${PREFIX}SLICE, count, ROWS, v->shared.${prefix}codes + (size_t)set * ${prefix}room * WIDTH, WIDTH, ROWS, drows + first,
            WIDTH, FINISH_STORE, (const real *)0, g->${attends.block}[l].${prefix}relative + first, WIDTH);
% else
    product_gradient(WIDTH, WIDTH, count, v->shared.${prefix}codes + (size_t)set * ${prefix}room * WIDTH, drows, g->${attends.block}[l].${prefix}relative);
% end
}
% elseif relative.kind == "shaw" then
const int ${prefix}count = ${prefix}distance_count(${attends.lengths_of_view});
const int ${prefix}elements = ${stack.count} * (${relative.rows_text}) * ${PREFIX}HEAD_WIDTH;
for (int e = t->rank * THREADS + (int)threadIdx.x; e < ${prefix}elements; e += t->blocks * THREADS) {
    const int l = e / ${PREFIX}HEAD_WIDTH / (${relative.rows_text}), row = e / ${PREFIX}HEAD_WIDTH % (${relative.rows_text}), d = e % ${PREFIX}HEAD_WIDTH;
    real sum = 0;
% if relative.toeplitz then
    for (int x = 0; x < ${prefix}count; x++) {
        if (${prefix}table_row(${prefix}relative_distance(v, ${PREFIX}RELATIVE_SETS > 1 ? l : 0, x)) != row) continue;
        for (int h = 0; h < ${PREFIX}HEADS; h++) sum += sums.${prefix}rows[(((size_t)l * ${PREFIX}HEADS + h) * ${prefix}count + x) * ${PREFIX}HEAD_WIDTH + d];
    }
% else
    for (int h = 0; h < ${PREFIX}HEADS; h++) sum += sums.${prefix}rows[(((size_t)l * ${PREFIX}HEADS + h) * ${prefix}count + row) * ${PREFIX}HEAD_WIDTH + d];
% end
    g->${attends.block}[l].${prefix}relative_table[row * ${PREFIX}HEAD_WIDTH + d] = sum * ${PREFIX}LOGIT_SCALE;
}
% end
% if score.trains then
% if attends.end_by_layer then
for (int l = t->rank; l < ${PREFIX}SCORE_SETS; l += t->blocks) {
% else
for (int l = 0; t->rank == 0 && l < ${PREFIX}SCORE_SETS; l++) {
% end
    ${prefix}score_tables tables;
    ${prefix}score_gradients d;
    ${prefix}score_tables_of(v, l, &tables);
    used = 0;
    ${prefix}lay_out_score_gradients(&d, sums.${prefix}score + (size_t)l * ${prefix}score_gradient_bytes(${attends.lengths_of_view}), &used, ${attends.lengths_of_view});
    __syncthreads();
    ${prefix}end_score(v, l, &tables, &d, g, v->shared.${prefix}scratch${scratch_of_set}, staging());
}
% end
