% local always = remade and remade.always
/* Elements of the unnormalised weights of one head of one group of queries: [keys][LANES]. */
INLINE size_t ${name}_group_weights(int ${S}) { return (size_t)round_up(${S}, ${PREFIX}KEYS) * LANES; }
% if terms.by_offset then

/* Elements of a group's gradients of logits: KEYS zeros after the keys are also those before the next group's. */
INLINE size_t ${name}_group_dlogits(int ${S}) { return (size_t)(${S} + ${PREFIX}KEYS) * LANES; }
% end

% if always then
enum { ${PREFIX}REMADE_QUERIES = ${remade.queries} }; /* whose weights are made again together, on the way back */

% elseif remade then
enum {
    ${PREFIX}KEPT_PAIRS = ${remade.pairs}, /* of a sequence, at most, whose weights are kept for the way back */
    ${PREFIX}REMADE_QUERIES = ${remade.queries} /* whose weights are else made again together */
};
INLINE bool ${name}_remakes(int T) { return (int64_t)T * T > ${PREFIX}KEPT_PAIRS; }

% end
/* Values of its ${name}-attention that a layer keeps. */
typedef struct ${name}_kept {
% if terms.drops then
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

static void lay_out_${name}_kept(${name}_kept *kept, char *memory, size_t *used, int sequences, ${length_words},
        bool train) {
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

% include("attention/cpu/scratch.tpl")
