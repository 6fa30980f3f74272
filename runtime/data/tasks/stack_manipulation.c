/* Stack Manipulation (Ruoss et al. 2023): the content of a stack of bits after pops and pushes, from the top, and a
 * terminator.
 *
 * input symbols:  0 1 pop push0 push1
 * output symbols: 0 1 .
 * end symbol:     .
 * mask:           accuracy in encoders, else loss
 * input length:   n
 * output length:  n + 1
 * chance:         0.5
 * baseline:       0.496 always 1
 */
#include "data/tasks/bits.h"
#include "data/tasks/terminator.h"

lh_task_sample lh_task_stack_manipulation;

enum { POP = 2, PUSH = 3, ACTIONS = 3 };

static void reverse(uint16_t *tokens, int count) {
    for (int i = 0, j = count - 1; i < j; i++, j--) {
        uint16_t token = tokens[i];
        tokens[i] = tokens[j];
        tokens[j] = token;
    }
}

/* The input is the stack, 1 to n - 1 bits from the bottom up, then actions. A pop from the empty stack does nothing.
 * An input of one token has no action. */
void lh_task_stack_manipulation(lh_rng *rng, int n, lh_example *example) {
    uint16_t *input = example->input, *stack = example->target;
    int height = n == 1 ? 1 : 1 + (int)lh_rng_below(rng, (uint32_t)(n - 1));
    fill_bits(rng, height, input);
    for (int i = 0; i < height; i++) stack[i] = input[i];
    for (int i = height; i < n; i++) {
        uint32_t action = POP + lh_rng_below(rng, ACTIONS);
        input[i] = (uint16_t)action;
        if (action != POP) stack[height++] = (uint16_t)(action - PUSH);
        else if (height > 0) height--;
    }
    reverse(stack, height);
    terminate(example, height);
}
