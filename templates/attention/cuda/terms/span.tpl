% section("first_key")
% if seen.left or seen.sees_all then
${prefix}first_key(i, ${keys})
% end
% section("end_key")
${prefix}end_key(i, ${inner})
% section("first_query")
${prefix}first_query(j, ${keys})
% section("next_query")
% if seen.sees_all then
i = ${prefix}next_query(i, j, ${keys})
% end
% section("exists")
j >= ${inline("first_key", "0")} && j < ${prefix}end_key(i, ${keys})
% section("skip_pair")
if (j < ${inline("first_key", "0")} || j >= ${prefix}end_key(i, ${keys})) continue;
