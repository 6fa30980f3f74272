% local normalised = terms.normalised
% section("kept")
/* Elements of the weights of one head of one group of queries: [keys][LANES]. */
INLINE size_t ${name}_group_weights(int T) { return (size_t)round_up(T, ${PREFIX}KEYS) * LANES; }

/* Values of its ${name}-attention that a layer keeps. */
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
% section("sums_types")
/* Gradients of the learned numbers of a layer's attention, lanes not yet summed. */
typedef struct ${name}_number_sums {
    vector content_bias[WIDTH], scale, offset;
% if terms.directional then
    vector direction_scale;
% end
} ${name}_number_sums;

% section("sums")
${name}_number_sums *numbers[${stack.count}];
% section("sums_room")
for (int l = 0; l < ${stack.count}; l++) sums->numbers[l] = take(memory, used, sizeof(${name}_number_sums));
% section("end_functions")
static void end_${name}_numbers(const ${name}_number_sums *sums, ${stack.parameters} *g) {
    for (int c = 0; c < WIDTH; c++) g->${prefix}content_bias[c] += sum_lanes(sums->content_bias[c]);
    g->${prefix}geometric.scale += sum_lanes(sums->scale);
    g->${prefix}geometric.offset += sum_lanes(sums->offset);
% if terms.directional then
    g->${prefix}geometric.direction_scale += sum_lanes(sums->direction_scale);
% end
}

% section("end_sums")
for (int l = 0; l < ${stack.count}; l++) end_${name}_numbers(sums->numbers[l], &g->${stack.member}[l]);
% section("heads_back")
${name}_number_sums *sums = w->sums.${name}.numbers[l];
% section("head_back")
% if terms.directional then
${name}_head_grad grad = {sums, sums->content_bias + at, dquery_key_value + at, ddirection + 2 * h};
% else
${name}_head_grad grad = {sums, sums->content_bias + at, dquery_key_value + at};
% end
attend_${name}_backward(&head, query_key_value + at, attended + at, dattended + at, of_head, &w->${name}, &grad);
