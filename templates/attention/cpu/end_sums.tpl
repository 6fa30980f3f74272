% slot("end_functions")
/* Takes what a shard's ${name}-attentions have added up to the gradient. */
static void end_${name}_sums(const lh_cpu_step *step, const ${name}_sums *sums, parameters *g) {
    % slot("end_sums")
}
