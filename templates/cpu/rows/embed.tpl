% local input_draw = additive.kind ~= "none" and input_draw
% local differs_by_sequence = input_draw and input_draw.kind == "sequence"
% local length, tokens = "w->" .. stream_prefix .. "length", "w->" .. stream_prefix .. "tokens"
% local decodes = cpu.decoding and cpu.decoding.stream == stream
% local token_index = decodes and "token_index" or "m"
% local stream_argument = streams[2] and "&w->" .. stream_prefix:sub(1, -2) or "w"
% -- position_format: the C text of a row in the table of position vectors, with # for the index of the token
% local position_format = "# % " .. length
% if differs_by_sequence then
% position_format = "position[#]"
% elseif input_draw then
% position_format = "position[# % " .. length .. "]"
% end
% if additive.kind == "learned" and input_draw and input_draw.first == 1 then
% position_format = "(" .. position_format .. " - " .. input_draw.PREFIX .. "FIRST_POSITION)"
% end
% local forward_row, backward_row = position_format:gsub("#", token_index), position_format:gsub("#", "m")
% -- positions_text: C text of the array of positions; false: positions are indices
% local positions_text = false
% if differs_by_sequence and input_draw.by_token then
% positions_text = ("w->block->positions[%d]"):format(stream)
% elseif differs_by_sequence then
% positions_text = "w->" .. stream_prefix .. "position"
% elseif input_draw then
% local member = input_draw.is_separate and ("input_position[%d]"):format(stream) or prefix .. "position[0]"
% positions_text = "w->shared->" .. member
% end
% -- draw_routine: the function that samples the positions; false: they are sampled elsewhere, or not at all
% local draw_routine = false
% if streams[stream + 1].sequence_reader then
% draw_routine = streams[2] and ("draw_%s_positions"):format(streams[stream + 1].name) or "draw_positions"
% end
% local learns_positions = additive.kind == "learned" and not additive.frozen
% -- position_words, token_words: text of the comment
% local learned_words = additive.frozen and "random vector" or "learned vector"
% local vector_words = additive.kind == "sinusoid" and "sinusoid" or learned_words
% local position_words = additive.kind ~= "none" and (" + %s of the position"):format(vector_words) or ""
% -- channels: LANES channels of the token's vector
% local channels = embeds_linearly and ("embed_channels(p->%s, p->%s_bias, token, c)"):format(vectors, vectors)
% channels = channels or "load(token + c) * " .. scale
% local token_words = embeds_linearly and "linear map of one-hot tokens" or "scaled token embedding"
/* x [tokens][WIDTH] = ${token_words}${position_words}${noise and ", with noise in evaluation" or ""}${dropout and ", with dropout" or ""}${dropout and not eval_dropout and " in training" or ""}. */
static void ${routine}(const workspace *w, real *x) {
    const parameters *p = w->parameters;
    const position_row *table = w->step->tables; % if additive.kind == "sinusoid"
    const int32_t *position = ${positions_text}; % if positions_text
    if (w->${stream_prefix}from == 0) ${draw_routine}(w); % if draw_routine and decodes
    ${draw_routine}(w); % elseif draw_routine
    for (int m = 0; m < ${tokens}; m++) {
        const int token_index = find_token(${stream_argument}, m); % if decodes
        const int token = w->block->tokens[${stream}][${token_index}]; % if embeds_linearly
        const real *token = p->${vectors} + w->block->tokens[${stream}][${token_index}] * WIDTH; % else
        const real *place = table[${forward_row}].${additive.member}; % if additive.kind == "sinusoid"
        const real *place = p->position_table + ${forward_row} * WIDTH; % elseif additive.kind == "learned"
        for (int c = 0; c < WIDTH; c += LANES)
            store(x + m * WIDTH + c, ${channels}); % if additive.kind == "none"
            store(x + m * WIDTH + c, ${channels} + load(place + c)); % else
% if noise then
        if (w->step->noise > 0) {
% if noise == "relative" then
            vector square = {0};
            for (int c = 0; c < WIDTH; c += LANES) {
                const vector channels = ${channels};
                square += channels * channels;
            }
            const real deviation = (real)w->step->noise * sqrt_real(sum_lanes(square) / WIDTH);
% else
            const real deviation = (real)w->step->noise;
% end
            % call("add_noise", "&w->step->draw", "w->block->first_example + (uint32_t)(" .. token_index .. " / " .. length .. ")", number, token_index .. " % " .. length, "WIDTH", "deviation", "x + m * WIDTH")
        }
% end
    }
    if (w->step->mode != LH_MODE_TRAIN) return; % if dropout and not eval_dropout
% if dropout then
    % call("draw_masks", "w", cpu.unused_rows and "&w->all", "0", dropout_number, dropout .. "_DROP_BELOW", streams[2] and "w->" .. stream_prefix .. "length" or false, "WIDTH", "w->" .. mask)
    dropout_apply(${tokens} * WIDTH, w->${mask}, ${dropout}_KEEP_SCALE, x);
% end
}
% if vocabulary then

% include("cpu/rows/embed_vocabulary.tpl")
% else

/* Adds the gradients of the embedding's parameters to g. gradient: the gradient of x; this function may change it. */
static void ${routine}_backward(const workspace *w, real *gradient, parameters *g) {
    dropout_apply(${tokens} * WIDTH, w->${mask}, ${dropout}_KEEP_SCALE, gradient); % if dropout
    const int32_t *position = ${positions_text}; % if learns_positions and positions_text
    for (int m = 0; m < ${tokens}; m++) {
        const real *d = gradient + m * WIDTH;
        const int input = w->block->tokens[${stream}][m] - BLANKS; % if embeds_linearly and task.blank_count > 0
        const int input = w->block->tokens[${stream}][m]; % elseif embeds_linearly
        real *token = g->${vectors} + w->block->tokens[${stream}][m] * WIDTH; % else
        real *place = g->position_table + ${backward_row} * WIDTH; % if learns_positions
% if embeds_linearly then
        for (int c = 0; c < WIDTH; c += LANES) add_at(g->${vectors}_bias + c, load(d + c));
        for (int c = 0; c < WIDTH; c += LANES) add_at(place + c, load(d + c)); % if learns_positions
        if (input < 0) continue; % if task.blank_count > 0
        for (int c = 0; c < WIDTH; c += LANES) add_at(g->${vectors} + input * WIDTH + c, load(d + c));
% elseif learns_positions then
        for (int c = 0; c < WIDTH; c += LANES) {
            store(token + c, load(token + c) + load(d + c) * ${scale});
            store(place + c, load(place + c) + load(d + c));
        }
% else
        for (int c = 0; c < WIDTH; c += LANES)
            store(token + c, load(token + c) + load(d + c) * ${scale});
% end
    }
}
% end
