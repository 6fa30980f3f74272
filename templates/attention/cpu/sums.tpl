% slot("sums_types")
/* Sums of the ${name}-attentions of all layers over the blocks of a shard, which end_${name}_sums reads. */
typedef struct ${name}_sums {
    % slot("sums")
} ${name}_sums;

static void lay_out_${name}_sums(${name}_sums *sums, char *memory, size_t *used, ${length_words}) {
    % slot("sums_room")
}
