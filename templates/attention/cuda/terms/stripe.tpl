% local low, high, beyond, stride = seen.low_text, seen.high_text, seen.beyond_text, seen.stride
% local line, per = stride > 1 and stride .. " * " or "", stride > 1 and " / " .. stride or ""
% local up = stride > 1 and " + " .. stride - 1 or ""
% local last_open = stride > 1 and high ~= "S" and "(" .. high .. ")" .. per or high .. per
% section("domain")

/* The keys of S that query i sees are those from first_key to end_key - 1, around S - 1 - ${line}i; key j is seen by queries
 * likewise. A query without a key there sees all: Duan and Shi 2024. */
INLINE int ${prefix}first_key(int i, int S) {
    const int first = ${low} - ${line}i;
    return first > 0 && ${high} - ${line}i >= 0 ? first : 0;
}
INLINE int ${prefix}end_key(int i, int S) {
    const int end = ${beyond} - ${line}i;
    return end > 0 && end < S ? end : S;
}
INLINE int ${prefix}first_query(int j, int S) { return ${low} > j ? (${low} - j${up})${per} : 0; }
/* The query behind i. */
INLINE int ${prefix}next_query(int i, int j, int S) {
    const int seeing_all = ${last_open} + 1;
    return ${high} - ${line}(i + 1) >= j || i + 1 > seeing_all ? i + 1 : seeing_all;
}
