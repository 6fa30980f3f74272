% local running, values = terms.scalar.running, terms.scalar.running.values
% local row_width = PREFIX .. request.constant
/* Running sums of a sequence. Each token has a term that is computed from its values; its sum adds the terms of all tokens up to this one. */
typedef struct ${name}_running {
    int stride; /* elements of one head: T tokens, padded so that a whole vector can be loaded at any token */
    real *sums; /* [${running.heads}][stride] */
    real *lanes; /* in gradients: [${running.heads}][stride][LANES] gradients of keys' sums by lane, added up after the last query */
} ${name}_running;

/* Elements of the running sums of a sequence. */
INLINE size_t count_${name}_running(int T) {
    return ${running.heads} * (size_t)(round_up(T, LANES) + LANES);
}

INLINE ${name}_running place_${name}_running(int T, real *memory) {
    return (${name}_running){.stride = round_up(T, LANES) + LANES, .sums = memory};
}

/* One value of a head for LANES of `count` tokens; lanes beyond the last token repeat its value. */
INLINE vector load_${name}_values(const real *values, int count) {
    vector x = {0};
    for (int k = 0; k < LANES; k++) x[k] = values[(k < count ? k : count - 1) * ${row_width}];
    return x;
}

/* Makes the running sums of tokens `from` to `to` - 1, whose values are in consecutive rows. */
static void make_${name}_running(const ${name}_running *r, int from, int to, const real *values) {
    for (int h = 0; h < ${PREFIX}HEADS; h++)
        for (int j = from; j < to; j += LANES) {
            const real *row = values + (j - from) * ${row_width};
            vector ${value.name} = load_${name}_values(row + ${value.column}, to - j); % for _, value in ipairs(values)
            % include("parts/statements.tpl", { list = running.fill })
        }
    for (int row = 0; row < ${running.heads}; row++) {
        real *sum = r->sums + row * r->stride;
        for (int j = from > 0 ? from : 1; j < to; j++) sum[j] += sum[j - 1];
    }
}

/* Writes the gradients of a sequence's values, from the gradients of its running sums, which it replaces by the gradients of the terms. */
static void end_${name}_running(const ${name}_running *dr, int T, const real *values, real *dvalues) {
    for (int row = 0; row < ${running.heads}; row++) {
        real *dsum = dr->sums + row * dr->stride;
        for (int j = 0; j < T; j++) dsum[j] += sum_lanes(load(dr->lanes + (row * dr->stride + j) * LANES));
        for (int j = T - 1; j > 0; j--) dsum[j - 1] += dsum[j];
    }
    for (int h = 0; h < ${PREFIX}HEADS; h++)
        for (int j = 0; j < T; j += LANES) {
            const real *row = values + j * ${row_width}; % if running.backward_values[1]
            vector ${value.name} = load_${name}_values(row + ${value.column}, T - j); % for _, value in ipairs(running.backward_values)
            vector d${value.name} = {0}; % for _, value in ipairs(values)
            % include("parts/statements.tpl", { list = running.backward })
            for (int k = 0; k < LANES && j + k < T; k++) {
                dvalues[(j + k) * ${row_width} + ${value.column}] = d${value.name}[k]; % for _, value in ipairs(values)
            }
        }
}
