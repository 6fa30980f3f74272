/* Binary Addition (Ruoss et al. 2023): the sum of two numbers, from its lowest bit to its highest 1, then a
 * terminator.
 *
 * input symbols:  0 1 +
 * output symbols: 0 1 .
 * end symbol:     .
 * mask:           accuracy in encoders, else loss
 * input length:   n
 * output length:  n + 1
 * chance:         0.5
 * baseline:       0.500 always 1
 */
#include "data/tasks/operands.h"
#include "data/tasks/terminator.h"

lh_task_sample lh_task_binary_addition;

static uint16_t get_bit(const uint16_t *bits, int count, int i) { return i < count ? bits[i] : 0; }

/* Inputs of one or two tokens have no operator: each is one number, and the target repeats it. Labels after the
 * terminator are masked: they do not count in the accuracy, and only encoders have them in the loss. */
void lh_task_binary_addition(lh_rng *rng, int n, lh_example *example) {
    uint16_t *target = example->target;
    if (n < 3) {
        int number = fill_short(rng, n, example->input);
        for (int i = 0; i < n; i++) target[i] = example->input[i];
        terminate(example, number < 2 ? 1 : 2);
        return;
    }
    operands o = fill_operands(rng, n, example->input);
    unsigned sum = 0;
    for (int i = 0; i < n; i++) {
        sum += (unsigned)get_bit(o.x, o.x_bits, i) + get_bit(o.y, o.y_bits, i);
        target[i] = (uint16_t)(sum & 1);
        sum >>= 1;
    }
    terminate(example, count_significant(target, n));
}
