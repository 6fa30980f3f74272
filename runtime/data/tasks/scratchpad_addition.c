/* Scratchpad Addition: a + b, whose targets have intermediate results; only the final answer counts in the accuracy.
 *
 * symbols:        0 1 2 3 4 5 6 7 8 9 + = & : , > P
 * start symbol:   =
 * end symbol:     &
 * option format:  recursive running; recursive: digit by digit, with the rest of the problem; running: all partial sums
 * option numbers: 2..8 = 2; numbers of a sum; recursive scratchpads have two
 * option longest: 1..1000 = 10; maximum digit count in training; all digit counts are equally likely
 * option pairs:   64..16777216 = 1048576; number of training and validation examples
 * option parts:   2..1000 = 64; number of parts of these examples; the last part, at least one, is the validation set
 * option tests:   1..10000 = 100; test examples for each pair of digit counts of the first two numbers
 * input length:   numbers * (longest + 1) - 1
 * output length:  (1 - format) * (longest * (3 * longest + 25) / 2 + 1) + format * numbers * (longest + 2)
 * chance:         0.1
 * result:         the sum after the last step, with all symbols that follow it
 * literal:        12+345
 * sets:           train test validation
 * number length:  longest + 1 in training; digits + 1, first + 1, second + 1 in tests
 * axis digits:    1 to 4096; digits of the longest number
 * axis first:     1 to 4096; digits of the first number
 * axis second:    1 to 4096; digits of the second number
 * axis trained:   0 to 1; 1 if the numbers are a training example, else 0
 */
#include <stddef.h>
#include <string.h>

#include "data/free_sums.h"

lh_task_collect lh_task_scratchpad_addition;
lh_task_solve lh_solve_scratchpad_addition;
lh_task_find_result lh_find_result_scratchpad_addition;

/* The number length above is the maximum number of digits of a number; in tests, the greatest of the three values. */
static const char kind[] = "scratchpad_addition";

enum { FORMAT, NUMBERS, MAX_DIGITS, PAIRS, PARTS, TESTS };         /* options */
enum { RUNNING = 1 };                                              /* a choice */
enum { PLUS = LH_PLUS, EQUALS, END, COLON, COMMA, ARROW, FILLER }; /* tokens after the digits */

/* Writes number i from place `first` up to the place before `end`, lowest digit first. */
static void write_places(lh_token_writer *w, const lh_addends *a, int i, int first, int end) {
    for (int d = first; d < end; d++) lh_write_token(w, lh_get_addend_digit(a, i, d));
}

static void write_digits(lh_token_writer *w, const uint8_t *digit, int count) {
    for (int d = 0; d < count; d++) lh_write_token(w, digit[d]);
}

/* Writes the tokens "carry+a+b:", then the sum of these three, lowest digit first, and a comma. Returns the sum. */
static int write_step(lh_token_writer *w, const lh_addends *a, int place, int carry) {
    const int first = lh_get_addend_digit(a, 0, place), second = lh_get_addend_digit(a, 1, place);
    const int sum = carry + first + second;
    lh_write_token(w, carry);
    lh_write_token(w, PLUS);
    lh_write_token(w, first);
    lh_write_token(w, PLUS);
    lh_write_token(w, second);
    lh_write_token(w, COLON);
    lh_write_token(w, sum % 10);
    if (sum >= 10) lh_write_token(w, sum / 10);
    lh_write_token(w, COMMA);
    return sum;
}

/* Writes a step for each digit: the sum of the digits, the answer so far and the rest of the two numbers; the last step
 * has the whole answer and no rest. */
static void write_recursive(lh_token_writer *w, const lh_addends *a) {
    const int places = lh_find_most_digits(a);
    uint8_t answer[LH_MAX_PLACES + 1];
    int carry = 0, answer_digits = 0;
    for (int i = 0; i < places; i++) {
        const bool is_last = i + 1 == places;
        const int sum = write_step(w, a, i, carry);
        carry = sum / 10;
        answer[answer_digits++] = (uint8_t)(sum % 10);
        if (is_last && carry > 0) answer[answer_digits++] = (uint8_t)carry;
        lh_write_token(w, COLON);
        write_digits(w, answer, answer_digits);
        lh_write_token(w, COMMA);
        if (is_last) {
            lh_write_token(w, COLON);
            continue;
        }
        write_places(w, a, 0, i + 1, places);
        lh_write_token(w, PLUS);
        write_places(w, a, 1, i + 1, places);
        lh_write_token(w, EQUALS);
    }
}

/* Adds number i to a sum of `places` places, lowest first. */
static void add_number(const lh_addends *a, int i, uint8_t *sum, int places) {
    for (int d = 0, carry = 0; d < places; d++) {
        carry += sum[d] + lh_get_addend_digit(a, i, d);
        sum[d] = (uint8_t)(carry % 10);
        carry /= 10;
    }
}

/* Writes the sum of the first i numbers for each i, filled to one place more than the longest number: the sum of
 * LH_MAX_ADDENDS numbers is less than ten times the largest. */
static void write_running(lh_token_writer *w, const lh_addends *a) {
    const int places = lh_find_most_digits(a) + 1;
    uint8_t sum[LH_MAX_PLACES + 1];
    memset(sum, 0, (size_t)places);
    for (int i = 0; i < a->count; i++) {
        int digits = places;
        add_number(a, i, sum, places);
        while (sum[digits - 1] == 0) digits--;
        if (i > 0) lh_write_token(w, ARROW);
        write_digits(w, sum, digits);
        for (int d = digits; d < places; d++) lh_write_token(w, FILLER);
    }
}

/* Sets the lengths of an example and, if example->input is not NULL, writes it. */
static void write_example(const lh_addends *a, const int *options, lh_example *example) {
    const bool is_running = options[FORMAT] == RUNNING;
    lh_token_writer input = {example->input, 0}, target = {example->input == NULL ? NULL : example->target, 0};
    for (int i = 0; i < a->count; i++) {
        if (i > 0) lh_write_token(&input, PLUS);
        write_places(&input, a, i, 0, is_running ? a->digits[i] : lh_find_most_digits(a));
    }
    if (is_running) write_running(&target, a);
    else write_recursive(&target, a);
    lh_write_token(&target, END);
    example->input_length = input.count;
    example->output_length = target.count;
}

/* The result follows the last arrow or, in recursive scratchpads, the second colon from the end. */
int lh_find_result_scratchpad_addition(const uint16_t *target, int length) {
    int first = length;
    for (int colons = 0; first > 0; first--) {
        colons += target[first - 1] == COLON;
        if (target[first - 1] == ARROW || colons == 2) break;
    }
    return first;
}

static void expand(uint64_t seed, const uint16_t *word, lh_example *example) {
    const int *options = example->options;
    lh_addends addends;
    lh_draw_addends(options[NUMBERS], options[MAX_DIGITS], seed, word, &addends);
    write_example(&addends, options, example);
}

static lh_status measure(const lh_addends *addends, const int *options, lh_item *item, lh_error *error) {
    (void)error;
    lh_example sizes = {.input = NULL};
    write_example(addends, options, &sizes);
    item->input_length = sizes.input_length;
    item->output_length = sizes.output_length;
    return LH_OK;
}

static lh_status check_numbers(const int *options, lh_error *error) {
    if (options[NUMBERS] == 2 || options[FORMAT] == RUNNING) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT,
                   "%s: task.options.numbers is %d, and recursive scratchpads add two numbers\n"
                   "  expected: 2, or task.options.format = \"running\"",
                   kind, options[NUMBERS]);
}

lh_status lh_task_scratchpad_addition(lh_collection *collection, lh_error *error) {
    const int *options = collection->options;
    const lh_sum_task task = {.kind = kind,
                              .numbers = options[NUMBERS],
                              .max_digits = options[MAX_DIGITS],
                              .pairs = options[PAIRS],
                              .parts = options[PARTS],
                              .tests = options[TESTS],
                              .measure = measure,
                              .expand = expand};
    lh_status status = check_numbers(options, error);
    return status == LH_OK ? lh_collect_sums(&task, collection, error) : status;
}

lh_status lh_solve_scratchpad_addition(const lh_literal *literal, lh_example *example, lh_error *error) {
    lh_literal l = *literal;
    lh_addends addends;
    if (l.count > 0 && l.token[l.count - 1] == EQUALS) l.count--;
    lh_status status = check_numbers(l.options, error);
    if (status == LH_OK) status = lh_read_addends(kind, l.options[NUMBERS], &l, &addends, error);
    if (status == LH_OK) write_example(&addends, l.options, example);
    return status;
}
