% local gradient_arrays = (cross and "dquery [sequences][T][WIDTH] and dkey_value [sequences][S][2 WIDTH]"
%     or "dquery_key_value [sequences][T][3 WIDTH]")
% local request_text = requested_value and (" and d%s [sequences][T][%s]"):format(requested_value.name, requested_value.constant) or ""
% local recomputes_sums = terms.scalar.running and (terms.scalar.running.is_read_backward or terms.needs_logits or recomputed)
/* Writes the gradients ${gradient_arrays}${request_text}, from dattended [sequences][T][WIDTH]. */
% define("static void attention_" .. name .. "_backward", "workspace *w", "int l", computes_labelled_tokens and "const row_set *part", "const " .. name .. "_saved *saved", "const real *" .. query_pointer, cross and "const real *key_value", requested_value and "const real *" .. requested_value.name, "const real *attended", "const real *dattended", "real *d" .. query_pointer, cross and "real *dkey_value", requested_value and "real *d" .. requested_value.name)
    LH_TIMED(LH_PART_ATTENTION);
    const int T = w->${queries.stream_prefix}length, S = w->${keys.stream_prefix}length;
    ${name}_saved head_saved = *saved;
    % slot("heads")
    % slot("clear")
    for (int s = 0; s < w->sequences; s++) {
% if computes_labelled_tokens then
        const int first_query = ${part_start}, end_query = first_query + part->count;
        for (int t = 0; t < T && part->count < T; t++)
            memset(d${query_pointer} + t * ${PREFIX}QUERY_STRIDE, 0, WIDTH * sizeof(real)); /* unused queries keep 0 */
% end
        % slot("sequence", { from_token = "0", to_token = "T" }) % if recomputes_sums
        % slot("sequence_back")
        for (int h = 0; h < ${PREFIX}HEADS; h++) {
            const int channel = h * ${PREFIX}HEAD_WIDTH;
            ${name}_head head = make_${name}_head(w, l, h, ${used_from}, ${used_to}, &scores, ${request_name});
            % slot("head_back")
            ${name}_head_grad(w, l, h, &head); % if terms.has_sums
            attend_${name}_backward(&head, ${query_pointer} + channel, ${key_pointer} + channel, attended + channel,
                    dattended + channel, head_saved, &w->${name}, d${query_pointer} + channel, d${key_pointer} + channel);
            skip_${name}_head(&head_saved, T);
        }
        % slot("rotate_back")
        % slot("sequence_end")
        ${query_pointer} += T * ${PREFIX}QUERY_STRIDE;
        d${query_pointer} += T * ${PREFIX}QUERY_STRIDE;
% if cross then
        key_value += S * ${PREFIX}KEY_STRIDE;
        dkey_value += S * ${PREFIX}KEY_STRIDE;
% end
        % slot("advance_back")
        attended += T * WIDTH; % if terms.normalised
        dattended += T * WIDTH;
    }
}
