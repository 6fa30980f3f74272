% local low, high, beyond, stride = visibility.low_text, visibility.high_text, visibility.beyond_text, visibility.stride
% local line, per = stride > 1 and stride .. " * " or "", stride > 1 and " / " .. stride or ""
% local up = stride > 1 and " + " .. stride - 1 or ""
% local last_open = stride > 1 and high ~= "S" and "(" .. high .. ")" .. per or high .. per
% section("domain")

/* Query i sees the keys from first_key to end_key - 1 of S, around S - 1 - ${line}i; a query without a key there sees all
 * keys (Duan and Shi 2024). first_query is the first query that sees key j. */
INLINE int ${prefix}first_key(int i, int S) {
    const int first = ${low} - ${line}i;
    return first > 0 && ${high} - ${line}i >= 0 ? first : 0;
}
INLINE int ${prefix}end_key(int i, int S) {
    const int end = ${beyond} - ${line}i;
    return end > 0 && end < S ? end : S;
}
INLINE int ${prefix}first_query(int j, int S) { return ${low} > j ? (${low} - j${up})${per} : 0; }
/* The next query after i that sees key j. */
INLINE int ${prefix}next_query(int i, int j, int S) {
    const int seeing_all = ${last_open} + 1;
    return ${high} - ${line}(i + 1) >= j || i + 1 > seeing_all ? i + 1 : seeing_all;
}
