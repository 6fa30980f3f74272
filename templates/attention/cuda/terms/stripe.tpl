% -- A stripe of visible keys along an anti-diagonal.
% -- C text of three keys of query 0. low, high: the first and last key of the stripe; beyond: the key after it
% local low, high, beyond, stride = visibility.low_text, visibility.high_text, visibility.beyond_text, visibility.stride
% local stride_times, over_stride = stride > 1 and stride .. " * " or "", stride > 1 and " / " .. stride or ""
% local to_round_up = stride > 1 and " + " .. stride - 1 or "" -- added to a dividend, so that the quotient is rounded up
% -- last_in_stripe: the text of the last query that has a key in the stripe
% local last_in_stripe = high .. over_stride
% if stride > 1 and high ~= "S" then last_in_stripe = "(" .. high .. ")" .. over_stride end
% section("domain")

/* Query i sees the keys from first_key to end_key - 1 (there are S keys), around key S - 1 - ${stride_times}i; a query without
 * a key there sees all keys (Duan and Shi 2024). first_query is the first query that sees key j. */
INLINE int ${prefix}first_key(int i, int S) {
    const int first = ${low} - ${stride_times}i;
    return first > 0 && ${high} - ${stride_times}i >= 0 ? first : 0;
}
INLINE int ${prefix}end_key(int i, int S) {
    const int end = ${beyond} - ${stride_times}i;
    return end > 0 && end < S ? end : S;
}
INLINE int ${prefix}first_query(int j, int S) { return ${low} > j ? (${low} - j${to_round_up})${over_stride} : 0; }
/* The next query after i that sees key j. */
INLINE int ${prefix}next_query(int i, int j, int S) {
    const int seeing_all = ${last_in_stripe} + 1; /* the first query after the stripe; it sees all keys */
    return ${high} - ${stride_times}(i + 1) >= j || i + 1 > seeing_all ? i + 1 : seeing_all;
}
