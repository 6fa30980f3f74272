% local always_recomputes = recomputed and recomputed.always
% include("parts/banner.tpl", { template = "attention/cpu/attention.inc.tpl", lines = comments.attention[name] })

/* Functions that layers call with the whole workspace:
 *
 *   attention_${name}            rows of queries, keys and values -> attended; saves what the backward pass needs
 *   attention_${name}_backward   gradient of attended -> gradients of these rows
 *
 * Both compute all sequences of the workspace. Parameter `saved` belongs to one layer.
 *
 * The functions process one head of one sequence at a time, with a group of LANES queries in a vector and one key after
 * another. So sums over keys need no sums across lanes, and vectors are full with any head width. Only the last group
 * of queries is padded. */

% include("attention/cpu/head.tpl")

% include("attention/cpu/logit.tpl")
% if terms.has_spans or terms.hides_keys then

% include("attention/cpu/domain.tpl")
% end
% include("attention/cpu/shown.tpl")
% slot("rotation_functions")

% slot("forward")
% slot("queries_grad")

% slot("back_to_queries")

% paragraph("attention/cpu/attend_pairs.tpl") % if paired
/* Computes the gradients of KEYS keys and values, from key j on. Lanes are channels.${recomputed and " adds: whether to add to stored gradients." or ""} */
INLINE void attend_${name}_keys(const ${name}_head *head, ${length_parameters}, int j, const real *restrict weights,
        const ${name}_scratch *scratch, bool adds, real *restrict dkey, real *restrict dvalue) {
    if (${PREFIX}PAIRED) { % if paired then
        attend_${name}_pairs(head, ${T_S}, j, scratch, adds, dkey, dvalue);
        return;
    }
    ${name}_part dk[${PREFIX}KEYS][${PREFIX}HEAD_PARTS], dv[${PREFIX}KEYS][${PREFIX}HEAD_PARTS];
    UNROLL
    for (int u = 0; u < ${PREFIX}KEYS; u++) {
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) dk[u][part] = dv[u][part] = (${name}_part){0};
    }
    for (int u = 0; adds && u < ${PREFIX}KEYS && j + u < ${S}; u++) { % if recomputed then
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) {
            dk[u][part] = *(const ${name}_part *)(dkey + (j + u) * ${K} + part * ${PREFIX}HEAD_PART);
            dv[u][part] = *(const ${name}_part *)(dvalue + (j + u) * ${K} + part * ${PREFIX}HEAD_PART);
        }
    }
    % include("attention/cpu/groups_begin.tpl", { rows = "rows", vectors = terms.vectors_per_query })
        const real *weight = weights + group * ${name}_group_weights(${S}) + j * LANES;
        const real *dlogit = scratch->dlogits${to_dlogits} + group * ${group_dlogits_function}(${S}) + j * LANES;
        % include("attention/cpu/groups_of_key.tpl", { vectors = terms.vectors_per_query })
        for (int i = ${has_query_bounds and "before" or "0"}; i < count; i++, row += ${terms.vectors_per_query} * ${PREFIX}HEAD_WIDTH) {
            UNROLL
            for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) {
                ${name}_part g = *(const ${name}_part *)(row + part * ${PREFIX}HEAD_PART);
                ${name}_part q = *(const ${name}_part *)(row + ${PREFIX}HEAD_WIDTH + part * ${PREFIX}HEAD_PART);
                UNROLL
                for (int u = 0; u < ${PREFIX}KEYS; u++) {
                    dv[u][part] += g * weight[u * LANES + i];
                    dk[u][part] += q * dlogit[u * LANES + i];
                }
            }
        }
    }
    for (int u = 0; u < ${PREFIX}KEYS && j + u < ${S}; u++) {
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) {
            *(${name}_part *)(dkey + (j + u) * ${K} + part * ${PREFIX}HEAD_PART) = dk[u][part];
            *(${name}_part *)(dvalue + (j + u) * ${K} + part * ${PREFIX}HEAD_PART) = dv[u][part];
        }
    }
}

% paragraph("attention/cpu/attend_backward_recomputed.tpl") % if recomputed
% paragraph("attention/cpu/attend_backward.tpl") % if not always_recomputes
/* Advances the pointers of saved to the next head. */
INLINE void skip_${name}_head(${name}_saved *saved, int T) {
    int groups = round_up(T, LANES) / LANES;
    if (saved->step) saved->weights += (size_t)groups * saved->step;
    % slot("skip_saved")
    saved->inverse_sum += saved->sum_step; % if terms.normalised
}

% -- the number of query rows of a sequence: C text, and text for comments
% local count, query_rows = is_decoded and "count" or "T", is_decoded and "to - from" or "T"
% local cache_words = (has_cached_keys and " cache [sequences][T][3 WIDTH]: rows of earlier tokens; query_key_value is "
%     .. "appended" .. (caches_tiles and " if it has several tokens" or "") .. ". NULL: query_key_value has all tokens." or "")
% local tile_words = (caches_tiles and " tiles: the keys and values of each sequence (columns.h), or NULL. Attention of a single query "
%     .. "reads tiles" .. (has_cached_keys and ", not the cache" or "") .. "." or "")
% local part_words = computes_labelled_tokens and " part: the queries whose results are used." or ""
% local layer_words = terms.drops_weights and " layer: an index of the layer for the random numbers of dropout." or ""
% local keeps_sums = is_decoded and terms.scalar.running
% local sum_words = keeps_sums and " sums: cached running sums of each sequence's earlier tokens, or NULL. The sums of the given tokens are appended." or ""
% local rotation_text = terms.rotates_rows and " (queries and keys are rotated in place)" or ""
% local inputs = (cross and "query [sequences][%s][WIDTH] and key_value [sequences][S][2 WIDTH]"
%     or "query_key_value [sequences][%s][3 WIDTH]"):format(query_rows)
% local request_text = requested_value and (" and %s [sequences][%s][%s]"):format(requested_value.name, query_rows, requested_value.constant) or ""
/* Attention of all heads of all sequences, from ${inputs}${rotation_text}${request_text} to
 * attended [sequences][${query_rows}][WIDTH].${cache_words}${tile_words}${sum_words}${layer_words}${part_words} */
% define("static void attention_" .. name, "workspace *w", "int l", computes_labelled_tokens and "const row_set *part", terms.drops_weights and "uint32_t layer", name .. "_saved *saved", "real *" .. query_pointer, cross and "real *key_value", requested_value and "const real *" .. requested_value.name, has_cached_keys and "real *cache", caches_tiles and "real *tiles", keeps_sums and "real *sums", "real *attended")
    LH_TIMED(LH_PART_ATTENTION);
    const int T = w->${queries.stream_prefix}length, S = w->${keys.stream_prefix}length;
    const int from = w->${queries.stream_prefix}from, count = w->${queries.stream_prefix}to - from;
    ${name}_saved head_saved = *saved;
    if (!head_saved.weights) head_saved.weights = w->${name}.weights; /* weights are not saved: this pass writes them to a workspace */ % if recomputed
    % slot("heads")
    for (int s = 0; s < w->sequences; s++) {
        const int first_query = ${part_start}, end_query = first_query + part->count;
        % slot("cached_sums") % if keeps_sums
        % slot("sequence", { from_token = is_decoded and "from" or "0", to_token = is_decoded and "w->" .. queries.stream_prefix .. "to" or "T" })
        % slot("rotate")
% if has_cached_keys then
        const real *key = query_key_value + WIDTH;
        if (cache) {
            ${caches_tiles and "if (count > 1) " or ""}memcpy(cache + from * ${PREFIX}QUERY_STRIDE, query_key_value,
                    (size_t)count * ${PREFIX}QUERY_STRIDE * sizeof(real));
            key = cache + WIDTH;
            cache += T * ${PREFIX}QUERY_STRIDE;
        }
% end
        % include("attention/cpu/heads_tiled.tpl") % if caches_tiles
        for (int h = 0; h < ${PREFIX}HEADS${caches_tiles and " && !(tiles && count == 1)" or ""}; h++) {
            const int channel = h * ${PREFIX}HEAD_WIDTH;
            ${name}_head head = make_${name}_head(w, l, h, ${forward_from}, ${forward_to}, &scores, ${request_name});
            % slot("drop")
            attend_${name}(&head, ${query_pointer} + channel, ${has_cached_keys and "key" or key_pointer} + channel, attended + channel,
                    head_saved);
            skip_${name}_head(&head_saved, T);
        }
        ${query_pointer} += ${count} * ${PREFIX}QUERY_STRIDE;
        key_value += S * ${PREFIX}KEY_STRIDE; % if cross
        % slot("advance")
        if (tiles) tiles += tiled_elements(WIDTH, ${S}); % if caches_tiles
        attended += ${count} * WIDTH;
    }
}

% include("attention/cpu/attention_heads_backward.tpl")
