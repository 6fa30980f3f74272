/* Operations on pairs that masks hide from all queries of a group, the backward pass twice the forward pass. */
static double skipped_flops(const lh_shape *shape, lh_mode mode) {
    double forward = 0;
% for _, entry in ipairs(flops.masked) do
% local family = entry.family
% local name, PREFIX, lined = family.name, family.PREFIX, family.mask.kind == "lines"
% local sizes = (".T = shape->length[%d]"):format(family.queries.stream)
% if family.cross then
% sizes = sizes .. (", .S = shape->length[%d]"):format(family.keys.stream)
% end
% if lined then
    for (int h = 0; h < ${PREFIX}HEADS; h++) {
        const ${name}_head ${name} = {${sizes}, .h = h};
        forward += ${f64(entry.of_head)} * ${name}_skipped_pairs(&${name});
    }
% else
    const ${name}_head ${name} = {${sizes}};
    forward += ${f64(entry.count)} * ${name}_skipped_pairs(&${name});
% end
% end
    return forward * shape->sequences * (mode == LH_MODE_TRAIN ? 3 : 1);
}
