/* Full answers (Fan et al. 2024): the input has bits and =; from = on, the outputs are the answer, then padding.
 *
 * input symbols:  0 1 + = _
 * output symbols: 0 1 _
 * mask:           loss
 * option operation: copy parity ones addition; copy: the bits; ones: their count, lowest bit first; addition: a + b
 * input length:   (2 + operation / 3) * n + 1 + 2 * (operation / 3)
 * output length:  (2 + operation / 3) * n + 1 + 2 * (operation / 3)
 * chance:         0.3333
 */
#include <string.h>

#include "data/tasks/bits.h"
#include "longhand/task.h"

lh_task_sample lh_task_full_answer;

enum { OPERATION };                          /* options */
enum { COPY, PARITY, COUNT_ONES, ADDITION }; /* choices */
enum { PLUS = 2, EQUALS = 3, EMPTY = 4 };    /* inputs */
enum { PADDING = 2 };                        /* a label */

static int count_ones(const uint16_t *bits, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) count += bits[i];
    return count;
}

/* Writes the answer to an input of n bits, or of n bits on either side of the operator; returns its length. */
static int write_answer(int operation, const uint16_t *input, int n, uint16_t *answer) {
    int length = 0, one_count = operation == COPY || operation == ADDITION ? 0 : count_ones(input, n);
    unsigned sum = 0;
    switch (operation) {
    case COPY: memcpy(answer, input, (size_t)n * sizeof *answer); return n;
    case PARITY: answer[0] = (uint16_t)(one_count % 2); return 1;
    case COUNT_ONES:
        do answer[length++] = (uint16_t)(one_count & 1);
        while ((one_count >>= 1) > 0);
        return length;
    default:
        for (int i = n - 1; i >= 0; i--) {
            sum += (unsigned)input[i] + input[n + 1 + i];
            answer[i + 1] = (uint16_t)(sum & 1);
            sum >>= 1;
        }
        answer[0] = (uint16_t)sum;
        return n + 1;
    }
}

/* The labels of the tokens before = do not count. */
void lh_task_full_answer(lh_rng *rng, int n, lh_example *example) {
    int operation = example->options[OPERATION], bits = operation == ADDITION ? 2 * n + 1 : n;
    fill_bits(rng, bits, example->input);
    if (operation == ADDITION) example->input[n] = PLUS;
    example->input[bits] = EQUALS;
    for (int i = bits + 1; i < example->input_length; i++) example->input[i] = EMPTY;
    for (int i = 0; i < bits; i++) example->target[i] = example->mask[i] = 0;
    int length = write_answer(operation, example->input, n, example->target + bits);
    for (int i = bits + length; i < example->output_length; i++) example->target[i] = PADDING;
}
