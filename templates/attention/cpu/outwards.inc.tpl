% local normalised, directional = terms.normalised, terms.directional
% local least_total = precision == "float64" and "1e-12" or "1e-12f"
% local more = directional and ", with one input more, the directions" or ""
% include("parts/banner.tpl", { template = "attention/cpu/outwards.inc.tpl", about = about.attention[name] })

/* Layers call, with the workspace whole, the functions that they call with a softmax: attention_${name} and
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
static ${name}_head ${name}_head_of(const workspace *w, int l, int h, int first_query, int end_query,
        const ${name}_score_tables *scores, const real *direction) {
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
        dot_rows(${PREFIX}HEAD_WIDTH, SIDE_BY_SIDE, group->query, ${PREFIX}QUERY_STRIDE,
                key + j * ${PREFIX}QUERY_STRIDE, logit);
        UNROLL
        for (int u = 0; u < SIDE_BY_SIDE; u++) store(logits + (j + u) * LANES, logit[u] + more);
    }
    for (; j < to; j++)
        store(logits + j * LANES, dot_row(${PREFIX}HEAD_WIDTH, group->query, key + j * ${PREFIX}QUERY_STRIDE) + more);
}

/* All logits of the queries from `first` on; that of a query with itself means nothing. */
INLINE void write_${name}_group(const ${name}_head *head, int first, const real *restrict query,
        real *restrict logits) {
    const real *key = query + WIDTH;
    ${name}_queries group;
    load_${name}_queries(head, first, query, &group);
% if directional then
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
% if normalised then

/* A query that matches next to nothing stays with little, one without another key with 0. */
INLINE vector ${name}_inverse_of(vector total) { return 1 / maximum(total, broadcast(${PREFIX}LEAST_TOTAL)); }
% end
% slot("rotate")

/* One head of one sequence: query [T] rows of HEAD_WIDTH, QUERY_STRIDE apart, keys and values WIDTH and 2 WIDTH further on;
 * out likewise, WIDTH apart, written; what is kept of it, written. */
NOINLINE void attend_${name}(const ${name}_head *head, const real *restrict query, const real *restrict key,
        real *restrict out, ${name}_kept kept) {
    const int T = head->T;
    const int first_group = ${name}_first_group(head);
    for (int first = ${first_group}; first < ${to_query}; first += LANES) {
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

% include("attention/cpu/outwards_queries.tpl")

% include("attention/cpu/attend_keys.tpl")

NOINLINE void attend_${name}_backward(const ${name}_head *head, const real *restrict query, const real *restrict out,
        const real *restrict dout, ${name}_kept kept, const ${name}_scratch *scratch, const ${name}_head_grad *grad) {
    const int T = head->T;
    attend_${name}_queries(head, query, out, dout, kept, scratch, grad);
    for (int j = 0; j < T; j += ${PREFIX}KEYS)
        attend_${name}_keys(head, T, j, kept.weights, scratch, false, grad->query + WIDTH, grad->query + 2 * WIDTH);
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
