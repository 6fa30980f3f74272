% local see_all = seen.causal and "j < i" or "j + 1 < S"
% section("domain")

% include("parts/segments.tpl", { stem = prefix, device = "__device__ " })

/* The first key after j that query i of head h sees; S if there is none. */
INLINE int ${prefix}next_key(int h, int i, int j, int S) {
    int next = S;
% if seen.any_corner then
    bool open = i == 0 && ${PREFIX}CORNER[h];
    if (open && j < S - 1) next = S - 1;
% else
    bool open = false;
% end
    for (int e = ${PREFIX}FIRST_LINE[h]; e < ${PREFIX}FIRST_LINE[h + 1]; e++) {
        const int key = ${prefix}line_key(e, S, i);
        open = open || key >= 0;
        if (key > j && key < next) next = key;
    }
    return open ? next : ${see_all} ? j + 1 : S;
}

/* The first query after i that sees key j; T if there is none. */
INLINE int ${prefix}next_query(int h, int i, int j, int S, int T) {
    do i++;
    while (i < T && ${prefix}next_key(h, i, j - 1, S) != j);
    return i;
}

/* The term that lines add to the score of a visible pair. */
INLINE real ${prefix}line_value(int h, int i, int j, int S) {
    real value = 0;
    bool found = false;
    if (i == 0 && j == S - 1 && ${PREFIX}CORNER[h]) return 0; % if seen.any_corner
    for (int e = ${PREFIX}FIRST_LINE[h]; e < ${PREFIX}FIRST_LINE[h + 1]; e++) {
        if (${prefix}line_key(e, S, i) != j) continue;
        if (!found || ${PREFIX}LINES[e].value > value) value = ${PREFIX}LINES[e].value;
        found = true;
    }
    return value;
}
${prefix}next_key(${h}, i, -1, ${key_count}) % section("first_key")
j = ${prefix}next_key(${h}, i, j, ${key_count}) % section("next_key")
${prefix}next_query(${h}, -1, j, ${key_count}, ${query_count}) % section("first_query")
i = ${prefix}next_query(${h}, i, j, ${key_count}, ${query_count}) % section("next_query")
${inner} + ${prefix}line_value(${h}, i, ${j}, ${key_count}) % section("score")
(unsigned int)j < (unsigned int)${key_count} && ${prefix}next_key(h, i, j - 1, ${key_count}) == j % section("exists")
if (${prefix}next_key(h, i, j - 1, ${key_count}) != j) continue; % section("skip_pair")
