% local normalised = normaliser.normalised
/* Elements of the weights of one head of one group of queries: [keys][LANES]. */
INLINE size_t ${name}_group_weights(int T) { return (size_t)round_up(T, ${PREFIX}KEYS) * LANES; }

/* What a layer keeps of its ${name}-attention. */
typedef struct ${name}_kept {
    real *weights; /* [sequences][${PREFIX}HEADS][groups][keys][LANES]${normalised and ", not yet divided by their sum" or ""} */
    real *chances; /* likewise, the lesser of a pair's P and 1 - P with the sign of its logit */
% if normalised then
    real *inverse_total; /* [sequences][${PREFIX}HEADS][groups][LANES] */
% end
    size_t step; /* elements from one group's weights to the next; 0: the groups share one scratch */
} ${name}_kept;

static void lay_out_${name}_kept(${name}_kept *kept, char *memory, size_t *used, int sequences, int T, bool train) {
% if normalised then
    size_t groups = (size_t)(round_up(T, LANES) / LANES), heads = (size_t)sequences * ${PREFIX}HEADS;
    size_t count = train ? heads * groups : 1;
% else
    size_t count = train ? (size_t)sequences * ${PREFIX}HEADS * (size_t)(round_up(T, LANES) / LANES) : 1;
% end
    kept->step = train ? ${name}_group_weights(T) : 0;
    kept->weights = take(memory, used, count * ${name}_group_weights(T) * sizeof(real));
    kept->chances = take(memory, used, count * ${name}_group_weights(T) * sizeof(real));
% if normalised then
    kept->inverse_total = take(memory, used, (train ? count : groups) * LANES * sizeof(real));
% end
}

/* Room for one head. */
typedef struct ${name}_scratch {
    real *along, *across; /* [keys and rows before and behind][LANES]: passed or sums, and mirrored, of geometric.h */
    real *dlogits; /* [groups][keys][LANES] */
% if normalised then
    real *rows; /* [T][2][HEAD_WIDTH] output gradients over the sum of weights, then queries, with what dlogits lacks */
% else
    real *rows; /* [T][2][HEAD_WIDTH] output gradients, then queries, with what dlogits lacks */
% end
} ${name}_scratch;

static void lay_out_${name}_scratch(${name}_scratch *scratch, char *memory, size_t *used, int T, bool train) {
    size_t groups = (size_t)(round_up(T, LANES) / LANES);
    scratch->along = take(memory, used, (size_t)(T + 2) * LANES * sizeof(real));
    scratch->across = take(memory, used, (size_t)(T + 1 + LANES) * LANES * sizeof(real));
    if (!train) return;
    scratch->dlogits = take(memory, used, groups * ${name}_group_weights(T) * sizeof(real));
    scratch->rows = take(memory, used, (size_t)T * 2 * ${PREFIX}HEAD_WIDTH * sizeof(real));
}
