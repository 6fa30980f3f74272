% section("first_key")
${prefix}first_key(i, ${key_count}) % if seen.left or seen.sees_all
% section("end_key")
${prefix}end_key(i, ${inner})
% section("first_query")
${prefix}first_query(j, ${key_count})
% section("next_query")
i = ${prefix}next_query(i, j, ${key_count}) % if seen.sees_all
% section("exists")
j >= ${inline("first_key", "0")} && j < ${prefix}end_key(i, ${key_count})
% section("skip_pair")
if (j < ${inline("first_key", "0")} || j >= ${prefix}end_key(i, ${key_count})) continue;
