% local relates = relative.kind ~= "none"
% local doubled = paired and not relates and "(" .. PREFIX .. "PAIRED ? 2 : 1) * " or ""
% local toeplitz = relative.toeplitz
% local S = cross and "S" or "T"
% local lengths = cross and "int T, int S" or "int T"
/* Elements of the unnormalised weights of one head of one group of queries: [keys][LANES]. */
INLINE size_t ${name}_group_weights(int ${S}) { return (size_t)round_up(${S}, ${PREFIX}KEYS) * LANES; }
% if toeplitz then

/* Of the gradients of their logits: KEYS zeros behind the keys, which are also those before the next group's. */
INLINE size_t ${name}_group_dlogits(int ${S}) { return (size_t)(${S} + ${PREFIX}KEYS) * LANES; }
% end

% local always = remade and remade.always
% if remade then
% if always then
enum { ${PREFIX}REMADE_QUERIES = ${remade.queries} }; /* whose weights are made again together, on the way back */
% else
enum {
    ${PREFIX}KEPT_PAIRS = ${remade.pairs}, /* of a sequence, at most, whose weights are kept for the way back */
    ${PREFIX}REMADE_QUERIES = ${remade.queries} /* whose weights are else made again together */
};
INLINE bool ${name}_remakes(int T) { return (int64_t)T * T > ${PREFIX}KEPT_PAIRS; }
% end

% end
/* What a layer keeps of its ${name}-attention. */
typedef struct ${name}_kept {
% if drops then
    /* [sequences][${PREFIX}HEADS][groups][keys][LANES] exp(logit - largest), not yet divided by their sum; with a minus sign
     * where they are dropped out, until the backward pass makes these 0 */
    real *weights;
% elseif remade then
    /* [sequences][${PREFIX}HEADS][groups][keys][LANES] exp(logit - largest), not yet divided by their sum; NULL: they are
     * made again */
    real *weights;
% else
    real *weights; /* [sequences][${PREFIX}HEADS][groups][keys][LANES] exp(logit - largest), not yet divided by their sum */
% end
    real *inverse_sum; /* [sequences][${PREFIX}HEADS][groups][LANES] */
    size_t step; /* elements from one group's weights to the next; 0: the groups share one scratch */
% if remade then
    size_t sums; /* elements from one head's inverse sums to the next */
% end
} ${name}_kept;

static void lay_out_${name}_kept(${name}_kept *kept, char *memory, size_t *used, int sequences, ${lengths}, bool train) {
    size_t groups = (size_t)(round_up(T, LANES) / LANES), heads = (size_t)sequences * ${PREFIX}HEADS;
% if always then
    kept->step = 0;
    kept->weights = train ? NULL : take(memory, used, ${name}_group_weights(T) * sizeof(real));
% elseif remade then
    const bool keeping = train && !${name}_remakes(T);
    kept->step = keeping ? ${name}_group_weights(T) : 0;
    kept->weights = NULL;
    if (keeping || !train)
        kept->weights = take(memory, used, (keeping ? heads * groups : 1) * ${name}_group_weights(T) * sizeof(real));
% else
    kept->step = train ? ${name}_group_weights(${S}) : 0;
    kept->weights = take(memory, used, (train ? heads * groups : 1) * ${name}_group_weights(${S}) * sizeof(real));
% end
    kept->inverse_sum = take(memory, used, (train ? heads * groups : groups) * LANES * sizeof(real));
% if remade then
    kept->sums = train ? groups * LANES : 0;
% end
}

% if drops or relative.turned then
/* Room for one head. */
% else
/* Room for one head's backward pass. */
% end
typedef struct ${name}_scratch {
% if remade then
    real *weights; /* [groups of a block][keys][LANES] that are made again */
% end
% if drops then
    int8_t *keep; /* [LANES queries][keys] masks, 0 or -1 */
% end
% if toeplitz then
    /* [KEYS zeros, groups][keys + KEYS][LANES] gradients of the logits, without the factor inverse_sum */
    real *dlogits;
% else
    real *dlogits; /* [groups][keys][LANES] gradients of the logits, without the factor inverse_sum */
% if paired and not relates then
    /* where PAIRED, [groups][keys][LANES][2]: weights before their gradients, and in rows channels of both in turn */
% end
% end
% if relative.biases then
    /* [queries][3][HEAD_WIDTH] output gradients, queries with content bias, queries with position bias; all with the
     * factors that dlogits lacks */
    real *rows;
% else
    real *rows; /* [queries][2][HEAD_WIDTH] output gradients, then queries, with the factors that dlogits lacks */
% end
% if paired and relates then
    /* where PAIRED, [groups][keys][LANES][2] weights before the gradients of their logits */
    real *pairs;
    /* with them, [queries][HEAD_WIDTH][2] the first two vectors of each of rows, channel by channel */
    real *pair_rows;
% end
% if relative.turned then
    real *turned; /* [WIDTH][LANES] a group's queries for the sinusoids of keys; in the backward pass [LANES][WIDTH] */
    real *far; /* [keys][LANES] their products */
% end
} ${name}_scratch;

static void lay_out_${name}_scratch(${name}_scratch *scratch, char *memory, size_t *used, ${lengths}, bool train) {
    size_t groups = (size_t)(round_up(T, LANES) / LANES);
% if drops and eval_dropout then
    scratch->keep = take(memory, used, LANES * (size_t)${S} + KEEP_ROOM);
% end
% if relative.turned then
    scratch->turned = take(memory, used, WIDTH * LANES * sizeof(real));
    scratch->far = take(memory, used, (size_t)round_up(${S}, TURNED_KEYS) * LANES * sizeof(real));
% end
    if (!train) return;
% if always then
    groups = ${PREFIX}REMADE_QUERIES / LANES;
    scratch->weights = take(memory, used, groups * ${name}_group_weights(T) * sizeof(real));
% elseif remade then
    if (${name}_remakes(T)) {
        groups = ${PREFIX}REMADE_QUERIES / LANES;
        scratch->weights = take(memory, used, groups * ${name}_group_weights(T) * sizeof(real));
    }
% end
% if drops and not eval_dropout then
    scratch->keep = take(memory, used, LANES * (size_t)${S} + KEEP_ROOM);
% end
% if toeplitz then
    size_t zeros = ${PREFIX}KEYS * LANES;
    scratch->dlogits = take(memory, used, (zeros + groups * ${name}_group_dlogits(${S})) * sizeof(real));
% else
    scratch->dlogits = take(memory, used, ${doubled}groups * ${name}_group_weights(${S}) * sizeof(real));
% end
% if paired and not relates then
    scratch->rows = take(memory, used, ((size_t)T * 2 * ${PREFIX}HEAD_WIDTH + LANES) * sizeof(real));
% else
    scratch->rows = take(memory, used, (size_t)T * ${relative.vectors} * ${PREFIX}HEAD_WIDTH * sizeof(real));
% end
% if paired and relates then
    if (${PREFIX}PAIRED) {
        scratch->pairs = take(memory, used, 2 * groups * ${name}_group_weights(${S}) * sizeof(real));
        scratch->pair_rows = take(memory, used, ((size_t)T * 2 * ${PREFIX}HEAD_WIDTH + LANES) * sizeof(real));
    }
% end
}
