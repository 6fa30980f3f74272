/* Operands of products in memory, rounded to tf32 when they are stored: their bits are the words of tensor
 * instructions. */

typedef unsigned int operand_word;
typedef unsigned int stored;

struct __align__(4 * sizeof(stored)) stored_quad {
    stored v[4];
};

INLINE float stored_real(stored x) { return __uint_as_float(x); }
INLINE float rounded_real(float x) { return __uint_as_float(to_tf32(x)); }

/* The word of an element, which may be rounded already. */
INLINE operand_word stored_word(const bool rounded, stored x, stored) { return rounded ? x : to_tf32(stored_real(x)); }

/* Returns the stored form of element c of a quad, from the quad's words. */
INLINE stored stored_element(const stored_quad, const operand_word words[4], const int c) { return words[c]; }

/* Returns an empty quad, since stored_element reads only the words. */
INLINE stored_quad make_stored(const quad) { return {}; }
