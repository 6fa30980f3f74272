/* Sums over the blocks of a shard, which end_shard reads; they lie at the start of the workspace, and their layout
 * depends only on lengths. */
typedef struct shard_sums {
% for _, family in ipairs(attentions) do
    ${family.name}_sums ${family.name}; % if family.sums
% end
} shard_sums;

% define("static size_t lay_out_sums", "shard_sums *sums", "char *memory", "const lh_shape *shape")
    size_t used = 0;
% for _, family in ipairs(attentions) do
% if family.sums then
    % call("lay_out_" .. family.name .. "_sums", "&sums->" .. family.name, "memory", "&used", family.of_shape)
% end
% end
    return used;
}
