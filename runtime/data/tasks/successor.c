/* Successor (Duan and Shi 2024): n + 1, lowest digit first, in a frame of fixed width.
 *
 * symbols:        0 1 2 3 4 5 6 7 8 9 + * $ & @ A B C D E F G H I J K L M N O P Q R S T U V W X Y Z
 * option base:    2..36 = 10; base of the digits; digits from 10 are A to Z
 * option width:   2..4096 = 61; places of a number, with leading zeros
 * option numbers: 64..4194304 = 1048576; training and validation numbers are 0 to numbers - 1 in a random order
 * option parts:   2..1000 = 8; number of equal parts of these numbers; the last part is the validation set
 * symbol count:   base + 5, at least 15
 * start symbol:   $
 * end symbol:     &
 * input length:   width + 2
 * output length:  width + 1
 * chance:         1 / base
 * literal:        1999
 * sets:           train test validation
 * axis digits:    1 to width - 1; significant digits of the number
 * axis carry:     0 to width; number of digits in the carry chain, the trailing digits that are base - 1
 * axis trained:   0 to 1; 1 if the number is a training example, else 0
 * axis frame:     0 to 4096; width of the frame, if an evaluation varies it; 0: no padding of numbers
 */
#include "data/arithmetic.h"

lh_task_collect lh_task_successor;
lh_task_solve lh_solve_successor;

enum { BASE, WIDTH, NUMBERS, PARTS, OPTIONS }; /* options */

static lh_frame make_frame(const int *options) {
    return (lh_frame){.base = options[BASE],
                      .width = options[WIDTH],
                      .digits = options[WIDTH] - 1,
                      .numbers = options[NUMBERS],
                      .parts = options[PARTS],
                      .input_length = options[WIDTH] + 2,
                      .output_length = options[WIDTH] + 1};
}

static void write_example(const int *options, const uint8_t *x, const uint8_t *y, lh_example *example) {
    int base = options[BASE], width = options[WIDTH], carry = 1;
    (void)y;
    example->input[0] = LH_START;
    *lh_write_number(example->input + 1, x, width) = LH_END;
    for (int i = 0; i < width; i++) {
        example->target[i] = lh_get_digit_token((x[i] + carry) % base);
        carry = (x[i] + carry) / base;
    }
    example->target[width] = LH_END;
}

static lh_task_expand expand;
static const lh_operation operation = {.kind = "successor",
                                       .operands = LH_NUMBER_PLUS_ONE,
                                       .options = OPTIONS,
                                       .width_option = WIDTH,
                                       .frame = make_frame,
                                       .write = write_example,
                                       .expand = expand};

static void expand(uint64_t seed, const uint16_t *word, lh_example *example) {
    lh_arithmetic_expand(&operation, seed, word, example);
}

lh_status lh_task_successor(lh_collection *collection, lh_error *error) {
    return lh_arithmetic_collect(&operation, collection, error);
}

lh_status lh_solve_successor(const lh_literal *literal, lh_example *example, lh_error *error) {
    return lh_arithmetic_solve(&operation, literal, example, error);
}
