/* Operands that shards keep for products over the batch: tf32 rounds them once, where they are kept. */

INLINE float kept_real(float x) { return __uint_as_float(to_tf32(x)); }

INLINE unsigned int kept_word(float x, float) { return __float_as_uint(x); }
