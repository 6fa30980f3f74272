% local left, right = seen.left, seen.right
% local beyond, last = right + 1, (left or 0) + 1
% section("domain")

/* The keys that query i sees are those from first_key to end_key - 1; key j is seen by queries likewise. */
% if left then
INLINE int ${prefix}first_key(int i) { return i > ${left} ? i - ${left} : 0; }
INLINE int ${prefix}end_query(int j, int T) { return j + ${last} < T ? j + ${last} : T; }
% end
INLINE int ${prefix}end_key(int i, int T) { return i + ${beyond} < T ? i + ${beyond} : T; }
% if right > 0 then
INLINE int ${prefix}first_query(int j) { return j > ${right} ? j - ${right} : 0; }
% else
INLINE int ${prefix}first_query(int j) { return j; }
% end
% section("first_key")
% if left then
${prefix}first_key(i)
% end
% section("end_key")
${prefix}end_key(i, ${inner})
% section("first_query")
${prefix}first_query(j)
% section("end_query")
% if left then
${prefix}end_query(j, ${inner})
% end
% section("exists")
j >= ${inline("first_key", "0")} && j < ${prefix}end_key(i, ${keys})
% section("skip_pair")
if (j < ${inline("first_key", "0")} || j >= ${prefix}end_key(i, ${keys})) continue;
