% section("domain")

/* Whether LANES queries, from i on, may see key j of S: -1 or 0. Heads below ${count} see only keys at even offsets,
 * unless there is one key. Lanes beyond the last query repeat it. */
INLINE bits ${name}_even(int h, int T, int S, int i, int j) {
    bits seen = {0};
    for (int k = 0; k < LANES; k++) {
        const int query = i + k < T ? i + k : T - 1;
        seen[k] = h >= ${count} || S == 1 || (query - j) % 2 == 0 ? -1 : 0;
    }
    return seen;
}
% section("visible")
% local even = invoke(name .. "_even", "head->h", "head->T", "head->" .. S, "group->first", "j")
% local seen = inner and invoke("both", inner, even) or even
${seen}
