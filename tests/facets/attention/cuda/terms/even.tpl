% section("domain")

/* Whether a head sees even offsets alone: the first ones do, where there are several keys. */
INLINE bool ${prefix}is_even(int h, int S) { return h < ${count} && S > 1; }

/* From token `first` on, the next one of those at even offsets from `other`, or of all. */
INLINE int ${prefix}even_from(int h, int S, int first, int other) {
    return first + (${prefix}is_even(h, S) && (first - other) % 2 != 0);
}
% section("first_key")
${prefix}even_from(${h}, ${key_count}, ${inner}, i)
% section("next_key")
j += ${prefix}is_even(${h}, ${key_count}) ? 2 : 1
% section("first_query")
${prefix}even_from(${h}, ${key_count}, ${inner}, j)
% section("next_query")
i += ${prefix}is_even(${h}, ${key_count}) ? 2 : 1
% section("exists")
${inner} && (!${prefix}is_even(h, ${key_count}) || (i - j) % 2 == 0)
% section("skip_pair")
if (${prefix}is_even(h, ${key_count}) && (i - j) % 2 != 0) continue;
