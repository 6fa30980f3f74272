/* See lh_arithmetic.h. */
#include "lh_arithmetic.h"

#include <stdlib.h>
#include <string.h>

#include "lh_test.h"

static lh_status add_item(lh_collection *c, lh_set set, const lh_item *item, const int32_t *axis_values,
                          lh_error *error) {
    lh_full_collection *s = (lh_full_collection *)c;
    if (s->count == s->capacity) {
        s->capacity = 2 * s->capacity + 1024;
        s->item = realloc(s->item, (size_t)s->capacity * sizeof *s->item);
        assert_non_null(s->item);
    }
    lh_kept_example *k = &s->item[s->count++];
    *k = (lh_kept_example){.set = set,
                           .input_length = item->input_length,
                           .output_length = item->output_length,
                           .greatest_position = item->greatest_position,
                           .axes = {axis_values[0], axis_values[1], axis_values[2], LH_NO_VALUE}};
    if (s->frame_axis > 0) k->axes[FRAME] = axis_values[s->frame_axis];
    assert_in_range(item->words, 1, 16);
    memcpy(k->word, item->word, (size_t)item->words * sizeof *item->word);
    return LH_OK;
}

static bool is_grouped_by(const lh_collection *c, int axis) {
    const lh_full_collection *s = (const lh_full_collection *)c;
    return axis == DIGITS || (axis > 0 && axis == s->frame_axis) || (axis == CARRY && s->requests_carries);
}

static bool is_requested(const lh_collection *c, int axis, int value) {
    const lh_full_collection *s = (const lh_full_collection *)c;
    if (axis > 0 && axis == s->frame_axis) return value == s->frame[0] || value == s->frame[1];
    return axis == DIGITS ? value >= s->min_digits && value <= s->max_digits : s->requests_carries;
}

static void progress(lh_collection *c, double share) { assert_true(share >= 0 && share <= 1); }

lh_full_collection lh_make_full_collection(const int *options, uint64_t seed, int max_digits, bool requests_carries) {
    lh_full_collection s = {.requests_carries = requests_carries, .min_digits = 1, .max_digits = max_digits};
    s.c = (lh_collection){.seed = seed,
                          .options = options,
                          .add_item = add_item,
                          .groups_by = is_grouped_by,
                          .requests = is_requested,
                          .progress = progress};
    return s;
}

void lh_collect_all(lh_full_collection *s, lh_task_collect *task) {
    lh_error error;
    lh_assert_ok(task(&s->c, &error), &error);
}

const char lh_arithmetic_symbols[] = "0123456789+*$&@ABCDEFGHIJKLMNOPQRSTUVWXYZ";

void lh_write_symbols(char *text, const uint16_t *tokens, int count) {
    for (int i = 0; i < count; i++) {
        assert_in_range(tokens[i], 0, sizeof lh_arithmetic_symbols - 2);
        text[i] = lh_arithmetic_symbols[tokens[i]];
    }
    text[count] = 0;
}

lh_text lh_write_example(const lh_full_collection *s, const uint16_t *word, int inputs, int outputs) {
    uint16_t input[MOST_TOKENS + 1], target[MOST_TOKENS + 1];
    uint8_t mask[MOST_TOKENS];
    memset(mask, 1, sizeof mask);
    input[inputs] = target[outputs] = 0xffff;
    lh_example example = {.input_length = inputs,
                          .output_length = outputs,
                          .input = input,
                          .target = target,
                          .mask = mask,
                          .options = s->c.options};
    s->c.expand(s->c.seed, word, &example);
    assert_true(input[inputs] == 0xffff && target[outputs] == 0xffff);
    for (int i = 0; i < outputs; i++) assert_int_equal(mask[i], 1);
    lh_text text;
    lh_write_symbols(text.input, input, inputs);
    lh_write_symbols(text.target, target, outputs);
    return text;
}

lh_text lh_write_kept_example(const lh_full_collection *s, const lh_kept_example *k) {
    return lh_write_example(s, k->word, k->input_length, k->output_length);
}

uint64_t lh_read_digits(const char *text, int from, int to, int base) {
    uint64_t value = 0;
    for (int i = from; i < to; i++) {
        int digit = text[i] <= '9' ? text[i] - '0' : text[i] - 'A' + 10;
        assert_in_range(digit, 0, base - 1);
        value = value * (uint64_t)base + (uint64_t)digit;
    }
    return value;
}

uint64_t lh_read_reversed(const char *target, int base) {
    char text[MOST_TOKENS];
    int count = (int)strlen(target) - 1; /* number of digits, without the end symbol */
    for (int i = 0; i < count; i++) text[i] = target[count - 1 - i];
    assert_int_equal(target[count], '&');
    return lh_read_digits(text, 0, count, base);
}

int lh_count_digits(int base, uint64_t n) {
    int count = 1;
    for (; n >= (uint64_t)base; n /= (uint64_t)base) count++;
    return count;
}

int lh_find_chain_by_definition(int base, bool is_product, uint64_t x, uint64_t y, int digits) {
    uint64_t low = 1, b = (uint64_t)base;
    int length = 0, max_length = 0;
    for (int i = 0; i < digits; i++, low *= b) {
        uint64_t carry = is_product ? x % low * y / low : (x % low + y % low) / low; /* from the lower places */
        uint64_t digit_sum = is_product ? x / low % b * y : x / low % b + y / low % b;
        bool is_propagated = (digit_sum + carry) / b > digit_sum / b;
        length = is_propagated ? length + 1 : digit_sum >= b ? 1 : 0;
        if (length > max_length) max_length = length;
    }
    return max_length;
}
