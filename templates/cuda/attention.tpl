% local with_rows = relative.kind ~= "none"
% local biases = relative.biases
% local scored = score.kind ~= "none"
% local gathers = scored and score.cuda.gathers or {}
% local asks = drops and not eval_dropout
% local weights_bytes = drops and device.attends.keep .. "_bytes(v->T)"
% local weights_keep = drops and ("bits_of(block()->work.%s, block()->%s, %s)"):format(device.attends.keep, device.attends.index, weights_bytes)
% local logit_grad = scored and score.cuda.logit_grad
% local toeplitz = relative.toeplitz
% local unroll = head_width <= 16 and not logit_grad and 4 or false
% local keys_at_once = head_width > 16 and 2 or 4
% local to_middle = toeplitz and " + v->T - 1" or ""
% local masked = mask.kind ~= "none"
% local owners = cuda.owned[1] and ", then what a table goes by" or ""
% local left_end, right_end = (mask.left or 0) + 1, (mask.right or 0) + 1
/* Self-attention of a shard. A thread has one query of one head (backward, then a key${owners}) and
 * walks over the pairs that belong to it, so nothing is added by two threads and every sum has its order. Weights are
 * not kept: the backward pass makes each again from the largest score of its query and the inverse of the sum. */

enum { KEYS = ${keys_at_once} }; /* whose logits are made side by side */

typedef struct head {
    const real *query, *key, *value; /* token 0; HEAD_WIDTH channels, tokens QUERY_STRIDE apart */
% if with_rows then
% if toeplitz then
    const real *rows; /* of query - key = 0; HEAD_WIDTH apart */
% else
    const real *rows; /* HEAD_WIDTH apart */
    const int *row; /* [keys][queries] of them */
% end
% end
% if biases then
    const real *row_bias; /* likewise */
    const real *key_bias; /* [T] */
% end
% if scored then
    const score_tables *score;
% end
% if scored or drops then
    int h;
% end
% if drops then
    const unsigned char *keep; /* masks of the sequence's weights; 0: nothing is dropped out */
% end
    int T;
} head;

% if cuda.head_lanes > 1 then
% include("cuda/head_lanes.tpl")

% end
% if scored then
INLINE head head_at(const step_view *v, ${with_rows and "int l, " or ""}const ${device.attends.state} *s, const score_tables *score,
        int sequence, int h) {
% else
INLINE head head_at(const step_view *v, ${with_rows and "int l, " or ""}const ${device.attends.state} *s, int sequence, int h) {
% end
    head a;
    a.T = v->T;
    a.query = s->${device.attends.q} + (size_t)sequence * v->T * QUERY_STRIDE + h * HEAD_WIDTH${cuda.channel};
    a.key = a.query + WIDTH;
    a.value = a.query + 2 * WIDTH;
% if biases then
    const size_t first_row = (size_t)l * distance_count(v->T) * HEADS + (size_t)h * row_count(v, l)${to_middle};
    a.rows = v->shared.rows + first_row * HEAD_WIDTH${cuda.channel};
    a.row_bias = v->shared.row_bias + first_row;
    a.key_bias = s->key_bias + ((size_t)sequence * HEADS + h) * v->T;
% elseif with_rows then
    a.rows = v->shared.rows + ((size_t)l * distance_count(v->T)${to_middle}) * HEAD_WIDTH${cuda.channel};
% end
% if with_rows and not toeplitz then
    a.row = pair_rows_of(v, l).row;
% end
% if scored then
    a.score = score;
% end
% if scored or drops then
    a.h = h;
% end
% if drops then
    a.keep = ${weights_keep} + sequence * ${weights_bytes};
% end
    return a;
}
% if drops then

/* What the weight of a pair is multiplied by, behind the softmax. */
INLINE real kept_weight(const head *a, int i, int j) {
    return kept(a->keep, (a->h * a->T + i) * a->T + j) ? ${drops.name}_KEEP_SCALE : 0;
}
% end

% include("cuda/head_vectors.tpl")
% if masked then

/* The keys that query i sees are those from first_key to end_key - 1; key j is seen by queries likewise. */
% if mask.left then
INLINE int first_key(int i) { return i > ${mask.left} ? i - ${mask.left} : 0; }
INLINE int end_query(int j, int T) { return j + ${left_end} < T ? j + ${left_end} : T; }
% else
INLINE int first_key(int) { return 0; }
INLINE int end_query(int, int T) { return T; }
% end
INLINE int end_key(int i, int T) { return i + ${right_end} < T ? i + ${right_end} : T; }
INLINE int first_query(int j) { return j > ${mask.right} ? j - ${mask.right} : 0; }
% end
% local keys = masked and "int j = first_key(i); j < end_key(i, a.T); j++" or "int j = 0; j < a.T; j++"
% local queries = masked and "int i = first_query(j); i < end_query(j, a.T); i++" or "int i = 0; i < a.T; i++"

% if with_rows then
/* Which row a pair has. */
% if toeplitz then
INLINE int row_at(const head *, int i, int j) { return i - j; }
% else
INLINE int row_at(const head *a, int i, int j) { return a->row[j * a->T + i]; }
% end

/* The scaled logit of a pair: the query, and the key with the row of their distance. */
INLINE real pair_logit(const head *a, const real query[${cuda.head_part}], const real key[${cuda.head_part}], int i, int j) {
    real row[${cuda.head_part}];
    const int x = row_at(a, i, j);
    load_head(row, a->rows + x * HEAD_WIDTH);
    add_head(row, 1, key);
% if biases then
    return dot_head(query, row) * LOGIT_SCALE + (a->key_bias[j] + a->row_bias[x]);
% else
    return dot_head(query, row) * LOGIT_SCALE;
% end
}
% else
/* The scaled logit of a pair. */
INLINE real pair_logit(const real query[${cuda.head_part}], const real key[${cuda.head_part}]) {
    return dot_head(query, key) * LOGIT_SCALE;
}
% end
% local logit = with_rows and "pair_logit(&a, query, key, i, j)" or "pair_logit(query, key)"
% local logit_of_key = with_rows and "pair_logit(a, query, key, i, j + u)" or "pair_logit(query, key)"
% local by_query = scored or with_rows or drops
% local of_pair, pass_query = by_query and "int i, " or "", by_query and "i, " or ""
% local score_of_key = scored and ("score_pair(a->score, a->T, a->h, i, j + u, %s)"):format(logit_of_key) or logit_of_key
% if biases then

/* Products of a shard's keys with the content bias. */
INLINE void bias_keys(void) {
    const step_view *v = &block()->view;
    const ${device.attends.state} *s = &block()->${device.attends.block};
    const int sequences = block()->sequences;
    const int l = block()->l;
    for (int e = ${cuda.first_task}; e < sequences * HEADS * v->T; e += ${cuda.tasks}) {
        const int token = e % v->T, h = e / v->T % HEADS, sequence = e / v->T / HEADS;
        const real *bias = v->p->${device.attends.block}[l].${device.attends.prefix}content_bias + h * HEAD_WIDTH${cuda.channel};
        const size_t row = (size_t)sequence * v->T + token;
        const real *key = s->${device.attends.q} + row * QUERY_STRIDE + WIDTH + h * HEAD_WIDTH${cuda.channel};
        real x[${cuda.head_part}], y[${cuda.head_part}];
        load_head(x, key);
        load_head(y, bias);
% if cuda.head_lanes > 1 then
        const real sum = dot_head(x, y);
        if (leads_head()) s->key_bias[e] = sum * LOGIT_SCALE;
% else
        s->key_bias[e] = dot_head(x, y) * LOGIT_SCALE;
% end
    }
    __syncthreads();
}
% end

/* A query's softmax so far: exponentials relative to the largest score. */
typedef struct softmax {
    real largest, sum, out[${cuda.head_part}];
} softmax;

/* Takes in `count` keys from j on, side by side; the sums go from key to key. */
INLINE void take_keys(const int count, const head *a, const real query[${cuda.head_part}], ${of_pair}int j, softmax *m) {
    real score[KEYS], highest = m->largest;
#pragma unroll
    for (int u = 0; u < count; u++) {
        real key[${cuda.head_part}];
        load_head(key, a->key + (j + u) * QUERY_STRIDE);
        score[u] = ${score_of_key};
        highest = score[u] > highest ? score[u] : highest;
    }
    const real shrink = exp_negative(m->largest - highest);
    m->largest = highest;
    m->sum *= shrink;
#pragma unroll
    for (int d = 0; d < ${cuda.head_part}; d++) m->out[d] *= shrink;
#pragma unroll
    for (int u = 0; u < count; u++) {
        real value[${cuda.head_part}];
        load_head(value, a->value + (j + u) * QUERY_STRIDE);
        const real weight = exp_negative(score[u] - highest);
        m->sum += weight;
% if asks then
        add_head(m->out, a->keep ? weight * kept_weight(a, i, j + u) : weight, value);
% elseif drops then
        add_head(m->out, weight * kept_weight(a, i, j + u), value);
% else
        add_head(m->out, weight, value);
% end
    }
}

/* The layer's attended values, and what the backward pass needs of the softmax. */
NOINLINE void attend(${asks and "const bool training" or "void"}) {
    const step_view *v = &block()->view;
    const ${device.attends.state} *s = &block()->${device.attends.block};
    const int sequences = block()->sequences, T = v->T;
% if with_rows or scored then
    const int l = block()->l;
% end
% if biases then
    bias_keys();
% end
% if scored then
    score_tables tables;
    score_tables_of(v, l, &tables);
% end
    for (int task = ${cuda.first_task}; task < sequences * HEADS * T; task += ${cuda.tasks}) {
        const int i = task % T, h = task / T % HEADS, sequence = task / T / HEADS;
% if asks then
        head a = head_at(v, ${with_rows and "l, " or ""}s, ${scored and "&tables, " or ""}sequence, h);
        if (!training) a.keep = (const unsigned char *)0;
% else
        const head a = head_at(v, ${with_rows and "l, " or ""}s, ${scored and "&tables, " or ""}sequence, h);
% end
% if masked then
        const int end = end_key(i, T);
        int j = first_key(i);
% else
        const int end = T;
        int j = 0;
% end
        real query[${cuda.head_part}];
        softmax m;
        load_head(query, a.query + i * QUERY_STRIDE);
        m.largest = (real)-1e30;
        m.sum = 0;
        clear_head(m.out);
        for (; j + KEYS <= end; j += KEYS) take_keys(KEYS, &a, query, ${pass_query}j, &m);
        for (; j < end; j++) take_keys(1, &a, query, ${pass_query}j, &m);
        store_head(m.out, 1 / m.sum, s->${device.attends.out} + ((size_t)sequence * T + i) * WIDTH + h * HEAD_WIDTH${cuda.channel});
        ${cuda.once}s->largest[task] = m.largest;
        ${cuda.once}s->inverse_sum[task] = 1 / m.sum;
    }
    __syncthreads();
}
% local score_of = scored and "score_pair(a.score, a.T, a.h, i, j, logit)" or "logit"
% local pair = { logit = logit, score_of = score_of, logit_grad = logit_grad, scores_alone = false }
% local scores = { logit = logit, score_of = score_of, logit_grad = logit_grad, scores_alone = true }
% local dscore = logit_grad and "dscore" or "dlogit"

/* Gradients of the queries. */
NOINLINE void attend_queries(void) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const ${device.attends.state} *s = &block()->${device.attends.block};
    const int sequences = block()->sequences;
% if with_rows or scored then
    const int l = block()->l;
% end
% if scored then
    score_tables tables;
    score_tables_of(v, l, &tables);
% end
    for (int task = ${cuda.first_task}; task < sequences * HEADS * v->T; task += ${cuda.tasks}) {
        const int i = task % v->T, h = task / v->T % HEADS, sequence = task / v->T / HEADS;
        const head a = head_at(v, ${with_rows and "l, " or ""}s, ${scored and "&tables, " or ""}sequence, h);
        const size_t row = (size_t)sequence * v->T + i, at = row * WIDTH + h * HEAD_WIDTH${cuda.channel};
        const real largest = s->largest[task], inverse = s->inverse_sum[task];
        real query[${cuda.head_part}], dquery[${cuda.head_part}], dout[${cuda.head_part}], out[${cuda.head_part}];
        load_head(query, a.query + i * QUERY_STRIDE);
        load_head(dout, w->${device.attends.dout} + at);
        load_head(out, s->${device.attends.out} + at);
        const real delta = dot_head(dout, out);
        ${cuda.once}w->delta[task] = delta;
        clear_head(dquery);
% if gathers.uniform then
        real gathered[${score.cuda.uniform_count}] = {0};
% end
% if unroll then
#pragma unroll ${unroll}
% end
        for (${keys}) {
            real key[${cuda.head_part}], value[${cuda.head_part}];
            load_head(key, a.key + j * QUERY_STRIDE);
            load_head(value, a.value + j * QUERY_STRIDE);
            % include("cuda/pair_gradient.tpl", pair)
% if gathers.uniform then
            score_grad_uniform(a.score, a.T, a.h, i, j, logit, ${dscore}, gathered);
% end
            add_head(dquery, dlogit, key);
% if with_rows then
            load_head(key, a.rows + row_at(&a, i, j) * HEAD_WIDTH);
            add_head(dquery, dlogit, key);
% end
        }
        store_head(dquery, LOGIT_SCALE, w->${device.attends.dq} + row * QUERY_STRIDE + h * HEAD_WIDTH${cuda.channel});
% if gathers.uniform then
        ${cuda.once}for (int k = 0; k < ${score.cuda.uniform_count}; k++) w->head_sums[k * sequences * HEADS * v->T + task] = gathered[k];
% end
    }
    __syncthreads();
}

% if cuda.pairs then
/* Gradients of the keys and values of count sequences from the first on, and of their pairs. */
NOINLINE void attend_keys(int first, int count) {
% else
/* Gradients of the keys and values. */
NOINLINE void attend_keys(void) {
% end
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const ${device.attends.state} *s = &block()->${device.attends.block};
% if not cuda.pairs then
    const int sequences = block()->sequences;
% end
% if with_rows or scored then
    const int l = block()->l;
% end
% if scored then
    score_tables tables;
    score_tables_of(v, l, &tables);
% end
% if cuda.pairs then
    for (int task = first * HEADS * v->T + ${cuda.first_task}; task < (first + count) * HEADS * v->T; task += ${cuda.tasks}) {
% else
    for (int task = ${cuda.first_task}; task < sequences * HEADS * v->T; task += ${cuda.tasks}) {
% end
        const int j = task % v->T, h = task / v->T % HEADS, sequence = task / v->T / HEADS;
% if cuda.pairs then
        const size_t column = ((size_t)(sequence - first) * HEADS + h) * v->T * v->T + j;
% end
        const head a = head_at(v, ${with_rows and "l, " or ""}s, ${scored and "&tables, " or ""}sequence, h);
        const real *dattended = w->${device.attends.dout} + (size_t)sequence * v->T * WIDTH + h * HEAD_WIDTH${cuda.channel};
        real key[${cuda.head_part}], value[${cuda.head_part}], dkey[${cuda.head_part}], dvalue[${cuda.head_part}]${biases and ", sum = 0" or ""};
        load_head(key, a.key + j * QUERY_STRIDE);
        load_head(value, a.value + j * QUERY_STRIDE);
        clear_head(dkey);
        clear_head(dvalue);
% if unroll then
#pragma unroll ${unroll}
% end
        for (${queries}) {
            const int of_query = task - j + i;
            const real largest = s->largest[of_query], inverse = s->inverse_sum[of_query], delta = w->delta[of_query];
            real query[${cuda.head_part}], dout[${cuda.head_part}];
            load_head(query, a.query + i * QUERY_STRIDE);
            load_head(dout, dattended + i * WIDTH);
            % include("cuda/pair_gradient.tpl", pair)
% if cuda.pairs then
            ${cuda.once}w->pairs[column + (size_t)i * v->T] = dlogit;
% end
% if cuda.pair_scores then
            ${cuda.once}w->pair_scores[column + (size_t)i * v->T] = dscore;
% end
            add_head(dkey, dlogit, query);
            add_head(dvalue, ${drops and "weight * keep" or "weight"}, dout);
% if biases then
            sum += dlogit;
% end
        }
        real *to = w->${device.attends.dq} + (size_t)(sequence * v->T + j) * QUERY_STRIDE + WIDTH + h * HEAD_WIDTH;
% if cuda.head_lanes > 1 then
        to += channel();
% end
% if biases then
        real bias[${cuda.head_part}];
        load_head(bias, v->p->${device.attends.block}[l].${device.attends.prefix}content_bias + h * HEAD_WIDTH${cuda.channel});
        add_head(dkey, sum, bias);
        ${cuda.once}w->key_sums[(sequence * v->T + j) * HEADS + h] = sum;
% end
        store_head(dkey, LOGIT_SCALE, to);
        store_head(dvalue, 1, to + WIDTH);
    }
    __syncthreads();
}
% if biases then

/* The gradient of the content bias: the keys, by what their logits got. */
INLINE void content_bias_grad(real *dbias) {
    is_global(dbias);
    const int rows = block()->sequences * block()->view.T;
    const real *keys = block()->${device.attends.block}.${device.attends.q} + WIDTH, *key_sums = block()->work.key_sums;
    for (int first = 0; first < WIDTH; first += SPAN) {
        const int c = first + threadIdx.x % SPAN, h = c / HEAD_WIDTH;
        const real part = c < WIDTH ? dot_rows(rows, SPAN, keys + c, QUERY_STRIDE, key_sums + h, HEADS) : 0;
        const real sum = add_parts(part, SPAN);
        if (threadIdx.x < SPAN && c < WIDTH) dbias[c] = sum * LOGIT_SCALE;
    }
}
% end
% if score.trains then

/* Where the gradients of the layer's tables go. */
INLINE void score_gradients_of(score_gradients *d) {
    size_t used = 0;
    lay_out_score_gradients(d, block()->sums.score${score.per_layer and " + (size_t)block()->l * score_gradient_bytes(block()->view.T)" or ""}, &used,
            block()->view.T);
}
% end
% for _, class in ipairs(cuda.owned) do

% include(class == "distance" and cuda.pairs and "cuda/attend_kept.tpl" or "cuda/attend_owned.tpl", { class = class, pair = pair, scores = scores, dscore = dscore, gathered = gathers[class] or {} })
% end
% if gathers.uniform then

/* What the queries of a shard got for the numbers of the heads: a warp per number, in a fixed order. */
INLINE void attend_heads(void) {
    const workspace *w = &block()->work;
    const int T = block()->view.T, sequences = block()->sequences;
% if not score.per_layer then
    const int l = block()->l;
% end
    score_gradients gathered, *d = &gathered;
    score_gradients_of(d);
    const int lane = threadIdx.x % WARP;
    for (int h = threadIdx.x / WARP; h < HEADS; h += WARPS) {
        real sum;
% for k, t in ipairs(gathers.uniform) do
% local at = k - 1
        sum = 0;
        for (int e = lane; e < sequences * T; e += WARP)
            sum += w->head_sums[((${at} * sequences + e / T) * HEADS + h) * T + e % T];
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

/* The gradients of queries, keys and values, in the workspace${cuda.sums_in_layers and ", and those of the tables that this layer read" or ""}. */
% if biases then
INLINE void attend_backward(${device.attends.gradients_type} *g) {
% else
INLINE void attend_backward(void) {
% end
    attend_queries();
% if cuda.pairs then
    const int sequences = block()->sequences, T = block()->view.T;
    int first = 0;
    do {
        const int left = sequences - first, most = pair_sequences(sequences, T), count = left < most ? left : most;
        attend_keys(first, count);
        attend_by_distance(first, count);
        __syncthreads();
        first += count;
    } while (first < sequences);
% else
    attend_keys();
% end
% if biases then
    content_bias_grad(g->${device.attends.prefix}content_bias);
% end
% if gathers.uniform then
    attend_heads();
% end
% for _, class in ipairs(cuda.owned) do
% if class ~= "distance" or not cuda.pairs then
    attend_by_${class}();
% end
% end
% if #cuda.owned > 0 then
    __syncthreads();
% end
}
