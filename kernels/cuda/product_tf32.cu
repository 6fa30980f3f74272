/* Products on tensor cores (m16n8k8): operands rounded to tf32 (10 bits of fraction), sums in float32. */

enum { DEPTH = 1 /* elements along k in one word */ };

INLINE unsigned int word(float x, float) { return to_tf32(x); }

INLINE void multiply_step(const unsigned int a[4], const unsigned int b[2], float sum[4]) { mma_tf32(sum, a, b); }
