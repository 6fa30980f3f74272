/* Weights of a softmax whose logits are exact products. Scores are in units of log 2. */

/* 2^x for x <= 0 */
INLINE real weight_of(real x) { return exp_negative(x * (real)0.69314718055994531); }

/* The x of a weight, or of a sum of weights. */
INLINE real log_of_weight(real weight) { return log_real(weight) * (real)1.4426950408889634; }
