% include("parts/banner.tpl", { template = "attention/cpu/scalar.inc.tpl", lines = comments.score[name] })

% local scalar = terms.scalar
% include("parts/scalar_constants.tpl", { scalar = scalar, device = "" })
% include("attention/cpu/scalar_layout.tpl", { scalar = scalar })

% local layer_offset = scalar.per_layer and (" + (size_t)l * %s_score_bytes(%s)"):format(name, T_S) or ""
% if terms.computes_tables then
/* The offset of the sets of tables, in bytes from the start of the struct `shared`. The vectors of distances come
 * first. */
INLINE size_t ${score_start}(const lh_shape *shape) {
    return (${name}_start(shape) + ${name}_relative_bytes(${shape_lengths}) + 63) / 64 * 64;
}

% end
/* The set of tables ${scalar.per_layer and "that layer l reads" or "that all layers read"}. */
INLINE ${name}_score_tables find_${name}_score_tables(const lh_cpu_step *step, int l) {
    const int T = step->shape.length[${queries.stream}], S = step->shape.length[${keys.stream}];
    ${name}_score_tables s;
    lay_out_${name}_scores(&s, (char *)step->shared + ${score_start}(&step->shape)${layer_offset}, &(size_t){0}, ${T_S});
    return s;
}

% if scalar.filling_uses.distance or scalar.gradient_uses.distance then
/* Lane k: the signed distance of pairs with query - key = min(o + k, T - 1). A key before its query has a negative
 * distance. */
static vector ${prefix}distances_from(const int32_t *drawn, int o, int T) {
    vector x = {0};
    for (int k = 0; k < LANES; k++) x[k] = (real)${prefix}drawn_distance(drawn, o + k < T ? -o - k : 1 - T);
    return x;
}

% end
% if scalar.filling_nests[1] then
/* Fills a set of tables${scalar.filled_set_words}. */
static void make_${name}_score_set(const lh_cpu_step *step, int l) {
    const ${name}_score_tables tables = find_${name}_score_tables(step, l), *s = &tables;
    % include("attention/cpu/scalar_reads.tpl")
    % include("attention/cpu/scalar_nest.tpl", { nest = nest }) % for _, nest in ipairs(scalar.filling_nests)
}

% end
% paragraph("attention/cpu/running.tpl") % if scalar.running
% for _, sum in ipairs(scalar.row_sums or {}) do
/* Returns the terms of key j in a sum over keys, for queries i to i + LANES - 1. */
INLINE vector ${name}_score_${sum.name}(const ${name}_score_tables *s, const ${name}_running *r, int h, int i, int j, vector logit) {
    % include("parts/statements.tpl", { list = sum.term })
}

% end
/* Returns the scores of key j with queries i to i + LANES - 1.${scalar.row_sums and " sums: the sums over keys." or ""} */
INLINE vector ${name}_score_pair(const ${name}_score_tables *s, const ${name}_running *r, int h, int i, int j, const real *sums, vector logit) {
    % include("parts/statements.tpl", { list = scalar.pair })
}
% if scalar.row and caches_tiles then

/* Returns the scores of query i with keys j to j + LANES - 1. */
INLINE vector ${name}_score_row(const ${name}_score_tables *s, const ${name}_running *r, int h, int i, int j, vector logit) {
    % include("parts/statements.tpl", { list = scalar.row })
}
% end
% include("attention/cpu/scalar_grad.tpl") % if scalar.needs_pair_gradient
