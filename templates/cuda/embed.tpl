% local draw = additive.kind ~= "none" and input_draw
% -- The function of an embedding. The template's variables are the fields of an entry of list_embeddings
% -- (cuda_names.lua).
% local differs_by_sequence = draw and draw.kind == "sequence"
% local token_index = decodes and "block()->current" or "row % v->" .. T
% local counts_digits = decodes and draw and draw.by_token and cuda.is_digit
% -- position_text: C text of the position of the token in row `row`; table_row: C text of the index of its vector
% local position_text = draw and ("%s[%s]"):format(sampled_positions, token_index) or token_index
% if counts_digits then
% position_text = "block()->cached.place[row]"
% elseif differs_by_sequence then
% position_text = decodes and "position[row * v->" .. T .. " + block()->current]" or "position[row]"
% end
% local row_count = "block()->sequences" .. (decodes and "" or " * v->" .. T)
% local token = decodes and "block()->cached.next[row]" or "block()->" .. tokens .. "[row]"
% local table_row = differs_by_sequence and position_text or "(" .. position_text .. ")"
% if draw and draw.first == 1 then table_row = ("(%s - %sFIRST_POSITION)"):format(position_text, draw.PREFIX) end
% local position_words = ({ none = "", sinusoid = " + sinusoid of the position",
%     learned = " + " .. (additive.frozen and "random" or "learned") .. " vector of the position" })[additive.kind]
% local token_words = embeds_linearly and "linear map of one-hot tokens" or "scaled token embedding"
% local keep = mask_number > 0 and "keep" or "w->keep"
/* ${array_text} = ${token_words}${position_words}${noise and ", with noise in evaluation" or ""}${dropout and ", with dropout" or ""}${dropout and not eval_dropout and " in training" or ""}. */
NOINLINE void ${routine}${decodes and "_one" or ""}(${(dropout and not eval_dropout or noise) and "const bool training" or "void"}) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const int rows = ${row_count};
    const unsigned char *keep = find_mask(${mask_number}); % if dropout and mask_number > 0
    const int *position = ${positions_function}(); % if differs_by_sequence and not counts_digits
    for (int e = 4 * threadIdx.x; e < rows * WIDTH; e += 4 * THREADS) {
        const int row = e / WIDTH, c = e % WIDTH;
        quad x = *(const quad *)(v->p->${vectors}_bias + c); % if embeds_linearly
        quad x = *(const quad *)(v->p->${vectors} + ${token} * WIDTH + c); % else
% if embeds_linearly and task.blank_count > 0 then
        const int input = ${token} - BLANKS;
        const quad weight = input >= 0 ? *(const quad *)(v->p->${vectors} + input * WIDTH + c) : quad{{0, 0, 0, 0}};
% elseif embeds_linearly then
        const quad weight = *(const quad *)(v->p->${vectors} + ${token} * WIDTH + c);
% end
% if additive.kind == "sinusoid" then
        const quad place = *(const quad *)(v->tables[${position_text}].${additive.member} + c);
% elseif additive.kind == "learned" then
        const quad place = *(const quad *)(v->p->position_table + ${table_row} * WIDTH + c);
% end
% if noise then
        /* In evaluation, `rate` is the deviation of the noise. */
        real deviation = training ? 0 : (real)block()->step.rate;
        quad normal = {{0, 0, 0, 0}};
        if (deviation > 0) {
            normal = draw_noise(block()->first + row / v->${T}, ${number}, (row % v->${T} * WIDTH + c) / 4);
% if noise == "relative" then
            % call("deviation *= embedded_size", "v->p->" .. vectors, embeds_linearly and "v->p->" .. vectors .. "_bias", token, scale)
% end
        }
% end
        const unsigned int bits = mask_bits(${keep}, e); % if dropout and eval_dropout
        const unsigned int bits = training ? mask_bits(${keep}, e) : 0; % elseif dropout
#pragma unroll
        for (int i = 0; i < 4; i++) {
% if embeds_linearly then
            x.v[i] += weight.v[i];
            x.v[i] += place.v[i]; % if additive.kind ~= "none"
% elseif additive.kind ~= "none" then
            x.v[i] = x.v[i] * ${scale} + place.v[i];
% else
            x.v[i] *= ${scale};
% end
            x.v[i] += deviation * normal.v[i]; % if noise
            x.v[i] = bits & 1u << i ? x.v[i] * ${dropout}_KEEP_SCALE : 0; % if dropout and eval_dropout
            if (training) x.v[i] = bits & 1u << i ? x.v[i] * ${dropout}_KEEP_SCALE : 0; % elseif dropout
        }
        *(quad *)(w->${value} + e) = x;
    }
    __syncthreads();
}
