% section("domain")

/* Whether a head sees only keys at even offsets: heads below ${count} do, if there are several keys. */
INLINE bool ${prefix}is_even(int h, int S) { return h < ${count} && S > 1; }

/* The first token from `first` on at an even offset from `other`; for a head that sees all offsets `first` itself. */
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
