% local part, vocabulary = cpu.part, cpu.vocabulary
/* The number of floating-point operations that are skipped; the backward pass counts as two forward passes. Skipped
 * operations are those of
 * - pairs that masks hide from all queries of a group of LANES queries % if flops.masked[1]
 * - unused rows of the last layer % if part
 * - tokens in the first layer, where a block of sequences has one row per symbol % if vocabulary
 */
static double skipped_flops(const lh_shape *shape, lh_mode mode) {
% if part then
    const int T = shape->length[0], unused = T - shape->labels;
    const int skipped_queries = unused / LANES * LANES; /* queries of groups without any used query */
    double forward = ${part.per_token} * unused;
    forward += ${part.per_pair} * T * skipped_queries;
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
% local name, PREFIX, by_head = family.name, family.PREFIX, family.terms.adds_values
% local sizes = (".T = shape->length[%d]"):format(family.queries.stream)
% if family.cross then
% sizes = sizes .. (", .S = shape->length[%d]"):format(family.keys.stream)
% end
% -- Pairs that are skipped with their query and also hidden by a mask are counted once. A probe token counts
% -- as the last token.
% local of_last = part and part.pairs[name] or false
% local of_head = of_last and of_last / family.heads
% if by_head then
    for (int h = 0; h < ${PREFIX}HEADS; h++) {
        const ${name}_head ${name} = {${sizes}, .h = h};
        forward += ${f64(entry.per_head)} * ${name}_skipped_pairs(&${name}, ${name}.T);
        forward -= ${f64(of_head)} * ${name}_skipped_pairs(&${name}, skipped_queries); % if of_last
    }
% else
    const ${name}_head ${name} = {${sizes}};
    forward += ${f64(entry.count)} * ${name}_skipped_pairs(&${name}, ${name}.T);
    forward -= ${f64(of_last)} * ${name}_skipped_pairs(&${name}, skipped_queries); % if of_last
% end
% end
    return forward * shape->sequences * (mode == LH_MODE_TRAIN ? 3 : 1);
}
