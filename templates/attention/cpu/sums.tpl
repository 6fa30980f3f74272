% slot("sums_types")
/* What the blocks of a shard add up of the ${name}-attentions for the end of the shard. */
typedef struct ${name}_sums {
    % slot("sums")
} ${name}_sums;

static void lay_out_${name}_sums(${name}_sums *sums, char *memory, size_t *used, ${length_words}) {
    % slot("sums_room")
}
