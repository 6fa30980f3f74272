% local normalised = normaliser.normalised
/* Elements of the weights of one head of one group of queries, with rows for the last tile of keys. */
INLINE size_t ${name}_group_weights(int T) { return (size_t)(round_up(T, ${PREFIX}KEYS) + LANES - 1) * LANES; }

/* What a layer keeps of its ${name}-attention. A group of LANES queries has a vector for each offset, key - query;
 * ${name}_offset_row says which. The offset 0 is there for the keys' pass: its weights are 0. */
typedef struct ${name}_kept {
    real *weights; /* [sequences][${PREFIX}HEADS][groups][offsets][LANES]${normalised and ", not yet divided by their sum" or ""} */
    real *misses; /* likewise: 1 - P, the chance that the pair does not match */
% if normalised then
    real *inverse_total; /* [sequences][${PREFIX}HEADS][groups][LANES] */
% end
    size_t step; /* elements from one group's weights to the next; 0: the groups share one scratch */
} ${name}_kept;

INLINE int ${name}_offset_row(int first, int offset) { return offset + first + LANES - 1; }

static void lay_out_${name}_kept(${name}_kept *kept, char *memory, size_t *used, int sequences, int T, bool train) {
% if normalised then
    size_t groups = (size_t)(round_up(T, LANES) / LANES), heads = (size_t)sequences * ${PREFIX}HEADS;
    size_t count = train ? heads * groups : 1;
% else
    size_t count = train ? (size_t)sequences * ${PREFIX}HEADS * (size_t)(round_up(T, LANES) / LANES) : 1;
% end
    kept->step = train ? ${name}_group_weights(T) : 0;
    kept->weights = take(memory, used, count * ${name}_group_weights(T) * sizeof(real));
    kept->misses = take(memory, used, count * ${name}_group_weights(T) * sizeof(real));
% if normalised then
    kept->inverse_total = take(memory, used, (train ? count : groups) * LANES * sizeof(real));
% end
}

/* Room for one head. */
typedef struct ${name}_scratch {
    real *columns; /* turn_${name}_keys */
    real *dlogits; /* [groups][offsets][LANES] */
% if normalised then
    real *rows; /* [T][2][HEAD_WIDTH] output gradients over the sum of weights, then queries, with what dlogits lacks */
% else
    real *rows; /* [T][2][HEAD_WIDTH] output gradients, then queries, with what dlogits lacks */
% end
} ${name}_scratch;

/* From one channel of a column to the next: an odd number of vectors, to spread over the sets of a cache. */
INLINE int ${name}_column_stride(int T) { return ((round_up(T, LANES) / LANES + 2) | 1) * LANES; }

static void lay_out_${name}_scratch(${name}_scratch *scratch, char *memory, size_t *used, int T, bool train) {
    size_t groups = (size_t)(round_up(T, LANES) / LANES);
    scratch->columns =
            take(memory, used, 2 * ${PREFIX}HEAD_WIDTH * (size_t)${name}_column_stride(T) * sizeof(real));
    if (!train) return;
    scratch->dlogits = take(memory, used, groups * ${name}_group_weights(T) * sizeof(real));
    scratch->rows = take(memory, used, (size_t)T * 2 * ${PREFIX}HEAD_WIDTH * sizeof(real));
}
