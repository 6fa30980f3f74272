/* Numbers of arithmetic tasks (arithmetic.h), and the items from which their examples are made.
 *
 * Random numbers have these counter words (longhand/rng.h). For training and validation, and for the order of test
 * numbers with few digits, word `step` is 0 and word `example` is the purpose (arithmetic.c). For other test numbers,
 * `step` depends on the digit count and on the requested length of the longest chain; `example` is the index of the
 * number among those with the same digit count and requested length. Arrays of digits begin with the lowest digit.
 */
#ifndef LONGHAND_ARITHMETIC_ITEMS_H
#define LONGHAND_ARITHMETIC_ITEMS_H

#include "data/arithmetic.h"

/* The words of an item (lh_item). */
typedef struct lh_number_item {
    uint16_t word[2 + LH_MAX_CHAIN_DIGITS + 4];
    int words;
} lh_number_item;

/* The item of two given numbers below 2^32. */
lh_number_item lh_make_small_item(uint32_t x, uint32_t y);

/* The item of the random test numbers with index `index` among those with `digits` digits. */
lh_number_item lh_make_drawn_item(int digits, uint32_t index);

/* An item that contains two numbers of `digits` digits, at most LH_MAX_CHAIN_DIGITS. */
lh_number_item lh_make_written_item(int digits, const uint8_t *x, const uint8_t *y);

/* Sets the width of a new item's frame; 0: the task's width. */
void lh_set_item_width(lh_number_item *item, int width);

/* Reads an item's numbers into x and y, whose digits must be 0 on entry; returns the longer number's digit count. */
int lh_read_item(const lh_operation *o, const lh_frame *f, uint64_t seed, const uint16_t *word, uint8_t *x, uint8_t *y);

lh_rng lh_make_number_stream(uint64_t seed, uint32_t step, uint32_t example);

/* The counter word `step` of test numbers. chain: the requested length of the longest chain; -1: any length. */
uint32_t lh_choose_stream_step(int digits, int chain);

/* base^exponent, or UINT64_MAX if the power is larger. */
uint64_t lh_compute_power(int base, int exponent);
int lh_count_number_digits(int base, uint64_t number);

/* The value of the digits; UINT64_MAX if it has more than 32 bits. */
uint64_t lh_compute_number(int base, const uint8_t *x, int digits);

/* The length of the longest chain of carries. */
int lh_measure_chain(const lh_operation *o, const lh_frame *f, int digits, const uint8_t *x, const uint8_t *y);

/* Draws a number of `digits` digits with exactly `chain` trailing digits equal to base - 1; false: there is none. */
bool lh_draw_trailing_digits(int base, lh_rng *rng, int digits, int chain, uint8_t *x);

#endif
