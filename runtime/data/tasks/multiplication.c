/* Multiplication (Duan and Shi 2024, N x 1): a number times one digit, lowest digit first, in a frame of fixed width.
 *
 * symbols:        0 1 2 3 4 5 6 7 8 9 + * $ & @ A B C D E F G H I J K L M N O P Q R S T U V W X Y Z
 * option base:    2..36 = 10; base of the digits; digits from 10 are A to Z
 * option width:   2..4096 = 60; places of the number, with leading zeros
 * option extra:   0..16 = 2; places of the product beyond the width
 * option input:   plain aligned; plain: a * b; aligned: the operator, then b after every digit of a
 * option split:   permutation stratified; permutation: a < `numbers`, b >= 0; stratified: a <= base^6, b >= 1
 * option numbers: 64..4194304 = 1048576; number of training and validation pairs
 * option parts:   2..1000 = 8; number of equal parts of these pairs; the last part is the validation set
 * symbol count:   base + 5, at least 15
 * start symbol:   $
 * end symbol:     &
 * input length:   width + 4 + input * (width - 1)
 * output length:  width + extra + 1
 * chance:         1 / base
 * literal:        123*6
 * sets:           train test validation
 * axis digits:    1 to width - 1 / (extra + 1); significant digits of the number
 * axis carry:     0 to width; number of digits in the longest carry chain
 * axis trained:   0 to 1; 1 if the pair of number and digit is a training example, else 0
 * axis frame:     0 to 4096; width of the frame, if an evaluation varies it; 0: no padding of numbers
 * positions:      p - place for a digit (lowest place: 0; p: width + extra); p + 1 for * and the $ before the target
 */
#include "data/arithmetic.h"

lh_task_collect lh_task_multiplication;
lh_task_solve lh_solve_multiplication;
lh_task_place lh_place_multiplication;

enum { BASE, WIDTH, EXTRA, INPUT, SPLIT, NUMBERS, PARTS, OPTIONS }; /* options */
enum { ALIGNED = 1, STRATIFIED = 1 };                               /* choices */

/* A number of width - 1 digits, times a digit, needs at most `width` places. So without extra places, numbers have up
 * to width - 1 digits: the 1 / (extra + 1) above is a division of integers, 1 if extra is 0, else 0. */
static lh_frame make_frame(const int *options) {
    int width = options[WIDTH], aligned = options[INPUT] == ALIGNED;
    return (lh_frame){.base = options[BASE],
                      .width = width,
                      .digits = options[EXTRA] > 0 ? width : width - 1,
                      .numbers = options[NUMBERS],
                      .parts = options[PARTS],
                      .is_stratified = options[SPLIT] == STRATIFIED,
                      .input_length = width + 4 + (aligned ? width - 1 : 0),
                      .output_length = width + options[EXTRA] + 1,
                      .greatest_position = width + options[EXTRA] + 1};
}

static uint16_t *write_aligned(uint16_t *cursor, const uint8_t *x, const uint8_t *y, int width) {
    *cursor++ = LH_TIMES;
    for (int i = width - 1; i >= 0; i--) {
        *cursor++ = lh_get_digit_token(x[i]);
        *cursor++ = lh_get_digit_token(y[0]);
    }
    return cursor;
}

static uint16_t *write_plain(uint16_t *cursor, const uint8_t *x, const uint8_t *y, int width) {
    cursor = lh_write_number(cursor, x, width);
    *cursor++ = LH_TIMES;
    *cursor++ = lh_get_digit_token(y[0]);
    return cursor;
}

static void write_example(const int *options, const uint8_t *x, const uint8_t *y, lh_example *example) {
    int base = options[BASE], width = options[WIDTH], places = width + options[EXTRA], carry = 0;
    uint16_t *next = example->input;
    *next++ = LH_START;
    next = options[INPUT] == ALIGNED ? write_aligned(next, x, y, width) : write_plain(next, x, y, width);
    *next = LH_END;
    for (int i = 0; i < places; i++) {
        int product = (i < width ? x[i] * y[0] : 0) + carry;
        example->target[i] = lh_get_digit_token(product % base);
        carry = product / base;
    }
    example->target[places] = LH_END;
}

/* Positions of Cho et al. 2024, "Position Coupling for Improving Length Generalization of Arithmetic Transformers",
 * where a product has one place more than its first factor; here it has `extra` more. The single digit has place 0. */
void lh_place_multiplication(const lh_example *example, int32_t *input, int32_t *target) {
    const bool is_aligned = example->options[INPUT] == ALIGNED;
    bool is_second = true;     /* the next digit to the left is the second factor */
    int digits = 0, place = 0; /* place: of the first factor's next digit */
    for (int t = 0; t < example->input_length; t++) digits += lh_is_digit_token(example->input[t]);
    const int places = (is_aligned ? digits / 2 : digits - 1) + example->options[EXTRA];
    for (int t = example->input_length - 1; t >= 0; t--) {
        input[t] = 0;
        if (example->input[t] == LH_TIMES) {
            input[t] = places + 1;
            is_second = false;
        } else if (lh_is_digit_token(example->input[t])) {
            input[t] = is_second ? places : places - place++;
            if (is_aligned) is_second = !is_second;
        }
    }
    target[0] = places + 1;
    for (int t = 0; t + 1 < example->output_length; t++) target[t + 1] = t < places ? places - t : 0;
}

static lh_task_expand expand;
static const lh_operation operation = {.kind = "multiplication",
                                       .operands = LH_NUMBER_AND_DIGIT,
                                       .options = OPTIONS,
                                       .width_option = WIDTH,
                                       .frame = make_frame,
                                       .write = write_example,
                                       .expand = expand};

static void expand(uint64_t seed, const uint16_t *word, lh_example *example) {
    lh_arithmetic_expand(&operation, seed, word, example);
}

lh_status lh_task_multiplication(lh_collection *collection, lh_error *error) {
    return lh_arithmetic_collect(&operation, collection, error);
}

lh_status lh_solve_multiplication(const lh_literal *literal, lh_example *example, lh_error *error) {
    return lh_arithmetic_solve(&operation, literal, example, error);
}
