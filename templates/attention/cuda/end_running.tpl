% local projected_values, products = running.projected_values, running.products
% local row_width = projected_values[1] and PREFIX .. requested_value.constant
% local used_columns = (#projected_values > 1 and #projected_values .. " * " or "") .. PREFIX .. "HEADS"
% local if_is_sum_row = "" -- of the row_count rows of a sequence, the first sum_row_count hold sums
% if running.sum_row_count and running.sum_row_count ~= running.row_count then
% if_is_sum_row = ("if (e %% (%s) < %s) "):format(running.row_count, running.sum_row_count)
% end
% local targets = products[1] and "queries, keys, and the vectors that multiply them" or "tokens' values"
% if products[1] and projected_values[1] then
% targets = "tokens' values, " .. targets
% end
/* Propagates the gradients of ${running.words} to ${targets}${running.sum_row_count and "; gradients of sums become gradients of terms" or ""}. */
INLINE void ${prefix}end_running(${attends.gradients_type} *g) {
    % include("attention/cuda/opening.tpl")
    const int T = v->${attends.T}, count = sequences * T * ${PREFIX}HEADS;
% if running.sum_row_count then
    for (int e = threadIdx.x; e < sequences * ${running.row_count}; e += THREADS)
        ${if_is_sum_row}add_later(w->${prefix}drunning + (size_t)e * T, T);
    __syncthreads();
% end
    for (int e = threadIdx.x; e < count; e += THREADS) {
        const int h = e % ${PREFIX}HEADS, token = e / ${PREFIX}HEADS, j = token % T;
        const real *dr = w->${prefix}drunning + (size_t)(token / T) * ${running.row_count} * T;
% if row_width then
        const real *values = s->${attends.contribution} + (size_t)token * ${row_width};
        real *dvalues = w->${attends.dcontribution} + (size_t)token * ${row_width};
% end
        % include("attention/cuda/token_values.tpl")
        real d${value.name} = 0; % for _, value in ipairs(running.values)
        % include("parts/statements.tpl", { list = running.backward })
        dvalues[${value.column}] = d${value.name}; % for _, value in ipairs(projected_values)
        for (int c = ${used_columns} + h; c < ${row_width}; c += ${PREFIX}HEADS) dvalues[c] = 0; /* unused columns */ % if has_unused_columns
% for _, product in ipairs(products) do
        w->${prefix}dproducts[${product.index_text}] = d${product.name};
        add_row_grad(${PREFIX}HEAD_WIDTH, d${product.name}${product.by_norm}, ${product.vector}, w->${attends.dq}${product.start} + (size_t)token * ${PREFIX}QUERY_STRIDE + h * ${PREFIX}HEAD_WIDTH);
% end
    }
    __syncthreads();
% for _, product in ipairs(products) do
% local vector = prefix .. "score_" .. product.vector
    content_bias_grad(${PREFIX}HEAD_WIDTH, ${PREFIX}QUERY_STRIDE, sequences * T, s->${attends.q}${product.start}, w->${prefix}dproducts${product.offset_text}, 1, g->${vector});
    divide_by_norms_grad(${PREFIX}HEADS, ${PREFIX}HEAD_WIDTH, v->p->${attends.block}[l].${vector}, g->${vector}); % if product.unit
% end
    __syncthreads(); % if products[1]
}
