/* Arithmetic on numbers in a frame (Duan and Shi 2024), for tasks that differ in the operation. All numbers of a frame
 * have the same number of places, the width of the frame; they are padded with zeros.
 *
 * Tokens are digits 0 to 9, + and *, then start, end and padding, then digits from A on, so bases up to 10 need 15
 * tokens. Training and validation examples are numbers, or pairs of numbers; fields of lh_frame say how many there are,
 * how they are sampled, and how they are split into the two sets. The test set has numbers of every requested digit
 * count. For evaluations by carries it also has numbers with every requested length of the longest chain of carries
 * (data/chains.h). For evaluations by frames it also has the same numbers in frames of the requested widths; width 0 is
 * the smallest frame that holds the number and its result. Examples are stored as items (lh_item).
 */
#ifndef LONGHAND_ARITHMETIC_H
#define LONGHAND_ARITHMETIC_H

#include "data/chains.h"
#include "longhand/task.h"

enum { /* tokens after the digits 0 to 9 */
       LH_PLUS = 10,
       LH_TIMES,
       LH_START,
       LH_END,
       LH_PADDING,
       LH_LETTER_A
};
enum { LH_MAX_PLACES = 4096, LH_MAX_FRAME_OPTIONS = 8 };

/* Sizes that a task's options determine. */
typedef struct lh_frame {
    int base;
    int width;          /* places of an operand */
    int digits;         /* greatest digit count of operands for which every result fits in the frame */
    int numbers;        /* number of training and validation examples; if not is_stratified, operands are below it */
    int parts;          /* number of equal parts of these examples; the last part is the validation set */
    bool is_stratified; /* operands are sampled by digit count, not from a permutation */
    int input_length, output_length; /* tokens per example */
    int greatest_position;           /* see lh_item */
} lh_frame;

typedef enum lh_operands {
    LH_ONE_NUMBER,
    LH_NUMBER_PLUS_ONE, /* the n of n + 1; the trailing digits of n that equal base - 1 are the chain of carries */
    LH_TWO_NUMBERS,
    LH_NUMBER_AND_DIGIT
} lh_operands;

/* An arithmetic task. The axes of its evaluations are digits, carry (except with LH_ONE_NUMBER), trained and frame. */
typedef struct lh_operation {
    const char *kind;
    lh_operands operands;
    int options;                           /* number of options, at most LH_MAX_FRAME_OPTIONS */
    int width_option;                      /* index of the option for the width of the frame */
    lh_frame (*frame)(const int *options); /* computes the sizes */
    /* Writes input and target. x, y: [width] digits, lowest first; a single digit is y[0]. */
    void (*write)(const int *options, const uint8_t *x, const uint8_t *y, lh_example *example);
    lh_task_expand *expand; /* lh_arithmetic_expand for this operation */
} lh_operation;

/* Options with the width of one frame. */
typedef struct lh_framed_options {
    int options[LH_MAX_FRAME_OPTIONS];
    lh_frame frame; /* the sizes that the options determine */
} lh_framed_options;

/* Returns a copy of the options with this frame width, and the sizes of the frame; width 0: the width in options. */
lh_framed_options lh_set_width(const lh_operation *operation, const int *options, int width);

/* The least width, at least 2, of a frame for numbers of `digits` digits. */
int lh_find_least_width(const lh_operation *operation, const int *options, int digits);

static inline uint16_t lh_get_digit_token(int digit) {
    return (uint16_t)(digit < 10 ? digit : LH_LETTER_A + digit - 10);
}

static inline bool lh_is_digit_token(uint16_t token) { return token < LH_PLUS || token >= LH_LETTER_A; }

/* Writes the tokens of a number's `width` digits, highest first; returns a pointer past the last token. */
static inline uint16_t *lh_write_number(uint16_t *cursor, const uint8_t *x, int width) {
    for (int i = width - 1; i >= 0; i--) *cursor++ = lh_get_digit_token(x[i]);
    return cursor;
}

/* Makes all examples. LH_ERR_INPUT: a frame is too narrow, or evaluations request carries of numbers with more than
 * LH_MAX_CHAIN_DIGITS digits; LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_arithmetic_collect(const lh_operation *operation, lh_collection *collection, lh_error *error);

/* Reads a literal such as 12+345, 12*3 or 12, possibly with leading zeros and start and end symbols; see
 * lh_task_solve. */
lh_status lh_arithmetic_solve(const lh_operation *operation, const lh_literal *literal, lh_example *example,
                              lh_error *error);

/* Reads the number that begins at *index in a literal, and moves *index to the first token that is not a digit, at most
 * to `end`. Writes the number's digits without leading zeros to x, lowest first, and returns their count. 0: there is
 * no digit; more than LH_MAX_PLACES: x is not written. */
int lh_read_number(const lh_literal *literal, int base, int end, int *index, uint8_t *x);

/* Writes the example of an item; see lh_task_expand. */
void lh_arithmetic_expand(const lh_operation *operation, uint64_t seed, const uint16_t *word, lh_example *example);

#endif
