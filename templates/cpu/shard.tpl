static void begin_shard(const lh_cpu_step *step, void *memory) {
    shard_sums sums;
    memset(memory, 0, lay_out_sums(&sums, memory, &step->shape));
}

static void end_shard(const lh_cpu_step *step, void *memory, void *gradient) {
    shard_sums sums;
    lay_out_sums(&sums, memory, &step->shape);
% for _, family in ipairs(attentions) do
% if family.sums then
    end_${family.name}_sums(step, &sums.${family.name}, gradient);
% end
% end
}
