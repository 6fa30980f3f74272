/* Addition (Duan and Shi 2024): a + b, lowest digit first, in a frame of fixed width.
 *
 * symbols:        0 1 2 3 4 5 6 7 8 9 + * $ & @ A B C D E F G H I J K L M N O P Q R S T U V W X Y Z
 * option base:    2..36 = 10; base of the digits; digits from 10 are A to Z
 * option width:   2..4096 = 61; places of a number, with leading zeros
 * option input:   plain aligned; plain: a + b; aligned: the operator, then digits of a and b in alternation
 * option split:   permutation stratified; permutation: operands < `numbers`; stratified: up to base^6, by digit count
 * option numbers: 64..4194304 = 1048576; number of training and validation pairs
 * option parts:   2..1000 = 8; number of equal parts of these pairs; the last part is the validation set
 * symbol count:   base + 5, at least 15
 * start symbol:   $
 * end symbol:     &
 * input length:   2 * width + 3
 * output length:  width + 1
 * chance:         1 / base
 * literal:        12+345
 * sets:           train test validation
 * axis digits:    1 to width - 1; significant digits of the longer number
 * axis carry:     0 to width; number of digits in the longest carry chain
 * axis trained:   0 to 1; 1 if the pair is a training example, else 0
 * axis frame:     0 to 4096; width of the frame, if an evaluation varies it; 0: no padding of numbers
 * positions:      2 + place for a digit (lowest place: 0); 1 for + and for the $ before the target
 */
#include "data/arithmetic.h"

lh_task_collect lh_task_addition;
lh_task_solve lh_solve_addition;
lh_task_place lh_place_addition;

enum { BASE, WIDTH, INPUT, SPLIT, NUMBERS, PARTS, OPTIONS }; /* options */
enum { ALIGNED = 1, STRATIFIED = 1 };                        /* choices */

static lh_frame make_frame(const int *options) {
    return (lh_frame){.base = options[BASE],
                      .width = options[WIDTH],
                      .digits = options[WIDTH] - 1,
                      .numbers = options[NUMBERS],
                      .parts = options[PARTS],
                      .is_stratified = options[SPLIT] == STRATIFIED,
                      .input_length = 2 * options[WIDTH] + 3,
                      .output_length = options[WIDTH] + 1,
                      .greatest_position = options[WIDTH] + 1};
}

static uint16_t *write_aligned(uint16_t *cursor, const uint8_t *x, const uint8_t *y, int width) {
    *cursor++ = LH_PLUS;
    for (int i = width - 1; i >= 0; i--) {
        *cursor++ = lh_get_digit_token(x[i]);
        *cursor++ = lh_get_digit_token(y[i]);
    }
    return cursor;
}

static uint16_t *write_plain(uint16_t *cursor, const uint8_t *x, const uint8_t *y, int width) {
    cursor = lh_write_number(cursor, x, width);
    *cursor++ = LH_PLUS;
    return lh_write_number(cursor, y, width);
}

static void write_example(const int *options, const uint8_t *x, const uint8_t *y, lh_example *example) {
    int base = options[BASE], width = options[WIDTH], carry = 0;
    uint16_t *next = example->input;
    *next++ = LH_START;
    next = options[INPUT] == ALIGNED ? write_aligned(next, x, y, width) : write_plain(next, x, y, width);
    *next = LH_END;
    for (int i = 0; i < width; i++) {
        int sum = x[i] + y[i] + carry;
        example->target[i] = lh_get_digit_token(sum % base);
        carry = sum / base;
    }
    example->target[width] = LH_END;
}

/* Positions of Cho et al. 2024, "Position Coupling for Improving Length Generalization of Arithmetic Transformers". */
void lh_place_addition(const lh_example *example, int32_t *input, int32_t *target) {
    const int numbers = example->options[INPUT] == ALIGNED ? 2 : 1; /* numbers whose digits alternate */
    int digits = 0;                                                 /* digits after token t, up to the next operator */
    for (int t = example->input_length - 1; t >= 0; t--) {
        input[t] = 0;
        if (example->input[t] == LH_PLUS) {
            input[t] = 1;
            digits = 0;
        } else if (lh_is_digit_token(example->input[t])) {
            input[t] = 2 + digits++ / numbers;
        }
    }
    target[0] = 1;
    for (int t = 0; t + 1 < example->output_length; t++) target[t + 1] = 2 + t;
}

static lh_task_expand expand;
static const lh_operation operation = {.kind = "addition",
                                       .operands = LH_TWO_NUMBERS,
                                       .options = OPTIONS,
                                       .width_option = WIDTH,
                                       .frame = make_frame,
                                       .write = write_example,
                                       .expand = expand};

static void expand(uint64_t seed, const uint16_t *word, lh_example *example) {
    lh_arithmetic_expand(&operation, seed, word, example);
}

lh_status lh_task_addition(lh_collection *collection, lh_error *error) {
    return lh_arithmetic_collect(&operation, collection, error);
}

lh_status lh_solve_addition(const lh_literal *literal, lh_example *example, lh_error *error) {
    return lh_arithmetic_solve(&operation, literal, example, error);
}
