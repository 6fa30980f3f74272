/* Weights of a softmax whose logits are products of unrounded operands. Scores are scaled by 1 / ln 2, so a weight is
 * 2^score. */

/* 2^x for x <= 0 */
INLINE real exp2_weight(real x) { return exp_negative(x * (real)0.69314718055994531); }

/* log2 of a weight, or of a sum of weights. */
INLINE real log2_weight(real weight) { return log_real(weight) * (real)1.4426950408889634; }
