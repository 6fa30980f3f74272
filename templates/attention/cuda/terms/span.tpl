% section("first_key")
${prefix}first_key(i, ${keys}) % if seen.left or seen.sees_all
% section("end_key")
${prefix}end_key(i, ${inner})
% section("first_query")
${prefix}first_query(j, ${keys})
% section("next_query")
i = ${prefix}next_query(i, j, ${keys}) % if seen.sees_all
% section("exists")
j >= ${inline("first_key", "0")} && j < ${prefix}end_key(i, ${keys})
% section("skip_pair")
if (j < ${inline("first_key", "0")} || j >= ${prefix}end_key(i, ${keys})) continue;
