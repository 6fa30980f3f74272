/* Operands that shards store for products over the batch: rounded to tf32 once, when they are stored. */

INLINE float kept_real(float x) { return __uint_as_float(to_tf32(x)); }

INLINE unsigned int kept_word(float x, float) { return __float_as_uint(x); }
