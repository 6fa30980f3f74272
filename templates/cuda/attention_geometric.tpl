% local normalised, directional = normaliser.normalised, normaliser.directional
% local of_query, pass_query = directional and "int i, " or "", directional and "i, " or ""
/* Geometric self-attention of a shard. A thread has one query of one head and tries its keys outwards, at every
 * distance right before left; backward it does so again, notes what it met, and goes back inwards; then a thread has a
 * key. Nothing is added by two threads and every sum has its order. */

% if normalised then
#define LEAST_TOTAL ((real)1e-12) /* a smaller sum of weights counts as this one */

% end
typedef struct head {
    const real *query, *key, *value; /* token 0; HEAD_WIDTH channels, tokens QUERY_STRIDE apart */
    const real *content_bias; /* [HEAD_WIDTH] */
% if directional then
    const real *direction; /* of token 0: right, left; tokens DIRECTION_WIDTH apart */
    real right_bias, left_bias;
% end
    geometric_numbers numbers;
    int T;
} head;

% if cuda.head_lanes > 1 then
% include("cuda/head_lanes.tpl")

% end
INLINE head head_at(const step_view *v, int l, const ${device.attends.state} *s, int sequence, int h) {
    const ${device.attends.parameters_type} *p = &v->p->${device.attends.block}[l];
    head a;
    a.T = v->T;
    a.query = s->${device.attends.q} + (size_t)sequence * v->T * QUERY_STRIDE + h * HEAD_WIDTH${cuda.channel};
    a.key = a.query + WIDTH;
    a.value = a.query + 2 * WIDTH;
    a.content_bias = p->${device.attends.prefix}content_bias + h * HEAD_WIDTH${cuda.channel};
% if directional then
    a.direction = s->${device.attends.direction} + (size_t)sequence * v->T * DIRECTION_WIDTH + 2 * h;
    a.right_bias = p->${device.attends.prefix}direction_bias[2 * h];
    a.left_bias = p->${device.attends.prefix}direction_bias[2 * h + 1];
% end
    a.numbers = p->${device.attends.prefix}geometric;
    return a;
}

% include("cuda/head_vectors.tpl")

/* A query ready for its logits. */
typedef struct seeker {
    real query[${cuda.head_part}]; /* with the content bias, times the scale */
% if directional then
    real right, left; /* what the logits of keys on that side have besides */
% else
    real offset; /* what logits have besides */
% end
} seeker;

INLINE void load_seeker(const head *a, int i, seeker *q) {
    real bias[${cuda.head_part}];
    load_head(q->query, a->query + i * QUERY_STRIDE);
    load_head(bias, a->content_bias);
    add_head(q->query, 1, bias);
#pragma unroll
    for (int d = 0; d < ${cuda.head_part}; d++) q->query[d] *= a->numbers.scale;
% if directional then
    const real *direction = a->direction + i * DIRECTION_WIDTH;
    q->right = (direction[0] + a->right_bias) * a->numbers.direction_scale + a->numbers.offset;
    q->left = (direction[1] + a->left_bias) * a->numbers.direction_scale + a->numbers.offset;
% else
    q->offset = a->numbers.offset;
% end
}

/* P = sigmoid(logit), and 1 - P without cancellation. */
typedef struct chances {
    real match, miss;
} chances;

INLINE chances chances_at(const head *a, const seeker *q, ${of_query}int j) {
    real key[${cuda.head_part}];
    load_head(key, a->key + j * QUERY_STRIDE);
% if directional then
    const real logit = dot_head(q->query, key) + (j > i ? q->right : q->left);
% else
    const real logit = dot_head(q->query, key) + q->offset;
% end
    const real tail = exp_negative(-abs_real(logit)), larger = 1 / (1 + tail), smaller = tail * larger;
    const chances c = {logit < 0 ? smaller : larger, logit < 0 ? larger : smaller};
    return c;
}

/* The key that query i tries at a step: i + 1, i - 1, i + 2, ... from step 2 on; it may lie outside the sequence. */
INLINE int key_at(int i, int step) { return step % 2 == 0 ? i + step / 2 : i - step / 2; }
INLINE bool exists(int j, int T) { return (unsigned int)j < (unsigned int)T; }
INLINE int last_step(int i, int T) { return 2 * (i > T - 1 - i ? i : T - 1 - i) + 1; }

/* A query's walk outwards, to keys further and further away. */
typedef struct walk {
    real unmatched; /* the chance that no key so far has matched */
% if normalised then
    real total; /* of the weights */
% end
    real out[${cuda.head_part}];
} walk;

INLINE void try_key(const head *a, const seeker *q, ${of_query}int j, walk *m) {
    const chances c = chances_at(a, q, ${pass_query}j);
    const real weight = c.match * m->unmatched;
    real value[${cuda.head_part}];
    m->unmatched *= c.miss;
% if normalised then
    m->total += weight;
% end
    load_head(value, a->value + j * QUERY_STRIDE);
    add_head(m->out, weight, value);
}

/* The layer's attended values${normalised and ", and what the backward pass needs of the weights" or ""}. */
NOINLINE void attend(void) {
    const step_view *v = &block()->view;
    const ${device.attends.state} *s = &block()->${device.attends.block};
    const int sequences = block()->sequences, T = v->T;
    for (int task = ${cuda.first_task}; task < sequences * HEADS * T; task += ${cuda.tasks}) {
        const int i = task % T, h = task / T % HEADS, sequence = task / T / HEADS;
        const head a = head_at(v, block()->l, s, sequence, h);
        seeker q;
        walk m;
        load_seeker(&a, i, &q);
        m.unmatched = 1;
% if normalised then
        m.total = 0;
% end
        clear_head(m.out);
        for (int step = 2; step <= last_step(i, T); step++)
            if (exists(key_at(i, step), T)) try_key(&a, &q, ${pass_query}key_at(i, step), &m);
        real *out = s->${device.attends.out} + ((size_t)sequence * T + i) * WIDTH + h * HEAD_WIDTH${cuda.channel};
% if normalised then
        const real inverse = 1 / (m.total > LEAST_TOTAL ? m.total : LEAST_TOTAL);
        store_head(m.out, inverse, out);
        ${cuda.once}s->inverse_total[task] = inverse;
% else
        store_head(m.out, 1, out);
% end
    }
    __syncthreads();
}

/* Where a query keeps what it meets at a key: neighbouring queries side by side, and neighbouring keys. */
INLINE size_t pair_place(int i, int j, int T) { return (size_t)(j < i ? j - i + T : j - i) * T + i; }

/* Tries the keys of query i again; weights and 1 - P are noted. */
INLINE void note_keys(const head *a, int i, real *weights, real *misses) {
    const int T = a->T;
    real unmatched = 1;
    seeker q;
    load_seeker(a, i, &q);
    for (int step = 2; step <= last_step(i, T); step++) {
        const int j = key_at(i, step);
        if (!exists(j, T)) continue;
        const chances c = chances_at(a, &q, ${pass_query}j);
        const size_t place = pair_place(i, j, T);
        weights[place] = c.match * unmatched;
        misses[place] = c.miss;
        unmatched *= c.miss;
    }
}

/* A query's walk back inwards. */
typedef struct return_walk {
    real dout[${cuda.head_part}], dquery[${cuda.head_part}];
% if normalised then
    real mean, inverse; /* of the gradients of weights, of the sum of weights */
% end
    real dunmatched; /* what the keys farther out gain from the chance that reaches them */
    real dright, dleft; /* sums of gradients of logits */
} return_walk;

/* With S the chance that reaches the pair: dP = S (dA - dS), and behind it dS becomes dA P + dS (1 - P). */
INLINE void return_key(const head *a, int i, int j, const real *weights, real *pairs, return_walk *m) {
    const size_t place = pair_place(i, j, a->T);
    const real weight = weights[place], miss = pairs[place];
    real key[${cuda.head_part}], value[${cuda.head_part}];
    load_head(key, a->key + j * QUERY_STRIDE);
    load_head(value, a->value + j * QUERY_STRIDE);
% if normalised then
    const real gain = dot_head(m->dout, value) - m->mean - m->dunmatched;
    const real dlogit = weight * m->inverse * (miss * gain);
% else
    const real gain = dot_head(m->dout, value) - m->dunmatched;
    const real dlogit = weight * (miss * gain);
% end
    m->dunmatched += (1 - miss) * gain;
% if cuda.head_lanes > 1 then
    __syncwarp(head_lanes()); /* all have read what this one replaces */
% end
    pairs[place] = dlogit;
    if (j > i) m->dright += dlogit;
    else m->dleft += dlogit;
    add_head(m->dquery, dlogit, key);
}

/* Gradients of the queries of count sequences from the first on, and of their pairs. */
NOINLINE void attend_queries(int first, int count) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const ${device.attends.state} *s = &block()->${device.attends.block};
    const int T = v->T, numbers = block()->sequences * HEADS * T;
    for (int task = first * HEADS * T + ${cuda.first_task}; task < (first + count) * HEADS * T; task += ${cuda.tasks}) {
        const int i = task % T, h = task / T % HEADS, sequence = task / T / HEADS;
        const head a = head_at(v, block()->l, s, sequence, h);
        const size_t row = (size_t)sequence * T + i, at = row * WIDTH + h * HEAD_WIDTH${cuda.channel};
        const size_t of_head = ((size_t)(sequence - first) * HEADS + h) * T * T;
        real *weights = w->weights + of_head, *pairs = w->pairs + of_head;
        note_keys(&a, i, weights, pairs);
        return_walk m;
        load_head(m.dout, w->${device.attends.dout} + at);
        clear_head(m.dquery);
% if normalised then
        real out[${cuda.head_part}];
        load_head(out, s->${device.attends.out} + at);
        m.inverse = s->inverse_total[task];
        m.mean = dot_head(m.dout, out);
        if (m.inverse >= 1 / LEAST_TOTAL) m.mean = 0; /* the divisor is constant */
% end
        m.dunmatched = m.dright = m.dleft = 0;
        for (int step = last_step(i, T); step > 1; step--)
            if (exists(key_at(i, step), T)) return_key(&a, i, key_at(i, step), weights, pairs, &m);
        real query[${cuda.head_part}], bias[${cuda.head_part}];
        load_head(query, a.query + i * QUERY_STRIDE);
        load_head(bias, a.content_bias);
        add_head(query, 1, bias);
        const real dscale = dot_head(query, m.dquery);
        store_head(m.dquery, a.numbers.scale, w->${device.attends.dq} + row * QUERY_STRIDE + h * HEAD_WIDTH${cuda.channel});
        ${cuda.once}w->query_sums[task] = dscale;
        ${cuda.once}w->query_sums[numbers + task] = m.dright + m.dleft;
% if directional then
        const real *direction = a.direction + i * DIRECTION_WIDTH;
        real *ddirection = w->${device.attends.ddirection} + row * DIRECTION_WIDTH + 2 * h;
        ${cuda.once}w->query_sums[2 * numbers + task] =
                m.dright * (direction[0] + a.right_bias) + m.dleft * (direction[1] + a.left_bias);
        ${cuda.once}ddirection[0] = m.dright * a.numbers.direction_scale;
        ${cuda.once}ddirection[1] = m.dleft * a.numbers.direction_scale;
% end
    }
    __syncthreads();
}

/* Gradients of the keys and values of these sequences, from what attend_queries has left of their pairs. */
NOINLINE void attend_keys(int first, int count) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const ${device.attends.state} *s = &block()->${device.attends.block};
    const int T = v->T;
    for (int task = first * HEADS * T + ${cuda.first_task}; task < (first + count) * HEADS * T; task += ${cuda.tasks}) {
        const int j = task % T, h = task / T % HEADS, sequence = task / T / HEADS;
        const head a = head_at(v, block()->l, s, sequence, h);
        const real *dattended = w->${device.attends.dout} + (size_t)sequence * T * WIDTH + h * HEAD_WIDTH${cuda.channel};
        const size_t of_head = ((size_t)(sequence - first) * HEADS + h) * T * T;
        const real *weights = w->weights + of_head, *pairs = w->pairs + of_head;
        real dkey[${cuda.head_part}], dvalue[${cuda.head_part}], bias[${cuda.head_part}], sum = 0;
        clear_head(dkey);
        clear_head(dvalue);
        for (int offset = 1; offset < T; offset++) {
            const int i = j < offset ? j - offset + T : j - offset;
            const size_t place = (size_t)offset * T + i;
            const real dlogit = pairs[place];
% if normalised then
            const real weight = weights[place] * s->inverse_total[task - j + i];
% else
            const real weight = weights[place];
% end
            real query[${cuda.head_part}], dout[${cuda.head_part}];
            load_head(query, a.query + i * QUERY_STRIDE);
            load_head(dout, dattended + i * WIDTH);
            add_head(dkey, dlogit, query);
            add_head(dvalue, weight, dout);
            sum += dlogit;
        }
        load_head(bias, a.content_bias);
        add_head(dkey, sum, bias);
        real *to = w->${device.attends.dq} + (size_t)(sequence * T + j) * QUERY_STRIDE + WIDTH + h * HEAD_WIDTH${cuda.channel};
        store_head(dkey, a.numbers.scale, to);
        store_head(dvalue, 1, to + WIDTH);
    }
    __syncthreads();
}

/* What a shard's queries add up to, in a fixed order. */
INLINE void number_grads(${device.attends.gradients_type} *g) {
    const workspace *w = &block()->work;
    const int rows = block()->sequences * block()->view.T;
    strided_sums(rows, WIDTH, QUERY_STRIDE, w->${device.attends.dq}, g->${device.attends.prefix}content_bias);
    real *numbers = (real *)&g->${device.attends.prefix}geometric; /* in the order of query_sums */
    for (int k = 0; k < QUERY_SUMS; k++) {
        const double sum = block_sum(sum_rows(rows * HEADS, 1, w->query_sums + (size_t)k * rows * HEADS, 1));
        if (threadIdx.x == 0) numbers[k] = (real)sum;
    }
    __syncthreads();
% if directional then
    column_sums(rows, DIRECTION_WIDTH, w->${device.attends.ddirection}, g->${device.attends.prefix}direction_bias);
% end
}

/* The gradients of queries, keys${directional and ", values and directions" or " and values"}, in the workspace, and those of the layer's learned numbers. */
INLINE void attend_backward(${device.attends.gradients_type} *g) {
% if directional and normaliser.direction_width > 2 * heads then
    for (int e = threadIdx.x; e < block()->sequences * block()->view.T * DIRECTION_WIDTH; e += THREADS)
        if (e % DIRECTION_WIDTH >= 2 * HEADS) block()->work.${device.attends.ddirection}[e] = 0;
% end
% if cuda.pairs then
    const int sequences = block()->sequences, most = pair_sequences(sequences, block()->view.T);
    for (int first = 0; first < sequences; first += most) {
        const int left = sequences - first, count = left < most ? left : most;
        attend_queries(first, count);
        attend_keys(first, count);
    }
% else
    attend_queries(0, block()->sequences);
    attend_keys(0, block()->sequences);
% end
    number_grads(g);
}
