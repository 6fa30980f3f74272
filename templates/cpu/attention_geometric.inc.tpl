% local normalised, directional = normaliser.normalised, normaliser.directional
% local smallest = precision == "float64" and "1e-290" or "1e-30f"
% local least_total = precision == "float64" and "1e-12" or "1e-12f"
% local more = directional and ", with one input more, the directions" or ""
% include("parts/banner.tpl", { template = "cpu/attention_geometric.inc.tpl", about = about.attention[name] })

/* What the layers call, with the workspace whole, is what it is with a softmax: attention_${name} and
 * attention_${name}_backward${more}.
 *
 * One head of one sequence at a time; LANES queries side by side try their keys outwards: at every distance the key to
 * the right, then the key to the left. Keys and values are turned into columns, so that those of LANES queries lie side
 * by side as well, and the columns have a vector of zeros at both ends for queries whose key does not exist. */

static const real ${PREFIX}SMALLEST = ${smallest}; /* a chance below it counts as 0: subnormal numbers are slow */
% if normalised then
static const real ${PREFIX}LEAST_TOTAL = ${least_total}; /* a smaller sum of weights counts as this one */
% end

/* Keys, then values of one head: [2][${PREFIX}HEAD_WIDTH][${name}_column_stride], token t at LANES + t. */
static void turn_${name}_keys(int T, const real *restrict query, real *restrict columns) {
    int stride = ${name}_column_stride(T), end = LANES + round_up(T, LANES);
    for (int which = 0; which < 2; which++, columns += ${PREFIX}HEAD_WIDTH * stride) {
        for (int first = 0; first < T; first += LANES) {
            vector column[${PREFIX}HEAD_WIDTH];
            load_columns(${PREFIX}HEAD_WIDTH, T, first, ${PREFIX}QUERY_STRIDE, query + (which + 1) * WIDTH, 1, column);
            for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) store(columns + d * stride + LANES + first, column[d]);
        }
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
            store(columns + d * stride, (vector){0});
            store(columns + d * stride + end, (vector){0});
        }
    }
}

/* One head of a sequence, beside its queries. */
typedef struct ${name}_head {
    int T; /* queries, and keys */
% if partial then
    int first_query, end_query; /* queries that somebody reads; the rows of all are there */
% end
    const real *key, *value; /* columns of token 0 */
    int stride; /* from one channel of a column to the next */
    const real *content_bias; /* [${PREFIX}HEAD_WIDTH] */
    real scale, offset;
% if directional then
    const real *direction; /* [T] rows, ${PREFIX}DIRECTION_WIDTH apart: right, left */
    real direction_scale;
% end
} ${name}_head;

/* The head's keys and values: turn_${name}_keys${directional and "; direction: the sequence's" or ""}. */
% define("static " .. name .. "_head " .. name .. "_head_of", "const workspace *w", "int l", "int h", partial and "int first_query", partial and "int end_query", directional and "const real *direction")
    const ${stack.parameters} *p = &((const parameters *)w->step->parameters)->${stack.member}[l];
    const int T = w->${queries.at}length, stride = ${name}_column_stride(T);
    return (${name}_head){
            .T = T,
% if partial then
            .first_query = first_query,
            .end_query = end_query,
% end
            .key = w->${name}.columns + LANES,
            .value = w->${name}.columns + LANES + ${PREFIX}HEAD_WIDTH * stride,
            .stride = stride,
            .content_bias = p->${prefix}content_bias + h * ${PREFIX}HEAD_WIDTH,
            .scale = p->${prefix}geometric.scale,
            .offset = p->${prefix}geometric.offset,
% if directional then
            .direction = direction + 2 * h,
            .direction_scale = p->${prefix}geometric.direction_scale,
% end
    };
}

% if partial then
/* The first query of the first group that somebody reads one of. */
INLINE int ${name}_first_group(const ${name}_head *head) { return head->first_query / LANES * LANES; }

% end
/* LANES queries of one head, ready for their logits with any key; lanes beyond the last query repeat it. */
typedef struct ${name}_queries {
    vector query[${PREFIX}HEAD_WIDTH]; /* with the content bias, times the scale */
% if directional then
    vector right, left; /* what the logits of keys on that side have besides */
% else
    vector offset; /* what logits have besides */
% end
} ${name}_queries;

INLINE void load_${name}_queries(const ${name}_head *head, int T, int first, const real *restrict query,
        ${name}_queries *group) {
    load_columns(${PREFIX}HEAD_WIDTH, T, first, ${PREFIX}QUERY_STRIDE, query, 1, group->query);
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++)
        group->query[d] = (group->query[d] + head->content_bias[d]) * head->scale;
% if directional then
    vector direction[2];
    load_columns(2, T, first, ${PREFIX}DIRECTION_WIDTH, head->direction, head->direction_scale, direction);
    group->right = direction[0] + head->offset;
    group->left = direction[1] + head->offset;
% else
    group->offset = broadcast(head->offset);
% end
}

/* The logits of a group with the keys at an offset that is not 0. */
INLINE vector ${name}_logit(const ${name}_head *head, const ${name}_queries *group, int first, int offset) {
% if directional then
    vector logit = dot_columns(${PREFIX}HEAD_WIDTH, group->query, head->key + first + offset, head->stride);
    return logit + (offset > 0 ? group->right : group->left);
% else
    return dot_columns(${PREFIX}HEAD_WIDTH, group->query, head->key + first + offset, head->stride) + group->offset;
% end
}

/* Which lanes have a key at the offset. */
INLINE bits ${name}_key_exists(int T, int first, int offset) {
    return offset > 0 ? lanes_before(T - first - offset) : ~lanes_before(-offset - first);
}

/* How far some query of a group has keys on a side. */
INLINE int ${name}_reach_right(int T, int first) { return T - 1 - first; }
INLINE int ${name}_reach_left(int T, int first) { return first + LANES < T ? first + LANES - 1 : T - 1; }

/* A group on its way outwards. */
typedef struct ${name}_walk {
    vector unmatched; /* the chance that no key so far has matched */
% if normalised then
    vector total; /* of the weights */
% end
    vector out[${PREFIX}HEAD_WIDTH]; /* weighted values */
} ${name}_walk;

/* P = sigmoid(logit), and 1 - P without cancellation. */
INLINE void try_${name}_keys(const ${name}_head *head, const ${name}_queries *group, int T, int first, int offset,
        ${name}_walk *w, real *restrict weights, real *restrict misses) {
    bits exists = ${name}_key_exists(T, first, offset);
    vector logit = ${name}_logit(head, group, first, offset);
    vector tail = exp_negative(-abs_of(logit)), larger = 1 / (1 + tail), smaller = tail * larger;
    vector match = keep_where(exists, choose(logit < 0, smaller, larger));
    vector miss = choose(exists, choose(logit < 0, larger, smaller), broadcast(1));
    vector weight = match * w->unmatched;
    w->unmatched *= miss;
    w->unmatched = keep_where(~(w->unmatched < ${PREFIX}SMALLEST), w->unmatched);
    store(weights + ${name}_offset_row(first, offset) * LANES, weight);
    store(misses + ${name}_offset_row(first, offset) * LANES, miss);
% if normalised then
    w->total += weight;
% end
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++)
        w->out[d] += weight * load(head->value + d * head->stride + first + offset);
}

/* All keys of a group: weights and misses [offsets][LANES] written. */
INLINE void walk_${name}_outwards(const ${name}_head *head, int T, int first, const real *restrict query,
        ${name}_walk *w, real *restrict weights, real *restrict misses) {
    int right = ${name}_reach_right(T, first), left = ${name}_reach_left(T, first);
    ${name}_queries group;
    load_${name}_queries(head, T, first, query, &group);
    *w = (${name}_walk){.unmatched = broadcast(1)};
    store(weights + ${name}_offset_row(first, 0) * LANES, (vector){0});
    for (int distance = 1; distance <= (right > left ? right : left); distance++) {
        if (distance <= right) try_${name}_keys(head, &group, T, first, distance, w, weights, misses);
        if (distance <= left) try_${name}_keys(head, &group, T, first, -distance, w, weights, misses);
    }
}
% if normalised then

/* A query that matches next to nothing stays with little, one without another key with 0. */
INLINE vector ${name}_inverse_of(vector total) { return 1 / maximum(total, broadcast(${PREFIX}LEAST_TOTAL)); }
% end
% if rotation.kind == "rope" then

% include("cpu/rotate.tpl")
% end

/* One head of one sequence: query [T] rows of HEAD_WIDTH, QUERY_STRIDE apart; out likewise, WIDTH apart, written; what
 * is kept of it, written. */
NOINLINE void attend_${name}(const ${name}_head *head, const real *restrict query, real *restrict out,
        ${name}_kept kept) {
    const int T = head->T;
% if partial then
    const int first_group = ${name}_first_group(head);
    kept.weights += (size_t)(first_group / LANES) * kept.step;
    kept.misses += (size_t)(first_group / LANES) * kept.step;
    for (int first = first_group; first < head->end_query; first += LANES) {
% else
    for (int first = 0; first < T; first += LANES) {
% end
        ${name}_walk w;
        walk_${name}_outwards(head, T, first, query, &w, kept.weights, kept.misses);
% if normalised then
        vector inverse = ${name}_inverse_of(w.total);
        store(kept.inverse_total + first, inverse);
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) w.out[d] *= inverse;
% end
        store_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, w.out, out);
        kept.weights += kept.step;
        kept.misses += kept.step;
    }
}

/* A group on its way back inwards. */
typedef struct ${name}_return_walk {
    vector dout[${PREFIX}HEAD_WIDTH];
% if normalised then
    vector mean, inverse; /* of the gradients of weights, of the sum of weights */
% end
    vector dunmatched; /* what the keys farther out gain from the chance that reaches them */
    vector dright, dleft; /* sums of dlogits */
    vector dquery[${PREFIX}HEAD_WIDTH];
} ${name}_return_walk;

/* With S the chance that reaches the pair: dP = S (dA - dS), and behind it dS becomes dA P + dS (1 - P). */
INLINE void return_${name}_keys(const ${name}_head *head, int first, int offset, const real *restrict weights,
        const real *restrict misses, ${name}_return_walk *w, real *restrict dlogits) {
    int row = ${name}_offset_row(first, offset) * LANES;
    vector weight = load(weights + row), miss = load(misses + row);
% if normalised then
    vector dweight = dot_columns(${PREFIX}HEAD_WIDTH, w->dout, head->value + first + offset, head->stride);
    vector gain = dweight - w->mean - w->dunmatched;
    vector dlogit = weight * w->inverse * (miss * gain);
% else
    vector dweight = dot_columns(${PREFIX}HEAD_WIDTH, w->dout, head->value + first + offset, head->stride);
    vector gain = dweight - w->dunmatched;
    vector dlogit = weight * (miss * gain);
% end
    w->dunmatched += (1 - miss) * gain;
    store(dlogits + row, dlogit);
    if (offset > 0) w->dright += dlogit;
    else w->dleft += dlogit;
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++)
        w->dquery[d] += dlogit * load(head->key + d * head->stride + first + offset);
}

/* Where the gradients of a head go. */
typedef struct ${name}_head_grad {
    ${name}_number_sums *sums; /* the layer's */
    vector *content_bias; /* [${PREFIX}HEAD_WIDTH] of the sums */
    real *query; /* [T] rows, ${PREFIX}QUERY_STRIDE apart, written; keys and values WIDTH and 2 WIDTH further on */
% if directional then
    real *direction; /* [T] rows, ${PREFIX}DIRECTION_WIDTH apart, written */
% end
} ${name}_head_grad;

/* From the sums of a group's walk to the gradients of its queries and of what the layer has learned. */
INLINE void end_${name}_return(const ${name}_head *head, int T, int first, const real *restrict query,
        ${name}_return_walk *w, const ${name}_head_grad *grad) {
    bits live = lanes_before(T - first);
    vector q[${PREFIX}HEAD_WIDTH], dscale = {0};
    load_columns(${PREFIX}HEAD_WIDTH, T, first, ${PREFIX}QUERY_STRIDE, query, 1, q);
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
        dscale += (q[d] + head->content_bias[d]) * w->dquery[d];
        w->dquery[d] *= head->scale;
        grad->content_bias[d] += keep_where(live, w->dquery[d]);
    }
    grad->sums->scale += keep_where(live, dscale);
    grad->sums->offset += keep_where(live, w->dright + w->dleft);
% if directional then
    vector direction[2], ddirection[2] = {w->dright * head->direction_scale, w->dleft * head->direction_scale};
    load_columns(2, T, first, ${PREFIX}DIRECTION_WIDTH, head->direction, 1, direction);
    grad->sums->direction_scale += keep_where(live, w->dright * direction[0] + w->dleft * direction[1]);
    store_columns(2, T, first, ${PREFIX}DIRECTION_WIDTH, ddirection, grad->direction);
% end
    store_columns(${PREFIX}HEAD_WIDTH, T, first, ${PREFIX}QUERY_STRIDE, w->dquery, grad->query);
}

/* Gradients of queries${directional and " and directions" or ""}, and the rows that the keys' pass reads. */
% if normalised then
INLINE void attend_${name}_queries(const ${name}_head *head, const real *restrict query,
        const real *restrict out, const real *restrict dout, ${name}_kept kept, const ${name}_scratch *scratch,
        const ${name}_head_grad *grad) {
% else
INLINE void attend_${name}_queries(const ${name}_head *head, const real *restrict query,
        const real *restrict dout, ${name}_kept kept, const ${name}_scratch *scratch, const ${name}_head_grad *grad) {
% end
    const int T = head->T;
% if partial then
    const int first_group = ${name}_first_group(head);
    real *dlogits = scratch->dlogits + first_group / LANES * ${name}_group_weights(T);
    kept.weights += (size_t)(first_group / LANES) * kept.step;
    kept.misses += (size_t)(first_group / LANES) * kept.step;
    for (int first = first_group; first < head->end_query; first += LANES) {
% else
    real *dlogits = scratch->dlogits;
    for (int first = 0; first < T; first += LANES) {
% end
        ${name}_return_walk w = {0};
        load_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, dout, 1, w.dout);
% if normalised then
        vector o[${PREFIX}HEAD_WIDTH];
        load_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, out, 1, o);
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) w.mean += w.dout[d] * o[d];
        w.inverse = load(kept.inverse_total + first);
        /* below LEAST_TOTAL the divisor is constant */
        w.mean = keep_where(w.inverse < 1 / ${PREFIX}LEAST_TOTAL, w.mean);
% end
        store(dlogits + ${name}_offset_row(first, 0) * LANES, (vector){0});
        int right = ${name}_reach_right(T, first), left = ${name}_reach_left(T, first);
        for (int distance = right > left ? right : left; distance > 0; distance--) {
            if (distance <= left) return_${name}_keys(head, first, -distance, kept.weights, kept.misses, &w, dlogits);
            if (distance <= right) return_${name}_keys(head, first, distance, kept.weights, kept.misses, &w, dlogits);
        }
        end_${name}_return(head, T, first, query, &w, grad);
        kept.weights += kept.step;
        kept.misses += kept.step;
        dlogits += ${name}_group_weights(T);
    }
    for (int t = ${partial and "head->first_query" or "0"}; t < ${partial and "head->end_query" or "T"}; t++) {
        real *row = scratch->rows + t * 2 * ${PREFIX}HEAD_WIDTH;
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d += ${PREFIX}HEAD_PART) {
            const ${name}_part *g = (const ${name}_part *)(dout + t * WIDTH + d);
            const ${name}_part *q = (const ${name}_part *)(query + t * ${PREFIX}QUERY_STRIDE + d);
            const ${name}_part *bias = (const ${name}_part *)(head->content_bias + d);
            *(${name}_part *)(row + d) = *g${normalised and " * kept.inverse_total[t]" or ""};
            *(${name}_part *)(row + ${PREFIX}HEAD_WIDTH + d) = (*q + *bias) * head->scale;
        }
    }
}

% include("cpu/attend_keys.tpl", { start = "", step = name .. "_group_weights(T)", row = "(j + LANES - 1)", at = "(u - i) * LANES + i", spans = false })

% local out_argument, out_pass = normalised and "const real *restrict out, " or "", normalised and "out, " or ""
NOINLINE void attend_${name}_backward(const ${name}_head *head, const real *restrict query,
        ${out_argument}const real *restrict dout, ${name}_kept kept, const ${name}_scratch *scratch,
        const ${name}_head_grad *grad) {
    const int T = head->T;
    attend_${name}_queries(head, query, ${out_pass}dout, kept, scratch, grad);
    for (int j = 0; j < T; j += ${PREFIX}KEYS)
        attend_${name}_keys(${partial and "head, " or ""}T, j, kept.weights, scratch, grad->query + WIDTH, grad->query + 2 * WIDTH);
}

/* From what is kept of a head to that of the next. */
INLINE void skip_${name}_head(${name}_kept *kept, int T) {
    size_t groups = (size_t)(round_up(T, LANES) / LANES);
    kept->weights += groups * kept->step;
    kept->misses += groups * kept->step;
% if normalised then
    if (kept->step) kept->inverse_total += groups * LANES;
% end
}

% include("cpu/geometric_heads.tpl", {
%     turned = rotation.kind == "rope" and " (queries and keys are turned in place)" or "",
%     direction_pass = directional and ", direction" or "", out_pass = normalised and "attended + at, " or "",
%     clears = directional and normaliser.direction_width > 2 * heads })
