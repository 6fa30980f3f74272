% local directional = normaliser.directional
% local asked_pass = partial and ", first_query, end_query" or ""
% local part_words = partial and " part: the queries that somebody reads." or ""
/* All heads of all sequences: query_key_value [sequences][T][3 WIDTH]${turned},
% if directional then
 * direction [sequences][T][DIRECTION_WIDTH], attended [sequences][T][WIDTH]. kept->step 0: forward only.${part_words} */
% else
 * attended [sequences][T][WIDTH]. kept->step 0: forward only.${part_words} */
% end
% define("static void attention_" .. name, "workspace *w", "int l", partial and "const row_set *part", name .. "_kept *kept", "real *query_key_value", directional and "const real *direction", "real *attended")
    LH_TIMED(LH_PART_ATTENTION);
    const int T = w->${queries.at}length;
    ${name}_kept of_head = *kept;
    for (int s = 0; s < w->sequences; s++) {
% if partial then
        const int first_query = first_of(w, part, s), end_query = first_query + part->count;
% end
% if rotation.kind == "rope" then
        rotate_${name}(w, l, s, 1, query_key_value);
% end
        for (int h = 0; h < ${PREFIX}HEADS; h++) {
            const int at = h * ${PREFIX}HEAD_WIDTH;
            ${name}_head head = ${name}_head_of(w, l, h${asked_pass}${direction_pass});
            attend_${name}(&head, query_key_value + at, attended + at, of_head);
            skip_${name}_head(&of_head, T);
        }
        query_key_value += T * ${PREFIX}QUERY_STRIDE;
% if directional then
        direction += T * ${PREFIX}DIRECTION_WIDTH;
% end
        attended += T * WIDTH;
    }
}

% if directional then
/* dquery_key_value [sequences][T][3 WIDTH] and ddirection [sequences][T][DIRECTION_WIDTH] written, from
 * dattended [sequences][T][WIDTH]. */
% else
/* dquery_key_value [sequences][T][3 WIDTH] written, from dattended [sequences][T][WIDTH]. */
% end
% define("static void attention_" .. name .. "_backward", "workspace *w", "int l", partial and "const row_set *part", "const " .. name .. "_kept *kept", "const real *query_key_value", directional and "const real *direction", "const real *attended", "const real *dattended", "real *dquery_key_value", directional and "real *ddirection")
    LH_TIMED(LH_PART_ATTENTION);
    const int T = w->${queries.at}length;
    ${name}_kept of_head = *kept;
    ${name}_number_sums *sums = w->sums.${name}.numbers[l];
% if not normaliser.normalised then
    (void)attended;
% end
% if clears or directional and partial then
    /* ${clears and "unused columns stay so" or "queries that nobody reads have none"} */
    % call((clears and "" or "if (part->count < T) ") .. "memset", "ddirection", "0", "(size_t)(w->sequences * T) * " .. PREFIX .. "DIRECTION_WIDTH * sizeof(real)")
% end
    for (int s = 0; s < w->sequences; s++) {
% if partial then
        const int first_query = first_of(w, part, s), end_query = first_query + part->count;
        for (int t = 0; t < T && part->count < T; t++)
            memset(dquery_key_value + t * ${PREFIX}QUERY_STRIDE, 0, WIDTH * sizeof(real)); /* of those that nobody reads */
% end
        for (int h = 0; h < ${PREFIX}HEADS; h++) {
            const int at = h * ${PREFIX}HEAD_WIDTH;
            ${name}_head head = ${name}_head_of(w, l, h${asked_pass}${direction_pass});
% if directional then
            ${name}_head_grad grad = {sums, sums->content_bias + at, dquery_key_value + at, ddirection + 2 * h};
% else
            ${name}_head_grad grad = {sums, sums->content_bias + at, dquery_key_value + at};
% end
            attend_${name}_backward(&head, query_key_value + at, ${out_pass}dattended + at, of_head, &w->${name}, &grad);
            skip_${name}_head(&of_head, T);
        }
% if rotation.kind == "rope" then
        rotate_${name}(w, l, s, -1, dquery_key_value);
% end
        query_key_value += T * ${PREFIX}QUERY_STRIDE;
        dquery_key_value += T * ${PREFIX}QUERY_STRIDE;
% if directional then
        direction += T * ${PREFIX}DIRECTION_WIDTH;
        ddirection += T * ${PREFIX}DIRECTION_WIDTH;
% end
% if normaliser.normalised then
        attended += T * WIDTH;
% end
        dattended += T * WIDTH;
    }
}
