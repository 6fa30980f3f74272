% local name = attentions[1].name
% local normalised, directional = normaliser.normalised, normaliser.directional
% local smallest = precision == "float64" and "1e-290" or "1e-30f"
% local least_total = precision == "float64" and "1e-12" or "1e-12f"
% include("parts/banner.tpl", { template = "cpu/attention_geometric.inc.tpl", about = about.attention })

/* One head of one sequence at a time; LANES queries side by side try their keys outwards: at every distance the key to
 * the right, then the key to the left. Keys and values are turned into columns, so that those of LANES queries lie side
 * by side as well, and the columns have a vector of zeros at both ends for queries whose key does not exist. */
enum {
    HEAD_PART = ${head_part} < LANES ? ${head_part} : LANES, /* channels of a head in one vector, keys side by side */
    HEAD_PARTS = HEAD_WIDTH / HEAD_PART,
    KEYS = KEY_TILE / HEAD_PARTS > 0 ? KEY_TILE / HEAD_PARTS : 1, /* keys whose gradients are summed together */
    QUERY_STRIDE = 3 * WIDTH
};
typedef real head_vector __attribute__((vector_size(HEAD_PART * REAL_BYTES), aligned(REAL_BYTES), may_alias));

static const real SMALLEST = ${smallest}; /* a chance below it counts as 0: subnormal numbers are slow */
% if normalised then
static const real LEAST_TOTAL = ${least_total}; /* a smaller sum of weights counts as this one */
% end

/* What attention keeps of a layer. A group of LANES queries has a vector for each offset, key - query; offset_row says
 * which. The offset 0 is there for the keys' pass: its weights are 0. */
typedef struct kept_attention {
% if directional then
    real *direction; /* [rows][DIRECTION_WIDTH] */
% end
    real *weights; /* [sequences][HEADS][groups][offsets][LANES]${normalised and ", not yet divided by their sum" or ""} */
    real *misses; /* likewise: 1 - P, the chance that the pair does not match */
% if normalised then
    real *inverse_total; /* [sequences][HEADS][groups][LANES] */
% end
    size_t step; /* elements from one group's weights to the next; 0: the groups share one scratch */
} kept_attention;

/* Elements of the weights of one head of one group of queries, with rows for the last tile of keys. */
INLINE size_t group_weights(int T) { return (size_t)(round_up(T, KEYS) + LANES - 1) * LANES; }

INLINE int offset_row(int first, int offset) { return offset + first + LANES - 1; }

static void lay_out_attention(kept_attention *kept, char *memory, size_t *used, int T, int rows, int heads,
        bool train) {
    size_t groups = (size_t)(round_up(T, LANES) / LANES), count = train ? (size_t)heads * groups : 1;
    kept->step = train ? group_weights(T) : 0;
% if directional then
    kept->direction = take(memory, used, (size_t)rows * DIRECTION_WIDTH * sizeof(real));
% else
    (void)rows;
% end
    kept->weights = take(memory, used, count * group_weights(T) * sizeof(real));
    kept->misses = take(memory, used, count * group_weights(T) * sizeof(real));
% if normalised then
    kept->inverse_total = take(memory, used, (train ? count : groups) * LANES * sizeof(real));
% end
}

/* From one channel to the next: an odd number of vectors, to spread over the sets of a cache. */
INLINE int column_stride(int T) { return ((round_up(T, LANES) / LANES + 2) | 1) * LANES; }

/* Keys, then values of one head: [2][HEAD_WIDTH][column_stride], token t at LANES + t. */
static void turn_keys(int T, const real *restrict query, real *restrict columns) {
    int stride = column_stride(T), end = LANES + round_up(T, LANES);
    for (int which = 0; which < 2; which++, columns += HEAD_WIDTH * stride) {
        for (int first = 0; first < T; first += LANES) {
            vector column[HEAD_WIDTH];
            load_columns(HEAD_WIDTH, T, first, QUERY_STRIDE, query + (which + 1) * WIDTH, 1, column);
            for (int d = 0; d < HEAD_WIDTH; d++) store(columns + d * stride + LANES + first, column[d]);
        }
        for (int d = 0; d < HEAD_WIDTH; d++) {
            store(columns + d * stride, (vector){0});
            store(columns + d * stride + end, (vector){0});
        }
    }
}

/* One head of a sequence, beside its queries. */
typedef struct geometric_head {
    const real *key, *value; /* columns of token 0 */
    int stride; /* from one channel of a column to the next */
    const real *content_bias; /* [HEAD_WIDTH] */
    real scale, offset;
% if directional then
    const real *direction; /* [T] rows, DIRECTION_WIDTH apart: right, left */
    real direction_scale;
% end
} geometric_head;

% if directional then
static geometric_head head_of(const lh_cpu_step *step, int l, int h, const real *direction, const real *columns) {
% else
static geometric_head head_of(const lh_cpu_step *step, int l, int h, const real *columns) {
% end
    const layer_parameters *p = &((const parameters *)step->parameters)->layer[l];
    int stride = column_stride(step->shape.length[0]);
    return (geometric_head){
            .key = columns + LANES,
            .value = columns + LANES + HEAD_WIDTH * stride,
            .stride = stride,
            .content_bias = p->content_bias + h * HEAD_WIDTH,
            .scale = p->geometric.scale,
            .offset = p->geometric.offset,
% if directional then
            .direction = direction + 2 * h,
            .direction_scale = p->geometric.direction_scale,
% end
    };
}

/* LANES queries of one head, ready for their logits with any key; lanes beyond the last query repeat it. */
typedef struct query_group {
    vector query[HEAD_WIDTH]; /* with the content bias, times the scale */
% if directional then
    vector right, left; /* what the logits of keys on that side have besides */
% else
    vector offset; /* what logits have besides */
% end
} query_group;

INLINE void load_queries(const geometric_head *head, int T, int first, const real *restrict query,
        query_group *group) {
    load_columns(HEAD_WIDTH, T, first, QUERY_STRIDE, query, 1, group->query);
    UNROLL
    for (int d = 0; d < HEAD_WIDTH; d++) group->query[d] = (group->query[d] + head->content_bias[d]) * head->scale;
% if directional then
    vector direction[2];
    load_columns(2, T, first, DIRECTION_WIDTH, head->direction, head->direction_scale, direction);
    group->right = direction[0] + head->offset;
    group->left = direction[1] + head->offset;
% else
    group->offset = broadcast(head->offset);
% end
}

INLINE vector dot_columns(const vector *x, const real *restrict column, int stride) {
    vector sum = x[0] * load(column);
    UNROLL
    for (int d = 1; d < HEAD_WIDTH; d++) sum += x[d] * load(column + d * stride);
    return sum;
}

/* The logits of a group with the keys at an offset that is not 0. */
INLINE vector pair_logit(const geometric_head *head, const query_group *group, int first, int offset) {
% if directional then
    return dot_columns(group->query, head->key + first + offset, head->stride)
            + (offset > 0 ? group->right : group->left);
% else
    return dot_columns(group->query, head->key + first + offset, head->stride) + group->offset;
% end
}

/* Which lanes have a key at the offset. */
INLINE bits key_exists(int T, int first, int offset) {
    return offset > 0 ? lanes_before(T - first - offset) : ~lanes_before(-offset - first);
}

/* How far some query of a group has keys on a side. */
INLINE int reach_right(int T, int first) { return T - 1 - first; }
INLINE int reach_left(int T, int first) { return first + LANES < T ? first + LANES - 1 : T - 1; }

/* A group on its way outwards. */
typedef struct walk {
    vector unmatched; /* the chance that no key so far has matched */
% if normalised then
    vector total; /* of the weights */
% end
    vector out[HEAD_WIDTH]; /* weighted values */
} walk;

/* P = sigmoid(logit), and 1 - P without cancellation. */
INLINE void try_keys(const geometric_head *head, const query_group *group, int T, int first, int offset, walk *w,
        real *restrict weights, real *restrict misses) {
    bits exists = key_exists(T, first, offset);
    vector logit = pair_logit(head, group, first, offset);
    vector tail = exp_negative(-abs_of(logit)), larger = 1 / (1 + tail), smaller = tail * larger;
    vector match = keep_where(exists, choose(logit < 0, smaller, larger));
    vector miss = choose(exists, choose(logit < 0, larger, smaller), broadcast(1));
    vector weight = match * w->unmatched;
    w->unmatched *= miss;
    w->unmatched = keep_where(~(w->unmatched < SMALLEST), w->unmatched);
    store(weights + offset_row(first, offset) * LANES, weight);
    store(misses + offset_row(first, offset) * LANES, miss);
% if normalised then
    w->total += weight;
% end
    UNROLL
    for (int d = 0; d < HEAD_WIDTH; d++) w->out[d] += weight * load(head->value + d * head->stride + first + offset);
}

/* All keys of a group: weights and misses [offsets][LANES] written. */
INLINE void walk_outwards(const geometric_head *head, int T, int first, const real *restrict query, walk *w,
        real *restrict weights, real *restrict misses) {
    int right = reach_right(T, first), left = reach_left(T, first);
    query_group group;
    load_queries(head, T, first, query, &group);
    *w = (walk){.unmatched = broadcast(1)};
    store(weights + offset_row(first, 0) * LANES, (vector){0});
    for (int distance = 1; distance <= (right > left ? right : left); distance++) {
        if (distance <= right) try_keys(head, &group, T, first, distance, w, weights, misses);
        if (distance <= left) try_keys(head, &group, T, first, -distance, w, weights, misses);
    }
}
% if normalised then

/* A query that matches next to nothing stays with little, one without another key with 0. */
INLINE vector inverse_of(vector total) { return 1 / maximum(total, broadcast(LEAST_TOTAL)); }
% end
% if rotation.kind == "rope" then

% include("cpu/rotate.tpl")
% end

/* One head of one sequence: query [T] rows of HEAD_WIDTH, QUERY_STRIDE apart; out likewise, WIDTH apart, written; what
 * is kept of it, from its first group on, written. */
NOINLINE void attend_${name}(const geometric_head *head, int T, const real *restrict query, real *restrict out,
        kept_attention kept) {
    for (int first = 0; first < T; first += LANES) {
        walk w;
        walk_outwards(head, T, first, query, &w, kept.weights, kept.misses);
% if normalised then
        vector inverse = inverse_of(w.total);
        store(kept.inverse_total + first, inverse);
        UNROLL
        for (int d = 0; d < HEAD_WIDTH; d++) w.out[d] *= inverse;
% end
        store_columns(HEAD_WIDTH, T, first, WIDTH, w.out, out);
        kept.weights += kept.step;
        kept.misses += kept.step;
    }
}

/* Room for one head. */
typedef struct head_scratch {
    real *columns; /* turn_keys */
    real *dlogits; /* [groups][offsets][LANES] */
% if normalised then
    real *rows; /* [T][2][HEAD_WIDTH] output gradients over the sum of weights, then queries, with what dlogits lacks */
% else
    real *rows; /* [T][2][HEAD_WIDTH] output gradients, then queries, with what dlogits lacks */
% end
} head_scratch;

/* A group on its way back inwards. */
typedef struct return_walk {
    vector dout[HEAD_WIDTH];
% if normalised then
    vector mean, inverse; /* of the gradients of weights, of the sum of weights */
% end
    vector dunmatched; /* what the keys farther out gain from the chance that reaches them */
    vector dright, dleft; /* sums of dlogits */
    vector dquery[HEAD_WIDTH];
} return_walk;

/* With S the chance that reaches the pair: dP = S (dA - dS), and behind it dS becomes dA P + dS (1 - P). */
INLINE void return_keys(const geometric_head *head, int first, int offset, const real *restrict weights,
        const real *restrict misses, return_walk *w, real *restrict dlogits) {
    int row = offset_row(first, offset) * LANES;
    vector weight = load(weights + row), miss = load(misses + row);
% if normalised then
    vector gain = dot_columns(w->dout, head->value + first + offset, head->stride) - w->mean - w->dunmatched;
    vector dlogit = weight * w->inverse * (miss * gain);
% else
    vector gain = dot_columns(w->dout, head->value + first + offset, head->stride) - w->dunmatched;
    vector dlogit = weight * (miss * gain);
% end
    w->dunmatched += (1 - miss) * gain;
    store(dlogits + row, dlogit);
    if (offset > 0) w->dright += dlogit;
    else w->dleft += dlogit;
    UNROLL
    for (int d = 0; d < HEAD_WIDTH; d++) w->dquery[d] += dlogit * load(head->key + d * head->stride + first + offset);
}

/* Where the gradients of a head go. */
typedef struct head_grad {
    geometric_sums *sums; /* the layer's */
    vector *content_bias; /* [HEAD_WIDTH] of the sums */
    real *query; /* [T] rows, QUERY_STRIDE apart, written; keys and values WIDTH and 2 WIDTH further on */
% if directional then
    real *direction; /* [T] rows, DIRECTION_WIDTH apart, written */
% end
} head_grad;

/* From the sums of a group's walk to the gradients of its queries and of what the layer has learned. */
INLINE void end_return(const geometric_head *head, int T, int first, const real *restrict query, return_walk *w,
        const head_grad *grad) {
    bits live = lanes_before(T - first);
    vector q[HEAD_WIDTH], dscale = {0};
    load_columns(HEAD_WIDTH, T, first, QUERY_STRIDE, query, 1, q);
    UNROLL
    for (int d = 0; d < HEAD_WIDTH; d++) {
        dscale += (q[d] + head->content_bias[d]) * w->dquery[d];
        w->dquery[d] *= head->scale;
        grad->content_bias[d] += keep_where(live, w->dquery[d]);
    }
    grad->sums->scale += keep_where(live, dscale);
    grad->sums->offset += keep_where(live, w->dright + w->dleft);
% if directional then
    vector direction[2], ddirection[2] = {w->dright * head->direction_scale, w->dleft * head->direction_scale};
    load_columns(2, T, first, DIRECTION_WIDTH, head->direction, 1, direction);
    grad->sums->direction_scale += keep_where(live, w->dright * direction[0] + w->dleft * direction[1]);
    store_columns(2, T, first, DIRECTION_WIDTH, ddirection, grad->direction);
% end
    store_columns(HEAD_WIDTH, T, first, QUERY_STRIDE, w->dquery, grad->query);
}

/* Gradients of queries${directional and " and directions" or ""}, and the rows that the keys' pass reads. */
% if normalised then
INLINE void attend_${name}_queries(const geometric_head *head, int T, const real *restrict query,
        const real *restrict out, const real *restrict dout, kept_attention kept, const head_scratch *scratch,
        const head_grad *grad) {
% else
INLINE void attend_${name}_queries(const geometric_head *head, int T, const real *restrict query,
        const real *restrict dout, kept_attention kept, const head_scratch *scratch, const head_grad *grad) {
% end
    real *dlogits = scratch->dlogits;
    for (int first = 0; first < T; first += LANES) {
        return_walk w = {0};
        load_columns(HEAD_WIDTH, T, first, WIDTH, dout, 1, w.dout);
% if normalised then
        vector o[HEAD_WIDTH];
        load_columns(HEAD_WIDTH, T, first, WIDTH, out, 1, o);
        UNROLL
        for (int d = 0; d < HEAD_WIDTH; d++) w.mean += w.dout[d] * o[d];
        w.inverse = load(kept.inverse_total + first);
        w.mean = keep_where(w.inverse < 1 / LEAST_TOTAL, w.mean); /* below LEAST_TOTAL the divisor is constant */
% end
        store(dlogits + offset_row(first, 0) * LANES, (vector){0});
        int right = reach_right(T, first), left = reach_left(T, first);
        for (int distance = right > left ? right : left; distance > 0; distance--) {
            if (distance <= left) return_keys(head, first, -distance, kept.weights, kept.misses, &w, dlogits);
            if (distance <= right) return_keys(head, first, distance, kept.weights, kept.misses, &w, dlogits);
        }
        end_return(head, T, first, query, &w, grad);
        kept.weights += kept.step;
        kept.misses += kept.step;
        dlogits += group_weights(T);
    }
    for (int t = 0; t < T; t++) {
        real *row = scratch->rows + t * 2 * HEAD_WIDTH;
        UNROLL
        for (int d = 0; d < HEAD_WIDTH; d += HEAD_PART) {
            const head_vector *g = (const head_vector *)(dout + t * WIDTH + d);
            const head_vector *q = (const head_vector *)(query + t * QUERY_STRIDE + d);
            const head_vector *bias = (const head_vector *)(head->content_bias + d);
            *(head_vector *)(row + d) = *g${normalised and " * kept.inverse_total[t]" or ""};
            *(head_vector *)(row + HEAD_WIDTH + d) = (*q + *bias) * head->scale;
        }
    }
}

% include("cpu/attend_keys.tpl", { name = name, start = "", step = "group_weights(T)", row = "(j + LANES - 1)", at = "(u - i) * LANES + i" })

/* All heads of all sequences: query_key_value [sequences][T][3 WIDTH]${rotated_in_place},
 * out [sequences][T][WIDTH]. columns: scratch. */
static void attention_${name}(const lh_cpu_step *step, int l, int sequences, int T, real *query_key_value,
        kept_attention kept, real *columns, real *out${position_argument}) {
    LH_TIMED(LH_PART_ATTENTION);
    size_t groups = (size_t)(round_up(T, LANES) / LANES);
    for (int s = 0; s < sequences; s++, query_key_value += T * QUERY_STRIDE, out += T * WIDTH) {
% if rotation.kind == "rope" then
        rotate(step, ${rotate_by}, T, 1, query_key_value);
% end
        for (int h = 0; h < HEADS; h++) {
% if directional then
            geometric_head head = head_of(step, l, h, kept.direction + s * T * DIRECTION_WIDTH, columns);
% else
            geometric_head head = head_of(step, l, h, columns);
% end
            turn_keys(T, query_key_value + h * HEAD_WIDTH, columns);
            attend_${name}(&head, T, query_key_value + h * HEAD_WIDTH, out + h * HEAD_WIDTH, kept);
            kept.weights += groups * kept.step;
            kept.misses += groups * kept.step;
% if normalised then
            if (kept.step) kept.inverse_total += groups * LANES;
% end
        }
    }
}

% local out_argument, out_pass = normalised and "const real *restrict out, " or "", normalised and "out, " or ""
NOINLINE void attend_${name}_backward(const geometric_head *head, int T, const real *restrict query,
        ${out_argument}const real *restrict dout, kept_attention kept, const head_scratch *scratch,
        const head_grad *grad) {
    attend_${name}_queries(head, T, query, ${out_pass}dout, kept, scratch, grad);
    for (int j = 0; j < T; j += KEYS)
        attend_${name}_keys(T, j, kept.weights, scratch, grad->query + WIDTH, grad->query + 2 * WIDTH);
}

% if directional then
/* dquery_key_value [sequences][T][3 WIDTH] and ddirection [sequences][T][DIRECTION_WIDTH] written, from
 * dout [sequences][T][WIDTH]. */
% else
/* dquery_key_value [sequences][T][3 WIDTH] written, from dout [sequences][T][WIDTH]. */
% end
static void attention_${name}_backward(const lh_cpu_step *step, int l, int sequences, int T,
        const real *query_key_value, kept_attention kept, ${normalised and "const real *out, " or ""}const real *dout,
        const head_scratch *scratch, const shard_sums *sums, ${directional and "real *ddirection, " or ""}real *dquery_key_value${position_argument}) {
    LH_TIMED(LH_PART_ATTENTION);
    size_t groups = (size_t)(round_up(T, LANES) / LANES);
% if directional and normaliser.direction_width > 2 * heads then
    memset(ddirection, 0, (size_t)(sequences * T) * DIRECTION_WIDTH * sizeof(real)); /* unused columns stay so */
% end
    for (int s = 0; s < sequences; s++) {
        for (int h = 0; h < HEADS; h++) {
            int at = h * HEAD_WIDTH;
% if directional then
            geometric_head head = head_of(step, l, h, kept.direction + s * T * DIRECTION_WIDTH, scratch->columns);
            head_grad grad = {sums->geometric[l], sums->geometric[l]->content_bias + at, dquery_key_value + at,
                    ddirection + s * T * DIRECTION_WIDTH + 2 * h};
% else
            geometric_head head = head_of(step, l, h, scratch->columns);
            head_grad grad = {sums->geometric[l], sums->geometric[l]->content_bias + at, dquery_key_value + at};
% end
            turn_keys(T, query_key_value + at, scratch->columns);
            attend_${name}_backward(&head, T, query_key_value + at, ${normalised and "out + at, " or ""}dout + at, kept, scratch, &grad);
            kept.weights += groups * kept.step;
            kept.misses += groups * kept.step;
% if normalised then
            kept.inverse_total += groups * LANES;
% end
        }
% if rotation.kind == "rope" then
        rotate(step, ${rotate_by}, T, -1, dquery_key_value);
% end
        query_key_value += T * QUERY_STRIDE;
        dquery_key_value += T * QUERY_STRIDE;
% if normalised then
        out += T * WIDTH;
% end
        dout += T * WIDTH;
    }
}
