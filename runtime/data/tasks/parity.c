/* Parity (Duan and Shi 2024): the running exclusive or of a number's bits, from the lowest up, in a frame of
 * fixed width.
 *
 * symbols:        0 1 2 3 4 5 6 7 8 9 + * $ & @
 * start symbol:   $
 * end symbol:     &
 * option width:   2..4096 = 61; places of a number, with leading zeros
 * option target:  running last; running: the parity up to each bit; last: the parity of all bits
 * option numbers: 64..4194304 = 1048576; training and validation numbers are 0 to numbers - 1 in a random order
 * option parts:   2..1000 = 8; number of equal parts of these numbers; the last part is the validation set
 * input length:   width + 2
 * output length:  width + 1 - target * (width - 1)
 * chance:         0.5
 * literal:        101101
 * sets:           train test validation
 * axis digits:    1 to width; significant bits of the number
 * axis trained:   0 to 1; 1 if the number is a training example, else 0
 * axis frame:     0 to 4096; width of the frame, if an evaluation varies it; 0: no padding of numbers
 */
#include "data/arithmetic.h"

lh_task_collect lh_task_parity;
lh_task_solve lh_solve_parity;

enum { WIDTH, TARGET, NUMBERS, PARTS, OPTIONS }; /* options */
enum { LAST = 1 };                               /* choice */

static lh_frame make_frame(const int *options) {
    return (lh_frame){.base = 2,
                      .width = options[WIDTH],
                      .digits = options[WIDTH],
                      .numbers = options[NUMBERS],
                      .parts = options[PARTS],
                      .input_length = options[WIDTH] + 2,
                      .output_length = options[TARGET] == LAST ? 2 : options[WIDTH] + 1};
}

static void write_example(const int *options, const uint8_t *x, const uint8_t *y, lh_example *example) {
    int width = options[WIDTH];
    uint16_t *target = example->target, parity = 0;
    (void)y;
    example->input[0] = LH_START;
    *lh_write_number(example->input + 1, x, width) = LH_END;
    for (int i = 0; i < width; i++) {
        parity ^= x[i];
        if (options[TARGET] != LAST) *target++ = parity;
    }
    if (options[TARGET] == LAST) *target++ = parity;
    *target = LH_END;
}

static lh_task_expand expand;
static const lh_operation operation = {.kind = "parity",
                                       .operands = LH_ONE_NUMBER,
                                       .options = OPTIONS,
                                       .width_option = WIDTH,
                                       .frame = make_frame,
                                       .write = write_example,
                                       .expand = expand};

static void expand(uint64_t seed, const uint16_t *word, lh_example *example) {
    lh_arithmetic_expand(&operation, seed, word, example);
}

lh_status lh_task_parity(lh_collection *collection, lh_error *error) {
    return lh_arithmetic_collect(&operation, collection, error);
}

lh_status lh_solve_parity(const lh_literal *literal, lh_example *example, lh_error *error) {
    return lh_arithmetic_solve(&operation, literal, example, error);
}
