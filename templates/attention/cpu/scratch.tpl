% local beside, within = paired and terms.beside, paired and not terms.beside
% if terms.drops or terms.far then
/* Room for one head. */
% else
/* Room for one head's backward pass. */
% end
typedef struct ${name}_scratch {
% if remade then
    real *weights; /* [groups of a block][keys][LANES] that are made again */
% end
    % slot("scratch")
% if terms.by_offset then
    /* [KEYS zeros, groups][keys + KEYS][LANES] gradients of the logits, without the factor inverse_sum */
    real *dlogits;
% else
    real *dlogits; /* [groups][keys][LANES] gradients of the logits, without the factor inverse_sum */
% end
% if within then
    /* where PAIRED, [groups][keys][LANES][2]: weights before their gradients, and in rows channels of both in turn */
% end
% if terms.biases then
    /* [queries][3][HEAD_WIDTH] output gradients, queries with content bias, queries with position bias; all with the
     * factors that dlogits lacks */
    real *rows;
% else
    real *rows; /* [queries][2][HEAD_WIDTH] output gradients, then queries, with the factors that dlogits lacks */
% end
% if beside then
    /* where PAIRED, [groups][keys][LANES][2] weights before the gradients of their logits */
    real *pairs;
    /* with them, [queries][HEAD_WIDTH][2] the first two vectors of each of rows, channel by channel */
    real *pair_rows;
% end
    % slot("scratch_behind")
} ${name}_scratch;

static void lay_out_${name}_scratch(${name}_scratch *scratch, char *memory, size_t *used, ${length_words}, bool train) {
    size_t groups = (size_t)(round_up(T, LANES) / LANES);
    % slot("room")
    if (!train) return;
% if remade and remade.always then
    groups = ${PREFIX}REMADE_QUERIES / LANES;
    scratch->weights = take(memory, used, groups * ${name}_group_weights(T) * sizeof(real));
% elseif remade then
    if (${name}_remakes(T)) {
        groups = ${PREFIX}REMADE_QUERIES / LANES;
        scratch->weights = take(memory, used, groups * ${name}_group_weights(T) * sizeof(real));
    }
% end
    % slot("room_of_training")
% if terms.by_offset then
    size_t zeros = ${PREFIX}KEYS * LANES;
    scratch->dlogits = take(memory, used, (zeros + groups * ${name}_group_dlogits(${S})) * sizeof(real));
% elseif within then
    scratch->dlogits = take(memory, used,
            (${PREFIX}PAIRED ? 2 : 1) * groups * ${name}_group_weights(${S}) * sizeof(real));
% else
    scratch->dlogits = take(memory, used, groups * ${name}_group_weights(${S}) * sizeof(real));
% end
% if within then
    scratch->rows = take(memory, used, ((size_t)T * 2 * ${PREFIX}HEAD_WIDTH + LANES) * sizeof(real));
% else
    scratch->rows = take(memory, used, (size_t)T * ${terms.vectors} * ${PREFIX}HEAD_WIDTH * sizeof(real));
% end
% if beside then
    if (${PREFIX}PAIRED) {
        scratch->pairs = take(memory, used, 2 * groups * ${name}_group_weights(${S}) * sizeof(real));
        scratch->pair_rows = take(memory, used, ((size_t)T * 2 * ${PREFIX}HEAD_WIDTH + LANES) * sizeof(real));
    }
% end
}
