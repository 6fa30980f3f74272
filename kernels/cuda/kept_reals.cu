/* Operands that shards keep for products over the batch: as they are, and rounded where they are read. */

INLINE real kept_real(real x) { return x; }

INLINE operand_word kept_word(real x, real next) { return word(x, next); }
