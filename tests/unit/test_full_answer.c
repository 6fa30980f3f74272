/* The sampler of full answers. Inputs, labels and masks are checked by the task's definition. The texts
 * of some examples must occur. */
#include "lh_test.h"

#include <string.h>

#include "longhand/task.h"

lh_task_sample lh_task_full_answer;

enum { COPY, PARITY, COUNT_ONES, ADDITION, OPERATIONS };
enum { MAX_LENGTH = 40, TOKENS = 3 * MAX_LENGTH + 3 };

typedef struct drawn_example {
    int count; /* tokens */
    uint16_t input[TOKENS + 1], target[TOKENS + 1];
    uint8_t mask[TOKENS + 1];
} drawn_example;

/* Samples the example of this index, and checks that the sampler writes nothing after its end. */
static void draw_example(int operation, int n, uint32_t index, drawn_example *d) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(3), index, 0, 0);
    memset(d, 0xff, sizeof *d);
    d->count = operation == ADDITION ? 3 * n + 3 : 2 * n + 1;
    memset(d->mask, 1, (size_t)d->count);
    lh_example example = {.input_length = d->count,
                          .output_length = d->count,
                          .input = d->input,
                          .target = d->target,
                          .mask = d->mask,
                          .options = &operation};
    lh_task_full_answer(&rng, n, &example);
    assert_int_equal(d->input[d->count], 0xffff);
    assert_int_equal(d->target[d->count], 0xffff);
    assert_int_equal(d->mask[d->count], 0xff);
}

/* The example as text: the input, then the labels, with a dot for each label that does not count. */
static void write_text(const drawn_example *d, char text[2 * TOKENS + 3]) {
    for (int i = 0; i < d->count; i++) {
        assert_in_range(d->input[i], 0, 4);
        assert_in_range(d->target[i], 0, 2);
        text[i] = "01+=_"[d->input[i]];
        text[d->count + 1 + i] = d->mask[i] ? "01_"[d->target[i]] : '.';
    }
    text[d->count] = ' ';
    text[2 * d->count + 1] = 0;
}

/* Whether some sampled example has this text. */
static bool is_sampled(int operation, int n, const char *expected) {
    drawn_example d;
    char text[2 * TOKENS + 3];
    for (uint32_t index = 0; index < 4000; index++) {
        draw_example(operation, n, index, &d);
        write_text(&d, text);
        if (strcmp(text, expected) == 0) return true;
    }
    return false;
}

static void test_examples_of_every_operation_occur(void **state) {
    assert_true(is_sampled(COPY, 4, "0101=____ ....0101_"));
    assert_true(is_sampled(PARITY, 4, "1101=____ ....1____"));
    assert_true(is_sampled(PARITY, 1, "0=_ .0_"));
    assert_true(is_sampled(COUNT_ONES, 4, "1111=____ ....001__"));
    assert_true(is_sampled(COUNT_ONES, 4, "0000=____ ....0____"));
    assert_true(is_sampled(COUNT_ONES, 3, "011=___ ...01__"));
    assert_true(is_sampled(ADDITION, 4, "0101+0001=_____ .........00110_"));
    assert_true(is_sampled(ADDITION, 2, "11+11=___ .....110_"));
    assert_false(is_sampled(ADDITION, 2, "11+11=___ .....111_"));
}

/* The value of bits, the highest first. */
static uint64_t read_number(const uint16_t *bits, int count) {
    uint64_t value = 0;
    for (int i = 0; i < count; i++) value = 2 * value + bits[i];
    return value;
}

/* The value of the answer. Its bits end before the padding. first: index of the token that has the first bit. */
static uint64_t read_answer(const drawn_example *d, int operation, int first, int *length) {
    uint64_t value = 0;
    for (*length = 0; first + *length < d->count && d->target[first + *length] != 2; ++*length) {
        uint64_t bit = d->target[first + *length];
        value = operation == COUNT_ONES ? value + (bit << *length) : 2 * value + bit;
    }
    for (int i = first + *length; i < d->count; i++) assert_int_equal(d->target[i], 2);
    return value;
}

static void check_example(int operation, int n, uint32_t index) {
    drawn_example d;
    int length, bits = operation == ADDITION ? 2 * n + 1 : n;
    draw_example(operation, n, index, &d);
    assert_int_equal(d.input[bits], 3);
    for (int i = 0; i < d.count; i++) {
        assert_int_equal(d.mask[i], i >= bits);
        if (i > bits) assert_int_equal(d.input[i], 4);
    }
    uint64_t value = read_answer(&d, operation, bits, &length), number = read_number(d.input, n);
    uint64_t one_bits = (uint64_t)__builtin_popcountll(number);
    switch (operation) {
    case COPY: assert_true(value == number && length == n); break;
    case PARITY: assert_true(value == one_bits % 2 && length == 1); break;
    case COUNT_ONES: assert_true(value == one_bits && (length == 1 || one_bits >> (length - 1) == 1)); break;
    default: assert_true(value == number + read_number(d.input + n + 1, n) && length == n + 1);
    }
}

static void test_every_length_has_the_answer_and_padding(void **state) {
    for (int operation = 0; operation < OPERATIONS; operation++)
        for (int n = 1; n <= MAX_LENGTH; n++)
            for (uint32_t index = 0; index < 50; index++) check_example(operation, n, index);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_of_every_operation_occur),
        cmocka_unit_test(test_every_length_has_the_answer_and_padding),
    };
    return cmocka_run_group_tests_name("full_answer", tests, NULL, NULL);
}
