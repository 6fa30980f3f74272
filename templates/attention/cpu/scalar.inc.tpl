% include("parts/banner.tpl", { template = "attention/cpu/scalar.inc.tpl", lines = comments.score[name] })

% local scalar = terms.scalar
% include("parts/scalar_constants.tpl", { scalar = scalar, device = "" })
% include("attention/cpu/scalar_layout.tpl", { scalar = scalar })

% local layer_offset = scalar.per_layer and (" + (size_t)l * %s_score_bytes(%s)"):format(name, T_S) or ""
% if terms.computes_tables then
/* The offset of the sets of tables, in bytes from the start of the struct `shared`. Before the sets are the vectors of
 * distances. */
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
/* The signed distances of pairs with query - key = o, o + 1, ... in LANES lanes; lanes beyond T - 1 have the distance of
 * T - 1. Distances of keys before the query are negative. */
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
/* Returns key j's terms of a sum over keys, for LANES queries, the first of which is i. logit: the logits of these
 * pairs. */
INLINE vector ${name}_score_${sum.name}(const ${name}_score_tables *s, const ${name}_running *r, int h, int i, int j, vector logit) {
    % include("parts/statements.tpl", { list = sum.term })
}

% end
/* Computes the scores of key j with LANES queries, the first of which is i, from the logits${scalar.row_sums and " and the sums over keys" or ""}. */
INLINE vector ${name}_score_pair(const ${name}_score_tables *s, const ${name}_running *r, int h, int i, int j, const real *sums, vector logit) {
    % include("parts/statements.tpl", { list = scalar.pair })
}
% if scalar.row and caches_tiles then

/* Computes the scores of query i with LANES keys, the first of which is j, from the logits. */
INLINE vector ${name}_score_row(const ${name}_score_tables *s, const ${name}_running *r, int h, int i, int j, vector logit) {
    % include("parts/statements.tpl", { list = scalar.row })
}
% end
% include("attention/cpu/scalar_grad.tpl") % if scalar.needs_pair_gradient
