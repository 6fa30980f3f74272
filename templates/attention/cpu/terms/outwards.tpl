% -- Geometric attention: a query visits the keys outwards; the weight of a key is the chance to be the first match.
% section("members")
real *along, *across; /* row 0 of the arrays with these names in ${name}_scratch */
const real *content_bias; /* [${PREFIX}HEAD_WIDTH] */
geometric_numbers numbers;
${name}_number_sums *sums; /* gradients of the layer's numbers */
vector *dcontent_bias; /* [${PREFIX}HEAD_WIDTH] in sums */
% section("head")
const ${stack.parameters} *p = &((const parameters *)w->step->parameters)->${stack.member}[l];
head.along = w->${name}.along + LANES;
head.across = w->${name}.across + LANES;
head.content_bias = p->${prefix}content_bias + h * ${PREFIX}HEAD_WIDTH;
head.numbers = p->${prefix}geometric;
% section("head_grad")
head->sums = w->sums.${name}.numbers[l];
head->dcontent_bias = head->sums->content_bias + h * ${PREFIX}HEAD_WIDTH;
% section("queries")
vector right, left; /* terms added to the logits of keys on each side */ % if terms.has_directions
vector offset; /* a term added to all logits */ % else
% section("load")
UNROLL
for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++)
    group->query[d] = (group->query[d] + head->content_bias[d]) * head->numbers.scale;
% if terms.has_directions then
vector direction[2];
load_columns(2, head->T, first, ${PREFIX}DIRECTION_WIDTH, head->direction, head->numbers.direction_scale, direction);
group->right = direction[0] + head->numbers.offset;
group->left = direction[1] + head->numbers.offset;
% else
group->offset = broadcast(head->numbers.offset);
% end
% section("forward")
% local total = terms.normalised and "vector total = " or ""
% local least_total = (precision == "float64" and f64 or f32)(1e-12)
/* Every query visits the keys outwards: at each distance first the key to the right, then the key to the left. The
 * weight of a key is the probability that the query stops there. */

/* Writes logits [keys][LANES]: the logits of a group of queries with keys from..to - 1, plus `added`. */
INLINE void write_${name}_logits(const ${name}_queries *group, const real *restrict key, int from, int to, vector added,
        real *restrict logits) {
    int j = from;
    for (; j + SIDE_BY_SIDE <= to; j += SIDE_BY_SIDE) {
        vector logit[SIDE_BY_SIDE];
        ${name}_logits(SIDE_BY_SIDE, group, key, j, logit);
        UNROLL
        for (int u = 0; u < SIDE_BY_SIDE; u++) store(logits + (j + u) * LANES, logit[u] + added);
    }
    for (; j < to; j++) store(logits + j * LANES, ${name}_logit(group, key, j) + added);
}

/* Writes the logits [keys][LANES] of LANES queries, from `first` on, with all keys; a query's logit with itself is not
 * used. */
INLINE void write_${name}_group(const ${name}_head *head, int first, const real *restrict query,
        const real *restrict key, real *restrict logits) {
    ${name}_queries group;
    load_${name}_queries(head, first, query, &group);
% if terms.has_directions then
    const int end = first + LANES < head->T ? first + LANES : head->T;
    write_${name}_logits(&group, key, 0, first, group.left, logits);
    write_${name}_logits(&group, key, first, end, (vector){0}, logits);
    write_${name}_logits(&group, key, end, head->T, group.right, logits);
    for (int j = first; j < end; j++) add_at(logits + j * LANES,
            choose(lanes_before(j - first), group.right, group.left));
% else
    write_${name}_logits(&group, key, 0, head->T, group.offset, logits);
% end
}
% if terms.normalised then

static const real ${PREFIX}LEAST_TOTAL = ${least_total}; /* the least divisor of weights */

/* The inverse divisors of a group's weights. The divisor is the sum of the weights, but at least LEAST_TOTAL. So the
 * weights of a query without other keys are 0. */
INLINE vector invert_${name}_total(vector total) { return 1 / maximum(total, broadcast(${PREFIX}LEAST_TOTAL)); }
% end

/* Attention of one head of one sequence. Rows of queries, keys and values have HEAD_WIDTH channels and the stride
 * QUERY_STRIDE; values lie WIDTH after their keys; rows of out have the stride WIDTH. out and saved are written. */
NOINLINE void attend_${name}(const ${name}_head *head, const real *restrict query, const real *restrict key,
        real *restrict out, ${name}_saved saved) {
    const int T = head->T;
    const int first_group = ${name}_first_group(head);
    for (int first = ${first_group}; first < ${to_query}; first += LANES) {
        vector o[${PREFIX}HEAD_WIDTH];
        write_${name}_group(head, first, query, key, saved.weights);
        ${total}weigh_outwards(T, first, saved.weights, saved.chances, head->along, head->across);
        weighted_rows(${PREFIX}HEAD_WIDTH, T, saved.weights, ${PREFIX}QUERY_STRIDE, key + WIDTH, o);
% if terms.normalised then
        vector inverse = invert_${name}_total(total);
        store(saved.inverse_sum + first, inverse);
        scale_columns(${PREFIX}HEAD_WIDTH, inverse, o);
% end
        store_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, o, out);
        saved.weights += saved.step;
        saved.chances += saved.step;
    }
}
% include("attention/cpu/outwards_queries.tpl") % section("back_to_queries")
(*q + *(const ${name}_part *)(head->content_bias + d)) % section("query_of_row")
% section("saved_members")
real *chances; /* min(P, 1 - P) with the sign of the logit, where P = sigmoid(logit); in the layout of weights */
% section("lay_out_saved")
saved->chances = reserve(memory, used, (train ? heads * groups : 1) * ${name}_group_weights(T) * sizeof(real));
if (saved->step) saved->chances += (size_t)groups * saved->step; % section("skip_saved")
% section("scratch")
/* Workspaces with a row for each key, and spare rows at both ends.
 *
 *   along    [T + 2][LANES] running products or sums over the keys of one side (`remaining`, `sums` in geometric.h)
 *   across   [T + 1 + LANES][LANES] values of `along` at the same distance on the other side (`mirrored`)
 */
real *along, *across;
% section("lay_out_scratch")
scratch->along = reserve(memory, used, (size_t)(T + 2) * LANES * sizeof(real));
scratch->across = reserve(memory, used, (size_t)(T + 1 + LANES) * LANES * sizeof(real));
% section("sums_types")
/* Gradients of the learned numbers of a layer's attention; each is the sum of the lanes. */
typedef struct ${name}_number_sums {
    vector content_bias[WIDTH], scale, offset;
    vector direction_scale; % if terms.has_directions
} ${name}_number_sums;

${name}_number_sums *numbers[${stack.count}]; % section("sums")
% section("lay_out_sums")
for (int l = 0; l < ${stack.count}; l++) sums->numbers[l] = reserve(memory, used, sizeof(${name}_number_sums));
% section("end_functions")
static void end_${name}_numbers(const ${name}_number_sums *sums, ${stack.parameters} *g) {
    for (int c = 0; c < WIDTH; c++) g->${prefix}content_bias[c] += sum_lanes(sums->content_bias[c]);
    g->${prefix}geometric.scale += sum_lanes(sums->scale);
    g->${prefix}geometric.offset += sum_lanes(sums->offset);
    g->${prefix}geometric.direction_scale += sum_lanes(sums->direction_scale); % if terms.has_directions
}

% section("end_sums")
for (int l = 0; l < ${stack.count}; l++) end_${name}_numbers(sums->numbers[l], &g->${stack.member}[l]);
% section("trace_head")
% local total = terms.normalised and "vector total = " or ""
% local factor = terms.normalised and "invert_" .. name .. "_total(total)" or "broadcast(1)"
/* Traces one head of one sequence; rows of query and key are as in attend_${name}, and `saved` is a workspace.
 *
 *   scores, attention   [T][T] query by key, written; NULL: not requested. A token's score with itself is -infinity
 */
static void trace_${name}_head(const ${name}_head *head, const real *query, const real *key, const ${name}_saved *saved,
        real *scores, real *attention) {
    const int T = head->T;
    for (int first = 0; first < T; first += LANES) {
        write_${name}_group(head, first, query, key, saved->weights);
        if (scores) {
            write_rows(head->T, head->${S}, first, saved->weights, broadcast(1), scores);
            for (int t = first; t < T && t < first + LANES; t++)
                scores[(size_t)t * (size_t)T + (size_t)t] = -(real)__builtin_inf();
        }
        if (attention) {
            ${total}weigh_outwards(T, first, saved->weights, saved->chances, head->along, head->across);
            write_rows(head->T, head->${S}, first, saved->weights, ${factor}, attention);
        }
    }
}
