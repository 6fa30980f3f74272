% local count, asked = ranged and "count" or "T", ranged and "to - from" or "T"
% local cache_words = (cached and " cache [sequences][T][3 WIDTH]: rows of earlier tokens, to which the rows are appended; "
%     .. "NULL if the rows are those of all tokens." or "")
% local part_words = partial and " part: the queries whose results are used." or ""
% local layer_words = terms.drops and " layer: field of the masks' counter." or ""
% local also = terms.rotates and " (queries and keys are rotated in place)" or ""
% local read = (cross and "query [sequences][%s][WIDTH] and key_value [sequences][S][2 WIDTH]"
%     or "query_key_value [sequences][%s][3 WIDTH]"):format(asked)
% local asked_words = asks and (" %s [sequences][T][%s],"):format(asks.name, asks.constant) or ""
/* Attention of all heads of all sequences: ${read}${also},${asked_words}
 * attended [sequences][${asked}][WIDTH]. kept->step 0: forward only.${cache_words}${layer_words}${part_words} */
% define("static void attention_" .. name, "workspace *w", "int l", partial and "const row_set *part", terms.drops and "uint32_t layer", name .. "_kept *kept", "real *" .. rows_at, cross and "real *key_value", asks and "const real *" .. asks.name, cached and "real *cache", tiles and "real *tiles", "real *attended")
    LH_TIMED(LH_PART_ATTENTION);
    const int T = w->${queries.at}length, S = w->${keys.at}length;
    const int from = w->${queries.at}from, count = w->${queries.at}to - from;
    ${name}_kept of_head = *kept;
% if recomputed then
    if (!of_head.weights) of_head.weights = w->${name}.weights; /* weights are recomputed in the backward pass */
% end
    % slot("heads")
    for (int s = 0; s < w->sequences; s++) {
        const int first_query = ${part_start}, end_query = first_query + part->count;
        % slot("turn")
% if cached then
        const real *key = query_key_value + WIDTH;
        if (cache) {
            ${tiles and "if (count > 1) " or ""}memcpy(cache + from * ${PREFIX}QUERY_STRIDE, query_key_value,
                    (size_t)count * ${PREFIX}QUERY_STRIDE * sizeof(real));
            key = cache + WIDTH;
            cache += T * ${PREFIX}QUERY_STRIDE;
        }
% end
        % include("attention/cpu/heads_tiled.tpl") % if tiles
        for (int h = 0; h < ${PREFIX}HEADS${tiles and " && !(tiles && count == 1)" or ""}; h++) {
            const int at = h * ${PREFIX}HEAD_WIDTH;
            ${name}_head head = ${name}_head_of(w, l, h, ${forward_from}, ${forward_to}, &scores, ${asks_name});
            % slot("drop")
            attend_${name}(&head, ${rows_at} + at, ${cached and "key" or keys_at} + at, attended + at, of_head);
            skip_${name}_head(&of_head, T);
        }
        ${rows_at} += ${count} * ${PREFIX}QUERY_STRIDE;
        key_value += S * ${PREFIX}KEY_STRIDE; % if cross
        % slot("advance")
        if (tiles) tiles += tiled_elements(WIDTH, ${S}); % if tiles
        attended += ${count} * WIDTH;
    }
}

% include("attention/cpu/attention_heads_backward.tpl")
