/* Weights of a softmax whose logits are products of rounded operands, by the processor's approximation: its error is
 * far below that of the operands. Scores are in units of log 2. */

/* 2^x for x <= 0 */
INLINE real weight_of(real x) { return exp2_approximate(x); }

/* The x of a weight, or of a sum of weights. */
INLINE real log_of_weight(real weight) { return log2_approximate(weight); }
