% local length = "w->" .. of .. "length"
% local row = encoding.drawn == "sequence" and "position[m]" or encoding.drawn and "position[m % " .. length .. "]" or "m % " .. length
% local first = encoding.first_row == 1 and " - " .. encoding.PREFIX .. "FIRST_POSITION" or ""
/* dvectors: added to. */
% define("NOINLINE void " .. name, "const workspace *w", encoding.drawn and "const int32_t *position", "const real *dy", "real *dvectors")
    for (int m = 0; m < w->${of}tokens; m++) {
        real *place = dvectors + (${row}${first}) * WIDTH;
        for (int c = 0; c < WIDTH; c += LANES) store(place + c, load(place + c) + load(dy + m * WIDTH + c));
    }
}
