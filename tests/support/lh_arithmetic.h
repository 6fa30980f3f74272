/* All examples of a task of runtime/data/arithmetic.h, and their tokens as text, for the tests of arithmetic tasks. */
#ifndef LH_ARITHMETIC_TEST_H
#define LH_ARITHMETIC_TEST_H

#include <stdbool.h>

#include "longhand/task.h"

enum { MOST_TOKENS = 128 };

/* Indices in lh_kept_example.axes for addition and multiplication. In other tasks, `trained` may have another index: it
 * has 1 in parity, which has no axis `carry`. */
enum { DIGITS = 0, CARRY = 1, TRAINED = 2, FRAME = 3 };

lh_task_collect lh_task_successor, lh_task_addition, lh_task_multiplication, lh_task_parity;

/* An example in a collection: its lengths, its values on the axes, and `word`, from which the task's lh_task_expand
 * makes its tokens. */
typedef struct lh_kept_example {
    lh_set set;
    uint16_t word[16];
    int input_length, output_length, greatest_position;
    int32_t axes[4];
} lh_kept_example;

/* A collection that keeps every example of a task. */
typedef struct lh_full_collection {
    lh_collection c;
    bool requests_carries;      /* also groups by the axis `carry`, and requests all its values */
    int min_digits, max_digits; /* digit counts of the requested numbers */
    int frame_axis;             /* index of the axis `frame`; 0: no frames are requested */
    int frame[2];               /* requested frames */
    lh_kept_example *item;
    int count, capacity;
} lh_full_collection;

/* Makes an empty collection that requests numbers of 1 to `max_digits` digits; the caller frees `item`. */
lh_full_collection lh_make_full_collection(const int *options, uint64_t seed, int max_digits, bool requests_carries);

/* Fills the collection with the examples of a task. */
void lh_collect_all(lh_full_collection *s, lh_task_collect *task);

/* The symbol of each token. */
extern const char lh_arithmetic_symbols[];

typedef struct lh_text {
    char input[MOST_TOKENS], target[MOST_TOKENS];
} lh_text;

void lh_write_symbols(char *text, const uint16_t *tokens, int count);

/* Returns the input and target that the task makes of an item, as text; checks that the task writes no token after
 * them. word: words of the item; inputs, outputs: numbers of tokens. */
lh_text lh_write_example(const lh_full_collection *s, const uint16_t *word, int inputs, int outputs);

/* Does the same for an item of the collection. */
lh_text lh_write_kept_example(const lh_full_collection *s, const lh_kept_example *k);

/* Returns the number with the digits text[from .. to - 1], highest first. */
uint64_t lh_read_digits(const char *text, int from, int to, int base);

/* Returns the number in a target, which consists of the digits, from the lowest to the highest, and the end symbol. */
uint64_t lh_read_reversed(const char *target, int base);

int lh_count_digits(int base, uint64_t n);

/* Returns the length of the longest chain of carries in the lowest `digits` places of x + y, or of x * y if is_product,
 * by definition: a chain begins at a place whose digits alone make a carry. It continues at the next place if the carry
 * into that place makes the carry out of it greater. */
int lh_find_chain_by_definition(int base, bool is_product, uint64_t x, uint64_t y, int digits);

#endif
