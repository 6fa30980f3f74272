% slot("sums_types")
/* Gradients from the ${name}-attentions of all layers, summed over the sequences of a shard. end_${name}_sums adds them to
 * the gradient of the parameters. */
typedef struct ${name}_sums {
    % slot("sums")
} ${name}_sums;

static void lay_out_${name}_sums(${name}_sums *sums, char *memory, size_t *used, ${length_parameters}) {
    % slot("lay_out_sums")
}
