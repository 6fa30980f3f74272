/* Operands of products in memory, stored in full precision; they are rounded or split when they are read. Arguments
 * without a name are not used here: the function of the same name in stored_tf32.cu uses them. */

typedef decltype(word((real)0, (real)0)) operand_word;
typedef real stored;
typedef quad stored_quad;

INLINE real stored_real(stored x) { return x; }
INLINE real rounded_real(real x) { return x; }

/* The word of an element and, if a word has two elements, of the next element. */
INLINE operand_word stored_word(const bool, stored x, stored next) { return word(x, next); }

/* Returns the stored form of element c of a quad. */
INLINE stored stored_element(const quad x, const operand_word[], const int c) { return x.v[c]; }

INLINE stored_quad make_stored(const quad x) { return x; }
