% -- A band of visible keys around each query, from `left` keys before to `right` keys after it.
% local left, right = visibility.left, visibility.right
% local right_end = right + 1 -- the smallest value of (key - query) to the right of the window
% local left_end = (left or 0) + 1 -- the smallest value of (query - key) to the left of the window
% local and_in_window = visibility.sees_all and (" && i - %d < S"):format(left) or ""
% local first_query = right > 0 and ("j > %d ? j - %d : 0"):format(right, right) or "j"
% section("domain")

/* The range of keys that query i sees, and the range of queries that see key j. */
INLINE int ${prefix}first_key(int i, int S) { return i > ${left}${and_in_window} ? i - ${left} : 0; } % if left
INLINE int ${prefix}end_key(int i, int S) { return i + ${right_end} < S${and_in_window} ? i + ${right_end} : S; }
INLINE int ${prefix}first_query(int j, int S) { return ${first_query}; }
% if visibility.sees_all then
/* The next query after i that sees key j. Queries from S + ${left} on have no key in their window and see all keys: Duan and Shi 2024. */
INLINE int ${prefix}next_query(int i, int j,
        int S) { return i - j < ${left} || i + 1 > S + ${left} ? i + 1 : S + ${left}; }
% elseif left then
INLINE int ${prefix}end_query(int j, int T) { return j + ${left_end} < T ? j + ${left_end} : T; }
% end
${prefix}end_query(j, ${inner}) % section("end_query") % if left and not visibility.sees_all
