% local relates, scored, lined = relative.kind ~= "none", score.kind ~= "none", mask.kind == "lines"
% local hides = mask.kind ~= "none" and not lined
% local spans = mask.kind ~= "none"
% local opens = mask.kind == "causal" or mask.kind == "window"
% local numbered = scored or drops or lined
% local seen_of = mask.sees_all and "head->T, " .. (cross and "head->S" or "head->T") or "head->T"
% local score_of = (scored or hides) and name .. "_score" or false
% local S, T_S = cross and "S" or "T", cross and "T, S" or "T"
% local K = PREFIX .. (cross and "KEY_STRIDE" or "QUERY_STRIDE")
% local key_argument, key_pass = cross and "const real *restrict key, " or "", cross and "key, " or ""
% local open_score = scored and name .. "_open_score" or false
% local lengths = cross and "T = head->T, S = head->S" or "T = head->T"
% local cached = ranged and not cross
% local attend_key = (cross or ranged) and "const real *restrict key, " or ""
% local stop, row = ranged and "head->to - head->from" or "T", ranged and "first - head->from" or "first"
% local dscores, gathered = score.trains and "head->dscores, " or "", score.gathers and "&gathered, " or ""
% local logit, weighted = score.recomputes and "logit, " or "", score.trains and "dscore * live_inverse, " or ""
% local query_from, query_to = ranged and "head->from" or "0", ranged and "head->to" or "T"
% local always = remade and remade.always
% if bounded then
% query_from, query_to = name .. "_first_group(head)", "head->end_query"
% end
% local start, step = "", name .. "_group_weights(" .. S .. ")"
% if relative.toeplitz then
% start, step = (" + %sKEYS * LANES"):format(PREFIX), name .. "_group_dlogits(" .. S .. ")"
% end
% local dweight = ("dot_row(%sHEAD_WIDTH, g, value + j * %s)"):format(PREFIX, K)
% local dsoftmax = drops and "(dweight - mean) * choose(keep, weight, -weight)" or "(" .. dweight .. " - mean) * load(weights + j * LANES)"
% local from, to = spans and "begin" or "0", spans and "end" or S
% local doubled = paired and not relates and "(" .. PREFIX .. "PAIRED ? 2 : 1) * " or ""
% local live_weight = drops and "keep_where(keep, weight)" or "load(weights + j * LANES)"
% local span, of_span = spans and "int begin, int end" or "int " .. S, spans and "begin, end" or S
% local weighed = spans and "end - begin, largest, weights + begin * LANES" or S .. ", largest, weights"
% local values = ("%sHEAD_WIDTH, %s, weights, %s, value, o"):format(PREFIX, S, K)
% if spans then
% values = ("%sHEAD_WIDTH, end - begin, weights + begin * LANES, %s, value + begin * %s, o"):format(PREFIX, K, K)
% end
% local score_of_open = scored and name .. "_open_score(head, group, j, logit)" or "logit"
% local parts = { { to = to, score = score_of } }
% if opens and mask.left then
% parts = { { to = "open", score = score_of }, { to = "shut", score = open_score }, { to = to, score = score_of } }
% elseif opens then
% parts = { { to = "shut", score = open_score }, { to = to, score = score_of } }
% end
% include("parts/banner.tpl", { template = "attention/cpu/attention.inc.tpl", about = about.attention[name] })

/* What the layers call, with the workspace whole:
 *
% if cross then
 *   attention_${name}            from rows of queries, and of keys and values, to attended; keeps what the way back needs
 *   attention_${name}_backward   from the gradient of attended to those of query and key_value
% else
 *   attention_${name}            from rows of queries, keys and values to attended; keeps what the way back needs
 *   attention_${name}_backward   from the gradient of attended to that of query_key_value
% end
 *
 * Of the workspace they use step, sequences, ${queries.at}length, sums and the room in its member ${name};
 * ${name}_kept is the layer's; l counts the layers of the stack.
 *
 * One head of one sequence at a time; LANES queries side by side, keys one after another, so that the softmax needs no
 * sum across lanes and any head width fills the registers. T is a loop bound, nothing is padded but the last group of
 * queries. */

/* What a head's functions are handed beside its rows; for the backward pass also where gradients add up. */
typedef struct ${name}_head {
% if cross then
    int T, S; /* queries, keys */
% else
    int T; /* queries, and keys */
% end
% if ranged then
    int from, to; /* queries that are asked for: their rows alone are there */
% end
% if remade then
    int first_query, end_query; /* queries that are asked for, of all or of a block; the rows of all are there */
% elseif partial then
    int first_query, end_query; /* queries that somebody reads; the rows of all are there */
% end
% if relates then
    % include("attention/cpu/relative_head.tpl")
% end
% if scored then
    const ${name}_score_tables *scores;
% end
% if numbered then
    int h;
% end
% if score.trains then
    const ${name}_score_tables *dscores;
% end
% if drops then
    keep_source masks; /* of the weights: element (h * T + query) * ${S} + key */
    int8_t *keep; /* room for those of a group; NULL: nothing is dropped out */
% end
} ${name}_head;

% define("static " .. name .. "_head " .. name .. "_head_of", "const workspace *w", "int l", "int h", bounded and "int first_query", bounded and "int end_query", scored and "const " .. name .. "_score_tables *scores")
% if cross then
    ${name}_head head = {.T = w->${queries.at}length, .S = w->${keys.at}length};
% else
    ${name}_head head = {.T = w->${queries.at}length};
% end
% if ranged then
    head.from = w->${queries.at}from;
    head.to = w->${queries.at}to;
% end
% if bounded then
    head.first_query = first_query;
    head.end_query = end_query;
% end
% if relates then
    % include("attention/cpu/relative_head_of.tpl")
% end
% if scored then
    head.scores = scores;
% end
% if numbered then
    head.h = h;
% end
% if not relates then
    (void)l;
% end
% if not relative.biases and not numbered then
    (void)h;
% end
    return head;
}
% if bounded then

/* The first query of the first group that one is asked for of. */
INLINE int ${name}_first_group(const ${name}_head *head) {
% if ranged then
    return head->from + (head->first_query - head->from) / LANES * LANES;
% else
    return head->first_query / LANES * LANES;
% end
}
% end
% if drops then

/* The weights of this head are dropped out, in the masks of a sequence and a layer. */
INLINE void drop_${name}_weights(const workspace *w, uint32_t layer, int sequence, ${name}_head *head) {
    const lh_cpu_step *step = w->step;
    % include("cpu/drop_site.tpl", { place = drops.place })
    head->masks = (keep_source){step->key, step->step, w->block->first_example + (uint32_t)sequence, site};
    head->keep = w->${name}.keep;
}
% end
% if sums then

/* Where the gradients of a head add up. */
INLINE void ${name}_head_grad(const workspace *w, int l, int h, ${name}_head *head) {
% if relative.biases then
% if relative.turned then
    head->dweight = w->sums.${name}.weights[l] + h * ${PREFIX}HEAD_WIDTH * WIDTH;
% else
    head->drows = w->sums.${name}.rows[l] + h * ${PREFIX}HEAD_WIDTH;
% end
    head->dbiases = w->sums.${name}.biases[l] + h * 2 * ${PREFIX}HEAD_WIDTH * LANES;
% elseif relates then
    head->drows = w->sums.${name}.rows[l];
% end
% if score.trains then
    head->dscores = &w->sums.${name}.score[${score.set_of_layer}];
% end
% if not relates and not score.per_layer then
    (void)l;
% end
% if not relative.biases then
    (void)h;
% end
}
% end

% include("attention/cpu/logit.tpl")
% if mask.kind ~= "none" then

% include("attention/cpu/mask.tpl")
% end
% if scored and hides then

/* What the softmax sees of a group with key j, where no query is without it. */
INLINE vector ${name}_open_score(const ${name}_head *head, const ${name}_queries *group, int j, vector logit) {
    return ${name}_score_pair(head->scores, head->h, group->first, j, logit);
}
% end
% if scored or hides then

/* What the softmax sees of a group with key j. */
INLINE vector ${score_of}(const ${name}_head *head, const ${name}_queries *group, int j, vector logit) {
% if hides then
    vector score = ${score_of_open};
    return choose(${name}_visible(${seen_of}, group->first, j), score, broadcast(-(real)__builtin_inf()));
% else
    return ${name}_score_pair(head->scores, head->h, group->first, j, logit);
% end
}
% end
% if rotation.kind == "rope" then

% include("attention/cpu/rotate.tpl")
% end

% include("attention/cpu/attend_weights.tpl", { span = span, parts = parts, from = from, to = to, lined = lined, opens = opens, weighed = weighed })

% if tiles then
% local all_seen = mask.kind == "none" or opens and not mask.left
% include("attention/cpu/attend_one.tpl", { spans = spans, scored = scored, score = opens and not mask.left and open_score or not (opens and not mask.left) and score_of, by_row = scored and all_seen and score.row ~= nil, partly = scored and score.has.distance })

% end
/* One head of one sequence.
 *
% if cross then
 *   query   [${ranged and "to - from" or "T"}] rows of ${PREFIX}HEAD_WIDTH, ${PREFIX}QUERY_STRIDE apart
 *   key     [S] rows of ${PREFIX}HEAD_WIDTH, ${PREFIX}KEY_STRIDE apart; values WIDTH further on
% elseif ranged then
 *   query   [to - from] rows of ${PREFIX}HEAD_WIDTH, ${PREFIX}QUERY_STRIDE apart
 *   key     [to] rows, likewise, from token 0 on; values WIDTH further on
% else
 *   query   [T] rows of ${PREFIX}HEAD_WIDTH, ${PREFIX}QUERY_STRIDE apart; keys and values WIDTH and 2 WIDTH further on
% end
% if partial then
 *   out     [${ranged and "to - from" or "T"}] rows of ${PREFIX}HEAD_WIDTH, WIDTH apart, written for the groups of the queries that are read
% else
 *   out     [${ranged and "to - from" or "T"}] rows of ${PREFIX}HEAD_WIDTH, WIDTH apart, written
% end
 *   kept    of the head, written
 */
NOINLINE void attend_${name}(const ${name}_head *head, const real *restrict query,
        ${attend_key}real *restrict out, ${name}_kept kept) {
% if cached then
    const int T = head->to; /* the last query sees no key behind it */
    const real *value = key + WIDTH;
% else
% include("attention/cpu/head_lengths.tpl", { lengths = ranged and "S = head->S" or lengths })
% end
% if bounded then
    const int first_group = ${query_from};
    real *restrict weights = kept.weights;
    real *restrict inverse_sum = kept.inverse_sum + ${ranged and "(first_group - head->from)" or "first_group"};
% else
    real *restrict weights = kept.weights, *restrict inverse_sum = kept.inverse_sum;
% end
% if spans and cross and not drops then
    (void)S;
% end
% local group_from = bounded and "first_group" or query_from
    for (int first = ${group_from}; first < ${query_to}; first += LANES, weights += kept.step, inverse_sum += LANES) {
        vector o[${PREFIX}HEAD_WIDTH];
% if spans then
        int begin, end;
        ${name}_span(head, first, &begin, &end);
% end
% if spans and cached then
        if (end > T) end = T;
% end
        vector sum = ${name}_weights(head, first, ${of_span}, query, key, weights);
% if not drops then
        weighted_rows(${values});
        vector inverse = 1 / sum;
        store(inverse_sum, inverse);
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) o[d] *= inverse;
% elseif eval_dropout then
        % include("attention/cpu/attend_values_dropped.tpl", { S = S, K = K, from = from, to = to })
        vector inverse = 1 / sum;
        store(inverse_sum, inverse);
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) o[d] *= inverse * ${drops.name}_KEEP_SCALE;
% else
        if (head->keep) {
            % include("attention/cpu/attend_values_dropped.tpl", { S = S, K = K, from = from, to = to })
        } else {
            weighted_rows(${values});
        }
        vector inverse = 1 / sum;
        store(inverse_sum, inverse);
        const real keep_scale = head->keep ? ${drops.name}_KEEP_SCALE : 1;
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) o[d] *= inverse * keep_scale;
% end
        store_columns(${PREFIX}HEAD_WIDTH, ${stop}, ${row}, WIDTH, o, out);
    }
}
% if relative.turned then
% include("attention/cpu/turned_grad.tpl")
% elseif relates then
% include("attention/cpu/relative_grad.tpl")
% include("attention/cpu/relative_rows_grad.tpl")
% end

/* Gradients of queries, and the rows that the keys' pass reads. */
INLINE void attend_${name}_queries(const ${name}_head *head, const real *restrict query,
        ${key_argument}const real *restrict out, const real *restrict dout, ${name}_kept kept,
        const ${name}_scratch *scratch, real *restrict dquery) {
% include("attention/cpu/head_lengths.tpl", { lengths = lengths })
% if bounded then
    const int first_group = ${query_from};
% end
% if drops then
    const real *inverse_sum = kept.inverse_sum;
    real *weights = kept.weights, *dlogits = scratch->dlogits${start};
% else
    const real *weights = kept.weights, *inverse_sum = kept.inverse_sum;
    real *dlogits = scratch->dlogits${start};
% end
% if paired and relates then
    real *pairs = scratch->pairs;
% end
% if relative.toeplitz and not spans then
    memset(scratch->dlogits, 0, ${PREFIX}KEYS * LANES * sizeof(real));
% end
% if relative.turned then
    % include("attention/cpu/attend_rows.tpl")
% end
% local group_from = bounded and "first_group" or "0"
    for (int first = ${group_from}; first < ${bounded and query_to or "T"}; first += LANES) {
        vector g[${PREFIX}HEAD_WIDTH], o[${PREFIX}HEAD_WIDTH], dq[${PREFIX}HEAD_WIDTH], inverse = load(inverse_sum + first);
        load_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, dout, 1, g);
        load_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, out, 1, o);
        vector mean = g[0] * o[0];
        UNROLL
        for (int d = 1; d < ${PREFIX}HEAD_WIDTH; d++) mean += g[d] * o[d];
% if drops then
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) g[d] *= ${drops.name}_KEEP_SCALE;
% end
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) dq[d] = (vector){0};
% if score.recomputes then
        ${name}_queries queries;
        load_${name}_queries(head, first, query, &queries);
% end
% if score.gathers then
        ${name}_score_group gathered;
        memset(&gathered, 0, sizeof gathered);
% end
% if score.trains then
        vector live_inverse = keep_where(lanes_before(T - first), inverse);
% end
% if spans then
        int begin, end;
        ${name}_span(head, first, &begin, &end);
% end
% if relative.turned and score.recomputes then
        ${name}_far_logits(head, ${from}, ${to});
% end
        for (int j = ${from}; j < ${to}; j++) {
% if score.recomputes then
            vector logit = ${name}_logit(&queries, key, j);
% end
% if drops then
            vector weight = load(weights + j * LANES);
            bits keep = (bits)weight >= 0;
            store(weights + j * LANES, keep_where(keep, weight));
            vector dweight = keep_where(keep, ${dweight});
% end
% if score.grads then
            vector dscore = ${dsoftmax};
            vector dlogit = ${name}_score_pair_grad(head->scores, ${dscores}head->h, ${gathered}first, j,
                    ${logit}${weighted}dscore);
% else
            vector dlogit = ${dsoftmax};
% end
% if paired then
            if (${PREFIX}PAIRED) {
                store(${paired.pairs} + 2 * j * LANES, interleave_elements(${live_weight}, dlogit, 0));
                store(${paired.pairs} + (2 * j + 1) * LANES, interleave_elements(${live_weight}, dlogit, LANES / 2));
% if not relates then
            } else {
                store(dlogits + j * LANES, dlogit);
% end
            }
% end
% if relates or not paired then
            store(dlogits + j * LANES, dlogit);
% end
            UNROLL
            for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) dq[d] += dlogit * key[j * ${K} + d];
        }
% if score.gathers then
        end_${name}_score_group(head->dscores, head->h, &gathered, ${spans and "begin, end" or S}, first);
% end
% if relative.toeplitz and spans then
        memset(dlogits + (begin - ${PREFIX}KEYS) * LANES, 0, ${PREFIX}KEYS * LANES * sizeof(real));
% end
% if relative.toeplitz then
        memset(dlogits + ${to} * LANES, 0, ${PREFIX}KEYS * LANES * sizeof(real));
% end
% if relative.turned then
        % call(name .. "_turned_queries", "head", "first", spans and "begin, end", "dlogits", "scratch", "inverse", "dq")
% elseif relates then
        % call(name .. "_relative_queries", "head", "first", spans and "begin, end", "dlogits", relative.biases and "inverse", "dq")
% end
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) dq[d] *= inverse * ${PREFIX}LOGIT_SCALE;
        store_columns(${PREFIX}HEAD_WIDTH, T, first, ${PREFIX}QUERY_STRIDE, dq, dquery);
        weights += ${name}_group_weights(${S});
        dlogits += ${doubled}${step};
% if paired and relates then
        pairs += 2 * ${name}_group_weights(${S});
% end
    }
% if not relative.turned then
    % include("attention/cpu/attend_rows.tpl")
% end
}

% if paired then
% include("attention/cpu/attend_keys.tpl", { spans = spans, of_pairs = true })

% end
% include("attention/cpu/attend_keys.tpl", { start = start, step = step, row = "j", at = "u * LANES + i", spans = spans, of_pairs = false })

% if remade then
% include("attention/cpu/attend_backward_remade.tpl", { span = spans and "begin, end" or S, always = always })

% end
% if not always then
% include("attention/cpu/attend_backward.tpl")

% end
/* From what is kept of a head to that of the next. */
INLINE void skip_${name}_head(${name}_kept *kept, int T) {
    int groups = round_up(T, LANES) / LANES;
% if remade then
    if (kept->step) kept->weights += (size_t)groups * kept->step;
    kept->inverse_sum += kept->sums;
% else
    kept->weights += (size_t)groups * kept->step;
    if (kept->step) kept->inverse_sum += groups * LANES;
% end
}

% include("attention/cpu/attention_heads.tpl", { turned = rotation.kind == "rope" and " (queries and keys are turned in place)" or "" })
