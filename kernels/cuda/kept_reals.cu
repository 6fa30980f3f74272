/* Operands that shards store for products over the batch: stored in full precision, and rounded when they are read. */

INLINE real kept_real(real x) { return x; }

INLINE operand_word kept_word(real x, real next) { return word(x, next); }
