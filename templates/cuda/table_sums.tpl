/* A shard's gradients of the tables of a step; end_tables converts their sums to gradients of parameters. */
typedef struct table_sums {
% for _, place_sum in ipairs(device.place_sums) do
% if place_sum.block then
    reals ${place_sum.member}; /* [${place_sum.count}][T][WIDTH] gradients of the vectors that are added before each ${place_sum.block} */
% else
    reals ${place_sum.member}; /* [T][WIDTH] gradients of the vectors that are added to the tokens */
% end
% end
    % slot("table_sums", family.on_device) % for _, family in ipairs(attentions)
} table_sums;

INLINE void lay_out_sums(table_sums *sums, char *memory, size_t *used, ${device.lengths} T) {
% for _, place_sum in ipairs(device.place_sums) do
    sums->${place_sum.member} = reserve_reals(memory, used, ${place_sum.times}(size_t)${place_sum.T} * WIDTH);
% end
    % slot("lay_out_sums", family.on_device) % for _, family in ipairs(attentions)
}

INLINE size_t sum_bytes(${device.lengths} T) {
    table_sums sums;
    size_t bytes = 0;
    lay_out_sums(&sums, NULL, &bytes, T);
    return bytes;
}
