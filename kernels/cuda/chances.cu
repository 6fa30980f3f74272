/* The chance P = sigmoid(logit) that a key matches a query (match), and the chance 1 - P that it does not (miss),
 * computed without cancellation. */
typedef struct chances {
    real match, miss;
} chances;

INLINE chances derive_chances(real logit) {
    const real tail = exp_negative(-abs_real(logit)), larger = 1 / (1 + tail), smaller = tail * larger;
    const chances c = {logit < 0 ? smaller : larger, logit < 0 ? larger : smaller};
    return c;
}
