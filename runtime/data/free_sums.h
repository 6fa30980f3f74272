/* Sums of numbers whose digit counts vary independently, for tasks that differ in the format of their examples.
 *
 * Each training or validation example has uniform digit counts from 1 to max_digits and uniform digits, and no number
 * begins with 0. The last of the equal parts of these examples is the validation set. The test set has `tests` examples
 * for each requested pair of digit counts of the first two numbers; further numbers have uniform digit counts, up to
 * the greater count of the pair. Examples are stored as items (lh_item). The counter word `step` of their random
 * numbers is 0 in training and validation; in the test set each pair of digit counts has its own word.
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
    lh_rng rng;                                   /* the stream after the digits, for random choices of the task */
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
    int parts; /* number of equal parts of these examples; the last part is the validation set; the option `parts` */
    int tests; /* test examples for each pair of digit counts, the option `tests` */
    /* Sets the lengths and the greatest position of an item. LH_ERR_INPUT: the options do not fit the numbers. */
    lh_status (*measure)(const lh_addends *addends, const int *options, lh_item *item, lh_error *error);
    lh_task_expand *expand; /* makes examples of the numbers that lh_draw_addends draws */
} lh_sum_task;

static inline int lh_find_most_digits(const lh_addends *addends) {
    int max_digits = 0;
    for (int i = 0; i < addends->count; i++)
        if (addends->digits[i] > max_digits) max_digits = addends->digits[i];
    return max_digits;
}

/* The digit of number i at a place, 0 beyond its highest digit. */
static inline int lh_get_addend_digit(const lh_addends *addends, int i, int place) {
    return place < addends->digits[i] ? addends->digit[i][place] : 0;
}

/* Draws the numbers of an item. numbers: how many; max_trained: maximum digit count of training. */
void lh_draw_addends(int numbers, int max_trained, uint64_t seed, const uint16_t *word, lh_addends *addends);

/* Makes all examples. Their axes are the digit counts of the longest, the first and the second number, and whether a
 * training example has the same numbers. An example with a number of more than 19 digits counts as new. */
lh_status lh_collect_sums(const lh_sum_task *task, lh_collection *collection, lh_error *error);

/* Reads a literal of `numbers` numbers, such as 12+345; addends->rng is not set. LH_ERR_INPUT: another symbol, too few
 * or too many numbers, or a number of more than LH_MAX_PLACES digits. */
lh_status lh_read_addends(const char *kind, int numbers, const lh_literal *literal, lh_addends *addends,
                          lh_error *error);

#endif
