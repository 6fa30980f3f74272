/* runtime/data/tasks/scratchpad_addition.c: targets as text, all sums, and the index of the final result. */
#include <stdlib.h>
#include <string.h>

#include "data/free_sums.h"
#include "lh_test.h"

#include "lh_arithmetic.h"

lh_task_collect lh_task_scratchpad_addition;
lh_task_solve lh_solve_scratchpad_addition;
lh_task_find_result lh_find_result_scratchpad_addition;

enum { RECURSIVE, RUNNING }; /* choices of option 0, the format */
/* Options: format, numbers, most digits in training, training and validation examples, parts of these, tests. */
enum { TRAINED_DIGITS = 3, TESTED_DIGITS = 4, OPTIONS = 6 };

static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8",
                                    "9", "+", "=", "&", ":", ",", ">", "P"};
static const char symbols[] = "0123456789+=&:,>P";

static void write_text(char *text, const uint16_t *tokens, int count) {
    for (int i = 0; i < count; i++) {
        assert_in_range(tokens[i], 0, sizeof symbols - 2);
        text[i] = symbols[tokens[i]];
    }
    text[count] = 0;
}

typedef struct solved {
    char input[MOST_TOKENS + 1], target[MOST_TOKENS + 1];
    int result; /* index of the final result */
} solved;

/* Solves the literal `text`, and writes input and target as text. */
static lh_status solve(const int *options, const char *text, solved *out, lh_error *error) {
    uint16_t token[64], input[MOST_TOKENS], target[MOST_TOKENS];
    uint8_t mask[MOST_TOKENS];
    for (size_t i = 0; i < strlen(text); i++) token[i] = (uint16_t)(strchr(symbols, text[i]) - symbols);
    const lh_literal literal = {
        .token = token, .count = (int)strlen(text), .symbol = names, .options = options, .frame = LH_NO_VALUE};
    lh_example example = {.options = options};
    lh_status status = lh_solve_scratchpad_addition(&literal, &example, error);
    if (status != LH_OK) return status;
    assert_in_range(example.output_length, 1, MOST_TOKENS);
    example.input = input;
    example.target = target;
    example.mask = mask;
    lh_assert_ok(lh_solve_scratchpad_addition(&literal, &example, error), error);
    write_text(out->input, input, example.input_length);
    write_text(out->target, target, example.output_length);
    out->result = lh_find_result_scratchpad_addition(target, example.output_length);
    return LH_OK;
}

static void test_scratchpads_have_every_step(void **state) {
    static const struct {
        int options[OPTIONS];
        const char *text, *input, *target, *result;
    } cases[] = {
        {{RECURSIVE, 2}, "653+49", "356+940", "0+3+9:21,:2,56+40=1+5+4:01,:20,6+0=1+6+0:7,:207,:&", "207,:&"},
        {{RECURSIVE, 2}, "7+5=", "7+5", "0+7+5:21,:21,:&", "21,:&"},
        {{RECURSIVE, 2}, "99+1", "99+10", "0+9+1:01,:0,9+0=1+9+0:01,:001,:&", "001,:&"},
        {{RUNNING, 3}, "653+49+7", "356+94+7", "356P>207P>907P&", "907P&"},
        {{RUNNING, 2}, "95+7", "59+7", "59P>201&", "201&"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lh_error error;
        solved actual;
        lh_assert_ok(solve(cases[i].options, cases[i].text, &actual, &error), &error);
        assert_string_equal(actual.input, cases[i].input);
        assert_string_equal(actual.target, cases[i].target);
        assert_string_equal(actual.target + actual.result, cases[i].result);
    }
}

/* Reads the number whose lowest digit is text[0], and moves the pointer past its last digit. */
static uint64_t read_reversed(const char **text) {
    uint64_t number = 0;
    for (uint64_t power = 1; **text >= '0' && **text <= '9'; power *= 10, (*text)++)
        number += power * (uint64_t)(**text - '0');
    return number;
}

/* Checks the sum of a collected example, and its axes: the digit counts of the longest, the first and the second
 * number. */
static void check_example(const lh_full_collection *s, const lh_kept_example *k) {
    uint16_t input[MOST_TOKENS], target[MOST_TOKENS];
    uint8_t mask[MOST_TOKENS];
    char texts[2][MOST_TOKENS + 1];
    uint64_t sum = 0;
    int max_digits = 0;
    lh_example example = {.input_length = k->input_length,
                          .output_length = k->output_length,
                          .input = input,
                          .target = target,
                          .mask = mask,
                          .options = s->c.options};
    s->c.expand(s->c.seed, k->word, &example);
    assert_int_equal(example.output_length, k->output_length);
    write_text(texts[0], input, k->input_length);
    write_text(texts[1], target, k->output_length);
    const char *text = texts[0];
    for (int i = 0; i < s->c.options[1]; i++) {
        const uint64_t number = read_reversed(&text);
        const int digits = lh_count_digits(10, number);
        assert_int_equal(*text, i + 1 < s->c.options[1] ? '+' : 0);
        text += *text == '+';
        if (i < 2) assert_int_equal(k->axes[1 + i], digits);
        max_digits = digits > max_digits ? digits : max_digits;
        sum += number;
    }
    assert_int_equal(k->axes[0], max_digits);
    text = texts[1] + lh_find_result_scratchpad_addition(target, k->output_length);
    assert_int_equal(read_reversed(&text), sum);
    assert_int_equal(texts[1][k->output_length - 1], '&');
}

static void test_every_final_result_is_the_sum(void **state) {
    static const int options[][OPTIONS] = {{RECURSIVE, 2, TRAINED_DIGITS, 640, 8, 5},
                                           {RUNNING, 2, TRAINED_DIGITS, 640, 8, 5},
                                           {RUNNING, 8, TRAINED_DIGITS, 640, 8, 5}};
    for (int c = 0; c < 3; c++) {
        lh_full_collection s = lh_make_full_collection(options[c], 7, TESTED_DIGITS, false);
        int count[LH_SETS] = {0}, trained = 0;
        s.frame_axis = FRAME; /* the collection then keeps axis 3, which is `trained` here */
        lh_collect_all(&s, lh_task_scratchpad_addition);
        for (int i = 0; i < s.count; i++) {
            check_example(&s, &s.item[i]);
            count[s.item[i].set]++;
            trained += s.item[i].axes[FRAME] == 1;
        }
        assert_int_equal(count[LH_SET_TRAIN], 560);
        assert_int_equal(count[LH_SET_VALIDATION], 80);
        assert_int_equal(count[LH_SET_TEST], TESTED_DIGITS * TESTED_DIGITS * 5);
        if (options[c][1] == 2) assert_true(trained > 0);
        else assert_int_equal(trained, 0); /* eight numbers of up to three digits do not repeat */
        free(s.item);
    }
}

static void test_mistakes_are_named(void **state) {
    static const struct {
        int options[OPTIONS];
        const char *text, *message;
    } cases[] = {
        {{RECURSIVE, 3}, "1+2+3", "task.options.numbers is 3, and recursive scratchpads add two numbers"},
        {{RUNNING, 3}, "1+2", "a number is missing\n  expected: 3 numbers with + between them"},
        {{RUNNING, 3}, "1+2+3+4", "symbol 6 is '+'\n  expected: 3 numbers with + between them, such as 12+345+6"},
        {{RUNNING, 2}, "1:2", "symbol 2 is ':'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lh_error error;
        solved ignored;
        lh_assert_error(solve(cases[i].options, cases[i].text, &ignored, &error), LH_ERR_INPUT, &error,
                        cases[i].message);
    }
    lh_error error;
    const int options[OPTIONS] = {RECURSIVE, 3, TRAINED_DIGITS, 64, 8, 1};
    lh_full_collection s = lh_make_full_collection(options, 7, TESTED_DIGITS, false);
    lh_assert_error(lh_task_scratchpad_addition(&s.c, &error), LH_ERR_INPUT, &error, "task.options.numbers is 3");
    free(s.item);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scratchpads_have_every_step),
        cmocka_unit_test(test_every_final_result_is_the_sum),
        cmocka_unit_test(test_mistakes_are_named),
    };
    return cmocka_run_group_tests_name("scratchpad_addition", tests, NULL, NULL);
}
