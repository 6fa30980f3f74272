/* Sums of numbers whose digit counts vary independently, for tasks that differ in the format of their examples.
 *
 * Digits are uniform, but no number begins with 0. Digit counts depend on the set:
 *
 *   training, validation  uniform from 1 to max_digits
 *   test                  given by each requested pair for the first two numbers; further numbers have uniform digit
 *                         counts up to the greater count of the pair
 *
 * Training and validation examples are divided into `parts` equal parts; the last part is the validation set. The test
 * set has `tests` examples for each pair.
 *
 * Examples are stored as items (lh_item). Their random numbers have the counter word `step` 0 in training and
 * validation. In the test set, each pair has its own word.
 */
#ifndef LONGHAND_FREE_SUMS_H
#define LONGHAND_FREE_SUMS_H

#include <stddef.h>

#include "data/arithmetic.h"

enum { LH_MAX_ADDENDS = 8 };

typedef struct lh_addends {
    int count;                                    /* number of addends */
    int digits[LH_MAX_ADDENDS];                   /* [count] digit counts */
    uint8_t digit[LH_MAX_ADDENDS][LH_MAX_PLACES]; /* [count][digits] digits, lowest first */
    lh_rng rng; /* the random stream after the digits, for random choices of the task */
} lh_addends;

/* Tokens that are written one after the other, or only counted if `token` is NULL. */
typedef struct lh_token_writer {
    uint16_t *token;
    int count;
} lh_token_writer;

static inline void lh_write_token(lh_token_writer *w, int token) {
    if (w->token != NULL) w->token[w->count] = (uint16_t)token;
    w->count++;
}

typedef struct lh_sum_task {
    const char *kind;
    int numbers;    /* addends of an example, 2 to LH_MAX_ADDENDS */
    int max_digits; /* maximum digit count of training, the task's option `longest` */
    int pairs;      /* number of training and validation examples, the option `pairs` */
    int parts;      /* see above, the option `parts` */
    int tests;      /* test examples for each pair of digit counts, the option `tests` */
    /* Sets the lengths and the greatest position of an item. LH_ERR_INPUT: the options do not fit the numbers. */
    lh_status (*measure)(const lh_addends *addends, const int *options, lh_item *item, lh_error *error);
    lh_task_expand *expand; /* calls lh_draw_addends and makes an example of the numbers */
} lh_sum_task;

static inline int lh_find_most_digits(const lh_addends *addends) {
    int max_digits = 0;
    for (int i = 0; i < addends->count; i++)
        if (addends->digits[i] > max_digits) max_digits = addends->digits[i];
    return max_digits;
}

/* Returns the digit of number i at a place; 0: the place is beyond the highest digit. */
static inline int lh_get_addend_digit(const lh_addends *addends, int i, int place) {
    return place < addends->digits[i] ? addends->digit[i][place] : 0;
}

/* Draws the numbers of an item. numbers: how many; max_trained: maximum digit count of training. */
void lh_draw_addends(int numbers, int max_trained, uint64_t seed, const uint16_t *word, lh_addends *addends);

/* Makes all examples, with these axes:
 *
 *   0  digit count of the longest number
 *   1  digit count of the first number
 *   2  digit count of the second number
 *   3  held-out sets: 1 if a training example has the same numbers, each of at most 19 digits; else 0
 */
lh_status lh_collect_sums(const lh_sum_task *task, lh_collection *collection, lh_error *error);

/* Reads a literal of `numbers` numbers, such as 12+345; addends->rng is not set. LH_ERR_INPUT: another symbol, too few
 * or too many numbers, or a number of more than LH_MAX_PLACES digits. */
lh_status lh_read_addends(const char *kind, int numbers, const lh_literal *literal, lh_addends *addends,
                          lh_error *error);

#endif
