% -- A stripe of visible keys along an anti-diagonal.
% local stride_times = visibility.stride > 1 and visibility.stride .. " * " or ""
% local times_stride = visibility.stride > 1 and " * " .. visibility.stride or ""
% section("domain")
/* A mask of the LANES queries from i on that see key j of S. Lanes beyond the last query repeat the last query.
 * Query i sees keys near key S - 1 - ${stride_times}i. If these keys do not exist, the query sees all keys (Duan and Shi 2024). */
INLINE bits ${name}_visible(int T, int S, int i, int j) {
    vector along = ascending(i, T - 1)${times_stride};
    vector offset = along + (real)(j - S);
    bits near = both(at_most(broadcast(${visibility.low}), offset), at_most(offset, broadcast(${visibility.high})));
    return near | at_most(broadcast((real)(${visibility.beyond_text})), along);
}

/* The keys from *begin to *end - 1 include all keys that LANES queries, from `first` on, see; *begin is a multiple of
 * 8, *end a multiple of 8 or S. Weights of other keys are not stored. */
INLINE void ${name}_span(const ${name}_head *head, int first, int *begin, int *end) {
    const int S = head->${S}, last = (first + LANES < head->T ? first + LANES : head->T) - 1;
    const int low = ${visibility.low_text} - ${stride_times}last, high = round_up(${visibility.beyond_text} - ${stride_times}first, 8);
    const bool some_see_all = ${visibility.high_text} - ${stride_times}last < 0;
    *begin = low > 0 && !some_see_all ? low / 8 * 8 : 0;
    *end = high < S && !some_see_all ? high : S;
}
${name}_visible(head->T, head->${S}, group->first, j) % section("visible")
