/* Products on tensor cores: operands rounded to tf32 (10 bits of fraction), sums in float32, by m16n8k8. */

enum { DEPTH = 1 /* of k in one staged word */ };

INLINE unsigned int word(float x, float) { return to_tf32(x); }

INLINE void multiply_step(const unsigned int a[4], const unsigned int b[2], float sum[4]) { mma_tf32(sum, a, b); }
