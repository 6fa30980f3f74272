% local laid_out, ends = invoke("lay_out_sums", "&sums", "memory", "&step->shape"), {}
% for _, family in ipairs(attentions) do
% if family.terms.sums then
% ends[#ends + 1] = invoke("end_" .. family.name .. "_sums", "step", "&sums." .. family.name, "gradient")
% end
% end
static void begin_shard(const lh_cpu_step *step, void *memory) {
    shard_sums sums;
    memset(memory, 0, ${laid_out});
}

static void end_shard(const lh_cpu_step *step, void *memory, void *gradient) {
    shard_sums sums;
    ${laid_out};
    ${text}; % for _, text in ipairs(ends)
}
