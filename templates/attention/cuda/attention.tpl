% local with_rows = relative.kind ~= "none"
% local biases = relative.biases
% local scored = score.kind ~= "none"
% local gathers = scored and score.cuda.gathers or {}
% local lined = mask.kind == "lines"
% local asks, by_query = drops and not eval_dropout, scored or with_rows or drops or lined
% local logit_grad = scored and score.cuda.logit_grad
% local toeplitz = relative.toeplitz
% local unroll = head_width <= 16 and not logit_grad and 4 or false
% local keys_at_once = head_width > 16 and 2 or 4
% local T, S, key_stride = "v->" .. attends.T, "v->" .. attends.S, PREFIX .. (cross and "KEY_STRIDE" or "QUERY_STRIDE")
% local lengths, keys_of = cross and T .. ", " .. S or T, cross and "S" or "T"
% local to_keys = cross and "" or " + WIDTH"
% local to_middle = toeplitz and (" + %s - 1"):format(S) or ""
% local masked = mask.kind ~= "none"
% local owners = attends.owned[1] and ", then what a table goes by" or ""
/* ${cross and "Cross-attention" or "Self-attention"} of a shard. A thread has one query of one head (backward, then a key${owners}) and
 * walks over the pairs that belong to it, so nothing is added by two threads and every sum has its order. Weights are
 * not kept: the backward pass makes each again from the largest score of its query and the inverse of the sum. */

enum { ${PREFIX}KEYS = ${keys_at_once} }; /* whose logits are made side by side */

typedef struct ${prefix}head {
% if cross then
    const real *query, *key, *value; /* token 0; tokens ${PREFIX}QUERY_STRIDE apart, of keys and values ${PREFIX}KEY_STRIDE */
% else
    const real *query, *key, *value; /* token 0; ${PREFIX}HEAD_WIDTH channels, tokens ${PREFIX}QUERY_STRIDE apart */
% end
% if with_rows then
% if toeplitz then
    const real *rows; /* of query - key = 0; ${PREFIX}HEAD_WIDTH apart */
% else
    const real *rows; /* ${PREFIX}HEAD_WIDTH apart */
    const int *row; /* [keys][queries] of them */
% end
% end
% if biases then
    const real *row_bias; /* likewise */
    const real *key_bias; /* [${keys_of}] */
% end
% if scored then
    const ${prefix}score_tables *score;
% end
% if scored or drops or lined then
    int h;
% end
% if drops then
    const unsigned char *keep; /* masks of the sequence's weights; 0: nothing is dropped out */
% end
    int T${cross and ", S; /* queries, keys */" or ";"}
} ${prefix}head;

% if attends.head_lanes > 1 then
% include("attention/cuda/head_lanes.tpl")

% end
% if scored then
INLINE ${prefix}head ${prefix}head_at(const step_view *v, ${with_rows and "int l, " or ""}const ${attends.state} *s, const ${prefix}score_tables *score,
        int sequence, int h) {
% else
INLINE ${prefix}head ${prefix}head_at(const step_view *v, ${with_rows and "int l, " or ""}const ${attends.state} *s, int sequence, int h) {
% end
    ${prefix}head a;
    a.T = ${T};
    a.query = s->${attends.q} + (size_t)sequence * ${T} * ${PREFIX}QUERY_STRIDE + h * ${PREFIX}HEAD_WIDTH${attends.channel};
% if cross then
    a.S = ${S};
    a.key = s->${attends.kv} + (size_t)sequence * ${S} * ${PREFIX}KEY_STRIDE + h * ${PREFIX}HEAD_WIDTH${attends.channel};
    a.value = a.key + WIDTH;
% else
    a.key = a.query + WIDTH;
    a.value = a.query + 2 * WIDTH;
% end
% if biases then
    const size_t first_row = (size_t)l * ${prefix}distance_count(${lengths}) * ${PREFIX}HEADS + (size_t)h * ${prefix}row_count(v, l)${to_middle};
    a.rows = v->shared.${prefix}rows + first_row * ${PREFIX}HEAD_WIDTH${attends.channel};
    a.row_bias = v->shared.${prefix}row_bias + first_row;
    a.key_bias = s->${prefix}key_bias + ((size_t)sequence * ${PREFIX}HEADS + h) * ${S};
% elseif with_rows then
    a.rows = v->shared.${prefix}rows + ((size_t)l * ${prefix}distance_count(${lengths})${to_middle}) * ${PREFIX}HEAD_WIDTH${attends.channel};
% end
% if with_rows and not toeplitz then
    a.row = ${prefix}pair_rows_of(v, l).row;
% end
% if scored then
    a.score = score;
% end
% if scored or drops or lined then
    a.h = h;
% end
% if drops then
    const size_t bytes = ${attends.keep}_bytes(v->T);
    a.keep = bits_of(block()->work.${attends.keep}, block()->${attends.index}, bytes) + sequence * bytes;
% end
    return a;
}
% if drops then

/* What the weight of a pair is multiplied by, behind the softmax. */
INLINE real ${prefix}kept_weight(const ${prefix}head *a, int i, int j) {
    return kept(a->keep, (a->h * a->T + i) * a->${keys_of} + j) ? ${drops.name}_KEEP_SCALE : 0;
}
% end

% include("attention/cuda/head_vectors.tpl")
% if masked then

% include("attention/cuda/mask.tpl")
% end
% local keys, queries = ("int j = 0; j < a.%s; j++"):format(keys_of), "int i = 0; i < a.T; i++"
% local first_key, end_key, next_key = "0", cross and S or "T", "j++"
% local S_of_key = mask.kind == "antidiagonal" and ", a." .. keys_of or ""
% if lined then
% first_key = ("%snext_key(h, i, -1, %s)"):format(prefix, end_key)
% next_key = ("j = %snext_key(h, i, j, %s)"):format(prefix, end_key)
% keys = ("int j = %snext_key(h, i, -1, a.%s); j < a.%s; j = %snext_key(h, i, j, a.%s)"):format(prefix, keys_of, keys_of, prefix, keys_of)
% queries = ("int i = %snext_query(h, -1, j, a.%s, a.T); i < a.T; i = %snext_query(h, i, j, a.%s, a.T)"):format(prefix, keys_of, prefix, keys_of)
% elseif masked then
% first_key = prefix .. "first_key(i" .. (mask.sees_all and ", " .. end_key or "") .. ")"
% keys = ("int j = %sfirst_key(i%s); j < %send_key(i, a.%s); j++"):format(prefix, mask.sees_all and ", a." .. keys_of or "", prefix, keys_of)
% end_key = ("%send_key(i, %s)"):format(prefix, end_key)
% queries = ("int i = %sfirst_query(j%s); i < "):format(prefix, S_of_key)
% if mask.sees_all then
% queries = ("%sa.T; i = %snext_query(i, j, a.%s)"):format(queries, prefix, keys_of)
% else
% queries = ("%s%send_query(j, a.T); i++"):format(queries, prefix)
% end
% end

% if with_rows then
/* Which row a pair has. */
% if toeplitz then
INLINE int ${prefix}row_at(const ${prefix}head *, int i, int j) { return i - j; }
% else
INLINE int ${prefix}row_at(const ${prefix}head *a, int i, int j) { return a->row[j * a->T + i]; }
% end

/* The scaled logit of a pair: the query, and the key with the row of their distance. */
% define("INLINE real " .. prefix .. "pair_logit", "const " .. prefix .. "head *a", "const real query[" .. attends.head_part .. "]", "const real key[" .. attends.head_part .. "]", "int i", "int j")
    real row[${attends.head_part}];
    const int x = ${prefix}row_at(a, i, j);
    ${prefix}load_head(row, a->rows + x * ${PREFIX}HEAD_WIDTH);
    ${prefix}add_head(row, 1, key);
% if biases then
    return ${prefix}dot_head(query, row) * ${PREFIX}LOGIT_SCALE + (a->key_bias[j] + a->row_bias[x]);
% else
    return ${prefix}dot_head(query, row) * ${PREFIX}LOGIT_SCALE;
% end
}
% else
/* The scaled logit of a pair. */
INLINE real ${prefix}pair_logit(const real query[${attends.head_part}], const real key[${attends.head_part}]) {
    return ${prefix}dot_head(query, key) * ${PREFIX}LOGIT_SCALE;
}
% end
% local logit = prefix .. (with_rows and "pair_logit(&a, query, key, i, j)" or "pair_logit(query, key)")
% local logit_of_key = prefix .. (with_rows and "pair_logit(a, query, key, i, j + u)" or "pair_logit(query, key)")
% local of_pair, pass_query = by_query and "int i, " or "", by_query and "i, " or ""
% local of_head, at_head = cross and "a.score, a.T, a.S, a.h" or "a.score, a.T, a.h", cross and "a->score, a->T, a->S, a->h" or "a->score, a->T, a->h"
% local score_of_key = scored and ("%sscore_pair(%s, i, j + u, %s)"):format(prefix, at_head, logit_of_key) or logit_of_key
% if lined then
% score_of_key = ("%s + %sline_value(a->h, i, j + u, a->%s)"):format(score_of_key, prefix, keys_of)
% end
% if biases then

/* Products of a shard's keys with the content bias. */
INLINE void ${prefix}bias_keys(void) {
    const step_view *v = &block()->view;
    const ${attends.state} *s = &block()->${attends.block};
    const int sequences = block()->sequences;
    const int l = block()->l;
    for (int e = ${attends.first_task}; e < sequences * ${PREFIX}HEADS * ${S}; e += ${attends.tasks}) {
        const int token = e % ${S}, h = e / ${S} % ${PREFIX}HEADS, sequence = e / ${S} / ${PREFIX}HEADS;
        const real *bias = v->p->${attends.block}[l].${prefix}content_bias + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        const size_t row = (size_t)sequence * ${S} + token;
        const real *key = s->${attends.kv} + row * ${key_stride}${to_keys} + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        real x[${attends.head_part}], y[${attends.head_part}];
        ${prefix}load_head(x, key);
        ${prefix}load_head(y, bias);
% if attends.head_lanes > 1 then
        const real sum = ${prefix}dot_head(x, y);
        if (${prefix}leads_head()) s->${prefix}key_bias[e] = sum * ${PREFIX}LOGIT_SCALE;
% else
        s->${prefix}key_bias[e] = ${prefix}dot_head(x, y) * ${PREFIX}LOGIT_SCALE;
% end
    }
    __syncthreads();
}
% end

/* A query's softmax so far: exponentials relative to the largest score. */
typedef struct ${prefix}softmax {
    real largest, sum, out[${attends.head_part}];
} ${prefix}softmax;

/* Takes in `count` keys from j on, side by side; the sums go from key to key. */
% define("INLINE void " .. prefix .. "take_keys", "const int count", "const " .. prefix .. "head *a", "const real query[" .. attends.head_part .. "]", of_pair ~= "" and "int i", "int j", prefix .. "softmax *m")
    real score[${PREFIX}KEYS], highest = m->largest;
#pragma unroll
    for (int u = 0; u < count; u++) {
        real key[${attends.head_part}];
        ${prefix}load_head(key, a->key + (j + u) * ${key_stride});
        score[u] = ${score_of_key};
        highest = score[u] > highest ? score[u] : highest;
    }
    const real shrink = exp_negative(m->largest - highest);
    m->largest = highest;
    m->sum *= shrink;
#pragma unroll
    for (int d = 0; d < ${attends.head_part}; d++) m->out[d] *= shrink;
#pragma unroll
    for (int u = 0; u < count; u++) {
        real value[${attends.head_part}];
        ${prefix}load_head(value, a->value + (j + u) * ${key_stride});
        const real weight = exp_negative(score[u] - highest);
        m->sum += weight;
% if asks then
        ${prefix}add_head(m->out, a->keep ? weight * ${prefix}kept_weight(a, i, j + u) : weight, value);
% elseif drops then
        ${prefix}add_head(m->out, weight * ${prefix}kept_weight(a, i, j + u), value);
% else
        ${prefix}add_head(m->out, weight, value);
% end
    }
}

/* The layer's attended values, and what the backward pass needs of the softmax. */
NOINLINE void ${prefix}attend(${asks and "const bool training" or "void"}) {
    const step_view *v = &block()->view;
    const ${attends.state} *s = &block()->${attends.block};
    const int sequences = block()->sequences, T = ${T};
% if with_rows or scored then
    const int l = block()->l;
% end
% if biases then
    ${prefix}bias_keys();
% end
% if scored then
    ${prefix}score_tables tables;
    ${prefix}score_tables_of(v, l, &tables);
% end
    for (int task = ${attends.first_task}; task < sequences * ${PREFIX}HEADS * T; task += ${attends.tasks}) {
        const int i = task % T, h = task / T % ${PREFIX}HEADS, sequence = task / T / ${PREFIX}HEADS;
        ${asks and "" or "const "}${prefix}head a = ${prefix}head_at(v, ${with_rows and "l, " or ""}s, ${scored and "&tables, " or ""}sequence, h);
% if asks then
        if (!training) a.keep = (const unsigned char *)0;
% end
        const int end = ${end_key};
        int j = ${first_key};
        real query[${attends.head_part}];
        ${prefix}softmax m;
        ${prefix}load_head(query, a.query + i * ${PREFIX}QUERY_STRIDE);
        m.largest = (real)-1e30;
        m.sum = 0;
        ${prefix}clear_head(m.out);
% if not lined then
        for (; j + ${PREFIX}KEYS <= end; j += ${PREFIX}KEYS) ${prefix}take_keys(${PREFIX}KEYS, &a, query, ${pass_query}j, &m);
% end
        for (; j < end; ${next_key}) ${prefix}take_keys(1, &a, query, ${pass_query}j, &m);
        ${prefix}store_head(m.out, 1 / m.sum, s->${attends.out} + ((size_t)sequence * T + i) * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel});
        ${attends.once}s->${prefix}largest[task] = m.largest;
        ${attends.once}s->${prefix}inverse_sum[task] = 1 / m.sum;
    }
    __syncthreads();
}
% local score_of = scored and ("%sscore_pair(%s, i, j, logit)"):format(prefix, of_head) or "logit"
% if lined then
% score_of = ("%s + %sline_value(h, i, j, a.%s)"):format(score_of, prefix, keys_of)
% end
% local pair = { of_head = of_head, logit = logit, score_of = score_of, logit_grad = logit_grad, scores_alone = false }
% local scores = { of_head = of_head, logit = logit, score_of = score_of, logit_grad = logit_grad, scores_alone = true }
% local dscore = logit_grad and "dscore" or "dlogit"

/* Gradients of the queries. */
NOINLINE void ${prefix}attend_queries(void) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const ${attends.state} *s = &block()->${attends.block};
    const int sequences = block()->sequences;
% if with_rows or scored then
    const int l = block()->l;
% end
% if scored then
    ${prefix}score_tables tables;
    ${prefix}score_tables_of(v, l, &tables);
% end
    for (int task = ${attends.first_task}; task < sequences * ${PREFIX}HEADS * ${T}; task += ${attends.tasks}) {
        const int i = task % ${T}, h = task / ${T} % ${PREFIX}HEADS, sequence = task / ${T} / ${PREFIX}HEADS;
        const ${prefix}head a = ${prefix}head_at(v, ${with_rows and "l, " or ""}s, ${scored and "&tables, " or ""}sequence, h);
        const size_t row = (size_t)sequence * ${T} + i, at = row * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        const real largest = s->${prefix}largest[task], inverse = s->${prefix}inverse_sum[task];
        real query[${attends.head_part}], dquery[${attends.head_part}], dout[${attends.head_part}], out[${attends.head_part}];
        ${prefix}load_head(query, a.query + i * ${PREFIX}QUERY_STRIDE);
        ${prefix}load_head(dout, w->${attends.dout} + at);
        ${prefix}load_head(out, s->${attends.out} + at);
        const real delta = ${prefix}dot_head(dout, out);
        ${attends.once}w->${prefix}delta[task] = delta;
        ${prefix}clear_head(dquery);
% if gathers.uniform then
        real gathered[${score.cuda.uniform_count}] = {0};
% end
% if unroll then
#pragma unroll ${unroll}
% end
        for (${keys}) {
            real key[${attends.head_part}], value[${attends.head_part}];
            ${prefix}load_head(key, a.key + j * ${key_stride});
            ${prefix}load_head(value, a.value + j * ${key_stride});
            % include("attention/cuda/pair_gradient.tpl", pair)
% if gathers.uniform then
            ${prefix}score_grad_uniform(${of_head}, i, j, logit, ${dscore}, gathered);
% end
            ${prefix}add_head(dquery, dlogit, key);
% if with_rows then
            ${prefix}load_head(key, a.rows + ${prefix}row_at(&a, i, j) * ${PREFIX}HEAD_WIDTH);
            ${prefix}add_head(dquery, dlogit, key);
% end
        }
        ${prefix}store_head(dquery, ${PREFIX}LOGIT_SCALE, w->${attends.dq} + row * ${PREFIX}QUERY_STRIDE + h * ${PREFIX}HEAD_WIDTH${attends.channel});
% if gathers.uniform then
        ${attends.once}for (int k = 0; k < ${score.cuda.uniform_count}; k++) w->${prefix}head_sums[k * sequences * ${PREFIX}HEADS * ${T} + task] = gathered[k];
% end
    }
    __syncthreads();
}

% local of_query = cross and ("task / %s * %s + i"):format(S, T) or "task - j + i"
% if attends.pairs then
/* Gradients of the keys and values of count sequences from the first on, and of their pairs. */
NOINLINE void ${prefix}attend_keys(int first, int count) {
% else
/* Gradients of the keys and values. */
NOINLINE void ${prefix}attend_keys(void) {
% end
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const ${attends.state} *s = &block()->${attends.block};
% if not attends.pairs then
    const int sequences = block()->sequences;
% end
% if with_rows or scored then
    const int l = block()->l;
% end
% if scored then
    ${prefix}score_tables tables;
    ${prefix}score_tables_of(v, l, &tables);
% end
% if attends.pairs then
    for (int task = first * ${PREFIX}HEADS * ${S} + ${attends.first_task}; task < (first + count) * ${PREFIX}HEADS * ${S}; task += ${attends.tasks}) {
% else
    for (int task = ${attends.first_task}; task < sequences * ${PREFIX}HEADS * ${S}; task += ${attends.tasks}) {
% end
        const int j = task % ${S}, h = task / ${S} % ${PREFIX}HEADS, sequence = task / ${S} / ${PREFIX}HEADS;
% if attends.pairs then
        const size_t column = ((size_t)(sequence - first) * ${PREFIX}HEADS + h) * ${T} * ${S} + j;
% end
        const ${prefix}head a = ${prefix}head_at(v, ${with_rows and "l, " or ""}s, ${scored and "&tables, " or ""}sequence, h);
        const real *dattended = w->${attends.dout} + (size_t)sequence * ${T} * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        real key[${attends.head_part}], value[${attends.head_part}], dkey[${attends.head_part}], dvalue[${attends.head_part}]${biases and ", sum = 0" or ""};
        ${prefix}load_head(key, a.key + j * ${key_stride});
        ${prefix}load_head(value, a.value + j * ${key_stride});
        ${prefix}clear_head(dkey);
        ${prefix}clear_head(dvalue);
% if unroll then
#pragma unroll ${unroll}
% end
        for (${queries}) {
            const int of_query = ${of_query};
            const real largest = s->${prefix}largest[of_query], inverse = s->${prefix}inverse_sum[of_query], delta = w->${prefix}delta[of_query];
            real query[${attends.head_part}], dout[${attends.head_part}];
            ${prefix}load_head(query, a.query + i * ${PREFIX}QUERY_STRIDE);
            ${prefix}load_head(dout, dattended + i * WIDTH);
            % include("attention/cuda/pair_gradient.tpl", pair)
% if attends.pairs then
            ${attends.once}w->${prefix}pairs[column + (size_t)i * ${S}] = dlogit;
% end
% if attends.pair_scores then
            ${attends.once}w->${prefix}pair_scores[column + (size_t)i * ${S}] = dscore;
% end
            ${prefix}add_head(dkey, dlogit, query);
            ${prefix}add_head(dvalue, ${drops and "weight * keep" or "weight"}, dout);
% if biases then
            sum += dlogit;
% end
        }
        real *to = w->${attends.dkv} + (size_t)(sequence * ${S} + j) * ${key_stride}${to_keys} + h * ${PREFIX}HEAD_WIDTH;
% if attends.head_lanes > 1 then
        to += ${prefix}channel();
% end
% if biases then
        real bias[${attends.head_part}];
        ${prefix}load_head(bias, v->p->${attends.block}[l].${prefix}content_bias + h * ${PREFIX}HEAD_WIDTH${attends.channel});
        ${prefix}add_head(dkey, sum, bias);
        ${attends.once}w->${prefix}key_sums[(sequence * ${S} + j) * ${PREFIX}HEADS + h] = sum;
% end
        ${prefix}store_head(dkey, ${PREFIX}LOGIT_SCALE, to);
        ${prefix}store_head(dvalue, 1, to + WIDTH);
    }
    __syncthreads();
}
% if biases then

/* The gradient of the content bias: the keys, by what their logits got. */
INLINE void ${prefix}content_bias_grad(real *dbias) {
    is_global(dbias);
    const int rows = block()->sequences * block()->view.${attends.S};
    const real *keys = block()->${attends.block}.${attends.kv}${to_keys}, *key_sums = block()->work.${prefix}key_sums;
    for (int first = 0; first < WIDTH; first += SPAN) {
        const int c = first + threadIdx.x % SPAN, h = c / ${PREFIX}HEAD_WIDTH;
        const real part = c < WIDTH ? dot_rows(rows, SPAN, keys + c, ${key_stride}, key_sums + h, ${PREFIX}HEADS) : 0;
        const real sum = add_parts(part, SPAN);
        if (threadIdx.x < SPAN && c < WIDTH) dbias[c] = sum * ${PREFIX}LOGIT_SCALE;
    }
}
% end
% if score.trains then
% local of_block = "block()->view." .. attends.T .. (cross and ", block()->view." .. attends.S or "")
% local of_layer = score.per_layer and (" + (size_t)block()->l * %sscore_gradient_bytes(%s)"):format(prefix, of_block) or ""

/* Where the gradients of the layer's tables go. */
INLINE void ${prefix}score_gradients_of(${prefix}score_gradients *d) {
    size_t used = 0;
    % call(prefix .. "lay_out_score_gradients", "d", "block()->sums." .. prefix .. "score" .. of_layer, "&used", of_block)
}
% end
% for _, class in ipairs(attends.owned) do

% include(class == "distance" and attends.pairs and "attention/cuda/attend_kept.tpl" or "attention/cuda/attend_owned.tpl", { class = class, pair = pair, scores = scores, dscore = dscore, gathered = gathers[class] or {} })
% end
% if gathers.uniform then

/* What the queries of a shard got for the numbers of the heads: a warp per number, in a fixed order. */
INLINE void ${prefix}attend_heads(void) {
    const workspace *w = &block()->work;
    const int T = block()->view.${attends.T}, sequences = block()->sequences;
% if not score.per_layer then
    const int l = block()->l;
% end
    ${prefix}score_gradients gathered, *d = &gathered;
    ${prefix}score_gradients_of(d);
    const int lane = threadIdx.x % WARP;
    for (int h = threadIdx.x / WARP; h < ${PREFIX}HEADS; h += WARPS) {
        real sum;
% for k, t in ipairs(gathers.uniform) do
% local at = k - 1
        sum = 0;
        for (int e = lane; e < sequences * T; e += WARP)
            sum += w->${prefix}head_sums[((${at} * sequences + e / T) * ${PREFIX}HEADS + h) * T + e % T];
        sum = warp_sum(sum);
% if score.per_layer then
        if (lane == 0) ${t.target} = sum;
% else
        if (lane == 0) ${t.target} = l == ${stack.count} - 1 ? sum : ${t.target} + sum;
% end
% end
    }
    __syncthreads();
}
% end

/* The gradients of queries, keys and values, in the workspace${attends.sums and ", and those of the tables that this layer read" or ""}. */
% if biases then
INLINE void ${prefix}attend_backward(${attends.gradients_type} *g) {
% else
INLINE void ${prefix}attend_backward(void) {
% end
    ${prefix}attend_queries();
% if attends.pairs then
    const int sequences = block()->sequences, T = block()->view.${attends.S};
    int first = 0;
    do {
        const int left = sequences - first, most = ${prefix}pair_sequences(sequences, T), count = left < most ? left : most;
        ${prefix}attend_keys(first, count);
        ${prefix}attend_by_distance(first, count);
        __syncthreads();
        first += count;
    } while (first < sequences);
% else
    ${prefix}attend_keys();
% end
% if biases then
    ${prefix}content_bias_grad(g->${prefix}content_bias);
% end
% if gathers.uniform then
    ${prefix}attend_heads();
% end
% for _, class in ipairs(attends.owned) do
% if class ~= "distance" or not attends.pairs then
    ${prefix}attend_by_${class}();
% end
% end
% if #attends.owned > 0 then
    __syncthreads();
% end
}
