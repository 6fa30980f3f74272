% local draw = additive.kind ~= "none" and input_draw
% local differs_by_sequence = draw and draw.kind == "sequence"
% local token_index = "row % v->" .. T
% -- position_text: C text of the position of the token in row `row`; table_row: C text of the index of its vector
% local position_text = token_index
% if differs_by_sequence then
% position_text = "position[row]"
% elseif draw then
% position_text = ("%s[%s]"):format(sampled_positions, token_index)
% end
% local table_row = differs_by_sequence and position_text or "(" .. position_text .. ")"
% if draw and draw.first == 1 then table_row = ("(%s - %sFIRST_POSITION)"):format(position_text, draw.PREFIX) end
% local learns_positions = additive.kind == "learned" and not additive.frozen
% local keep = mask_number > 0 and "keep" or "w->keep"
% local place_operator = adds_places and "+=" or "="
% local column_sums_text = adds_vectors and "add_column_sums(rows, WIDTH" or "column_sums(rows, WIDTH, WIDTH"
% local scaled_sum = embeds_linearly and "sum.v[i]" or "sum.v[i] * " .. scale
/* Computes a shard's gradients of the embedding. Each gradient is a sum over rows in a fixed order. */
NOINLINE void ${routine}_backward(${cuda.gradients} *g) {
    assume_global(g);
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const unsigned short *tokens = block()->${tokens};
    const int sequences = block()->sequences, rows = sequences * v->${T};
    const unsigned char *keep = find_mask(${mask_number}); % if dropout and mask_number > 0
% if dropout then
    for (int e = 4 * threadIdx.x; e < rows * WIDTH; e += 4 * THREADS) {
        const unsigned int bits = mask_bits(${keep}, e);
        quad dx = *(const quad *)(w->${gradient} + e);
#pragma unroll
        for (int i = 0; i < 4; i++) dx.v[i] = bits & 1u << i ? dx.v[i] * ${dropout}_KEEP_SCALE : 0;
        *(quad *)(w->${gradient} + e) = dx;
    }
    __syncthreads();
% end
% if embeds_linearly then
% local blank_offset = task.blank_count > 0 and " + BLANKS" or ""
    for (int e = 4 * threadIdx.x; e < INPUTS * WIDTH; e += 4 * THREADS) {
        const int token = e / WIDTH${blank_offset}, c = e % WIDTH;
% else
    for (int e = 4 * threadIdx.x; e < TOKENS * WIDTH; e += 4 * THREADS) {
        const int token = e / WIDTH, c = e % WIDTH;
% end
        quad sum = {{0, 0, 0, 0}}, part[SUMMANDS];
        for (int first = 0; first < rows; first += SUMMANDS) {
#pragma unroll
            for (int u = 0; u < SUMMANDS; u++)
                part[u] = first + u < rows && tokens[first + u] == token
                        ? *(const quad *)(w->${gradient} + (first + u) * WIDTH + c) : quad{{0, 0, 0, 0}};
#pragma unroll
            for (int i = 0; i < 4 * SUMMANDS; i++) sum.v[i % 4] += part[i / 4].v[i % 4];
        }
% if has_class_gradients then
        const bool read_out = token >= OUTPUT_TOKEN && token < OUTPUT_TOKEN + CLASSES; /* if true, g holds the output layer's part of the gradient */
% end
#pragma unroll
        for (int i = 0; i < 4; i++) g->${vectors}[e + i] += ${scaled_sum}; % if adds_vectors
        for (int i = 0; i < 4; i++) g->${vectors}[e + i] = (read_out ? g->${vectors}[e + i] : 0) + ${scaled_sum}; % elseif has_class_gradients
        for (int i = 0; i < 4; i++) g->${vectors}[e + i] = ${scaled_sum}; % else
    }
    ${column_sums_text}, w->${gradient}, g->${vectors}_bias); % if embeds_linearly
% if learns_positions and differs_by_sequence and draw.by_token then
    for (int e = threadIdx.x; e < POSITION_ROWS * WIDTH; e += THREADS) g->position_table[e] = 0; % if not adds_places
    for (int sequence = 0; sequence < sequences; sequence++) {
        __syncthreads();
        add_placed_rows(v->${T}, ${positions_function}() + sequence * v->${T}, w->${gradient} + sequence * v->${T} * WIDTH, g->position_table);
    }
% elseif learns_positions and differs_by_sequence then
    const int *position = ${positions_function}();
    for (int e = threadIdx.x; e < POSITION_ROWS * WIDTH; e += THREADS) g->position_table[e] = 0; % if not adds_places
    /* The positions of one sequence are distinct, so threads add to different elements. */
    for (int sequence = 0; sequence < sequences; sequence++) {
        __syncthreads();
        for (int e = threadIdx.x; e < v->${T} * WIDTH; e += THREADS) {
            const int row = sequence * v->${T} + e / WIDTH, c = e % WIDTH;
            g->position_table[${table_row} * WIDTH + c] += w->${gradient}[row * WIDTH + c];
        }
    }
% elseif learns_positions then
    for (int e = threadIdx.x; e < v->${T} * WIDTH; e += THREADS) {
        real sum = 0;
        for (int sequence = 0; sequence < sequences; sequence++) sum += w->${gradient}[sequence * v->${T} * WIDTH + e];
        block()->sums.${places}[e] ${place_operator} sum;
    }
% end
    __syncthreads();
}
