% local lay_out_call, end_calls = invoke("lay_out_sums", "&sums", "memory", "&step->shape"), {}
% for _, family in ipairs(attentions) do
% if family.terms.has_sums then
% end_calls[#end_calls + 1] = invoke("end_" .. family.name .. "_sums", "step", "&sums." .. family.name, "gradient")
% end
% end
static void begin_shard(const lh_cpu_step *step, void *memory) {
    shard_sums sums;
    memset(memory, 0, ${lay_out_call});
}

static void end_shard(const lh_cpu_step *step, void *memory, void *gradient) {
    shard_sums sums;
    ${lay_out_call};
    ${text}; % for _, text in ipairs(end_calls)
}
