% local scalar = terms.scalar
% local adds_gradients = scalar.has_trained_tables or scalar.running
% local addition_words = scalar.running and ", and adds gradients of tables and running sums to d, dr and group"
% addition_words = addition_words or scalar.has_trained_tables and ", and adds gradients of the tables to d and group" or ""
% -- scalar.gathered: the tables and sums whose gradients the struct score_group adds up
% local gathered_sums = {}
% for _, sum in ipairs(scalar.row_sums or {}) do gathered_sums[#gathered_sums + 1] = sum.has_gradient and sum or nil end
% local group_words = scalar.has_gathered_tables and " of tables. Sums for a table with the index (query - key) or (query + key) shift by one lane after each key." or "."
% local plus_begin, minus_begin = terms.has_spans and " + begin" or "", terms.has_spans and " - begin" or ""

% if scalar.has_group then
/* Sums of one group's gradients${group_words} */
typedef struct ${name}_score_group {
    vector ${t.name}; % for _, t in ipairs(scalar.gathered)
    vector d${sum.name}; /* the gradients of ${sum.name}, added up over the keys so far */ % for _, sum in ipairs(gathered_sums)
} ${name}_score_group;

% end
/* Returns the gradient of the logit${addition_words}. dscore and the result lack the factor inverse_sum.
 *
 *   dscore     gradient of the score
 *   weighted   dscore times inverse_sum, 0 in lanes beyond the last query % if adds_gradients
 *   sums       sums over keys % if scalar.row_sums
 *   seen       a mask of the queries that see the key % if gathered_sums[1]
 */
INLINE vector ${name}_score_pair_grad(const ${name}_score_tables *s, const ${name}_score_tables *d,
        const ${name}_running *r, const ${name}_running *dr, int h, ${name}_score_group *group, int i, int j, const real *sums, bits seen, vector logit, vector weighted, vector inverse, vector dscore) {
    % include("parts/statements.tpl", { list = scalar.pair_gradient })
}
% if scalar.has_gathered_tables then

/* Adds the sums of a group of queries, from i on, to the tables' gradients. */
INLINE void end_${name}_score_group(const ${name}_score_tables *d, const ${name}_running *dr, int h, const ${name}_score_group *group,
        ${span_parameters}, int i) {
% for _, t in ipairs(scalar.gathered) do
% if t.class == "uniform" then
    ${t.element} += sum_lanes(group->${t.name});
% elseif t.class == "query" then
    add_at(${t.address}, group->${t.name});
% elseif t.class == "distance" then
    store(d->${t.row} + i${minus_begin} + LANES, (vector){0});
    for (int o = i - ${to_key} + 1; o < i${minus_begin} + LANES; o += LANES)
        add_at(${t.address}, load(d->${t.row} + o));
% elseif t.class == "sum" then
    store(d->${t.row} + i + ${to_key} + LANES - 1, (vector){0});
    for (int t = i${plus_begin}; t < i + ${to_key} + LANES - 1; t += LANES) add_at(${t.address}, load(d->${t.row} + t));
% end
% end
}
% end
% if scalar.has_trained_tables then

/* Adds the gradients of the parameters to g. d: the gradients of a set of tables. */
static void end_${name}_score(const lh_cpu_step *step, int l, const ${name}_score_tables *d, parameters *g) {
    const ${name}_score_tables tables = find_${name}_score_tables(step, l);
    const ${name}_score_tables *s = &tables;
    % include("attention/cpu/scalar_reads.tpl")
    % include("attention/cpu/scalar_nest.tpl", { nest = nest }) % for _, nest in ipairs(scalar.gradient_nests)
}
% end
