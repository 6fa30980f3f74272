% local normalised, directional = terms.normalised, terms.directional
% local least_total = precision == "float64" and "1e-12" or "1e-12f"
% local more = directional and ", with one input more, the directions" or ""
% include("parts/banner.tpl", { template = "attention/cpu/outwards.inc.tpl", about = about.attention[name] })

/* What the layers call, with the workspace whole, is what it is with a softmax: attention_${name} and
 * attention_${name}_backward${more}.
 *
 * One head of one sequence at a time; LANES queries side by side, keys one after another, and what chances make of each
 * other by kernels/cpu/geometric.h: every query tries its keys outwards, at each distance the one to the right, then
 * the one to the left. */
% if normalised then

static const real ${PREFIX}LEAST_TOTAL = ${least_total}; /* a smaller sum of weights counts as this one */
% end

/* One head of a sequence, beside its rows. */
typedef struct ${name}_head {
    int T; /* queries, and keys */
% if partial then
    int first_query, end_query; /* queries that somebody reads; the rows of all are there */
% end
    real *along, *across; /* room: row 0 of those of the scratch */
    const real *content_bias; /* [${PREFIX}HEAD_WIDTH] */
    real scale, offset;
% if directional then
    const real *direction; /* [T] rows, ${PREFIX}DIRECTION_WIDTH apart: right, left */
    real direction_scale;
% end
} ${name}_head;

% if directional then
/* direction: the sequence's. */
% end
% define("static " .. name .. "_head " .. name .. "_head_of", "const workspace *w", "int l", "int h", "int first_query", "int end_query", directional and "const real *direction")
    const ${stack.parameters} *p = &((const parameters *)w->step->parameters)->${stack.member}[l];
    return (${name}_head){
            .T = w->${queries.at}length,
% if partial then
            .first_query = first_query,
            .end_query = end_query,
% end
            .along = w->${name}.along + LANES,
            .across = w->${name}.across + LANES,
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

INLINE void load_${name}_queries(const ${name}_head *head, int first, const real *restrict query,
        ${name}_queries *group) {
    load_columns(${PREFIX}HEAD_WIDTH, head->T, first, ${PREFIX}QUERY_STRIDE, query, 1, group->query);
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++)
        group->query[d] = (group->query[d] + head->content_bias[d]) * head->scale;
% if directional then
    vector direction[2];
    load_columns(2, head->T, first, ${PREFIX}DIRECTION_WIDTH, head->direction, head->direction_scale, direction);
    group->right = direction[0] + head->offset;
    group->left = direction[1] + head->offset;
% else
    group->offset = broadcast(head->offset);
% end
}

/* logits [keys][LANES] of the keys [from, to); more: what they have besides. */
INLINE void write_${name}_logits(const ${name}_queries *group, const real *restrict key, int from, int to, vector more,
        real *restrict logits) {
    int j = from;
    for (; j + SIDE_BY_SIDE <= to; j += SIDE_BY_SIDE) {
        vector logit[SIDE_BY_SIDE];
        dot_rows(${PREFIX}HEAD_WIDTH, SIDE_BY_SIDE, group->query, ${PREFIX}QUERY_STRIDE, key + j * ${PREFIX}QUERY_STRIDE, logit);
        UNROLL
        for (int u = 0; u < SIDE_BY_SIDE; u++) store(logits + (j + u) * LANES, logit[u] + more);
    }
    for (; j < to; j++)
        store(logits + j * LANES, dot_row(${PREFIX}HEAD_WIDTH, group->query, key + j * ${PREFIX}QUERY_STRIDE) + more);
}

/* All logits of the queries from `first` on; that of a query with itself means nothing. */
INLINE void write_${name}_group(const ${name}_head *head, int first, const real *restrict query, real *restrict logits) {
    const real *key = query + WIDTH;
    ${name}_queries group;
    load_${name}_queries(head, first, query, &group);
% if directional then
    const int end = first + LANES < head->T ? first + LANES : head->T;
    write_${name}_logits(&group, key, 0, first, group.left, logits);
    write_${name}_logits(&group, key, first, end, (vector){0}, logits);
    write_${name}_logits(&group, key, end, head->T, group.right, logits);
    for (int j = first; j < end; j++) add_at(logits + j * LANES, choose(lanes_before(j - first), group.right, group.left));
% else
    write_${name}_logits(&group, key, 0, head->T, group.offset, logits);
% end
}
% if normalised then

/* A query that matches next to nothing stays with little, one without another key with 0. */
INLINE vector ${name}_inverse_of(vector total) { return 1 / maximum(total, broadcast(${PREFIX}LEAST_TOTAL)); }
% end
% slot("rotate")

/* One head of one sequence: query [T] rows of HEAD_WIDTH, QUERY_STRIDE apart, keys and values WIDTH and 2 WIDTH further on;
 * out likewise, WIDTH apart, written; what is kept of it, written. */
NOINLINE void attend_${name}(const ${name}_head *head, const real *restrict query, real *restrict out,
        ${name}_kept kept) {
    const int T = head->T;
% if partial then
    for (int first = ${name}_first_group(head); first < head->end_query; first += LANES) {
% else
    for (int first = 0; first < T; first += LANES) {
% end
        vector o[${PREFIX}HEAD_WIDTH];
        write_${name}_group(head, first, query, kept.weights);
% if normalised then
        vector total = weigh_outwards(T, first, kept.weights, kept.chances, head->along, head->across);
        vector inverse = ${name}_inverse_of(total);
        store(kept.inverse_total + first, inverse);
% else
        weigh_outwards(T, first, kept.weights, kept.chances, head->along, head->across);
% end
        weighted_rows(${PREFIX}HEAD_WIDTH, T, kept.weights, ${PREFIX}QUERY_STRIDE, query + 2 * WIDTH, o);
% if normalised then
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) o[d] *= inverse;
% end
        store_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, o, out);
        kept.weights += kept.step;
        kept.chances += kept.step;
    }
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

/* From a group's sums to the gradients of its queries and of what the layer has learned. right and left: sums of dlogits;
 * dq [HEAD_WIDTH] is used up. */
INLINE void end_${name}_queries(const ${name}_head *head, int first, const real *restrict query, vector right,
        vector left, vector *dq, const ${name}_head_grad *grad) {
    const int T = head->T;
    bits live = lanes_before(T - first);
    vector q[${PREFIX}HEAD_WIDTH], dscale = {0};
    load_columns(${PREFIX}HEAD_WIDTH, T, first, ${PREFIX}QUERY_STRIDE, query, 1, q);
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
        dscale += (q[d] + head->content_bias[d]) * dq[d];
        dq[d] *= head->scale;
        grad->content_bias[d] += keep_where(live, dq[d]);
    }
    grad->sums->scale += keep_where(live, dscale);
    grad->sums->offset += keep_where(live, right + left);
% if directional then
    vector direction[2], ddirection[2] = {right * head->direction_scale, left * head->direction_scale};
    load_columns(2, T, first, ${PREFIX}DIRECTION_WIDTH, head->direction, 1, direction);
    grad->sums->direction_scale += keep_where(live, right * direction[0] + left * direction[1]);
    store_columns(2, T, first, ${PREFIX}DIRECTION_WIDTH, ddirection, grad->direction);
% end
    store_columns(${PREFIX}HEAD_WIDTH, T, first, ${PREFIX}QUERY_STRIDE, dq, grad->query);
}

% local of_many = normalised and "(dweight[u] - mean)" or "dweight[u]"
/* gains [keys][LANES]: a weight times the gradient of its own. */
% define("INLINE void write_" .. name .. "_gains", "int T", "const vector *g", "vector mean", "const real *restrict value", "const real *restrict weights", "real *restrict gains")
    int j = 0;
    for (; j + SIDE_BY_SIDE <= T; j += SIDE_BY_SIDE) {
        vector dweight[SIDE_BY_SIDE];
        dot_rows(${PREFIX}HEAD_WIDTH, SIDE_BY_SIDE, g, ${PREFIX}QUERY_STRIDE, value + j * ${PREFIX}QUERY_STRIDE, dweight);
        UNROLL
        for (int u = 0; u < SIDE_BY_SIDE; u++)
            store(gains + (j + u) * LANES, load(weights + (j + u) * LANES) * ${of_many});
    }
% if normalised then
    for (; j < T; j++) store(gains + j * LANES, load(weights + j * LANES) * (dot_row(${PREFIX}HEAD_WIDTH, g, value + j * ${PREFIX}QUERY_STRIDE) - mean));
% else
    for (; j < T; j++) store(gains + j * LANES, load(weights + j * LANES) * dot_row(${PREFIX}HEAD_WIDTH, g, value + j * ${PREFIX}QUERY_STRIDE));
% end
}

/* Gradients of queries${directional and " and directions" or ""}, and the rows that the keys' pass reads. */
% define("INLINE void attend_" .. name .. "_queries", "const " .. name .. "_head *head", "const real *restrict query", "const real *restrict out", "const real *restrict dout", name .. "_kept kept", "const " .. name .. "_scratch *scratch", "const " .. name .. "_head_grad *grad")
    const int T = head->T;
    real *dlogits = scratch->dlogits;
% if partial then
    for (int first = ${name}_first_group(head); first < head->end_query; first += LANES) {
% else
    for (int first = 0; first < T; first += LANES) {
% end
        vector g[${PREFIX}HEAD_WIDTH], dq[${PREFIX}HEAD_WIDTH], right, left;
        load_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, dout, 1, g);
% if normalised then
        vector o[${PREFIX}HEAD_WIDTH], mean = {0}, inverse = load(kept.inverse_total + first);
        load_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, out, 1, o);
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
            g[d] *= inverse;
            mean += g[d] * o[d];
        }
        /* below LEAST_TOTAL the divisor is constant */
        mean = keep_where(inverse < 1 / ${PREFIX}LEAST_TOTAL, mean);
% end
        % call("write_" .. name .. "_gains", "T", "g", "mean", "query + 2 * WIDTH", "kept.weights", "dlogits")
        share_inwards(T, first, kept.chances, dlogits, head->along, head->across, &right, &left);
        weighted_rows(${PREFIX}HEAD_WIDTH, T, dlogits, ${PREFIX}QUERY_STRIDE, query + WIDTH, dq);
        end_${name}_queries(head, first, query, right, left, dq, grad);
        kept.weights += kept.step;
        kept.chances += kept.step;
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

% include("attention/cpu/attend_keys.tpl")

% define("NOINLINE void attend_" .. name .. "_backward", "const " .. name .. "_head *head", "const real *restrict query", "const real *restrict out", "const real *restrict dout", name .. "_kept kept", "const " .. name .. "_scratch *scratch", "const " .. name .. "_head_grad *grad")
    const int T = head->T;
    % call("attend_" .. name .. "_queries", "head", "query", "out", "dout", "kept", "scratch", "grad")
    for (int j = 0; j < T; j += ${PREFIX}KEYS)
        % call("attend_" .. name .. "_keys", "head", "T", "j", "kept.weights", "scratch", "false", "grad->query + WIDTH", "grad->query + 2 * WIDTH")
}

/* From what is kept of a head to that of the next. */
INLINE void skip_${name}_head(${name}_kept *kept, int T) {
    size_t groups = (size_t)(round_up(T, LANES) / LANES);
    kept->weights += groups * kept->step;
    kept->chances += groups * kept->step;
% if normalised then
    if (kept->step) kept->inverse_total += groups * LANES;
% end
}

% include("attention/cpu/attention_heads.tpl")
