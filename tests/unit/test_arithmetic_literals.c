/* runtime/data/arithmetic: tokens that a user gives are padded to a frame and solved, or refused. test_arithmetic.c
 * lists the options of the tasks. */
#include <string.h>

#include "data/arithmetic.h"
#include "lh_arithmetic.h"
#include "lh_test.h"

enum { TASK_FRAME = LH_NO_VALUE }; /* a value of lh_literal.frame: the task's own frame */
lh_task_solve lh_solve_successor, lh_solve_addition, lh_solve_multiplication, lh_solve_parity;

/* Solves the literal `text` in a frame, and writes input and target as text. frame: a number of places; 0: the fewest
 * that fit; TASK_FRAME: the places of the task. */
static lh_status solve(lh_task_solve *task, const int *options, const char *text, int frame, lh_text *out,
                       lh_error *error) {
    static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "+", "*",
                                        "$", "&", "@", "A", "B", "C", "D", "E", "F", "G", "H"};
    uint16_t token[LH_MAX_PLACES], input[LH_MAX_PLACES + 2], target[LH_MAX_PLACES + 1];
    uint8_t mask[LH_MAX_PLACES + 1];
    for (size_t i = 0; i < strlen(text); i++)
        token[i] = (uint16_t)(strchr(lh_arithmetic_symbols, text[i]) - lh_arithmetic_symbols);
    lh_literal literal = {
        .token = token, .count = (int)strlen(text), .symbol = names, .options = options, .frame = frame};
    lh_example example = {.options = options};
    lh_status status = task(&literal, &example, error);
    if (status != LH_OK) return status;
    example.input = input;
    example.target = target;
    example.mask = mask;
    lh_assert_ok(task(&literal, &example, error), error);
    lh_write_symbols(out->input, input, example.input_length);
    lh_write_symbols(out->target, target, example.output_length);
    return LH_OK;
}

static void test_literals_are_padded_and_solved(void **state) {
    static const struct {
        lh_task_solve *task;
        int options[8], frame;
        const char *text, *input, *target;
    } cases[] = {
        {lh_solve_successor, {10, 6, 64, 8}, TASK_FRAME, "1999", "$001999&", "000200&"},
        {lh_solve_successor, {10, 6, 64, 8}, TASK_FRAME, "$001999&", "$001999&", "000200&"},
        {lh_solve_successor, {10, 6, 64, 8}, TASK_FRAME, "0000000001999", "$001999&", "000200&"}, /* leading zeros */
        {lh_solve_successor, {10, 6, 64, 8}, 0, "001999", "$01999&", "00020&"},
        {lh_solve_successor, {10, 6, 64, 8}, 9, "0", "$000000000&", "100000000&"},
        {lh_solve_successor, {36, 4, 64, 8}, TASK_FRAME, "ZZ", "$00ZZ&", "0010&"},
        {lh_solve_addition, {10, 4, 0, 0, 64, 8}, TASK_FRAME, "123+48", "$0123+0048&", "1710&"},
        {lh_solve_addition, {10, 4, 1, 0, 64, 8}, TASK_FRAME, "123+748", "$+00172438&", "1780&"},
        {lh_solve_addition, {10, 61, 0, 0, 64, 8}, 0, "9+0010", "$009+010&", "910&"},
        {lh_solve_multiplication, {10, 4, 2, 0, 0, 64, 8}, TASK_FRAME, "99*9", "$0099*9&", "198000&"},
        {lh_solve_multiplication, {10, 4, 0, 1, 0, 64, 8}, TASK_FRAME, "123*06", "$*06162636&", "8370&"},
        {lh_solve_parity, {8, 0, 64, 8}, TASK_FRAME, "101101", "$00101101&", "11011000&"},
        {lh_solve_parity, {8, 1, 64, 8}, 0, "101101", "$101101&", "0&"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lh_error error;
        lh_text actual;
        lh_assert_ok(solve(cases[i].task, cases[i].options, cases[i].text, cases[i].frame, &actual, &error), &error);
        assert_string_equal(actual.input, cases[i].input);
        assert_string_equal(actual.target, cases[i].target);
    }
}

static void test_literals_fill_the_widest_frame(void **state) {
    enum { MAX_DIGITS = LH_MAX_PLACES - 1 };
    static const int options[] = {10, 6, 64, 8};
    static uint16_t token[MAX_DIGITS], input[LH_MAX_PLACES + 2], target[LH_MAX_PLACES + 1];
    const int frames[] = {0, LH_MAX_PLACES};
    for (int i = 0; i < MAX_DIGITS; i++) token[i] = 9;
    for (int i = 0; i < 2; i++) {
        lh_error error;
        lh_literal literal = {.token = token, .count = MAX_DIGITS, .options = options, .frame = frames[i]};
        lh_example example = {.options = options, .input = input, .target = target};
        lh_assert_ok(lh_solve_successor(&literal, &example, &error), &error);
        assert_int_equal(example.input_length, LH_MAX_PLACES + 2);
        assert_int_equal(example.output_length, LH_MAX_PLACES + 1);
        assert_true(input[1] == 0 && input[2] == 9 && target[MAX_DIGITS - 1] == 0 && target[MAX_DIGITS] == 1);
    }
}

static void test_invalid_literals_are_refused(void **state) {
    char longest_text[LH_MAX_PLACES + 1];
    memset(longest_text, '1', LH_MAX_PLACES);
    longest_text[LH_MAX_PLACES] = 0;
    /* options of successor, addition, multiplication and parity */
    static const int next[] = {10, 6, 64, 8}, add[] = {10, 4, 0, 0, 64, 8}, times[] = {10, 4, 2, 0, 0, 64, 8},
                     bits[] = {8, 0, 64, 8};
    static const struct {
        lh_task_solve *task;
        const int *options;
        int frame;
        const char *text, *message; /* text NULL: longest_text, with LH_MAX_PLACES digits */
    } cases[] = {
        {lh_solve_successor, next, LH_MAX_PLACES + 1, "12", "successor: a frame of 4097 places\n  expected: 0 to 4096"},
        {lh_solve_addition, add, 1000000, "1+2", "addition: a frame of 1000000 places\n  expected: 0 to 4096"},
        {lh_solve_successor, next, 0, NULL,
         "a number of 4096 digits, which needs a frame of 4097 places\n  expected: at most 4096"},
        {lh_solve_successor, next, TASK_FRAME, NULL, "which needs a frame of 4097 places\n  expected: at most 4096"},
        {lh_solve_parity, bits, TASK_FRAME, NULL,
         "a frame of 8 places holds at most 8\n  expected: a frame of at least 4096"},
        {lh_solve_successor, next, TASK_FRAME, "12+3", "successor: symbol 3 is '+'\n  expected: a number in base 10"},
        {lh_solve_successor, next, TASK_FRAME, "$&", "successor: a number is missing"},
        {lh_solve_successor, next, TASK_FRAME, "$12&4", "successor: symbol 4 is '&'"},
        {lh_solve_successor, next, TASK_FRAME, "1999999",
         "a number of 7 digits, but a frame of 6 places holds at most 5\n"
         "  expected: a frame of at least 8"},
        {lh_solve_successor, next, 4, "1999", "a frame of 4 places holds at most 3\n  expected: a frame of at least 5"},
        {lh_solve_addition, add, TASK_FRAME, "12", "addition: a number is missing\n  expected: two numbers with +"},
        {lh_solve_addition, add, TASK_FRAME, "12+", "addition: a number is missing"},
        {lh_solve_addition, add, TASK_FRAME, "12*3", "addition: symbol 3 is '*'"},
        {lh_solve_addition, add, TASK_FRAME, "1+2+3", "addition: symbol 4 is '+'"},
        {lh_solve_addition, add, TASK_FRAME, "1+A", "addition: symbol 3 is 'A'"},
        {lh_solve_multiplication, times, TASK_FRAME, "12*34",
         "multiplication: symbol 5 is '4'\n  expected: a number, *, and"},
        {lh_solve_parity, bits, TASK_FRAME, "102", "parity: symbol 3 is '2'\n  expected: a number in base 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lh_error error;
        lh_text actual;
        const char *text = cases[i].text != NULL ? cases[i].text : longest_text;
        lh_assert_error(solve(cases[i].task, cases[i].options, text, cases[i].frame, &actual, &error), LH_ERR_INPUT,
                        &error, cases[i].message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_literals_are_padded_and_solved),
        cmocka_unit_test(test_literals_fill_the_widest_frame),
        cmocka_unit_test(test_invalid_literals_are_refused),
    };
    return cmocka_run_group_tests_name("arithmetic literals", tests, NULL, NULL);
}
