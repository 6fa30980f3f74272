/* A shard's gradients of the tables of a step; end_tables converts their sums to gradients of parameters. */
typedef struct table_sums {
% for _, one in ipairs(device.place_sums) do
% if one.block then
    reals ${one.member}; /* [${one.count}][T][WIDTH] gradients of the vectors that are added before each ${one.block} */
% else
    reals ${one.member}; /* [T][WIDTH] gradients of the vectors that are added to the tokens */
% end
% end
    % slot("table_sums", family.on_device) % for _, family in ipairs(attentions)
} table_sums;

INLINE void lay_out_sums(table_sums *sums, char *memory, size_t *used, ${device.lengths} T) {
% for _, one in ipairs(device.place_sums) do
    sums->${one.member} = reserve_reals(memory, used, ${one.times}(size_t)${one.T} * WIDTH);
% end
    % slot("lay_out_sums", family.on_device) % for _, family in ipairs(attentions)
}

INLINE size_t sum_bytes(${device.lengths} T) {
    table_sums sums;
    size_t bytes = 0;
    lay_out_sums(&sums, NULL, &bytes, T);
    return bytes;
}
