% local draw = encoding.draw
% local by_sequence = draw and draw.kind == "sequence"
% local learned, length = encoding.kind == "learned", "w->" .. of .. "length"
% local row = by_sequence and "position[m]" or draw and "position[m % " .. length .. "]" or "m % " .. length
% local first = learned and draw and draw.first == 1 and " - " .. draw.PREFIX .. "FIRST_POSITION" or ""
/* output = x + vectors of the tokens' positions. output may be x. */
% define("NOINLINE void " .. name, "const workspace *w", draw and "const int32_t *position", "const real *x", learned and "const real *vectors", "real *output")
% if not learned then
    const position_row *table = w->step->tables;
% end
    for (int m = 0; m < w->${of}tokens; m++) {
% if learned then
        const real *added = vectors + (${row}${first}) * WIDTH;
% else
        const real *added = table[${row}].${encoding.member};
% end
        for (int c = 0; c < WIDTH; c += LANES) store(output + m * WIDTH + c, load(x + m * WIDTH + c) + load(added + c));
    }
}
