% local behind = seen.right + 1
% section("domain")
% if seen.sees_all then
/* A mask of the LANES queries from i on that see key j of S; lanes beyond the last query repeat it. One with no key in
 * its window sees all: Duan and Shi 2024, a row without an open cell is transparent. */
% else
/* A mask of the LANES queries from i on that see key j; lanes beyond the last query repeat it. */
% end
INLINE bits ${name}_visible(int T, int S, int i, int j) {
    vector offset = descending(j - i, j - T + 1); /* key - query */
% if seen.sees_all then
    bits near = both(at_most(broadcast(-${seen.left}), offset), at_most(offset, broadcast(${seen.right})));
    return near | at_most(offset, broadcast((real)(j - S - ${seen.left})));
% elseif seen.left then
    return both(at_most(broadcast(-${seen.left}), offset), at_most(offset, broadcast(${seen.right})));
% else
    return at_most(offset, broadcast(${seen.right}));
% end
}

/* The keys that queries from `first` on see: from *begin to *end - 1, whole runs of 8. Of the others nothing
 * is stored or read. */
INLINE void ${name}_span(const ${name}_head *head, int first, int *begin, int *end) {
    const int S = head->${S}, last = (first + LANES < head->T ? first + LANES : head->T) - 1;
% if seen.left then
    const int low = first - ${seen.left}, high = round_up(last + ${behind}, 8);
% else
    const int high = round_up(last + ${behind}, 8);
% end
% if seen.sees_all then
    const bool some_see_all = last >= S + ${seen.left};
    *begin = low > 0 && !some_see_all ? low / 8 * 8 : 0;
    *end = high < S && !some_see_all ? high : S;
% elseif seen.left then
    *begin = low > 0 ? low / 8 * 8 : 0;
    *end = high < S ? high : S;
% else
    *begin = 0;
    *end = high < S ? high : S;
% end
}
% if seen.left then

/* The keys, from *open to *shut - 1, that all of the queries see. */
INLINE void ${name}_open_span(const ${name}_head *head, int first, int begin, int end, int *open, int *shut) {
    const int last = (first + LANES < head->T ? first + LANES : head->T) - 1;
    const int low = last - ${seen.left} > begin ? last - ${seen.left} : begin;
    const int high = first + ${behind} < end ? first + ${behind} : end;
    *open = low < end ? low : end;
    *shut = high > *open ? high : *open;
}
% end
% section("visible")
${name}_visible(head->T, head->${S}, group->first, j)
