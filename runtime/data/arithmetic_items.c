/* See arithmetic_items.h and arithmetic.h. */
#include "data/arithmetic_items.h"

#include <string.h>

/* Fields of an item's first word: the lowest bits are its kind, the higher bits the width of its frame (0: the task's
 * width). */
enum { KIND_MASK = 3, WIDTH_SHIFT = 2 };
enum {         /* kinds of items, with the words that follow the first word */
       SMALL,  /* two numbers of two words each */
       DRAWN,  /* the digit count, then the index of the random numbers in two words */
       WRITTEN /* the digit count, then a word for each place: x's digit + 256 times y's digit */
};

lh_rng lh_make_number_stream(uint64_t seed, uint32_t step, uint32_t example) {
    return lh_rng_at(lh_key_of_seed(seed), step, example, lh_site(LH_DOMAIN_DATA, 0, LH_PLACE_SAMPLE));
}

uint32_t lh_choose_stream_step(int digits, int chain) {
    return 1u + (uint32_t)(chain + 1) * (LH_MAX_PLACES + 1) + (uint32_t)digits;
}

uint64_t lh_compute_power(int base, int exponent) {
    uint64_t value = 1;
    for (int i = 0; i < exponent && value < UINT64_MAX; i++)
        value = value > UINT64_MAX / (uint64_t)base ? UINT64_MAX : value * (uint64_t)base;
    return value;
}

int lh_count_number_digits(int base, uint64_t number) {
    int count = 1;
    while (number >= (uint64_t)base) {
        number /= (uint64_t)base;
        count++;
    }
    return count;
}

static void put_digits(int base, uint32_t number, uint8_t *x) {
    for (; number > 0; number /= (uint32_t)base) *x++ = (uint8_t)(number % (uint32_t)base);
}

uint64_t lh_compute_number(int base, const uint8_t *x, int digits) {
    uint64_t number = 0;
    for (int i = digits - 1; i >= 0 && number <= UINT32_MAX; i--) number = number * (uint64_t)base + x[i];
    return number <= UINT32_MAX ? number : UINT64_MAX;
}

/* Draws a number with exactly `digits` digits, uniformly. */
static void draw_number(lh_rng *rng, int base, int digits, uint8_t *x) {
    for (int i = 0; i + 1 < digits; i++) x[i] = (uint8_t)lh_rng_below(rng, (uint32_t)base);
    x[digits - 1] = (uint8_t)(1 + lh_rng_below(rng, (uint32_t)base - 1));
}

static void draw_numbers(const lh_operation *o, const lh_frame *f, lh_rng *rng, int digits, uint8_t *x, uint8_t *y) {
    draw_number(rng, f->base, digits, x);
    if (o->operands == LH_TWO_NUMBERS) draw_number(rng, f->base, digits, y);
    if (o->operands == LH_NUMBER_AND_DIGIT) y[0] = (uint8_t)lh_rng_below(rng, (uint32_t)f->base);
}

int lh_measure_chain(const lh_operation *o, const lh_frame *f, int digits, const uint8_t *x, const uint8_t *y) {
    if (o->operands != LH_NUMBER_PLUS_ONE)
        return lh_find_longest_chain(f->base, o->operands == LH_NUMBER_AND_DIGIT, digits, x, y);
    int chain = 0;
    while (chain < digits && x[chain] == f->base - 1) chain++;
    return chain;
}

bool lh_draw_trailing_digits(int base, lh_rng *rng, int digits, int chain, uint8_t *x) {
    memset(x, base - 1, (size_t)chain);
    for (int i = chain; i < digits; i++) {
        bool is_highest = i + 1 == digits;              /* the highest digit, which is not 0 */
        int choices = base - is_highest - (i == chain); /* the digit above the chain is not base - 1 */
        if (choices == 0) return false;
        x[i] = (uint8_t)(is_highest + (int)lh_rng_below(rng, (uint32_t)choices));
    }
    return true;
}

/* ---- items ---- */

lh_number_item lh_make_small_item(uint32_t x, uint32_t y) {
    return (lh_number_item){{SMALL, (uint16_t)x, (uint16_t)(x >> 16), (uint16_t)y, (uint16_t)(y >> 16)}, 5};
}

lh_number_item lh_make_drawn_item(int digits, uint32_t index) {
    return (lh_number_item){{DRAWN, (uint16_t)digits, (uint16_t)index, (uint16_t)(index >> 16)}, 4};
}

lh_number_item lh_make_written_item(int digits, const uint8_t *x, const uint8_t *y) {
    lh_number_item written = {{WRITTEN, (uint16_t)digits}, 2 + digits};
    for (int i = 0; i < digits; i++) written.word[2 + i] = (uint16_t)(x[i] | y[i] << 8);
    return written;
}

static uint32_t read_two_words(const uint16_t *word) { return (uint32_t)word[0] | (uint32_t)word[1] << 16; }

int lh_read_item(const lh_operation *o, const lh_frame *f, uint64_t seed, const uint16_t *word, uint8_t *x,
                 uint8_t *y) {
    int kind = word[0] & KIND_MASK;
    if (kind == SMALL) {
        uint32_t first = read_two_words(word + 1), second = read_two_words(word + 3);
        put_digits(f->base, first, x);
        put_digits(f->base, second, y);
        return lh_count_number_digits(f->base, first > second ? first : second);
    }
    const int digits = word[1];
    if (kind == DRAWN) {
        lh_rng rng = lh_make_number_stream(seed, lh_choose_stream_step(digits, -1), read_two_words(word + 2));
        draw_numbers(o, f, &rng, digits, x, y);
        return digits;
    }
    for (int i = 0; i < digits; i++) { /* kind is WRITTEN */
        x[i] = (uint8_t)word[2 + i];
        y[i] = (uint8_t)(word[2 + i] >> 8);
    }
    return digits;
}

void lh_set_item_width(lh_number_item *item, int width) { item->word[0] |= (uint16_t)(width << WIDTH_SHIFT); }

lh_framed_options lh_set_width(const lh_operation *o, const int *options, int width) {
    lh_framed_options f;
    memcpy(f.options, options, (size_t)o->options * sizeof *options);
    if (width > 0) f.options[o->width_option] = width;
    f.frame = o->frame(f.options);
    return f;
}

int lh_find_least_width(const lh_operation *o, const int *options, int digits) {
    int width = digits > 2 ? digits : 2;
    while (lh_set_width(o, options, width).frame.digits < digits) width++;
    return width;
}

void lh_arithmetic_expand(const lh_operation *o, uint64_t seed, const uint16_t *word, lh_example *example) {
    lh_framed_options framed = lh_set_width(o, example->options, word[0] >> WIDTH_SHIFT);
    lh_frame f = framed.frame;
    uint8_t x[LH_MAX_PLACES], y[LH_MAX_PLACES];
    memset(x, 0, (size_t)f.width);
    memset(y, 0, (size_t)f.width);
    lh_read_item(o, &f, seed, word, x, y);
    o->write(framed.options, x, y, example);
}
