/* Products on tensor cores: operands rounded to bfloat16, two neighbours along k in one word, sums in float32, by
 * m16n8k16. */

enum { DEPTH = 2 /* of k in one staged word */ };

INLINE unsigned int word(float x, float next) { return pack_bf16(x, next); }

INLINE void multiply_step(const unsigned int a[4], const unsigned int b[2], float sum[4]) { mma_bf16(sum, a, b); }
