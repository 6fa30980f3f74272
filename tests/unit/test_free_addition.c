/* runtime/data/tasks/free_addition.c: sums compared with plain addition, sets of pairs, and literals. */
#include <stdlib.h>
#include <string.h>

#include "lh_arithmetic.h"
#include "lh_test.h"

lh_task_collect lh_task_free_addition;
lh_task_solve lh_solve_free_addition;
lh_task_place lh_place_free_addition;

enum { REVERSED, IN_ORDER, REVERSED_SUM };                     /* choices of option 0, the order of digits */
enum { NONE, LONGER };                                         /* choices of option 1, the padding */
enum { FIRST = 1, SECOND, IS_TRAINED };                        /* indices of this task's axes; DIGITS has index 0 */
enum { MAX_DIGITS = 3, PAIRS = 6400, PARTS = 10, TESTS = 20 }; /* values of options */
/* The options: order, padding, longest, pairs, parts, tests, hints, spaces. */
enum { HINTS = 6, OPTIONS = 8 }; /* index of the option hints; number of options */
enum { MAX_TESTED = 5 };         /* maximum digit count of a number in the test set */
enum { SPACE = 13, FIRST_HINT }; /* tokens; their symbols are & and @ in texts */

static uint64_t read_number(const char *text, int count, bool is_reversed) {
    uint64_t number = 0;
    for (int i = 0; i < count; i++) number = number * 10 + (uint64_t)(text[is_reversed ? count - 1 - i : i] - '0');
    return number;
}

static int read_token(char symbol) { return (int)(strchr(lh_arithmetic_symbols, symbol) - lh_arithmetic_symbols); }

/* Checks the greatest position. A hint has the position of its digit; a space has position 0. */
static void check_positions(const lh_full_collection *s, const lh_kept_example *k, const lh_text *text) {
    uint16_t input[MOST_TOKENS];
    int32_t positions[2 * MOST_TOKENS], max_position = 0;
    const int count = k->input_length + k->output_length;
    for (int t = 0; t < k->input_length; t++) input[t] = (uint16_t)read_token(text->input[t]);
    const lh_example example = {
        .input_length = k->input_length, .output_length = k->output_length, .input = input, .options = s->c.options};
    lh_place_free_addition(&example, positions, positions + k->input_length);
    for (int t = 0; t < count; t++)
        if (positions[t] > max_position) max_position = positions[t];
    for (int t = 0; t < k->input_length; t++) {
        int next = t + 1;
        if (input[t] == SPACE) assert_int_equal(positions[t], 0);
        if (input[t] < FIRST_HINT) continue;
        while (input[next] == SPACE) next++;
        assert_int_equal(positions[t], positions[next]);
    }
    assert_in_range(k->greatest_position - max_position, 0, s->c.options[1] == LONGER ? 0 : 1);
}

/* Deletes the hints and the spaces of a text, and adds the spaces to *spaces. A digit of weight 10^w has the
 * hint (*first + w) modulo `hints`. *first is the same for the whole example, and -1 until a hint is found. */
static void remove_hints_and_spaces(char *text, int hints, bool is_reversed, int *first, int *spaces) {
    int digit_index[MOST_TOKENS]; /* [token] index of the digit in its number; -1: the token is no digit */
    int hint[MOST_TOKENS];        /* [token] hint before the token; -1: there is none */
    int count = 0, digits = 0, pending_hint = -1;
    for (int t = 0; text[t] != 0; t++) {
        const int token = read_token(text[t]);
        *spaces += token == SPACE;
        if (token >= FIRST_HINT) {
            assert_int_equal(pending_hint, -1);
            pending_hint = token - FIRST_HINT;
        }
        if (token >= SPACE) continue;
        assert_int_equal(pending_hint >= 0, token < 10 && hints > 0);
        digits = token < 10 ? digits + 1 : 0;
        hint[count] = pending_hint;
        pending_hint = -1;
        digit_index[count] = digits - 1;
        text[count++] = text[t];
    }
    text[count] = 0;
    for (int t = count - 1, length = 0; hints > 0 && t >= 0; t--) {
        if (digit_index[t] < 0) continue;
        if (t + 1 == count || digit_index[t + 1] < 0) length = digit_index[t] + 1;
        const int weight = is_reversed ? digit_index[t] : length - 1 - digit_index[t],
                  implied_first = (hint[t] + hints - weight) % hints;
        if (*first < 0) *first = implied_first;
        assert_int_equal(implied_first, *first);
    }
}

/* Reads the numbers of an example, and checks their sum. Returns the number of spaces. */
static int check_example(const lh_full_collection *s, const lh_kept_example *k, uint64_t number[2]) {
    int spaces = 0;
    const bool is_reversed = s->c.options[0] == REVERSED, is_padded = s->c.options[1] == LONGER;
    const bool has_reversed_sum = s->c.options[0] != IN_ORDER;
    lh_text text = lh_write_kept_example(s, k);
    check_positions(s, k, &text);
    int first_hint = -1;
    remove_hints_and_spaces(text.input, s->c.options[HINTS], is_reversed, &first_hint, &spaces);
    remove_hints_and_spaces(text.target, s->c.options[HINTS], has_reversed_sum, &first_hint, &spaces);
    const int first_length = (int)strcspn(text.input, "+"), second_length = (int)strlen(text.input) - first_length - 1;
    const int longer = first_length > second_length ? first_length : second_length,
              digits = (int)strlen(text.target) - 1;
    number[0] = read_number(text.input, first_length, is_reversed);
    number[1] = read_number(text.input + first_length + 1, second_length, is_reversed);
    assert_int_equal(text.target[digits], '$');
    assert_int_equal(read_number(text.target, digits, has_reversed_sum), number[0] + number[1]);
    assert_int_equal(digits, is_padded ? longer + 1 : lh_count_digits(10, number[0] + number[1]));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(k->axes[FIRST + i], lh_count_digits(10, number[i]));
        assert_int_equal(i == 0 ? first_length : second_length, is_padded ? longer : k->axes[FIRST + i]);
    }
    assert_int_equal(k->axes[DIGITS], longer);
    return spaces;
}

static bool is_training_pair(const lh_full_collection *s, uint64_t (*numbers)[2], int i) {
    for (int j = 0; j < s->count && s->item[j].set == LH_SET_TRAIN; j++)
        if (numbers[j][0] == numbers[i][0] && numbers[j][1] == numbers[i][1]) return true;
    return false;
}

/* Counts the pairs of a set for each pair of digit counts, up to MAX_TESTED. */
static void count_pairs_by_digits(const lh_full_collection *s, lh_set set, int count[MAX_TESTED][MAX_TESTED]) {
    memset(count, 0, MAX_TESTED * sizeof *count);
    for (int i = 0; i < s->count; i++)
        if (s->item[i].set == set) count[s->item[i].axes[FIRST] - 1][s->item[i].axes[SECOND] - 1]++;
}

static lh_full_collection collect(int order, int padding, int hints, int spaces, int options[OPTIONS]) {
    const int values[OPTIONS] = {order, padding, MAX_DIGITS, PAIRS, PARTS, TESTS, hints, spaces};
    memcpy(options, values, sizeof values);
    lh_full_collection s = lh_make_full_collection(options, 7, MAX_TESTED, false);
    s.frame_axis = IS_TRAINED; /* makes the collection keep this axis */
    lh_collect_all(&s, lh_task_free_addition);
    return s;
}

static void test_every_sum_is_right(void **state) {
    for (int choice = 0; choice < 6; choice++) {
        int options[OPTIONS];
        lh_full_collection s = collect(choice % 3, choice / 3, 0, 0, options);
        uint64_t(*numbers)[2] = calloc((size_t)s.count, sizeof *numbers);
        assert_non_null(numbers);
        int trained = 0;
        for (int i = 0; i < s.count; i++) assert_int_equal(check_example(&s, &s.item[i], numbers[i]), 0);
        for (int i = 0; i < s.count; i++) {
            if (s.item[i].set == LH_SET_TRAIN) assert_int_equal(s.item[i].axes[IS_TRAINED], LH_NO_VALUE);
            else assert_int_equal(s.item[i].axes[IS_TRAINED], is_training_pair(&s, numbers, i));
            trained += s.item[i].axes[IS_TRAINED] == 1;
        }
        assert_in_range(trained, 1, s.count - 1);
        free(numbers);
        free(s.item);
    }
}

/* 10% of the input's symbols have a space before them. 1% of these have a second space. */
static void test_hints_and_spaces_do_not_change_the_sums(void **state) {
    for (int choice = 0; choice < 6; choice++) {
        int options[OPTIONS], plain_options[OPTIONS], spaces = 0, symbols = 0;
        const int hints = choice < 4 ? MAX_TESTED + 1 : 0;
        lh_full_collection s = collect(choice % 3, choice / 3, hints, 10, options);
        lh_full_collection unhinted = collect(choice % 3, choice / 3, 0, 0, plain_options);
        assert_int_equal(s.count, unhinted.count);
        for (int i = 0; i < s.count; i++) {
            uint64_t numbers[2], plain_numbers[2];
            spaces += check_example(&s, &s.item[i], numbers);
            check_example(&unhinted, &unhinted.item[i], plain_numbers);
            assert_memory_equal(numbers, plain_numbers, sizeof numbers);
            symbols += unhinted.item[i].input_length;
        }
        assert_in_range(1000 * (int64_t)spaces / symbols, 96, 106);
        free(s.item);
        free(unhinted.item);
    }
}

static void test_numbers_longer_than_the_hints_are_refused(void **state) {
    const int options[OPTIONS] = {REVERSED, NONE, MAX_DIGITS, 64, 2, 1, MAX_TESTED, 0};
    lh_full_collection s = lh_make_full_collection(options, 7, MAX_TESTED, false);
    lh_error error;
    lh_assert_error(lh_task_free_addition(&s.c, &error), LH_ERR_INPUT, &error,
                    "task.options.hints is 5, and sums of numbers of 5 digits need 6 hints");
    free(s.item);
}

/* Chi-squared with 8 degrees of freedom exceeds 26.1 with a probability of 0.1%. */
static void test_pairs_of_digit_counts_are_equally_likely(void **state) {
    int options[OPTIONS], train[MAX_TESTED][MAX_TESTED], test[MAX_TESTED][MAX_TESTED],
        validation[MAX_TESTED][MAX_TESTED];
    lh_full_collection s = collect(REVERSED, NONE, 0, 0, options);
    const int trained = PAIRS - PAIRS / PARTS, cells = MAX_DIGITS * MAX_DIGITS;
    double chi = 0;
    int sum = 0;
    count_pairs_by_digits(&s, LH_SET_TRAIN, train);
    count_pairs_by_digits(&s, LH_SET_VALIDATION, validation);
    count_pairs_by_digits(&s, LH_SET_TEST, test);
    for (int i = 0; i < MAX_TESTED; i++)
        for (int j = 0; j < MAX_TESTED; j++) {
            const bool is_trained = i < MAX_DIGITS && j < MAX_DIGITS;
            const double expected = (double)trained / cells, difference = train[i][j] - expected;
            if (is_trained) chi += difference * difference / expected;
            else assert_int_equal(train[i][j] + validation[i][j], 0);
            assert_int_equal(test[i][j], TESTS);
            sum += train[i][j];
        }
    assert_int_equal(sum, trained);
    assert_true(chi < 26.1);
    free(s.item);
}

static bool groups_by_numbers(const lh_collection *c, int axis) { return axis == FIRST || axis == SECOND; }

static bool requests_first_and_last(const lh_collection *c, int axis, int value) { return value == 1 || value == 4096; }

static void test_only_requested_digit_counts_are_tested(void **state) {
    const int options[OPTIONS] = {REVERSED, NONE, MAX_DIGITS, 64, 2, 1};
    lh_full_collection s = lh_make_full_collection(options, 7, MAX_TESTED, false);
    int tests = 0;
    s.c.groups_by = groups_by_numbers;
    s.c.requests = requests_first_and_last;
    lh_collect_all(&s, lh_task_free_addition);
    for (int i = 0; i < s.count; i++) {
        if (s.item[i].set != LH_SET_TEST) continue;
        assert_int_equal(s.item[i].axes[FIRST], tests / 2 == 0 ? 1 : 4096);
        assert_int_equal(s.item[i].axes[SECOND], tests % 2 == 0 ? 1 : 4096);
        tests++;
    }
    assert_int_equal(tests, 4);
    free(s.item);
}

static void test_more_parts_than_pairs_leave_one_for_validation(void **state) {
    const int options[OPTIONS] = {REVERSED, NONE, MAX_DIGITS, 64, 1000, 1};
    lh_full_collection s = lh_make_full_collection(options, 7, MAX_TESTED, false);
    int count[LH_SETS] = {0};
    lh_collect_all(&s, lh_task_free_addition);
    for (int i = 0; i < s.count; i++) count[s.item[i].set]++;
    assert_int_equal(count[LH_SET_TRAIN], 63);
    assert_int_equal(count[LH_SET_VALIDATION], 1);
    free(s.item);
}

/* Solves the literal `text`, and writes input and target as text. */
static lh_status solve(const int *options, const char *text, lh_text *out, lh_error *error) {
    static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "+", "=", "&"};
    static const char symbols[] = "0123456789+=&";
    uint16_t token[64], input[64], target[64];
    for (size_t i = 0; i < strlen(text); i++) token[i] = (uint16_t)(strchr(symbols, text[i]) - symbols);
    lh_literal literal = {
        .token = token, .count = (int)strlen(text), .symbol = names, .options = options, .frame = LH_NO_VALUE};
    lh_example example = {.options = options};
    lh_status status = lh_solve_free_addition(&literal, &example, error);
    if (status != LH_OK) return status;
    example.input = input;
    example.target = target;
    lh_assert_ok(lh_solve_free_addition(&literal, &example, error), error);
    lh_write_symbols(out->input, input, example.input_length);
    lh_write_symbols(out->target, target, example.output_length);
    return LH_OK;
}

static void test_literals_are_solved(void **state) {
    static const struct {
        int options[OPTIONS];
        const char *text, *input, *target;
    } cases[] = {
        {{REVERSED, NONE, 20, 64, 2, 1, 30, 50}, "653+49", "@3A5B6+@9A4", "@2A0B7$"},
        {{IN_ORDER, LONGER, 20, 64, 2, 1, 30}, "653+49", "B6A5@3+B0A4@9", "C0B7A0@2$"},
        {{REVERSED, NONE, 20}, "653+49", "356+94", "207$"},
        {{REVERSED, LONGER, 20}, "653+49=", "356+940", "2070$"},
        {{IN_ORDER, NONE, 20}, "653+049", "653+49", "702$"},
        {{IN_ORDER, LONGER, 20}, "7+95", "07+95", "102$"},
        {{REVERSED, NONE, 20}, "0+000", "0+0", "0$"},
        {{IN_ORDER, NONE, 20}, "99999999999999999999+1", "99999999999999999999+1", "100000000000000000000$"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lh_error error;
        lh_text actual;
        lh_assert_ok(solve(cases[i].options, cases[i].text, &actual, &error), &error);
        assert_string_equal(actual.input, cases[i].input);
        assert_string_equal(actual.target, cases[i].target);
    }
}

static void test_other_literals_are_refused(void **state) {
    static const int options[OPTIONS] = {REVERSED, NONE, 20};
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "a number is missing"},
        {"12", "a number is missing"},
        {"12+", "a number is missing"},
        {"+12", "symbol 1 is '+'"},
        {"1=2", "symbol 2 is '='"},
        {"1+2+3", "symbol 4 is '+'"},
        {"1+2&", "symbol 4 is '&'\n  expected: two numbers with + between them, such as 12+345"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lh_error error;
        lh_text text;
        lh_assert_error(solve(options, cases[i].text, &text, &error), LH_ERR_INPUT, &error, cases[i].message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_sum_is_right),
        cmocka_unit_test(test_hints_and_spaces_do_not_change_the_sums),
        cmocka_unit_test(test_numbers_longer_than_the_hints_are_refused),
        cmocka_unit_test(test_pairs_of_digit_counts_are_equally_likely),
        cmocka_unit_test(test_only_requested_digit_counts_are_tested),
        cmocka_unit_test(test_more_parts_than_pairs_leave_one_for_validation),
        cmocka_unit_test(test_literals_are_solved),
        cmocka_unit_test(test_other_literals_are_refused),
    };
    return cmocka_run_group_tests_name("free_addition", tests, NULL, NULL);
}
