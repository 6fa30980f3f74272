% local name = attentions[1].name
% local dlogits_start = relative.toeplitz and " + KEYS * LANES" or ""
% local dlogits_step = relative.toeplitz and "group_dlogits(T)" or "group_weights(T)"
% include("parts/banner.tpl", { template = "cpu/attention.inc.tpl", about = about.attention })

/* One head of one sequence at a time; LANES queries side by side, keys one after another, so that the softmax needs no
 * sum across lanes and any head width fills the registers. T is a loop bound, nothing is padded but the last group of
 * queries. */
enum {
    HEAD_PART = ${head_part} < LANES ? ${head_part} : LANES, /* channels of a head in one vector, keys side by side */
    HEAD_PARTS = HEAD_WIDTH / HEAD_PART,
    KEYS = KEY_TILE / HEAD_PARTS > 0 ? KEY_TILE / HEAD_PARTS : 1, /* keys whose gradients are summed together */
    QUERY_STRIDE = 3 * WIDTH
};
typedef real head_vector __attribute__((vector_size(HEAD_PART * REAL_BYTES), aligned(REAL_BYTES), may_alias));

/* Elements of the unnormalised weights of one head of one group of queries: [keys][LANES]. */
INLINE size_t group_weights(int T) { return (size_t)round_up(T, KEYS) * LANES; }
% if relative.toeplitz then

/* Of the gradients of their logits: KEYS zeros behind the keys, which are also those before the next group's. */
INLINE size_t group_dlogits(int T) { return (size_t)(T + KEYS) * LANES; }
% end

INLINE vector dot_key(const vector *column, const real *restrict key) {
    vector sum = column[0] * key[0];
    UNROLL
    for (int d = 1; d < HEAD_WIDTH; d++) sum += column[d] * key[d];
    return sum;
}
% if relative.kind ~= "none" then
% include("cpu/relative_logit.tpl")
% else

/* LANES queries of one head, ready for their logits with any key; lanes beyond the last query repeat it. */
typedef struct query_group {
    vector query[HEAD_WIDTH]; /* times LOGIT_SCALE */
} query_group;

INLINE void load_queries(int T, int first, const real *restrict query, query_group *group) {
    load_columns(HEAD_WIDTH, T, first, QUERY_STRIDE, query, LOGIT_SCALE, group->query);
}

/* The scaled logits of a group with key j; key: row 0 of the head's keys. */
INLINE vector pair_logit(const query_group *group, const real *restrict key, int j) {
    return dot_key(group->query, key + j * QUERY_STRIDE);
}
% end
% if mask.kind ~= "none" then

/* Which of LANES queries, from i on, see key j; lanes beyond the last query repeat it. */
INLINE bits visible(int T, int i, int j) {
    vector offset = descending(j - i, j - T + 1); /* key - query */
% if mask.left then
    return both(at_most(broadcast(-${mask.left}), offset), at_most(offset, broadcast(${mask.right})));
% else
    return at_most(offset, broadcast(${mask.right}));
% end
}

INLINE vector masked(int T, int i, int j, vector logit) {
    return choose(visible(T, i, j), logit, broadcast(-(real)__builtin_inf()));
}
% end
% if rotation.kind == "rope" then

% include("cpu/rotate.tpl")
% end

/* One head of one sequence.
 *
 *   query             [T] rows of HEAD_WIDTH, QUERY_STRIDE apart; keys and values WIDTH and 2 WIDTH further on
 *   out               [T] rows of HEAD_WIDTH, WIDTH apart, written
 *   weights           [groups][keys][LANES] written: exp(logit - largest), not yet divided by their sum
 *   inverse_sum       [groups][LANES] written
 *   weights_step      elements from one group's weights to the next; 0: the groups share one scratch
 */
NOINLINE void attend_${name}(int T, const real *restrict query, real *restrict out, real *restrict weights,
        size_t weights_step, ${head_argument}real *restrict inverse_sum) {
    const real *key = query + WIDTH, *value = query + 2 * WIDTH;
    for (int first = 0; first < T; first += LANES, weights += weights_step, inverse_sum += LANES) {
        query_group queries;
        vector o[HEAD_WIDTH], sum = {0};
        load_queries(${relative_hand_on}T, first, query, &queries);
        vector largest = ${scored.open0}pair_logit(&queries, key, 0)${scored.close};
        store(weights, largest);
        for (int j = 1; j < T; j++) {
            vector logit = ${scored.open}pair_logit(&queries, key, j)${scored.close};
            largest = maximum(largest, logit);
            store(weights + j * LANES, logit);
        }
        UNROLL
        for (int d = 0; d < HEAD_WIDTH; d++) o[d] = (vector){0};
        for (int j = 0; j < T; j++) {
            vector weight = exp_negative(load(weights + j * LANES) - largest);
            store(weights + j * LANES, weight);
            sum += weight;
            UNROLL
            for (int d = 0; d < HEAD_WIDTH; d++) o[d] += weight * value[j * QUERY_STRIDE + d];
        }
        vector inverse = 1 / sum;
        store(inverse_sum, inverse);
        UNROLL
        for (int d = 0; d < HEAD_WIDTH; d++) o[d] *= inverse;
        store_columns(HEAD_WIDTH, T, first, WIDTH, o, out);
    }
}

/* Room for one head's backward pass. */
typedef struct head_scratch {
% if relative.toeplitz then
    real *dlogits; /* [KEYS zeros, groups][T + KEYS][LANES] gradients of the logits, without the factor inverse_sum */
% else
    real *dlogits; /* [groups][keys][LANES] gradients of the logits, without the factor inverse_sum */
% end
% if relative.biases then
    /* [T][3][HEAD_WIDTH] output gradients, queries with content bias, queries with position bias; all with the factors
     * that dlogits lacks */
    real *rows;
% else
    real *rows; /* [T][2][HEAD_WIDTH] output gradients, then queries, with the factors that dlogits lacks */
% end
} head_scratch;
% if relative.kind ~= "none" then
% include("cpu/relative_grad.tpl")
% include("cpu/relative_rows_grad.tpl")
% end

/* Gradients of queries, and the rows that the keys' pass reads. */
INLINE void attend_${name}_queries(int T, const real *restrict query, const real *restrict out,
        const real *restrict dout, const real *restrict weights, const real *restrict inverse_sum,
        ${back_argument}const head_scratch *scratch, real *restrict dquery) {
    const real *key = query + WIDTH, *value = query + 2 * WIDTH;
    real *dlogits = scratch->dlogits${dlogits_start};
% if relative.toeplitz then
    memset(scratch->dlogits, 0, KEYS * LANES * sizeof(real));
% end
    for (int first = 0; first < T; first += LANES) {
        vector g[HEAD_WIDTH], o[HEAD_WIDTH], dq[HEAD_WIDTH], inverse = load(inverse_sum + first);
        load_columns(HEAD_WIDTH, T, first, WIDTH, dout, 1, g);
        load_columns(HEAD_WIDTH, T, first, WIDTH, out, 1, o);
        vector mean = g[0] * o[0];
        UNROLL
        for (int d = 1; d < HEAD_WIDTH; d++) mean += g[d] * o[d];
        UNROLL
        for (int d = 0; d < HEAD_WIDTH; d++) dq[d] = (vector){0};
% if score.recomputes then
        query_group queries;
        load_queries(${relative_hand_on}T, first, query, &queries);
% end
% if score.gathers then
        score_group gathered;
        memset(&gathered, 0, sizeof gathered);
% end
% if score.trains then
        vector live_inverse = keep_where(lanes_before(T - first), inverse);
% end
        for (int j = 0; j < T; j++) {
% if score.recomputes then
            vector logit = pair_logit(&queries, key, j);
% end
% if score.grads then
            vector dscore = (dot_key(g, value + j * QUERY_STRIDE) - mean) * load(weights + j * LANES);
            vector dlogit = score_pair_grad(score, ${score.grad_pass}dscore);
% else
            vector dlogit = (dot_key(g, value + j * QUERY_STRIDE) - mean) * load(weights + j * LANES);
% end
            store(dlogits + j * LANES, dlogit);
            UNROLL
            for (int d = 0; d < HEAD_WIDTH; d++) dq[d] += dlogit * key[j * QUERY_STRIDE + d];
        }
% if score.gathers then
        score_group_end(score, &gathered, T, first);
% end
% if relative.toeplitz then
        memset(dlogits + T * LANES, 0, KEYS * LANES * sizeof(real));
% end
% if relative.kind ~= "none" then
        relative_queries(relative, T, first, dlogits, ${relative.biases and "inverse, " or ""}dq);
% end
        UNROLL
        for (int d = 0; d < HEAD_WIDTH; d++) dq[d] *= inverse * LOGIT_SCALE;
        store_columns(HEAD_WIDTH, T, first, QUERY_STRIDE, dq, dquery);
        weights += group_weights(T);
        dlogits += ${dlogits_step};
    }
    for (int t = 0; t < T; t++) {
        real *row = scratch->rows + t * ${relative.vectors} * HEAD_WIDTH;
        real dout_factor = inverse_sum[t], query_factor = inverse_sum[t] * LOGIT_SCALE;
        UNROLL
        for (int d = 0; d < HEAD_WIDTH; d += HEAD_PART) {
            const head_vector *g = (const head_vector *)(dout + t * WIDTH + d);
            const head_vector *q = (const head_vector *)(query + t * QUERY_STRIDE + d);
            *(head_vector *)(row + d) = *g * dout_factor;
% if relative.biases then
            const head_vector *content = (const head_vector *)(relative->content_bias + d);
            const head_vector *position = (const head_vector *)(relative->position_bias + d);
            *(head_vector *)(row + HEAD_WIDTH + d) = (*q + *content) * query_factor;
            *(head_vector *)(row + 2 * HEAD_WIDTH + d) = (*q + *position) * query_factor;
% else
            *(head_vector *)(row + HEAD_WIDTH + d) = *q * query_factor;
% end
        }
    }
}

% include("cpu/attend_keys.tpl", { name = name, start = dlogits_start, step = dlogits_step, row = "j", at = "u * LANES + i" })

NOINLINE void attend_${name}_backward(int T, const real *restrict query, const real *restrict out,
        const real *restrict dout, const real *restrict weights, const real *restrict inverse_sum,
        ${back_argument}const head_scratch *scratch, real *restrict dquery) {
    attend_${name}_queries(T, query, out, dout, weights, inverse_sum, ${back_hand_on}scratch, dquery);
    for (int j = 0; j < T; j += KEYS)
        attend_${name}_keys(T, j, weights, scratch, dquery + WIDTH, dquery + 2 * WIDTH);
% if relative.toeplitz then
    for (int x = 0; x < relative_count(T); x += KEYS) relative_rows_grad(T, x, scratch, relative->drows);
% elseif relative.kind ~= "none" then
    for (int i = 0; i < T; i++) relative_rows_grad(relative, T, i, scratch);
% end
}

/* All heads of all sequences: query_key_value [sequences][T][3 WIDTH]${rotated_in_place},
 * out [sequences][T][WIDTH]. weights_step 0: forward only, weights and inverse_sum are scratch for one group. */
static void attention_${name}(${step_argument}int sequences, int T, real *query_key_value,
        real *out, real *weights, size_t weights_step, real *inverse_sum${position_argument}) {
    LH_TIMED(LH_PART_ATTENTION);
    int groups = round_up(T, LANES) / LANES;
% if score.kind ~= "none" then
    score_tables tables;
    score_tables_of(step, l, &tables);
% end
    for (int s = 0; s < sequences; s++, query_key_value += T * QUERY_STRIDE, out += T * WIDTH) {
% if rotation.kind == "rope" then
        rotate(step, ${rotate_by}, T, 1, query_key_value);
% end
        for (int h = 0; h < HEADS; h++) {
% if relative.kind ~= "none" then
            relative_head relative = relative_of(step, l, h, NULL);
% end
% if score.kind ~= "none" then
            score_head score = {&tables, ${score.trains and "NULL, " or ""}h};
% end
            attend_${name}(T, query_key_value + h * HEAD_WIDTH, out + h * HEAD_WIDTH, weights, weights_step,
                    ${head_pass}inverse_sum);
            weights += (size_t)groups * weights_step;
            if (weights_step) inverse_sum += groups * LANES;
        }
    }
}

/* dquery_key_value [sequences][T][3 WIDTH] written, from dout [sequences][T][WIDTH]. */
static void attention_${name}_backward(${back_step_argument}int sequences, int T,
        const real *query_key_value, const real *out, const real *dout, const real *weights, const real *inverse_sum,
        const head_scratch *scratch, ${sums_argument}real *dquery_key_value${position_argument}) {
    LH_TIMED(LH_PART_ATTENTION);
    int groups = round_up(T, LANES) / LANES;
% if score.grads then
    score_tables tables;
    score_tables_of(step, l, &tables);
% end
    for (int s = 0; s < sequences; s++) {
        for (int h = 0; h < HEADS; h++) {
% if relative.kind ~= "none" then
            relative_head relative = relative_of(step, l, h, sums);
% end
% if score.trains then
            score_head score = {&tables, &sums->score[${score.set_of_layer}], h};
% elseif score.grads then
            score_head score = {&tables, h};
% end
            attend_${name}_backward(T, query_key_value + h * HEAD_WIDTH, out + h * HEAD_WIDTH, dout + h * HEAD_WIDTH,
                    weights, inverse_sum, ${back_pass}scratch, dquery_key_value + h * HEAD_WIDTH);
            weights += (size_t)groups * group_weights(T);
            inverse_sum += groups * LANES;
        }
% if rotation.kind == "rope" then
        rotate(step, ${rotate_by}, T, -1, dquery_key_value);
% end
        query_key_value += T * QUERY_STRIDE;
        dquery_key_value += T * QUERY_STRIDE;
        out += T * WIDTH;
        dout += T * WIDTH;
    }
}
