/* Binary Multiplication (Ruoss et al. 2023): the product of two numbers, from its lowest bit to its highest 1, then a
 * terminator.
 *
 * input symbols:  0 1 *
 * output symbols: 0 1 .
 * end symbol:     .
 * mask:           accuracy in encoders, else loss
 * input length:   n
 * output length:  n
 * chance:         0.5
 * baseline:       0.498 always 0
 * positions:      bits - place for a bit (lowest place: 0; bits: bits of input); bits + 1 for * and before the output
 */
#include "data/tasks/operands.h"
#include "data/tasks/terminator.h"

lh_task_sample lh_task_binary_multiplication;
lh_task_place lh_place_binary_multiplication;

/* First counts the pairs of ones for each place of the product, then propagates the carries. A count is below 2^16 for
 * n < 2^17. */
static void multiply(const operands *o, uint16_t *product) {
    int bits = o->x_bits + o->y_bits;
    for (int i = 0; i < bits; i++) product[i] = 0;
    for (int i = 0; i < o->x_bits; i++) {
        if (o->x[i] == 0) continue;
        for (int j = 0; j < o->y_bits; j++) product[i + j] = (uint16_t)(product[i + j] + o->y[j]);
    }
    uint32_t carry = 0;
    for (int i = 0; i < bits; i++) {
        carry += product[i];
        product[i] = (uint16_t)(carry & 1);
        carry >>= 1;
    }
}

/* Inputs of one or two tokens have no operator: their targets are the terminator alone, or 0 and the terminator. Labels
 * after the terminator are masked: they do not count in the accuracy, and only encoders have them in the loss. */
void lh_task_binary_multiplication(lh_rng *rng, int n, lh_example *example) {
    if (n < 3) {
        fill_short(rng, n, example->input);
        example->target[0] = 0;
        terminate(example, n - 1);
        return;
    }
    operands o = fill_operands(rng, n, example->input);
    multiply(&o, example->target);
    terminate(example, count_significant(example->target, n - 1));
}

/* Positions of Cho et al. 2024, "Position Coupling for Improving Length Generalization of Arithmetic Transformers": a
 * product has as many places as its factors together. */
void lh_place_binary_multiplication(const lh_example *example, int32_t *input, int32_t *target) {
    int bits = 0, place = 0; /* place: of the next bit in its factor */
    for (int i = 0; i < example->input_length; i++) bits += example->input[i] != OPERATOR;
    for (int i = 0; i < example->input_length; i++) {
        const bool is_operator = example->input[i] == OPERATOR;
        input[i] = is_operator ? bits + 1 : bits - place;
        place = is_operator ? 0 : place + 1;
    }
    target[0] = bits + 1;
    for (int i = 0; i + 1 < example->output_length; i++) target[i + 1] = i < bits ? bits - i : 0;
}
