/* Products on tensor cores (m16n8k16): operands rounded to bfloat16, two adjacent elements along k in one word, sums in
 * float32. */

enum { DEPTH = 2 /* elements along k in one word */ };

INLINE unsigned int word(float x, float next) { return pack_bf16(x, next); }

INLINE void multiply_step(const unsigned int a[4], const unsigned int b[2], float sum[4]) { mma_bf16(sum, a, b); }
