% local see_all = seen.causal and "i + 1" or "S"
% section("domain")
% include("parts/segments.tpl", { stem = name .. "_", device = "" })

/* The keys from *begin to *end - 1 include all keys that LANES queries, from `first` on, see; *begin and *end are
 * rounded to runs of 8 keys. Other keys have no stored values. */
static void ${name}_span(const ${name}_head *head, int first, int *begin, int *end) {
    const int S = head->${S}, last = first + LANES < head->T ? first + LANES : head->T;
    int low = S, high = 0;
    for (int i = first; i < last; i++) {
% if seen.any_corner then
        bool open = i == 0 && ${PREFIX}CORNER[head->h];
        if (open) high = S;
        if (open && low > S - 1) low = S - 1;
% else
        bool open = false;
% end
        for (int e = ${PREFIX}FIRST_LINE[head->h]; e < ${PREFIX}FIRST_LINE[head->h + 1]; e++) {
            const int j = ${name}_line_key(e, S, i);
            open = open || j >= 0;
            if (j >= high) high = j + 1;
            if (j >= 0 && j < low) low = j;
        }
        if (!open) {
            low = 0;
            high = ${see_all};
        }
    }
    high = round_up(high, 8);
    *begin = low / 8 * 8;
    *end = high < S ? high : S;
}

/* gain [keys][LANES]: values that lines add to the scores of LANES queries, from `first` on, with keys from `begin` to
 * end - 1; minus infinity if a query does not see the key. Lanes beyond the last query repeat the last query. */
static void open_${name}_lines(const ${name}_head *head, int first, int begin, int end, real *gain) {
    const int S = head->${S};
    for (int j = begin; j < end; j++) store(gain + j * LANES, broadcast(-(real)__builtin_inf()));
    for (int lane = 0; lane < LANES; lane++) {
        const int i = first + lane < head->T ? first + lane : head->T - 1;
        real *own = gain + lane;
        bool open = false;
        for (int e = ${PREFIX}FIRST_LINE[head->h]; e < ${PREFIX}FIRST_LINE[head->h + 1]; e++) {
            const int j = ${name}_line_key(e, S, i);
            if (j < 0) continue;
            if (${PREFIX}LINES[e].value > own[j * LANES]) own[j * LANES] = ${PREFIX}LINES[e].value;
            open = true;
        }
        if (i == 0 && ${PREFIX}CORNER[head->h]) { % if seen.any_corner then
            own[(S - 1) * LANES] = 0;
            open = true;
        }
        for (int j = 0; !open && j < ${see_all}; j++) own[j * LANES] = 0;
    }
}
open_${name}_lines(head, first, ${from}, ${to}, ${room}); % section("gains")
${inner} + load(${room} + ${key} * LANES) % section("gained")
