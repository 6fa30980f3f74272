% local first_query = (mask.right or 0) > 0 and ("j > %d ? j - %d : 0"):format(mask.right, mask.right) or "j"
% local beyond = (mask.right or mask.high or 0) + 1
% if mask.kind == "lines" then
% include("attention/cuda/lines.tpl")
% elseif mask.kind == "antidiagonal" then
% local line = mask.stride > 1 and mask.stride .. " * " or ""
% local per = mask.stride > 1 and " / " .. mask.stride or ""
% local up = mask.stride > 1 and (" + %d"):format(mask.stride - 1) or ""
/* The keys of S that query i sees are those from first_key to end_key - 1, around S - 1 - ${line}i; key j is seen by queries
 * likewise. A query without a key there sees all: Duan and Shi 2024. */
INLINE int ${prefix}first_key(int i, int S) {
    const int first = S + ${mask.low} - ${line}i;
    return first > 0 && S + ${mask.high} - ${line}i >= 0 ? first : 0;
}
INLINE int ${prefix}end_key(int i, int S) {
    const int end = S + ${beyond} - ${line}i;
    return end > 0 && end < S ? end : S;
}
INLINE int ${prefix}first_query(int j, int S) { return S + ${mask.low} > j ? (S + ${mask.low} - j${up})${per} : 0; }
/* The query behind i. */
INLINE int ${prefix}next_query(int i, int j, int S) {
    const int seeing_all = (S + ${mask.high})${per} + 1;
    return S + ${mask.high} - ${line}(i + 1) >= j || i + 1 > seeing_all ? i + 1 : seeing_all;
}
% else
/* The keys that query i sees are those from first_key to end_key - 1; key j is seen by queries likewise. */
% if mask.sees_all then
INLINE int ${prefix}first_key(int i, int S) { return i > ${mask.left} && i - ${mask.left} < S ? i - ${mask.left} : 0; }
INLINE int ${prefix}end_key(int i, int S) { return i + ${beyond} < S && i - ${mask.left} < S ? i + ${beyond} : S; }
INLINE int ${prefix}first_query(int j) { return ${first_query}; }
/* The query behind i; those from S + ${mask.left} on have no key near, and see all: Duan and Shi 2024. */
INLINE int ${prefix}next_query(int i, int j, int S) { return i - j < ${mask.left} || i + 1 > S + ${mask.left} ? i + 1 : S + ${mask.left}; }
% elseif mask.left then
% local left_end = mask.left + 1
INLINE int ${prefix}first_key(int i) { return i > ${mask.left} ? i - ${mask.left} : 0; }
INLINE int ${prefix}end_query(int j, int T) { return j + ${left_end} < T ? j + ${left_end} : T; }
% else
INLINE int ${prefix}first_key(int) { return 0; }
INLINE int ${prefix}end_query(int, int T) { return T; }
% end
% if not mask.sees_all then
INLINE int ${prefix}end_key(int i, int T) { return i + ${beyond} < T ? i + ${beyond} : T; }
INLINE int ${prefix}first_query(int j) { return ${first_query}; }
% end
% end
