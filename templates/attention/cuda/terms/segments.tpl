% -- Masks that consist of lines of pairs.
% -- corner: a condition in C: the head's first query sees the last key
% local corner, causal = visibility.any_corner and PREFIX .. "CORNER[h]" or "false", visibility.causal and "true" or "false"
% local first_line, end_line = PREFIX .. "FIRST_LINE[h]", PREFIX .. "FIRST_LINE[h + 1]"
% -- line_arguments: the arguments of functions for lines: the head's first line, the end of its lines, corner, causal,
% -- query, key, number of keys
% local line_arguments = ("%sLINES + %s, %sLINES + %s, %s, %s, i, j, S"):format(PREFIX, first_line, PREFIX, end_line, corner,
%     causal)
% section("domain")

% include("parts/segments.tpl", { device = "__device__ " })

/* The first key after j that query i of head h sees; S if there is none. */
INLINE int ${prefix}next_key(int h, int i, int j, int S) { return find_next_key(${line_arguments}); }

/* The first query after i that sees key j; T if there is none. */
INLINE int ${prefix}next_query(int h, int i, int j, int S, int T) {
    do i++;
    while (i < T && ${prefix}next_key(h, i, j - 1, S) != j);
    return i;
}

/* The term that lines add to the score of a pair that the query sees. */
INLINE real ${prefix}line_value(int h, int i, int j, int S) { return find_line_value(${line_arguments}); }
${prefix}next_key(${h}, i, -1, ${key_count}) % section("first_key")
j = ${prefix}next_key(${h}, i, j, ${key_count}) % section("next_key")
${prefix}next_query(${h}, -1, j, ${key_count}, ${query_count}) % section("first_query")
i = ${prefix}next_query(${h}, i, j, ${key_count}, ${query_count}) % section("next_query")
${inner} + ${prefix}line_value(${h}, i, ${j}, ${key_count}) % section("score")
(unsigned int)j < (unsigned int)${key_count} && ${prefix}next_key(h, i, j - 1, ${key_count}) == j % section("exists")
if (${prefix}next_key(h, i, j - 1, ${key_count}) != j) continue; % section("skip_pair")
