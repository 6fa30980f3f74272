/* Gradients that a shard, a part of the batch, sums over its blocks of sequences. They lie at the start of the workspace,
 * in a layout that depends only on lengths; end_shard adds them to the gradient of the parameters. */
typedef struct shard_sums {
% for _, family in ipairs(attentions) do
    ${family.name}_sums ${family.name}; % if family.has_sums
% end
} shard_sums;

% define("static size_t lay_out_sums", "shard_sums *sums", "char *memory", "const lh_shape *shape")
    size_t used = 0;
% for _, family in ipairs(attentions) do
% if family.has_sums then
    % call("lay_out_" .. family.name .. "_sums", "&sums->" .. family.name, "memory", "&used", family.shape_lengths)
% end
% end
    return used;
}
