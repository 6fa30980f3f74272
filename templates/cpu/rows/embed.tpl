% local input_draw = additive.kind ~= "none" and input_draw
% local by_sequence = input_draw and input_draw.kind == "sequence"
% local length, tokens = "w->" .. of .. "length", "w->" .. of .. "tokens"
% local decodes = cpu.decoding and cpu.decoding.stream == stream
% local at, whose = decodes and "at" or "m", streams[2] and "&w->" .. of:sub(1, -2) or "w"
% local index = by_sequence and "position[#]" or input_draw and "position[# % " .. length .. "]" or "# % " .. length
% local input_place = index
% if additive.kind == "learned" and input_draw and input_draw.first == 1 then
% input_place = "(" .. index .. " - " .. input_draw.PREFIX .. "FIRST_POSITION)"
% end
% local place_there, input_place = input_place:gsub("#", at), input_place:gsub("#", "m")
% local drawn, draw = false, false
% if by_sequence then
% drawn = "w->" .. of .. "position"
% elseif input_draw then
% drawn = input_draw.apart and ("w->shared->input_position[%d]"):format(stream) or ("w->shared->%sposition[0]"):format(prefix)
% end
% if streams[stream + 1].by_sequence then
% draw = streams[2] and ("draw_%s_positions"):format(streams[stream + 1].name) or "draw_positions"
% end
% local trains = additive.kind == "learned" and not additive.frozen
% local embed_adds = ({ none = "", sinusoid = " + sinusoid of the position",
%     learned = " + " .. (additive.frozen and "random" or "learned") .. " vector of the position" })[additive.kind]
% local token = linear and ("embedded(p->%s, p->%s_bias, token, c)"):format(vectors, vectors) or "load(token + c) * " .. scale
% local what = linear and "linear map of one-hot tokens" or "scaled token embedding"
/* x [tokens][WIDTH] = ${what}${embed_adds}. */
static void ${routine}(const workspace *w, real *x) {
    const parameters *p = w->parameters;
% if additive.kind == "sinusoid" then
    const position_row *table = w->step->tables;
% end
% if drawn then
    const int32_t *position = ${drawn};
% end
% if draw and decodes then
    if (w->${of}from == 0) ${draw}(w);
% elseif draw then
    ${draw}(w);
% end
    for (int m = 0; m < ${tokens}; m++) {
% if decodes then
        const int at = token_at(${whose}, m);
% end
% if linear then
        const int token = w->block->tokens[${stream}][${at}];
% else
        const real *token = p->${vectors} + w->block->tokens[${stream}][${at}] * WIDTH;
% end
% if additive.kind == "sinusoid" then
        const real *place = table[${place_there}].${additive.member};
% elseif additive.kind == "learned" then
        const real *place = p->position_table + ${place_there} * WIDTH;
% end
        for (int c = 0; c < WIDTH; c += LANES)
% if additive.kind == "none" then
            store(x + m * WIDTH + c, ${token});
% else
            store(x + m * WIDTH + c, ${token} + load(place + c));
% end
% if noise then
        if (w->step->noise > 0) {
% if noise == "relative" then
            vector square = {0};
            for (int c = 0; c < WIDTH; c += LANES) {
                const vector channels = ${token};
                square += channels * channels;
            }
            const real deviation = (real)w->step->noise * sqrt_real(sum_lanes(square) / WIDTH);
% else
            const real deviation = (real)w->step->noise;
% end
            % call("add_noise", "&w->step->draw", "w->block->first_example + (uint32_t)(" .. at .. " / " .. length .. ")", number, at .. " % " .. length, "WIDTH", "deviation", "x + m * WIDTH")
        }
% end
    }
% if drops and not eval_dropout then
    if (w->step->mode != LH_MODE_TRAIN) return;
% end
% if drops then
    % call("draw_masks", "w", cpu.part and "&w->all", "0", place, drops .. "_DROP_BELOW", streams[2] and "w->" .. of .. "length" or false, "WIDTH", "w->" .. keep)
    dropout_apply(${tokens} * WIDTH, w->${keep}, ${drops}_KEEP_SCALE, x);
% end
}
% if vocabulary then

% include("cpu/rows/embed_vocabulary.tpl")
% else

/* Adds to the gradients of the embedding in g. gradient: the gradient of x, which may be changed. */
static void ${routine}_backward(const workspace *w, real *gradient, parameters *g) {
% if drops then
    dropout_apply(${tokens} * WIDTH, w->${keep}, ${drops}_KEEP_SCALE, gradient);
% end
% if trains and drawn then
    const int32_t *position = ${drawn};
% end
    for (int m = 0; m < ${tokens}; m++) {
        const real *d = gradient + m * WIDTH;
% if linear and task.blanks > 0 then
        const int input = w->block->tokens[${stream}][m] - BLANKS;
% elseif linear then
        const int input = w->block->tokens[${stream}][m];
% else
        real *token = g->${vectors} + w->block->tokens[${stream}][m] * WIDTH;
% end
% if trains then
        real *place = g->position_table + ${input_place} * WIDTH;
% end
% if linear then
        for (int c = 0; c < WIDTH; c += LANES) add_at(g->${vectors}_bias + c, load(d + c));
% if trains then
        for (int c = 0; c < WIDTH; c += LANES) add_at(place + c, load(d + c));
% end
% if task.blanks > 0 then
        if (input < 0) continue;
% end
        for (int c = 0; c < WIDTH; c += LANES) add_at(g->${vectors} + input * WIDTH + c, load(d + c));
% elseif trains then
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
