% local left, right = seen.left, seen.right
% local beyond = right + 1
% section("domain")

/* The keys that query i sees are those from first_key to end_key - 1; key j is seen by queries likewise. */
INLINE int ${prefix}first_key(int i, int S) { return i > ${left} && i - ${left} < S ? i - ${left} : 0; }
INLINE int ${prefix}end_key(int i, int S) { return i + ${beyond} < S && i - ${left} < S ? i + ${beyond} : S; }
% if right > 0 then
INLINE int ${prefix}first_query(int j) { return j > ${right} ? j - ${right} : 0; }
% else
INLINE int ${prefix}first_query(int j) { return j; }
% end
/* The query behind i; those from S + ${left} on have no key near, and see all: Duan and Shi 2024. */
INLINE int ${prefix}next_query(int i, int j,
        int S) { return i - j < ${left} || i + 1 > S + ${left} ? i + 1 : S + ${left}; }
% section("first_key")
${prefix}first_key(i, ${keys})
% section("end_key")
${prefix}end_key(i, ${inner})
% section("first_query")
${prefix}first_query(j)
% section("next_query")
i = ${prefix}next_query(i, j, ${keys})
% section("exists")
j >= ${prefix}first_key(i, ${keys}) && j < ${prefix}end_key(i, ${keys})
% section("skip_pair")
if (j < ${prefix}first_key(i, ${keys}) || j >= ${prefix}end_key(i, ${keys})) continue;
