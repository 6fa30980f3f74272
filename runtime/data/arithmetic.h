/* Arithmetic on numbers in a frame of fixed width (Duan and Shi 2024): what the tasks share that differ in what they write.
 *
 * Tokens are digits 0 to 9, + and *, then start, end and padding, then digits from A on: base 10 and below has 15. Numbers
 * are padded with zeros. Training and validation are a split of the first numbers, or of pairs of them; test has numbers
 * of every count of digits, and where an evaluation goes by carries, of every longest chain (data/chains.h); where it
 * goes by frames, the same numbers in those, or without padding. They are kept as items of a few words.
 */
#ifndef LONGHAND_ARITHMETIC_H
#define LONGHAND_ARITHMETIC_H

#include "data/chains.h"
#include "longhand/task.h"

enum {
    LH_PLUS = 10,
    LH_TIMES,
    LH_START,
    LH_END,
    LH_PADDING,
    LH_LETTER_A,
    LH_MOST_PLACES = 4096,
    LH_MOST_FRAME_OPTIONS = 8
};

/* Sizes that the options of a task determine. */
typedef struct lh_frame {
    int base;
    int width;   /* places of an operand */
    int digits;  /* the most that numbers may have, so that the result has room */
    int numbers; /* to train on and to validate with: those below, or so many drawn ones */
    int parts;   /* of which the last is for validation */
    bool stratified;
    int input_length, output_length; /* tokens of an example */
} lh_frame;

typedef enum lh_operands {
    LH_ONE_NUMBER,
    LH_NUMBER_PLUS_ONE, /* one number, too; a chain of carries is its trailing digits base - 1 */
    LH_TWO_NUMBERS,
    LH_NUMBER_AND_DIGIT
} lh_operands;

/* A task; its axes are digits, carry unless it is of LH_ONE_NUMBER, trained, and frame. */
typedef struct lh_operation {
    const char *kind;
    lh_operands operands;
    int options, width_option; /* how many, at most LH_MOST_FRAME_OPTIONS, and which is the frame's width */
    lh_frame (*frame)(const int *options);
    /* Writes input and target. x, y: [width] digits, lowest first; of a digit y[0]. */
    void (*write)(const int *options, const uint8_t *x, const uint8_t *y, lh_example *example);
    lh_task_expand *expand; /* lh_arithmetic_expand for this operation */
} lh_operation;

/* A task's options with a frame of another width; 0: with its own. */
typedef struct lh_framed {
    int options[LH_MOST_FRAME_OPTIONS];
    lh_frame frame;
} lh_framed;

lh_framed lh_with_width(const lh_operation *operation, const int *options, int width);

/* The least width of a frame that numbers of so many digits fit in. */
int lh_least_width(const lh_operation *operation, const int *options, int digits);

static inline uint16_t lh_digit_token(int digit) { return (uint16_t)(digit < 10 ? digit : LH_LETTER_A + digit - 10); }

/* Writes the digits of a frame, highest first; returns what stands behind them. */
static inline uint16_t *lh_write_number(uint16_t *at, const uint8_t *x, int width) {
    for (int i = width - 1; i >= 0; i--) *at++ = lh_digit_token(x[i]);
    return at;
}

/* Makes all examples. LH_ERR_INPUT where the frame has no room for them, LH_ERR_ENVIRONMENT without memory. */
lh_status lh_arithmetic_collect(const lh_operation *operation, lh_collection *collection, lh_error *error);

/* Reads 12+345, 12*3 or 12, whatever the zeros in front, with or without the ends; see lh_task_solve. */
lh_status lh_arithmetic_solve(const lh_operation *operation, const lh_literal *literal, lh_example *example,
                              lh_error *error);

void lh_arithmetic_expand(const lh_operation *operation, uint64_t seed, const uint16_t *word, lh_example *example);

#endif
