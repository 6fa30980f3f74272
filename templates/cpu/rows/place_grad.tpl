% local draw = encoding.draw
% local differs_by_sequence = draw and draw.kind == "sequence"
% local length = "w->" .. stream_prefix .. "length"
% local position = "m % " .. length
% if differs_by_sequence then
% position = "position[m]"
% elseif draw then
% position = "position[m % " .. length .. "]"
% end
% local minus_first = draw and draw.first == 1 and " - " .. draw.PREFIX .. "FIRST_POSITION" or ""
/* Adds the gradients of the tokens' position vectors to dvectors. */
% define("NOINLINE void " .. name, "const workspace *w", draw and "const int32_t *position", "const real *dy", "real *dvectors")
    for (int m = 0; m < w->${stream_prefix}tokens; m++) {
        real *place = dvectors + (${position}${minus_first}) * WIDTH;
        for (int c = 0; c < WIDTH; c += LANES) store(place + c, load(place + c) + load(dy + m * WIDTH + c));
    }
}
