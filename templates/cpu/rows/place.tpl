% local draw = encoding.draw
% local differs_by_sequence = draw and draw.kind == "sequence"
% local is_learned, length = encoding.kind == "learned", "w->" .. stream_prefix .. "length"
% local decodes = cpu.decoding and cpu.decoding.stream_prefix == stream_prefix
% local token = decodes and "token" or "m"
% local stream_argument = streams[2] and "&w->" .. stream_prefix:sub(1, -2) or "w"
% local position = token .. " % " .. length
% if differs_by_sequence then
% position = "position[" .. token .. "]"
% elseif draw then
% position = "position[" .. token .. " % " .. length .. "]"
% end
% local minus_first = is_learned and draw and draw.first == 1 and " - " .. draw.PREFIX .. "FIRST_POSITION" or ""
/* output = x + vectors of the tokens' positions. output may be x. */
% define("NOINLINE void " .. name, "const workspace *w", draw and "const int32_t *position", "const real *x", is_learned and "const real *vectors", "real *output")
    const position_row *table = w->step->tables; % if not is_learned
    for (int m = 0; m < w->${stream_prefix}tokens; m++) {
        const int token = find_token(${stream_argument}, m); % if decodes
        const real *added = vectors + (${position}${minus_first}) * WIDTH; % if is_learned
        const real *added = table[${position}].${encoding.member}; % else
        for (int c = 0; c < WIDTH; c += LANES) store(output + m * WIDTH + c, load(x + m * WIDTH + c) + load(added + c));
    }
}
