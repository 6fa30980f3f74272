% -- A band of visible keys around each query, from `left` keys before to `right` keys after it.
% local left = visibility.left or 0 -- how many keys to the left of a query its window has
% local first_beyond = visibility.right + 1 -- key - query of the first key to the right of the window
% local unless_some_see_all, or_all, sees_all_text = "", "", ""
% if visibility.sees_all then
% or_all = (" | at_most(offset, broadcast((real)(j - S - %d)))"):format(left)
% unless_some_see_all = " && !some_see_all"
% sees_all_text = " A query without a key in its window sees all keys: Duan and Shi 2024."
% end
% local begin = visibility.left and "low > 0" .. unless_some_see_all .. " ? low / 8 * 8 : 0" or "0"
% section("domain")
/* A mask of the LANES queries from i on that see key j; lanes beyond the last query repeat it.${sees_all_text} */
INLINE bits ${name}_visible(int T, int S, int i, int j) {
    vector offset = descending(j - i, j - T + 1); /* key - query */
    return both(at_most(broadcast(-${left}), offset), at_most(offset, broadcast(${visibility.right})))${or_all}; % if visibility.left
    return at_most(offset, broadcast(${visibility.right})); % else
}

/* The keys from *begin to *end - 1 include all keys that LANES queries, from `first` on, see; *begin is a multiple of
 * 8, *end a multiple of 8 or S. Weights of other keys are not stored. */
INLINE void ${name}_span(const ${name}_head *head, int first, int *begin, int *end) {
    const int S = head->${S}, last = (first + LANES < head->T ? first + LANES : head->T) - 1;
    const int low = first - ${left}, high = round_up(last + ${first_beyond}, 8);
    const bool some_see_all = last >= S + ${left};
    *begin = ${begin};
    *end = high < S${unless_some_see_all} ? high : S;
}
% if visibility.left then

/* The keys from *open_begin to *open_end - 1 are the keys between `begin` and `end` that every query of a group
 * sees. */
INLINE void ${name}_open_span(const ${name}_head *head, int first, int begin, int end, int *open_begin, int *open_end) {
    const int last = (first + LANES < head->T ? first + LANES : head->T) - 1;
    const int low = last - ${visibility.left} > begin ? last - ${visibility.left} : begin;
    const int high = first + ${first_beyond} < end ? first + ${first_beyond} : end;
    *open_begin = low < end ? low : end;
    *open_end = high > *open_begin ? high : *open_begin;
}
% end
${name}_visible(head->T, head->${S}, group->first, j) % section("visible")
