/* Tables that all thread blocks share in a step or evaluation, and the summed gradients of tables. */
typedef struct shared_tables {
    % slot("shared_tables", family.on_device) % for _, family in ipairs(attentions)
    char *sums; /* table_sums, summed over shards */ % if cuda.has_table_sums
} shared_tables;

INLINE size_t lay_out_shared(shared_tables *t, char *memory, ${device.lengths} T) {
    size_t used = 0;
    % slot("lay_out_tables", family.on_device) % for _, family in ipairs(attentions)
    t->sums = (char *)reserve(memory, &used, sum_bytes(T)); % if cuda.has_table_sums
    return used;
}
