% local lane_words = attends.head_lanes > 1 and " HEAD_LANES threads share the channels of a head." or ""
/* Geometric self-attention of a shard.
 * attend: a thread walks outwards from one query of one head. At every distance it visits the key to the right first.
 * attend_queries: the thread walks outwards again and stores two numbers for each pair. Then it walks inwards.
 * attend_keys: a thread computes the gradients of one key from the numbers of the key's pairs.
 * Every sum belongs to one thread and has a fixed order.${lane_words} */

% slot("constants")
% include("attention/cuda/head.tpl")

% include("attention/cuda/head_vectors.tpl")

/* A query, prepared for logits with any key. */
typedef struct ${prefix}prepared_query {
    real query[${attends.head_part}]; /* (query + content bias) * scale */
    % slot("prepared_query")
} ${prefix}prepared_query;

INLINE void ${prefix}load_prepared_query(const ${prefix}head *a, int i, ${prefix}prepared_query *q) {
    real bias[${attends.head_part}];
    ${prefix}load_head(q->query, a->query + i * ${PREFIX}QUERY_STRIDE);
    ${prefix}load_head(bias, a->content_bias);
    ${prefix}add_head(q->query, 1, bias);
#pragma unroll
    for (int d = 0; d < ${attends.head_part}; d++) q->query[d] *= a->numbers.scale;
    % slot("load_prepared_query")
}

INLINE chances ${prefix}compute_chances(const ${prefix}head *a, const ${prefix}prepared_query *q, int i, int j) {
    real key[${attends.head_part}];
    ${prefix}load_head(key, a->key + j * ${PREFIX}QUERY_STRIDE);
    return derive_chances(${prefix}dot_head(q->query, key) + ${inline("offset", "")});
}

/* The state of a query's walk outwards over its keys. */
typedef struct ${prefix}walk {
    real unmatched; /* the probability that no key so far has matched */
    % slot("walk")
    real out[${attends.head_part}];
} ${prefix}walk;

INLINE void ${prefix}visit_outwards(const ${prefix}head *a, const ${prefix}prepared_query *q, int i, int j, ${prefix}walk *m) {
    const chances c = ${prefix}compute_chances(a, q, i, j);
    const real weight = c.match * m->unmatched;
    real value[${attends.head_part}];
    m->unmatched *= c.miss;
    % slot("add_weight")
    ${prefix}load_head(value, a->value + j * ${PREFIX}QUERY_STRIDE);
    ${prefix}add_head(m->out, weight, value);
}

/* Computes the layer's attended values${inline("stored_words", "")}. */
NOINLINE void ${prefix}attend(void) {
    % include("attention/cuda/opening.tpl")
    const int T = v->${attends.T};
    for (int task = ${attends.first_task}; task < sequences * ${PREFIX}HEADS * T; task += ${attends.task_step}) {
        const int i = task % T, h = task / T % ${PREFIX}HEADS, sequence = task / T / ${PREFIX}HEADS;
        const ${prefix}head a = ${prefix}make_head(v, l, s, NULL, sequence, h);
        ${prefix}prepared_query q;
        ${prefix}walk m = {};
        ${prefix}load_prepared_query(&a, i, &q);
        m.unmatched = 1;
        /* steps 2 d and 2 d + 1 visit the keys at distance d, the key to the right first */
        for (int step = 2; step <= last_step(i, T); step++)
            if (key_exists(find_key(i, step), T)) ${prefix}visit_outwards(&a, &q, i, find_key(i, step), &m);
        real *out = s->${attends.out} + ((size_t)sequence * T + i) * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        % slot("end_walk")
    }
    __syncthreads();
}

/* Walks outwards from query i again. Stores for each pair:
 * weights: the weight
 * misses: the probability that the key does not match */
INLINE void ${prefix}store_chances(const ${prefix}head *a, int i, real *weights, real *misses) {
    const int T = a->T;
    real unmatched = 1;
    ${prefix}prepared_query q;
    ${prefix}load_prepared_query(a, i, &q);
    for (int step = 2; step <= last_step(i, T); step++) {
        const int j = find_key(i, step);
        if (!key_exists(j, T)) continue;
        const chances c = ${prefix}compute_chances(a, &q, i, j);
        const size_t place = pair_index(i, j, T);
        weights[place] = c.match * unmatched;
        misses[place] = c.miss;
        unmatched *= c.miss;
    }
}

/* The state of a query's walk inwards, in the backward pass. */
typedef struct ${prefix}return_walk {
    real dout[${attends.head_part}], dquery[${attends.head_part}];
    % slot("return_walk")
    real dunmatched; /* gradient of `unmatched` of the walk outwards: see visit_inwards */
    real dright, dleft; /* the logits' gradients, summed for the keys on each side */
} ${prefix}return_walk;

/* Visits key j on the walk inwards. Replaces the pair's value 1 - P in `pairs` by the gradient of its logit.
 * P: the probability that key j matches
 * S: `unmatched` before the walk outwards visits j
 * S' = S (1 - P): `unmatched` after the walk outwards visits j
 * A = S P: the weight of key j
 * The visit changes dunmatched from dS' to dS = P dA + (1 - P) dS'. The gradient of P is S (dA - dS'). */
INLINE void ${prefix}visit_inwards(const ${prefix}head *a, int i, int j, const real *weights, real *pairs,
        ${prefix}return_walk *m) {
    const size_t place = pair_index(i, j, a->T);
    const real weight = weights[place], miss = pairs[place];
    real key[${attends.head_part}], value[${attends.head_part}];
    ${prefix}load_head(key, a->key + j * ${PREFIX}QUERY_STRIDE);
    ${prefix}load_head(value, a->value + j * ${PREFIX}QUERY_STRIDE);
    const real gain = ${prefix}dot_head(m->dout, value)${inline("mean", "")} - m->dunmatched;
    const real dlogit = weight${inline("inverse_of_query", "")} * (miss * gain);
    m->dunmatched += (1 - miss) * gain;
    __syncwarp(${prefix}head_lanes()); /* all lanes have read pairs[place] */ % if attends.head_lanes > 1
    pairs[place] = dlogit;
    if (j > i) m->dright += dlogit;
    else m->dleft += dlogit;
    ${prefix}add_head(m->dquery, dlogit, key);
}

/* Computes the gradients of queries, for `count` sequences from `first` on. Stores weights and gradients of logits. */
NOINLINE void ${prefix}attend_queries(int first, int count) {
    % include("attention/cuda/opening.tpl")
    const int T = v->${attends.T}, queries = sequences * ${PREFIX}HEADS * T;
    for (int task = first * ${PREFIX}HEADS * T + ${attends.first_task}; task < (first + count) * ${PREFIX}HEADS * T; task += ${attends.task_step}) {
        const int i = task % T, h = task / T % ${PREFIX}HEADS, sequence = task / T / ${PREFIX}HEADS;
        const ${prefix}head a = ${prefix}make_head(v, l, s, NULL, sequence, h);
        const size_t row = (size_t)sequence * T + i, offset_of_row = row * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        const size_t head_offset = ((size_t)(sequence - first) * ${PREFIX}HEADS + h) * T * T;
        real *weights = w->${prefix}weights + head_offset, *pairs = w->${prefix}pairs + head_offset;
        ${prefix}store_chances(&a, i, weights, pairs);
        ${prefix}return_walk m = {};
        ${prefix}load_head(m.dout, w->${attends.dout} + offset_of_row);
        % slot("begin_return")
        for (int step = last_step(i, T); step > 1; step--)
            if (key_exists(find_key(i, step), T)) ${prefix}visit_inwards(&a, i, find_key(i, step),
                    weights, pairs, &m);
        real query[${attends.head_part}], bias[${attends.head_part}];
        ${prefix}load_head(query, a.query + i * ${PREFIX}QUERY_STRIDE);
        ${prefix}load_head(bias, a.content_bias);
        ${prefix}add_head(query, 1, bias);
        const real dscale = ${prefix}dot_head(query, m.dquery);
        ${prefix}store_head(m.dquery, a.numbers.scale,
                w->${attends.dq} + row * ${PREFIX}QUERY_STRIDE + h * ${PREFIX}HEAD_WIDTH${attends.channel});
        ${attends.if_first_lane}w->${prefix}query_sums[task] = dscale;
        ${attends.if_first_lane}w->${prefix}query_sums[queries + task] = m.dright + m.dleft;
        % slot("end_return")
    }
    __syncthreads();
}

/* Computes the gradients of keys and values from the numbers that attend_queries stored for the same sequences. */
NOINLINE void ${prefix}attend_keys(int first, int count) {
    % include("attention/cuda/opening.tpl")
    const int T = v->${attends.T};
    for (int task = first * ${PREFIX}HEADS * T + ${attends.first_task}; task < (first + count) * ${PREFIX}HEADS * T; task += ${attends.task_step}) {
        const int j = task % T, h = task / T % ${PREFIX}HEADS, sequence = task / T / ${PREFIX}HEADS;
        const ${prefix}head a = ${prefix}make_head(v, l, s, NULL, sequence, h);
        const real *dattended = w->${attends.dout} + (size_t)sequence * T * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        const size_t head_offset = ((size_t)(sequence - first) * ${PREFIX}HEADS + h) * T * T;
        const real *weights = w->${prefix}weights + head_offset, *pairs = w->${prefix}pairs + head_offset;
        real dkey[${attends.head_part}] = {}, dvalue[${attends.head_part}] = {}, bias[${attends.head_part}], sum = 0;
        for (int offset = 1; offset < T; offset++) {
            const int i = j < offset ? j - offset + T : j - offset;
            const size_t place = (size_t)offset * T + i; /* pair_index(i, j, T) */
            const real dlogit = pairs[place];
            const real weight = weights[place]${inline("inverse_of_pair", "")};
            real query[${attends.head_part}], dout[${attends.head_part}];
            ${prefix}load_head(query, a.query + i * ${PREFIX}QUERY_STRIDE);
            ${prefix}load_head(dout, dattended + i * WIDTH);
            ${prefix}add_head(dkey, dlogit, query);
            ${prefix}add_head(dvalue, weight, dout);
            sum += dlogit;
        }
        ${prefix}load_head(bias, a.content_bias);
        ${prefix}add_head(dkey, sum, bias);
        real *to = w->${attends.dq} + (size_t)(sequence * T + j) * ${PREFIX}QUERY_STRIDE + WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        ${prefix}store_head(dkey, a.numbers.scale, to);
        ${prefix}store_head(dvalue, 1, to + WIDTH);
    }
    __syncthreads();
}

/* Computes the gradients of the layer's learned numbers, summed over a shard's queries in a fixed order. */
INLINE void ${prefix}add_number_gradients(${attends.gradients_type} *g) {
    const workspace *w = &block()->work;
    const int rows = block()->sequences * block()->view.${attends.T};
    column_sums(rows, WIDTH, ${PREFIX}QUERY_STRIDE, w->${attends.dq}, g->${prefix}content_bias);
    add_numbers(${PREFIX}QUERY_SUMS, rows * ${PREFIX}HEADS, w->${prefix}query_sums, (real *)&g->${prefix}geometric);
    % slot("number_grads")
}

/* Computes the gradients of queries, keys${inline("other_gradients", " and values")} in the workspace, and of the layer's learned numbers. */
% include("attention/cuda/walks_backward.tpl")
