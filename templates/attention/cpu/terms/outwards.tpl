% section("members")
real *along, *across; /* workspace: row 0 of along and across in the scratch */
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
vector right, left; /* terms added to the logits of keys on each side */ % if terms.directional
vector offset; /* a term added to all logits */ % else
% section("load")
UNROLL
for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++)
    group->query[d] = (group->query[d] + head->content_bias[d]) * head->numbers.scale;
% if terms.directional then
vector direction[2];
load_columns(2, head->T, first, ${PREFIX}DIRECTION_WIDTH, head->direction, head->numbers.direction_scale, direction);
group->right = direction[0] + head->numbers.offset;
group->left = direction[1] + head->numbers.offset;
% else
group->offset = broadcast(head->numbers.offset);
% end
% include("attention/cpu/attend_outwards.tpl") % section("forward")
% include("attention/cpu/outwards_queries.tpl") % section("back_to_queries")
(*q + *(const ${name}_part *)(head->content_bias + d)) % section("query_of_row")
% section("kept_members")
real *chances; /* the smaller of a pair's P and 1 - P with the sign of the logit, in the layout of the weights */
% section("kept_room")
kept->chances = take(memory, used, (train ? heads * groups : 1) * ${name}_group_weights(T) * sizeof(real));
if (kept->step) kept->chances += (size_t)groups * kept->step; % section("skip_kept")
% section("scratch")
real *along, *across; /* [keys and rows before and after][LANES]: workspaces `passed` (or `sums`) and `mirrored` of geometric.h */
% section("room")
scratch->along = take(memory, used, (size_t)(T + 2) * LANES * sizeof(real));
scratch->across = take(memory, used, (size_t)(T + 1 + LANES) * LANES * sizeof(real));
% section("sums_types")
/* Gradients of the learned numbers of a layer's attention, by lane. */
typedef struct ${name}_number_sums {
    vector content_bias[WIDTH], scale, offset;
    vector direction_scale; % if terms.directional
} ${name}_number_sums;

${name}_number_sums *numbers[${stack.count}]; % section("sums")
% section("sums_room")
for (int l = 0; l < ${stack.count}; l++) sums->numbers[l] = take(memory, used, sizeof(${name}_number_sums));
% section("end_functions")
static void end_${name}_numbers(const ${name}_number_sums *sums, ${stack.parameters} *g) {
    for (int c = 0; c < WIDTH; c++) g->${prefix}content_bias[c] += sum_lanes(sums->content_bias[c]);
    g->${prefix}geometric.scale += sum_lanes(sums->scale);
    g->${prefix}geometric.offset += sum_lanes(sums->offset);
    g->${prefix}geometric.direction_scale += sum_lanes(sums->direction_scale); % if terms.directional
}

% section("end_sums")
for (int l = 0; l < ${stack.count}; l++) end_${name}_numbers(sums->numbers[l], &g->${stack.member}[l]);
% section("trace_head")
% local total = terms.normalised and "vector total = " or ""
% local factor = terms.normalised and name .. "_inverse_of(total)" or "broadcast(1)"
/* Traces one head of one sequence; rows of query and key are as in attend_${name}, and kept serves as workspace.
 *
 *   scores, attention   [T][T] query by key, written; NULL: not requested. A token's score with itself is -infinity
 */
static void trace_${name}_head(const ${name}_head *head, const real *query, const real *key, const ${name}_kept *kept,
        real *scores, real *attention) {
    const int T = head->T;
    for (int first = 0; first < T; first += LANES) {
        write_${name}_group(head, first, query, key, kept->weights);
        if (scores) {
            write_rows(head->T, head->${S}, first, kept->weights, broadcast(1), scores);
            for (int t = first; t < T && t < first + LANES; t++)
                scores[(size_t)t * (size_t)T + (size_t)t] = -(real)__builtin_inf();
        }
        if (attention) {
            ${total}weigh_outwards(T, first, kept->weights, kept->chances, head->along, head->across);
            write_rows(head->T, head->${S}, first, kept->weights, ${factor}, attention);
        }
    }
}
