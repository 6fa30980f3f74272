% local S = cross and "head->S" or "head->T"
% if mask.kind == "lines" then
% include("attention/cpu/lines.tpl", { S = S })
% elseif mask.kind == "antidiagonal" then
% local line, times = "", ""
% if mask.stride > 1 then
% line, times = mask.stride .. " * ", " * " .. mask.stride
% end
% local beyond = mask.high + 1
/* Which of LANES queries, from i on, see key j of S; lanes beyond the last query repeat it. Query i has its keys around
 * S - 1 - ${line}i; one without a key there sees all: Duan and Shi 2024, a row without an open cell is transparent. */
INLINE bits ${name}_visible(int T, int S, int i, int j) {
    vector along = ascending(i, T - 1)${times};
    vector offset = along + (real)(j - S);
    bits near = both(at_most(broadcast(${mask.low}), offset), at_most(offset, broadcast(${mask.high})));
    return near | at_most(broadcast((real)(S + ${beyond})), along);
}

/* The keys that queries from `first` on see: from *begin to *end - 1, whole runs of 8. Of the others nothing
 * is stored or read. */
INLINE void ${name}_span(const ${name}_head *head, int first, int *begin, int *end) {
    const int S = ${S}, last = (first + LANES < head->T ? first + LANES : head->T) - 1;
    const int low = S + ${mask.low} - ${line}last, high = round_up(S + ${beyond} - ${line}first, 8);
    const bool some_see_all = S + ${mask.high} - ${line}last < 0;
    *begin = low > 0 && !some_see_all ? low / 8 * 8 : 0;
    *end = high < S && !some_see_all ? high : S;
}
% else
% local behind = mask.right + 1
% if mask.sees_all then
/* Which of LANES queries, from i on, see key j of S; lanes beyond the last query repeat it. One with no key in its
 * window sees all: Duan and Shi 2024, a row without an open cell is transparent. */
INLINE bits ${name}_visible(int T, int S, int i, int j) {
% else
/* Which of LANES queries, from i on, see key j; lanes beyond the last query repeat it. */
INLINE bits ${name}_visible(int T, int i, int j) {
% end
    vector offset = descending(j - i, j - T + 1); /* key - query */
% if mask.sees_all then
    bits near = both(at_most(broadcast(-${mask.left}), offset), at_most(offset, broadcast(${mask.right})));
    return near | at_most(offset, broadcast((real)(j - S - ${mask.left})));
% elseif mask.left then
    return both(at_most(broadcast(-${mask.left}), offset), at_most(offset, broadcast(${mask.right})));
% else
    return at_most(offset, broadcast(${mask.right}));
% end
}

/* The keys that queries from `first` on see: from *begin to *end - 1, whole runs of 8. Of the others nothing
 * is stored or read. */
INLINE void ${name}_span(const ${name}_head *head, int first, int *begin, int *end) {
    const int S = ${S}, last = (first + LANES < head->T ? first + LANES : head->T) - 1;
% if mask.sees_all then
    const int low = first - ${mask.left}, high = round_up(last + ${behind}, 8);
    const bool some_see_all = last >= S + ${mask.left};
    *begin = low > 0 && !some_see_all ? low / 8 * 8 : 0;
    *end = high < S && !some_see_all ? high : S;
% elseif mask.left then
    const int low = first - ${mask.left}, high = round_up(last + ${behind}, 8);
    *begin = low > 0 ? low / 8 * 8 : 0;
    *end = high < S ? high : S;
% else
    const int high = round_up(last + ${behind}, 8);
    *begin = 0;
    *end = high < S ? high : S;
% end
}
% if mask.left then

/* Of these, all of the queries see those from *open to *shut - 1. */
INLINE void ${name}_open_span(const ${name}_head *head, int first, int begin, int end, int *open, int *shut) {
    const int last = (first + LANES < head->T ? first + LANES : head->T) - 1;
    const int low = last - ${mask.left} > begin ? last - ${mask.left} : begin;
    const int high = first + ${behind} < end ? first + ${behind} : end;
    *open = low < end ? low : end;
    *shut = high > *open ? high : *open;
}
% end
% end

/* Pairs that the groups of the first so many queries of a head leave out. */
static double ${name}_skipped_pairs(const ${name}_head *head, int queries) {
    double pairs = 0;
    for (int first = 0; first < queries; first += LANES) {
        int begin, end, count = queries - first < LANES ? queries - first : LANES;
        ${name}_span(head, first, &begin, &end);
        pairs += (double)count * (begin + ${S} - end);
    }
    return pairs;
}
