% local unused_rows, vocabulary = cpu.unused_rows, cpu.vocabulary
/* Returns the number of skipped floating-point operations. A backward pass counts as two forward passes.
 * Operations are skipped for:
 * - keys outside the span of a group of LANES queries, since masks hide these keys from the whole group % if flops.masked[1]
 * - unused rows of the last layer % if unused_rows
 * - rows before the first attention, where only one row is computed for each symbol % if vocabulary
 */
static double skipped_flops(const lh_shape *shape, lh_mode mode) {
% if unused_rows then
    const int T = shape->length[0], unused = T - shape->labels;
    const int skipped_queries = unused / LANES * LANES; /* queries of groups without any used query */
    double forward = ${unused_rows.per_token} * unused;
    forward += ${unused_rows.per_pair} * T * skipped_queries;
% else
    double forward = 0;
% end
% if vocabulary then
    const int most = mode == LH_MODE_TRAIN ? block_sequences(shape->length) : forward_sequences(shape->length);
    const double sequences = most < shape->sequences ? most : shape->sequences;
    forward += ${vocabulary.per_token} * (shape->length[0] - VOCABULARY / sequences);
% end
% for _, entry in ipairs(flops.masked) do
% local family = entry.family
% local name, PREFIX, counts_each_head = family.name, family.PREFIX, family.terms.adds_values
% local sizes = (".T = shape->length[%d]"):format(family.queries.stream)
% if family.cross then
% sizes = sizes .. (", .S = shape->length[%d]"):format(family.keys.stream)
% end
% -- A pair is counted once, even if its query is unused and a mask hides its key.
% -- Here the labelled token of a probe is assumed to be the last token.
% local unused_pair_flops = unused_rows and unused_rows.pair_flops[name]
% local unused_flops_per_head = unused_pair_flops and unused_pair_flops / family.heads
% if counts_each_head then
    for (int h = 0; h < ${PREFIX}HEADS; h++) {
        const ${name}_head ${name} = {${sizes}, .h = h};
        forward += ${f64(entry.pair_flops_per_head)} * ${name}_skipped_pairs(&${name}, ${name}.T);
        forward -= ${f64(unused_flops_per_head)} * ${name}_skipped_pairs(&${name}, skipped_queries); % if unused_pair_flops
    }
% else
    const ${name}_head ${name} = {${sizes}};
    forward += ${f64(entry.pair_flops)} * ${name}_skipped_pairs(&${name}, ${name}.T);
    forward -= ${f64(unused_pair_flops)} * ${name}_skipped_pairs(&${name}, skipped_queries); % if unused_pair_flops
% end
% end
    return forward * shape->sequences * (mode == LH_MODE_TRAIN ? 3 : 1);
}
