% local is_learned, draw = encoding.kind == "learned", encoding.draw
% local differs_by_sequence = draw and draw.kind == "sequence"
% local token_index = decodes and "block()->current" or "row % v->" .. T -- within the sequence
% local row_index = decodes and "row * v->" .. T .. " + block()->current" or "row" -- within all sequences
% local times_tokens = decodes and "" or " * v->" .. T
% local position_text = token_index
% if differs_by_sequence then
% position_text = "position[" .. row_index .. "]"
% elseif draw then
% position_text = ("position[%s]"):format(token_index)
% end
% local minus_first = is_learned and draw and draw.first == 1 and " - " .. draw.PREFIX .. "FIRST_POSITION" or ""
/* out = x + vectors of the tokens' positions${dropout and ", with dropout by the mask `keep`; without dropout if `keep` is NULL" or ""}. */
% define("NOINLINE void " .. name, "const real *x", is_learned and "const real *vectors", dropout and "const unsigned char *keep", "real *out")
    const step_view *v = &block()->view;
    const int count = block()->sequences${times_tokens} * WIDTH;
    const int *position = ${sampled_positions}; % if draw
    assume_global(x);
    assume_global(out);
    assume_global(vectors); % if is_learned
    for (int e = 4 * threadIdx.x; e < count; e += 4 * THREADS) {
        const int row = e / WIDTH, c = e % WIDTH;
        const quad added = *(const quad *)(vectors + (${position_text}${minus_first}) * WIDTH + c); % if is_learned
        const quad added = *(const quad *)(v->tables[${position_text}].${encoding.member} + c); % else
        quad y = *(const quad *)(x + e);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            y.v[i] += added.v[i];
            if (keep) y.v[i] = mask_bits(keep, e + i) & 1 ? y.v[i] * ${dropout}_KEEP_SCALE : 0; % if dropout
        }
        *(quad *)(out + e) = y;
    }
    __syncthreads();
}
