% local running = terms.scalar.running
% local projected_values, products, values = running.projected_values, running.products, running.values
% local words = (running.sum_row_count == running.row_count and "running sums"
%     or running.sum_row_count and "sums and terms" or "terms")
% local values_width = projected_values[1] and PREFIX .. requested_value.constant
% if running.sum_row_count == running.row_count then
/* Running sums of a sequence. Each token has a term, computed from its values. The running sum at a token is the sum of the terms of all tokens up to this token. */
% else
/* Terms of a sequence's tokens, computed from the tokens' values.${running.sum_row_count and " The rows of running sums come first. The running sum at a token is the sum of the terms of all tokens up to this token." or ""} */
% end
typedef struct ${name}_running {
    int stride; /* elements of one row: T, padded so that a whole vector can be loaded at any token */
    real *sums; /* [${running.row_count}][stride] ${words} */
    /* [${running.row_count}][stride][LANES] gradients from pairs in which the token is the key, separate for each lane of queries. NULL if the struct holds no gradients. */
    real *lanes;
} ${name}_running;

/* The number of elements of the ${words} of a sequence. */
INLINE size_t count_${name}_running(int T) {
    return ${running.row_count} * (size_t)(round_up(T, LANES) + LANES);
}

INLINE ${name}_running place_${name}_running(int T, real *memory) {
    return (${name}_running){.stride = round_up(T, LANES) + LANES, .sums = memory};
}

% if projected_values[1] then
/* Loads one value of a head for LANES tokens. If only `count` tokens are left, the other lanes repeat the last value. */
INLINE vector load_${name}_values(const real *values, int count) {
    vector x = {0};
    for (int k = 0; k < LANES; k++) x[k] = values[(k < count ? k : count - 1) * ${values_width}];
    return x;
}

% end
% if products[1] then
/* Computes the products of a head's vector with the rows of LANES tokens. If only `count` tokens are left, the other lanes repeat the last product. */
INLINE vector multiply_${name}_rows(const real *rows, int count, const real *factor) {
    vector x = {0};
    for (int k = 0; k < LANES; k++)
        x[k] = k < count ? dot_channels(${PREFIX}HEAD_WIDTH, rows + k * ${PREFIX}QUERY_STRIDE, factor) : x[k - 1];
    return x;
}

% end
/* Makes the ${words} of tokens `from` to `to` - 1. values, rows: consecutive rows of these tokens. */
static void make_${name}_running(const lh_cpu_step *step, int l, const ${name}_running *r, int from, int to,
        const real *values, const real *rows) {
    % include("attention/cpu/unit_vectors.tpl") % if products[1]
    for (int h = 0; h < ${PREFIX}HEADS; h++)
        for (int j = from; j < to; j += LANES) {
            const real *row = values + (j - from) * ${values_width}; % if projected_values[1]
            vector ${value.name} = load_${name}_values(row + ${value.column}, to - j); % for _, value in ipairs(projected_values)
% for _, value in ipairs(products) do
            vector ${value.name} = multiply_${name}_rows(rows + (j - from) * ${PREFIX}QUERY_STRIDE${value.start} + h * ${PREFIX}HEAD_WIDTH, to - j, ${value.vector} + h * ${PREFIX}HEAD_WIDTH);
% end
            % include("parts/statements.tpl", { list = running.fill })
        }
% if running.sum_row_count then
    for (int row = 0; row < ${running.sum_row_count}; row++) {
        real *sum = r->sums + row * r->stride;
        for (int j = from > 0 ? from : 1; j < to; j++) sum[j] += sum[j - 1];
    }
% end
}

/* ${products[1] and "Adds" or "Writes"} the gradients of a sequence's values. dr: the gradients of the ${words}${running.sum_row_count and "; on return, gradients of terms" or ""}. */
static void end_${name}_running(const lh_cpu_step *step, int l, const ${name}_running *dr, int T, const real *values,
        real *dvalues, const real *rows, real *drows, real *dvectors) {
    for (int row = 0; row < ${running.row_count}; row++) {
        real *dsum = dr->sums + row * dr->stride;
        for (int j = 0; j < T; j++) dsum[j] += sum_lanes(load(dr->lanes + (row * dr->stride + j) * LANES));
% if running.sum_row_count == running.row_count then
        for (int j = T - 1; j > 0; j--) dsum[j - 1] += dsum[j];
% elseif running.sum_row_count then
        for (int j = T - 1; row < ${running.sum_row_count} && j > 0; j--) dsum[j - 1] += dsum[j];
% end
    }
    % include("attention/cpu/unit_vectors.tpl") % if products[1]
    for (int h = 0; h < ${PREFIX}HEADS; h++)
        for (int j = 0; j < T; j += LANES) {
            const real *row = values + j * ${values_width}; % if running.backward_projected_values[1]
            vector ${value.name} = load_${name}_values(row + ${value.column}, T - j); % for _, value in ipairs(running.backward_projected_values)
% for _, value in ipairs(running.backward_products) do
            vector ${value.name} = multiply_${name}_rows(rows + j * ${PREFIX}QUERY_STRIDE${value.start} + h * ${PREFIX}HEAD_WIDTH, T - j, ${value.vector} + h * ${PREFIX}HEAD_WIDTH);
% end
            vector d${value.name} = {0}; % for _, value in ipairs(values)
            % include("parts/statements.tpl", { list = running.backward })
            for (int k = 0; k < LANES && j + k < T; k++) {
                dvalues[(j + k) * ${values_width} + ${value.column}] = d${value.name}[k]; % for _, value in ipairs(projected_values)
% for _, value in ipairs(products) do
                add_product_grad(${PREFIX}HEAD_WIDTH, d${value.name}[k], rows + (j + k) * ${PREFIX}QUERY_STRIDE${value.start} + h * ${PREFIX}HEAD_WIDTH, ${value.vector} + h * ${PREFIX}HEAD_WIDTH, drows + (j + k) * ${PREFIX}QUERY_STRIDE${value.start} + h * ${PREFIX}HEAD_WIDTH,
                        dvectors${value.vector_offset} + h * ${PREFIX}HEAD_WIDTH);
% end
            }
        }
}
