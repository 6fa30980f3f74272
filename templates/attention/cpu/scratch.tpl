% -- Two ways to interleave if PAIRED is true in C. has_pair_rows: separate arrays, pairs and pair_rows, hold interleaved
% -- copies of weights, dlogits and rows. interleaves: dlogits and rows themselves are interleaved.
% local has_pair_rows, interleaves = paired and terms.pair_vectors, paired and not terms.pair_vectors
% local leading_zeros = terms.by_offset and PREFIX .. "KEYS * LANES + " or ""
% local pair_factor = interleaves and "(" .. PREFIX .. "PAIRED ? 2 : 1) * " or ""
% local query_words = terms.has_biases and "the query plus content bias, then the query plus position bias" or "the query"
% local layout = terms.by_offset and "KEYS * LANES zeros, then [groups][keys + KEYS][LANES]" or "[groups][keys][LANES]"
% local and_pairs = interleaves and "; if PAIRED, [groups][keys][LANES][2] pairs of a weight and this gradient" or ""
% local and_both = interleaves and ". If PAIRED, the layout is [queries][HEAD_WIDTH][2]: both vectors, interleaved by channel" or ""
/* Workspace of one head. */
typedef struct ${name}_scratch {
    real *weights; /* [groups][keys][LANES] recomputed weights of up to RECOMPUTED_QUERIES queries */ % if recomputed
    % slot("scratch")
    /* ${layout} gradients of the logits, without factors that depend on the query alone${and_pairs} */
    real *dlogits;
    /* [queries][${terms.vectors_per_query}][HEAD_WIDTH] vectors of each query: first the gradient of the output, then ${query_words}. The gradient contains the factor that weights lack. The query contains the factor that dlogits lack${and_both}. */
    real *rows;
    real *pairs; /* if PAIRED, [groups][keys][LANES][2] pairs of a weight and the gradient of its logit */ % if has_pair_rows
    real *pair_rows; /* if PAIRED, [queries][HEAD_WIDTH][2] the first two vectors of rows, interleaved by channel */ % if has_pair_rows
    % slot("last_scratch")
} ${name}_scratch;

static void lay_out_${name}_scratch(${name}_scratch *scratch, char *memory, size_t *used, ${length_parameters}, bool train) {
    size_t groups = (size_t)(round_up(T, LANES) / LANES);
    % slot("lay_out_scratch")
    if (!train) return;
% if recomputed and recomputed.always then
    groups = ${PREFIX}RECOMPUTED_QUERIES / LANES;
    scratch->weights = reserve(memory, used, groups * ${name}_group_weights(T) * sizeof(real));
% elseif recomputed then
    if (${name}_recomputes(T)) {
        groups = ${PREFIX}RECOMPUTED_QUERIES / LANES;
        scratch->weights = reserve(memory, used, groups * ${name}_group_weights(T) * sizeof(real));
    }
% end
    % slot("lay_out_training")
    size_t dlogits = ${leading_zeros}${pair_factor}groups * ${group_dlogits_function}(${S});
    size_t rows = (size_t)T * ${terms.vectors_per_query} * ${PREFIX}HEAD_WIDTH${interleaves and " + LANES" or ""};
    scratch->dlogits = reserve(memory, used, dlogits * sizeof(real));
    scratch->rows = reserve(memory, used, rows * sizeof(real));
    if (${PREFIX}PAIRED) { % if has_pair_rows then
        scratch->pairs = reserve(memory, used, 2 * groups * ${name}_group_weights(${S}) * sizeof(real));
        scratch->pair_rows = reserve(memory, used, ((size_t)T * 2 * ${PREFIX}HEAD_WIDTH + LANES) * sizeof(real));
    }
}
