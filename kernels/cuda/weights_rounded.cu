/* Weights of a softmax, computed with the processor's approximate functions, whose error is not larger than the error
 * of the logits. The logits are products of rounded or split operands. Scores are scaled by 1 / ln 2, so a weight is
 * 2^score. */

/* 2^x for x <= 0 */
INLINE real exp2_weight(real x) { return exp2_approximate(x); }

/* log2 of a weight, or of a sum of weights. */
INLINE real log2_weight(real weight) { return log2_approximate(weight); }
