% local scored = score.kind ~= "none"
% local key_count = cross and ", S = w->" .. keys.at .. "length" or ""
% local cached, count = ranged and not cross, ranged and "count" or "T"
% local of_turned, of_all = ranged and "from, from + count" or "T", ranged and "0, S" or "S"
% local turns = rotation.kind == "rope" and cross
% local of_queries, of_keys = false, false
% if turns and positions.kind == "sequence" then
% of_queries, of_keys = "w->" .. queries.at .. "position + s * T", "w->" .. keys.at .. "position + s * S"
% elseif turns and positions.kind == "randomized" then
% of_queries, of_keys = "position", "key_position"
% end
% local asked_pass = partial and ", first_query, end_query" or bounded and ", 0, T" or ""
% local forward_pass = bounded and not partial and ranged and ", from, from + count" or asked_pass
% local dq = cross and "dquery" or "dquery_key_value"
% local part_words = partial and " part: the queries that somebody reads." or ""
% local asked = ranged and "to - from" or "T"
% local layer_words = drops and " layer: in the counter of masks." or ""
% local asks = eval_dropout and "" or "if (w->step->mode == LH_MODE_TRAIN) "
% if cross then
/* All heads of all sequences: query [sequences][${asked}][WIDTH] and key_value [sequences][S][2 WIDTH]${turned},
 * attended [sequences][${asked}][WIDTH]. kept->step 0: forward only.${layer_words}${part_words} */
% define("static void attention_" .. name, "workspace *w", "int l", partial and "const row_set *part", drops and "uint32_t layer", name .. "_kept *kept", "real *query", "real *key_value", tiles and "real *tiles", "real *attended")
% elseif ranged then
/* All heads of all sequences: query_key_value [sequences][to - from][3 WIDTH]${turned},
 * attended [sequences][to - from][WIDTH]. cache [sequences][T][3 WIDTH]: the same of the tokens before, to which these
 * are added; NULL where these are all. kept->step 0: forward only.${layer_words}${part_words} */
% define("static void attention_" .. name, "workspace *w", "int l", partial and "const row_set *part", drops and "uint32_t layer", name .. "_kept *kept", "real *query_key_value", "real *cache", tiles and "real *tiles", "real *attended")
% else
/* All heads of all sequences: query_key_value [sequences][T][3 WIDTH]${turned},
 * attended [sequences][T][WIDTH]. kept->step 0: forward only.${layer_words}${part_words} */
% define("static void attention_" .. name, "workspace *w", "int l", partial and "const row_set *part", drops and "uint32_t layer", name .. "_kept *kept", "real *query_key_value", "real *attended")
% end
    LH_TIMED(LH_PART_ATTENTION);
    const int T = w->${queries.at}length${key_count};
% if ranged then
    const int from = w->${queries.at}from, count = w->${queries.at}to - from;
% end
    ${name}_kept of_head = *kept;
% if remade then
    if (!of_head.weights) of_head.weights = w->${name}.weights; /* they are made again on the way back */
% end
% if turns and positions.kind == "randomized" then
    const shared *drawn = w->step->shared;
    const int32_t *position = drawn->${prefix}position[${positions.layer_index}];
    const int32_t *key_position = drawn->${prefix}key_position[${positions.layer_index}];
% end
% if scored then
    ${name}_score_tables scores;
    ${name}_score_tables_of(w->step, l, &scores);
% end
    for (int s = 0; s < w->sequences; s++) {
% if partial then
        const int first_query = first_of(w, part, s), end_query = first_query + part->count;
% end
% if rotation.kind == "rope" and cross then
        % call("rotate_" .. name, "w", of_queries, of_turned, PREFIX .. "QUERY_STRIDE", "1", "query")
        % call((ranged and "if (from == 0) " or "") .. "rotate_" .. name, "w", of_keys, of_all, PREFIX .. "KEY_STRIDE", "1", "key_value")
% elseif rotation.kind == "rope" then
        rotate_${name}(w, l, s, 1, query_key_value);
% end
% if cached then
        const real *key = query_key_value + WIDTH;
        if (cache) {
            ${tiles and "if (count > 1) " or ""}memcpy(cache + from * ${PREFIX}QUERY_STRIDE, query_key_value,
                    (size_t)count * ${PREFIX}QUERY_STRIDE * sizeof(real));
            key = cache + WIDTH;
            cache += T * ${PREFIX}QUERY_STRIDE;
        }
% end
% if tiles and cross then
        if (tiles && from == 0) put_in_tiles(WIDTH, 0, S, ${PREFIX}KEY_STRIDE, key_value, tiles);
% elseif tiles then
        if (tiles)
            put_in_tiles(WIDTH, from, from + count, ${PREFIX}QUERY_STRIDE,
                    query_key_value + WIDTH - from * ${PREFIX}QUERY_STRIDE, tiles);
% end
% if tiles then
        if (tiles && count == 1) {
            ${name}_head head = ${name}_head_of(w, l, 0${forward_pass}${scored and ", &scores" or ""});
            attend_${name}_one(&head, ${cross and "query" or "query_key_value"}, tiles, attended, of_head.weights);
        }
% end
        for (int h = 0; h < ${PREFIX}HEADS${tiles and " && !(tiles && count == 1)" or ""}; h++) {
            const int at = h * ${PREFIX}HEAD_WIDTH;
            ${name}_head head = ${name}_head_of(w, l, h${forward_pass}${scored and ", &scores" or ""});
% if drops then
            ${asks}drop_${name}_weights(w, layer, s, &head);
% end
% if cross then
            attend_${name}(&head, query + at, key_value + at, attended + at, of_head);
% elseif cached then
            attend_${name}(&head, query_key_value + at, key + at, attended + at, of_head);
% else
            attend_${name}(&head, query_key_value + at, attended + at, of_head);
% end
            skip_${name}_head(&of_head, T);
        }
% if cross then
        query += ${count} * ${PREFIX}QUERY_STRIDE;
        key_value += S * ${PREFIX}KEY_STRIDE;
% else
        query_key_value += ${count} * ${PREFIX}QUERY_STRIDE;
% end
% if tiles then
        if (tiles) tiles += tiled_elements(WIDTH, ${cross and "S" or "T"});
% end
        attended += ${count} * WIDTH;
    }
}

% if cross then
/* dquery [sequences][T][WIDTH] and dkey_value [sequences][S][2 WIDTH] written, from dattended [sequences][T][WIDTH]. */
% define("static void attention_" .. name .. "_backward", "workspace *w", "int l", partial and "const row_set *part", "const " .. name .. "_kept *kept", "const real *query", "const real *key_value", "const real *attended", "const real *dattended", "real *dquery", "real *dkey_value")
% else
/* dquery_key_value [sequences][T][3 WIDTH] written, from dattended [sequences][T][WIDTH]. */
% define("static void attention_" .. name .. "_backward", "workspace *w", "int l", partial and "const row_set *part", "const " .. name .. "_kept *kept", "const real *query_key_value", "const real *attended", "const real *dattended", "real *dquery_key_value")
% end
    LH_TIMED(LH_PART_ATTENTION);
    const int T = w->${queries.at}length${key_count};
    ${name}_kept of_head = *kept;
% if turns and positions.kind == "randomized" then
    const shared *drawn = w->step->shared;
    const int32_t *position = drawn->${prefix}position[${positions.layer_index}];
    const int32_t *key_position = drawn->${prefix}key_position[${positions.layer_index}];
% end
% if scored then
    ${name}_score_tables scores;
    ${name}_score_tables_of(w->step, l, &scores);
% end
    for (int s = 0; s < w->sequences; s++) {
% if partial then
        const int first_query = first_of(w, part, s), end_query = first_query + part->count;
        for (int t = 0; t < T && part->count < T; t++)
            memset(${dq} + t * ${PREFIX}QUERY_STRIDE, 0, WIDTH * sizeof(real)); /* of those that nobody reads */
% end
        for (int h = 0; h < ${PREFIX}HEADS; h++) {
            const int at = h * ${PREFIX}HEAD_WIDTH;
            ${name}_head head = ${name}_head_of(w, l, h${asked_pass}${scored and ", &scores" or ""});
% if sums then
            ${name}_head_grad(w, l, h, &head);
% end
% if cross then
            attend_${name}_backward(&head, query + at, key_value + at, attended + at, dattended + at, of_head, &w->${name},
                    dquery + at, dkey_value + at);
% else
            attend_${name}_backward(&head, query_key_value + at, attended + at, dattended + at, of_head, &w->${name},
                    dquery_key_value + at);
% end
            skip_${name}_head(&of_head, T);
        }
% if rotation.kind == "rope" and cross then
        % call("rotate_" .. name, "w", of_queries, ranged and "0, T" or "T", PREFIX .. "QUERY_STRIDE", "-1", "dquery")
        % call("rotate_" .. name, "w", of_keys, of_all, PREFIX .. "KEY_STRIDE", "-1", "dkey_value")
% elseif rotation.kind == "rope" then
        rotate_${name}(w, l, s, -1, dquery_key_value);
% end
% if cross then
        query += T * ${PREFIX}QUERY_STRIDE;
        dquery += T * ${PREFIX}QUERY_STRIDE;
        key_value += S * ${PREFIX}KEY_STRIDE;
        dkey_value += S * ${PREFIX}KEY_STRIDE;
% else
        query_key_value += T * ${PREFIX}QUERY_STRIDE;
        dquery_key_value += T * ${PREFIX}QUERY_STRIDE;
% end
        attended += T * WIDTH;
        dattended += T * WIDTH;
    }
}
