/* Numbers of channels and keys that the ${name}-attention processes together, and strides of its rows. */
enum {
    ${PREFIX}HEAD_PART = ${head_part} < LANES ? ${head_part} : LANES, /* number of channels of a head in one vector */
    ${PREFIX}HEAD_PARTS = ${PREFIX}HEAD_WIDTH / ${PREFIX}HEAD_PART,
    ${PREFIX}KEYS = KEY_TILE / ${PREFIX}HEAD_PARTS > 0 ? KEY_TILE / ${PREFIX}HEAD_PARTS : 1, /* number of keys that are processed together when gradients of keys are summed */
    ${PREFIX}PAIRED = 2 * ${PREFIX}HEAD_WIDTH <= LANES, /* whether a key and its value fit in one vector */ % if paired
% if cross then
    ${PREFIX}QUERY_STRIDE = WIDTH,
    ${PREFIX}KEY_STRIDE = 2 * WIDTH /* values lie WIDTH after their keys */
% else
    ${PREFIX}QUERY_STRIDE = 3 * WIDTH /* keys and values lie WIDTH and 2 WIDTH after their queries */
% end
};
typedef real ${name}_part __attribute__((vector_size(${PREFIX}HEAD_PART * REAL_BYTES), aligned(REAL_BYTES), may_alias));
% slot("constants")

% slot("distances")
% paragraph("attention/cpu/step_tables_start.tpl") % if has_step_tables
% slot("tables")
% paragraph("attention/cpu/step_tables_end.tpl") % if has_step_tables
% paragraph("attention/cpu/sums.tpl") % if terms.has_sums
% -- whether the backward pass recomputes the weights of sequences of any length
% local always_recomputes = recomputed and recomputed.always
% -- is_saved: C text of a condition: whether the weights of all groups are stored
% local is_saved = recomputed and "saves" or "train"
% local null_when_recomputed = recomputed and "train && !saves ? NULL : " or ""
% local element_words = (terms.visits_outwards or terms.breaks_stick) and "weights" or "exp(score - largest)"
% local division_words = terms.normalised and ", not yet divided by their sum" or ""
% local drop_words = terms.drops_weights and "; weights that dropout drops are stored negated" or ""
% local further_words = recomputed and "; NULL: they are recomputed" or drop_words
/* The number of elements of one head's weights for a group of LANES queries: [keys rounded up to a multiple of KEYS][LANES]. */
INLINE size_t ${name}_group_weights(int ${S}) { return (size_t)round_up(${S}, ${PREFIX}KEYS) * LANES; }
% if terms.by_offset then

/* The number of elements of a group's gradients of logits, with KEYS zeros after the group's keys. These zeros are also
 * the zeros that the next group needs before its keys. */
INLINE size_t ${name}_group_dlogits(int ${S}) { return (size_t)(${S} + ${PREFIX}KEYS) * LANES; }
% end

% if always_recomputes then
enum { ${PREFIX}RECOMPUTED_QUERIES = ${recomputed.queries} }; /* number of queries whose weights are recomputed together */

% elseif recomputed then
enum {
    ${PREFIX}SAVED_PAIRS = ${recomputed.pairs}, /* up to this number of pairs, the weights of a sequence are stored for the backward pass */
    ${PREFIX}RECOMPUTED_QUERIES = ${recomputed.queries} /* number of queries whose weights are recomputed together, in longer sequences */
};
INLINE bool ${name}_recomputes(int T) { return (int64_t)T * T > ${PREFIX}SAVED_PAIRS; }

% end
/* Values of the ${name}-attention that a layer saves for the backward pass. */
typedef struct ${name}_saved {
    /* [sequences][${PREFIX}HEADS][groups][keys][LANES] ${element_words}${division_words}${further_words} */
    real *weights;
    % slot("saved_members")
    size_t step; /* elements from one group's weights to the next; 0: the groups share one buffer */
% if terms.normalised then
    real *inverse_sum; /* [sequences][${PREFIX}HEADS][groups][LANES] inverse divisors of the weights */
    size_t sum_step; /* elements from one head's inverse sums to the next; 0: the heads share one buffer */
% end
} ${name}_saved;

static void lay_out_${name}_saved(${name}_saved *saved, char *memory, size_t *used, int sequences, ${length_parameters},
        bool train) {
    size_t groups = (size_t)(round_up(T, LANES) / LANES), heads = (size_t)sequences * ${PREFIX}HEADS; % if not always_recomputes or terms.normalised or terms.saves_rests
% if always_recomputes then
    saved->step = 0;
    saved->weights = train ? NULL : reserve(memory, used, ${name}_group_weights(T) * sizeof(real));
% else
    const bool saves = train && !${name}_recomputes(T);
    saved->step = ${is_saved} ? ${name}_group_weights(${S}) : 0;
    saved->weights = ${null_when_recomputed}reserve(memory, used, (${is_saved} ? heads * groups : 1) * ${name}_group_weights(${S}) * sizeof(real));
% end
    % slot("lay_out_saved")
% if terms.normalised then
    saved->inverse_sum = reserve(memory, used, (train ? heads * groups : groups) * LANES * sizeof(real));
    saved->sum_step = train ? groups * LANES : 0;
% end
}

% include("attention/cpu/scratch.tpl")
