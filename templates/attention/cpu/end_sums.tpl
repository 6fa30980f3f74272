% slot("end_functions")
/* Adds the sums of a shard's ${name}-attentions to the gradient. */
static void end_${name}_sums(const lh_cpu_step *step, const ${name}_sums *sums, parameters *g) {
    % slot("end_sums")
}
