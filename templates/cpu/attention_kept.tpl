% local toeplitz = relative.toeplitz
% local S = cross and "S" or "T"
% local lengths = cross and "int T, int S" or "int T"
/* Elements of the unnormalised weights of one head of one group of queries: [keys][LANES]. */
INLINE size_t ${name}_group_weights(int ${S}) { return (size_t)round_up(${S}, ${PREFIX}KEYS) * LANES; }
% if toeplitz then

/* Of the gradients of their logits: KEYS zeros behind the keys, which are also those before the next group's. */
INLINE size_t ${name}_group_dlogits(int ${S}) { return (size_t)(${S} + ${PREFIX}KEYS) * LANES; }
% end

/* What a layer keeps of its ${name}-attention. */
typedef struct ${name}_kept {
% if drops then
    /* [sequences][${PREFIX}HEADS][groups][keys][LANES] exp(logit - largest), not yet divided by their sum; with a minus sign
     * where they are dropped out, until the backward pass makes these 0 */
    real *weights;
% else
    real *weights; /* [sequences][${PREFIX}HEADS][groups][keys][LANES] exp(logit - largest), not yet divided by their sum */
% end
    real *inverse_sum; /* [sequences][${PREFIX}HEADS][groups][LANES] */
    size_t step; /* elements from one group's weights to the next; 0: the groups share one scratch */
} ${name}_kept;

static void lay_out_${name}_kept(${name}_kept *kept, char *memory, size_t *used, int sequences, ${lengths}, bool train) {
    size_t groups = (size_t)(round_up(T, LANES) / LANES), heads = (size_t)sequences * ${PREFIX}HEADS;
    kept->step = train ? ${name}_group_weights(${S}) : 0;
    kept->weights = take(memory, used, (train ? heads * groups : 1) * ${name}_group_weights(${S}) * sizeof(real));
    kept->inverse_sum = take(memory, used, (train ? heads * groups : groups) * LANES * sizeof(real));
}

% if drops or relative.turned then
/* Room for one head. */
% else
/* Room for one head's backward pass. */
% end
typedef struct ${name}_scratch {
% if drops then
    int8_t *keep; /* [LANES queries][keys] masks, 0 or -1 */
% end
% if toeplitz then
    /* [KEYS zeros, groups][keys + KEYS][LANES] gradients of the logits, without the factor inverse_sum */
    real *dlogits;
% else
    real *dlogits; /* [groups][keys][LANES] gradients of the logits, without the factor inverse_sum */
% end
% if relative.biases then
    /* [queries][3][HEAD_WIDTH] output gradients, queries with content bias, queries with position bias; all with the
     * factors that dlogits lacks */
    real *rows;
% else
    real *rows; /* [queries][2][HEAD_WIDTH] output gradients, then queries, with the factors that dlogits lacks */
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
% if drops and not eval_dropout then
    scratch->keep = take(memory, used, LANES * (size_t)${S} + KEEP_ROOM);
% end
% if toeplitz then
    size_t zeros = ${PREFIX}KEYS * LANES;
    scratch->dlogits = take(memory, used, (zeros + groups * ${name}_group_dlogits(${S})) * sizeof(real));
% else
    scratch->dlogits = take(memory, used, groups * ${name}_group_weights(${S}) * sizeof(real));
% end
    scratch->rows = take(memory, used, (size_t)T * ${relative.vectors} * ${PREFIX}HEAD_WIDTH * sizeof(real));
}
