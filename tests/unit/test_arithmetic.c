/* runtime/data/{arithmetic,chains}: the tasks of Duan and Shi 2024 compared with their worked examples and plain
 * sums; their training and test sets; carries compared with their definition. */
#include "lh_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/arithmetic.h"
#include "data/datasets/corpus.h"
#include "data/datasets/epoch.h"

lh_task_collect lh_task_successor, lh_task_addition, lh_task_multiplication, lh_task_parity;

enum { MOST_TOKENS = 128, DIGITS = 0, CARRY = 1, TRAINED = 2, FRAME = 3 };

/* ---- a collection of all examples of a task ---- */

typedef struct kept {
    lh_set set;
    uint16_t word[16];
    int input_length, output_length;
    int32_t axes[4];
} kept;

typedef struct shelf {
    lh_collection c;
    bool by_carry;
    int least, most; /* least and most requested digits */
    int frame_axis;  /* index of the axis `frame`; 0: no frames are requested */
    int frame[2];    /* requested frames */
    kept *item;
    int count, room;
} shelf;

static lh_status keep(lh_collection *c, lh_set set, const lh_item *item, const int32_t *axes, lh_error *error) {
    shelf *s = (shelf *)c;
    (void)error;
    if (s->count == s->room) {
        s->room = 2 * s->room + 1024;
        s->item = realloc(s->item, (size_t)s->room * sizeof *s->item);
        assert_non_null(s->item);
    }
    kept *k = &s->item[s->count++];
    *k = (kept){set, {0}, item->input_length, item->output_length, {axes[0], axes[1], axes[2], LH_NO_VALUE}};
    if (s->frame_axis > 0) k->axes[FRAME] = axes[s->frame_axis];
    assert_in_range(item->words, 1, 16);
    memcpy(k->word, item->word, (size_t)item->words * sizeof *item->word);
    return LH_OK;
}

static bool goes_by(const lh_collection *c, int axis) {
    const shelf *s = (const shelf *)c;
    return axis == DIGITS || (axis > 0 && axis == s->frame_axis) || (axis == CARRY && s->by_carry);
}

static bool asks(const lh_collection *c, int axis, int value) {
    const shelf *s = (const shelf *)c;
    if (axis > 0 && axis == s->frame_axis) return value == s->frame[0] || value == s->frame[1];
    return axis == DIGITS ? value >= s->least && value <= s->most : s->by_carry;
}

static void progress(lh_collection *c, double share) {
    (void)c;
    assert_true(share >= 0 && share <= 1);
}

static shelf shelf_of(const int *options, uint64_t seed, int most, bool by_carry) {
    shelf s = {.by_carry = by_carry, .least = 1, .most = most};
    s.c = (lh_collection){
        .seed = seed, .options = options, .keep = keep, .goes_by = goes_by, .asks = asks, .progress = progress};
    return s;
}

static void fill(shelf *s, lh_task_collect *task) {
    lh_error error;
    lh_assert_ok(task(&s->c, &error), &error);
}

/* ---- examples as text ---- */

static const char SYMBOLS[] = "0123456789+*$&@ABCDEFGHIJKLMNOPQRSTUVWXYZ";

typedef struct shown {
    char input[MOST_TOKENS], target[MOST_TOKENS];
} shown;

static void write_text(char *text, const uint16_t *tokens, int count) {
    for (int i = 0; i < count; i++) {
        assert_in_range(tokens[i], 0, sizeof SYMBOLS - 2);
        text[i] = SYMBOLS[tokens[i]];
    }
    text[count] = 0;
}

static shown show(const shelf *s, const uint16_t *word, int inputs, int outputs) {
    uint16_t input[MOST_TOKENS + 1], target[MOST_TOKENS + 1];
    uint8_t mask[MOST_TOKENS];
    memset(mask, 1, sizeof mask);
    input[inputs] = target[outputs] = 0xffff;
    lh_example example = {inputs, outputs, input, target, mask, s->c.options};
    s->c.expand(s->c.seed, word, &example);
    assert_true(input[inputs] == 0xffff && target[outputs] == 0xffff);
    for (int i = 0; i < outputs; i++) assert_int_equal(mask[i], 1);
    shown text;
    write_text(text.input, input, inputs);
    write_text(text.target, target, outputs);
    return text;
}

static shown show_kept(const shelf *s, const kept *k) { return show(s, k->word, k->input_length, k->output_length); }

/* The number in a range of a text's digits, highest first. */
static uint64_t value_of(const char *text, int from, int to, int base) {
    uint64_t value = 0;
    for (int i = from; i < to; i++) {
        int digit = text[i] <= '9' ? text[i] - '0' : text[i] - 'A' + 10;
        assert_in_range(digit, 0, base - 1);
        value = value * (uint64_t)base + (uint64_t)digit;
    }
    return value;
}

static uint64_t reversed_value(const char *target, int base) {
    char text[MOST_TOKENS];
    int count = (int)strlen(target) - 1; /* without the end symbol */
    for (int i = 0; i < count; i++) text[i] = target[count - 1 - i];
    assert_int_equal(target[count], '&');
    return value_of(text, 0, count, base);
}

/* ---- worked examples ---- */

typedef struct worked {
    lh_task_collect *task;
    int options[8];
    uint16_t first, second;
    const char *input, *target;
} worked;

static void test_worked_examples_of_the_paper(void **state) {
    (void)state;
    static const worked cases[] = {
        {lh_task_successor, {10, 6, 64, 8}, 1999, 0, "$001999&", "000200&"},
        {lh_task_addition, {10, 4, 0, 0, 64, 8}, 123, 748, "$0123+0748&", "1780&"},
        {lh_task_addition, {10, 4, 1, 0, 64, 8}, 123, 748, "$+00172438&", "1780&"},
        {lh_task_multiplication, {10, 4, 0, 0, 0, 64, 8}, 123, 6, "$0123*6&", "8370&"},
        {lh_task_multiplication, {10, 4, 0, 1, 0, 64, 8}, 123, 6, "$*06162636&", "8370&"},
        {lh_task_multiplication, {10, 4, 2, 0, 0, 64, 8}, 9999, 9, "$9999*9&", "199980&"},
        {lh_task_parity, {8, 0, 64, 8}, 45, 0, "$00101101&", "11011000&"},
        {lh_task_parity, {8, 1, 64, 8}, 45, 0, "$00101101&", "0&"},
        {lh_task_addition, {16, 4, 0, 0, 64, 8}, 0xabc, 0xfff, "$0ABC+0FFF&", "BBA1&"},
        {lh_task_successor, {36, 4, 64, 8}, 46655, 0, "$0ZZZ&", "0001&"},
        {lh_task_successor, {2, 9, 64, 8}, 7, 0, "$000000111&", "000100000&"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shelf s = shelf_of(cases[i].options, 0, 1, false);
        fill(&s, cases[i].task);
        const uint16_t word[] = {0, cases[i].first, 0, cases[i].second, 0};
        shown text = show(&s, word, (int)strlen(cases[i].input), (int)strlen(cases[i].target));
        assert_string_equal(text.input, cases[i].input);
        assert_string_equal(text.target, cases[i].target);
        assert_int_equal(s.item[0].input_length, strlen(cases[i].input));
        assert_int_equal(s.item[0].output_length, strlen(cases[i].target));
        free(s.item);
    }
    /* the published ids: 12 start, 13 end, + is 10, * is 11; A follows the padding */
    assert_true(LH_PLUS == 10 && LH_TIMES == 11 && LH_START == 12 && LH_END == 13 && LH_PADDING == 14);
    assert_int_equal(lh_digit_token(9), 9);
    assert_int_equal(lh_digit_token(10), 15);
}

/* ---- literals ---- */

enum { TASKS = LH_NO_VALUE };
lh_task_solve lh_solve_successor, lh_solve_addition, lh_solve_multiplication, lh_solve_parity;

static lh_status solve(lh_task_solve *task, const int *options, const char *text, int frame, shown *out,
                       lh_error *error) {
    static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "+", "*",
                                        "$", "&", "@", "A", "B", "C", "D", "E", "F", "G", "H"};
    uint16_t token[LH_MOST_PLACES], input[LH_MOST_PLACES + 2], target[LH_MOST_PLACES + 1];
    uint8_t mask[LH_MOST_PLACES + 1];
    for (size_t i = 0; i < strlen(text); i++) token[i] = (uint16_t)(strchr(SYMBOLS, text[i]) - SYMBOLS);
    lh_literal literal = {token, (int)strlen(text), names, options, frame};
    lh_example example = {.options = options};
    lh_status status = task(&literal, &example, error);
    if (status != LH_OK) return status;
    example.input = input;
    example.target = target;
    example.mask = mask;
    lh_assert_ok(task(&literal, &example, error), error);
    write_text(out->input, input, example.input_length);
    write_text(out->target, target, example.output_length);
    return LH_OK;
}

static void test_literals_are_padded_and_solved(void **state) {
    (void)state;
    static const struct {
        lh_task_solve *task;
        int options[8], frame;
        const char *text, *input, *target;
    } cases[] = {
        {lh_solve_successor, {10, 6, 64, 8}, TASKS, "1999", "$001999&", "000200&"},
        {lh_solve_successor, {10, 6, 64, 8}, TASKS, "$001999&", "$001999&", "000200&"},
        {lh_solve_successor, {10, 6, 64, 8}, TASKS, "0000000001999", "$001999&", "000200&"}, /* leading zeros */
        {lh_solve_successor, {10, 6, 64, 8}, 0, "001999", "$01999&", "00020&"},
        {lh_solve_successor, {10, 6, 64, 8}, 9, "0", "$000000000&", "100000000&"},
        {lh_solve_successor, {36, 4, 64, 8}, TASKS, "ZZ", "$00ZZ&", "0010&"},
        {lh_solve_addition, {10, 4, 0, 0, 64, 8}, TASKS, "123+48", "$0123+0048&", "1710&"},
        {lh_solve_addition, {10, 4, 1, 0, 64, 8}, TASKS, "123+748", "$+00172438&", "1780&"},
        {lh_solve_addition, {10, 61, 0, 0, 64, 8}, 0, "9+0010", "$009+010&", "910&"},
        {lh_solve_multiplication, {10, 4, 2, 0, 0, 64, 8}, TASKS, "99*9", "$0099*9&", "198000&"},
        {lh_solve_multiplication, {10, 4, 0, 1, 0, 64, 8}, TASKS, "123*06", "$*06162636&", "8370&"},
        {lh_solve_parity, {8, 0, 64, 8}, TASKS, "101101", "$00101101&", "11011000&"},
        {lh_solve_parity, {8, 1, 64, 8}, 0, "101101", "$101101&", "0&"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lh_error error;
        shown got;
        lh_assert_ok(solve(cases[i].task, cases[i].options, cases[i].text, cases[i].frame, &got, &error), &error);
        assert_string_equal(got.input, cases[i].input);
        assert_string_equal(got.target, cases[i].target);
    }
}

static void test_literals_fill_the_widest_frame(void **state) {
    (void)state;
    enum { DIGITS_THERE = LH_MOST_PLACES - 1 };
    static const int options[] = {10, 6, 64, 8};
    static uint16_t token[DIGITS_THERE], input[LH_MOST_PLACES + 2], target[LH_MOST_PLACES + 1];
    const int frames[] = {0, LH_MOST_PLACES};
    for (int i = 0; i < DIGITS_THERE; i++) token[i] = 9;
    for (int i = 0; i < 2; i++) {
        lh_error error;
        lh_literal literal = {token, DIGITS_THERE, NULL, options, frames[i]};
        lh_example example = {.options = options, .input = input, .target = target};
        lh_assert_ok(lh_solve_successor(&literal, &example, &error), &error);
        assert_int_equal(example.input_length, LH_MOST_PLACES + 2);
        assert_int_equal(example.output_length, LH_MOST_PLACES + 1);
        assert_true(input[1] == 0 && input[2] == 9 && target[DIGITS_THERE - 1] == 0 && target[DIGITS_THERE] == 1);
    }
}

static void test_literals_that_are_none_are_told(void **state) {
    (void)state;
    char most[LH_MOST_PLACES + 1];
    memset(most, '1', LH_MOST_PLACES);
    most[LH_MOST_PLACES] = 0;
    static const int next[] = {10, 6, 64, 8}, add[] = {10, 4, 0, 0, 64, 8}, times[] = {10, 4, 2, 0, 0, 64, 8},
                     bits[] = {8, 0, 64, 8};
    static const struct {
        lh_task_solve *task;
        const int *options;
        int frame;
        const char *text, *said; /* text NULL: a number with the most digits of a frame */
    } cases[] = {
        {lh_solve_successor, next, LH_MOST_PLACES + 1, "12",
         "successor: a frame of 4097 places\n  expected: 0 to 4096"},
        {lh_solve_addition, add, 1000000, "1+2", "addition: a frame of 1000000 places\n  expected: 0 to 4096"},
        {lh_solve_successor, next, 0, NULL,
         "a number of 4096 digits, which needs a frame of 4097 places\n  expected: at most 4096"},
        {lh_solve_successor, next, TASKS, NULL, "which needs a frame of 4097 places\n  expected: at most 4096"},
        {lh_solve_parity, bits, TASKS, NULL,
         "a frame of 8 places has room for 8\n  expected: a frame of at least 4096"},
        {lh_solve_successor, next, TASKS, "12+3", "successor: symbol 3 is '+'\n  expected: a number in base 10"},
        {lh_solve_successor, next, TASKS, "$&", "successor: there is a number missing"},
        {lh_solve_successor, next, TASKS, "$12&4", "successor: symbol 4 is '&'"},
        {lh_solve_successor, next, TASKS, "1999999",
         "a number of 7 digits, and a frame of 6 places has room for 5\n"
         "  expected: a frame of at least 8"},
        {lh_solve_successor, next, 4, "1999", "a frame of 4 places has room for 3\n  expected: a frame of at least 5"},
        {lh_solve_addition, add, TASKS, "12", "addition: there is a number missing\n  expected: two numbers with +"},
        {lh_solve_addition, add, TASKS, "12+", "addition: there is a number missing"},
        {lh_solve_addition, add, TASKS, "12*3", "addition: symbol 3 is '*'"},
        {lh_solve_addition, add, TASKS, "1+2+3", "addition: symbol 4 is '+'"},
        {lh_solve_addition, add, TASKS, "1+A", "addition: symbol 3 is 'A'"},
        {lh_solve_multiplication, times, TASKS, "12*34",
         "multiplication: symbol 5 is '4'\n  expected: a number, *, and"},
        {lh_solve_parity, bits, TASKS, "102", "parity: symbol 3 is '2'\n  expected: a number in base 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lh_error error;
        shown got;
        const char *text = cases[i].text != NULL ? cases[i].text : most;
        lh_assert_error(solve(cases[i].task, cases[i].options, text, cases[i].frame, &got, &error), LH_ERR_INPUT,
                        &error, cases[i].said);
    }
}

/* ---- every example is correct, and has the values on its axes ---- */

static int digits_of(int base, uint64_t n) {
    int count = 1;
    for (; n >= (uint64_t)base; n /= (uint64_t)base) count++;
    return count;
}

/* The definition of carries on numbers: a place makes a carry by itself, or because of the incoming one. */
static int chain_of(int base, bool product, uint64_t x, uint64_t y, int digits) {
    uint64_t low = 1, b = (uint64_t)base;
    int length = 0, longest = 0;
    for (int i = 0; i < digits; i++, low *= b) {
        uint64_t in = product ? x % low * y / low : (x % low + y % low) / low;
        uint64_t own = product ? x / low % b * y : x / low % b + y / low % b;
        bool passes = (own + in) / b > own / b;
        length = passes ? length + 1 : own >= b ? 1 : 0;
        if (length > longest) longest = length;
    }
    return longest;
}

static uint64_t pair_of(uint64_t x, uint64_t y) { return x << 32 | y; }

static bool was_trained(const shelf *s, const uint64_t *pair, uint64_t asked) {
    for (int i = 0; i < s->count && s->item[i].set == LH_SET_TRAIN; i++)
        if (pair[i] == asked) return true;
    return false;
}

static void check_all(const shelf *s, bool product, int base, int width, int places) {
    uint64_t *pair = calloc((size_t)s->count, sizeof *pair);
    int small = 0;
    for (int i = 0; i < s->count; i++) {
        const kept *k = &s->item[i];
        shown text = show_kept(s, k);
        int second = product ? 1 : width;
        uint64_t x = value_of(text.input, 1, 1 + width, base);
        uint64_t y = value_of(text.input, 2 + width, 2 + width + second, base);
        assert_int_equal(text.input[1 + width], product ? '*' : '+');
        assert_int_equal(strlen(text.target), places + 1);
        assert_int_equal(reversed_value(text.target, base), product ? x * y : x + y);
        pair[i] = pair_of(x, y);
        int digits = digits_of(base, !product && y > x ? y : x);
        assert_int_equal(k->axes[DIGITS], digits);
        if (k->set == LH_SET_TEST && !product) assert_int_equal(digits_of(base, x < y ? x : y), digits);
        bool apart = k->axes[CARRY] != LH_NO_VALUE;
        if (apart) assert_int_equal(k->axes[CARRY], chain_of(base, product, x, y, digits));
        if (k->set != LH_SET_TEST) assert_true(apart);
        if (k->set == LH_SET_TRAIN) assert_int_equal(k->axes[TRAINED], LH_NO_VALUE);
        else if (digits < 4 && small++ < 3000) assert_int_equal(k->axes[TRAINED], was_trained(s, pair, pair[i]));
    }
    assert_true(small > 0);
    free(pair);
}

/* Each pair of digits and chain has equally many examples, in addition to the uniform ones. */
static void check_cells(const shelf *s, int most, int per_digits) {
    int uniform[16] = {0}, cell[16][16] = {{0}};
    for (int i = 0; i < s->count; i++)
        if (s->item[i].set == LH_SET_TEST) {
            const int32_t *axes = s->item[i].axes;
            if (axes[CARRY] == LH_NO_VALUE) uniform[axes[DIGITS]]++;
            else cell[axes[DIGITS]][axes[CARRY]]++;
        }
    for (int digits = 1; digits <= most; digits++) {
        assert_in_range(uniform[digits], 1, per_digits);
        for (int chain = 0; chain <= digits; chain++) assert_int_equal(cell[digits][chain], 500);
    }
    assert_int_equal(s->c.apart[LH_SET_TEST], 1u << CARRY);
    assert_int_equal(s->c.apart[LH_SET_TRAIN], 0);
}

static void test_addition_and_multiplication_are_right(void **state) {
    (void)state;
    const int add[] = {10, 5, 0, 0, 256, 8}, times[] = {10, 4, 1, 0, 0, 256, 8}, hex[] = {16, 4, 0, 0, 256, 8};
    shelf s = shelf_of(add, 5, 3, true);
    fill(&s, lh_task_addition);
    check_all(&s, false, 10, 5, 5);
    check_cells(&s, 3, 900);
    free(s.item);
    s = shelf_of(times, 5, 3, true);
    fill(&s, lh_task_multiplication);
    check_all(&s, true, 10, 4, 5);
    check_cells(&s, 3, 900);
    free(s.item);
    s = shelf_of(hex, 5, 2, true);
    fill(&s, lh_task_addition);
    check_all(&s, false, 16, 4, 4);
    free(s.item);
}

/* Chains of the successor are trailing nines; in base 2 some numbers of digits have no number with a given chain. */
static void test_successor_goes_by_trailing_digits(void **state) {
    (void)state;
    const int ten[] = {10, 7, 2048, 8}, two[] = {2, 12, 64, 8};
    shelf s = shelf_of(ten, 5, 5, true);
    fill(&s, lh_task_successor);
    for (int i = 0; i < s.count; i++) {
        shown text = show_kept(&s, &s.item[i]);
        uint64_t n = value_of(text.input, 1, 8, 10);
        assert_int_equal(reversed_value(text.target, 10), n + 1);
        int nines = 0;
        for (uint64_t rest = n; rest % 10 == 9; rest /= 10) nines++;
        assert_int_equal(s.item[i].axes[DIGITS], digits_of(10, n));
        if (s.item[i].axes[CARRY] != LH_NO_VALUE) assert_int_equal(s.item[i].axes[CARRY], nines);
        assert_int_equal(chain_of(10, false, n, 1, digits_of(10, n)), nines); /* equal to the chain of the sum n + 1 */
    }
    check_cells(&s, 5, 10000);
    free(s.item);
    s = shelf_of(two, 5, 2, true);
    fill(&s, lh_task_successor);
    for (int i = 0; i < s.count; i++)
        if (s.item[i].set == LH_SET_TEST && s.item[i].axes[DIGITS] == 1) assert_true(s.item[i].axes[CARRY] != 0);
    free(s.item);
}

/* ---- splits ---- */

static void test_permutation_is_split_seven_to_one(void **state) {
    (void)state;
    const int options[] = {16, 0, 4096, 8};
    uint8_t seen[4096] = {0};
    int sets[LH_SETS] = {0};
    uint16_t first[2];
    for (uint64_t seed = 0; seed < 2; seed++) {
        shelf s = shelf_of(options, seed, 14, false);
        memset(seen, 0, sizeof seen);
        memset(sets, 0, sizeof sets);
        fill(&s, lh_task_parity);
        for (int i = 0; i < s.count; i++) {
            uint64_t n = value_of(show_kept(&s, &s.item[i]).input, 1, 17, 2);
            sets[s.item[i].set]++;
            if (s.item[i].set == LH_SET_TEST) {
                assert_int_equal(s.item[i].axes[1], n < 4096 && seen[n] == 1 + LH_SET_TRAIN);
                continue;
            }
            assert_in_range(n, 0, 4095);
            assert_int_equal(seen[n], 0);
            seen[n] = (uint8_t)(1 + s.item[i].set);
        }
        assert_int_equal(sets[LH_SET_TRAIN], 3584);
        assert_int_equal(sets[LH_SET_VALIDATION], 512);
        assert_int_equal(sets[LH_SET_TEST], (1 << 14) - 1); /* all numbers of 1 to 14 bits */
        first[seed] = s.item[0].word[1];
        free(s.item);
    }
    assert_int_not_equal(first[0], first[1]);
}

/* The operands of a validation pair come from another part of the order than those of a training pair. */
static void test_pairs_stay_within_their_part(void **state) {
    (void)state;
    const int options[] = {10, 8, 0, 0, 4096, 4};
    uint8_t part[4096] = {0};
    shelf s = shelf_of(options, 1, 1, false);
    fill(&s, lh_task_addition);
    int counts[LH_SETS] = {0};
    for (int i = 0; i < s.count; i++) {
        const kept *k = &s.item[i];
        counts[k->set]++;
        if (k->set == LH_SET_TEST) continue;
        for (int operand = 0; operand < 2; operand++) part[k->word[1 + 2 * operand]] |= (uint8_t)(1 << k->set);
    }
    for (int n = 0; n < 4096; n++) assert_int_not_equal(part[n], 1 << LH_SET_TRAIN | 1 << LH_SET_VALIDATION);
    assert_int_equal(counts[LH_SET_TRAIN], 3072);
    assert_int_equal(counts[LH_SET_VALIDATION], 1024);
    assert_int_equal(counts[LH_SET_TEST], 9);
    free(s.item);
}

/* As in the released code: all numbers of up to three digits; a sixth of all numbers for each of 4 to 6 digits. */
static void test_stratified_operands_have_all_counts_of_digits(void **state) {
    (void)state;
    enum { NUMBERS = 6000, SHARE = 1000 };
    const int options[] = {10, 8, 0, 1, NUMBERS, 8}, times[] = {10, 8, 1, 0, 1, NUMBERS, 8};
    shelf s = shelf_of(options, 1, 1, false);
    fill(&s, lh_task_addition);
    for (int operand = 0; operand < 2; operand++) {
        int seen[1000] = {0}, of[8] = {0};
        for (int i = 0; i < s.count; i++) {
            if (s.item[i].set == LH_SET_TEST) continue;
            const uint16_t *word = s.item[i].word + 1 + 2 * operand;
            uint32_t n = word[0] | (uint32_t)word[1] << 16;
            assert_in_range(n, 0, 1000000);
            of[digits_of(10, n)]++;
            if (n < 1000) seen[n]++;
        }
        for (int n = 0; n <= 900; n++) assert_in_range(seen[n], 1 + (n <= 90) + (n <= 9), 9);
        for (int digits = 4; digits <= 6; digits++) assert_in_range(of[digits], SHARE - 20, NUMBERS);
        assert_in_range(of[6], SHARE + 1700, SHARE + 1900); /* nine tenths of the remaining 1995 */
    }
    free(s.item);
    s = shelf_of(times, 1, 1, false);
    fill(&s, lh_task_multiplication);
    for (int i = 0; i < s.count; i++)
        if (s.item[i].set != LH_SET_TEST) assert_in_range(s.item[i].word[3], 1, 9);
    free(s.item);
}

static void test_digits_are_tested_as_the_paper_does(void **state) {
    (void)state;
    const int options[] = {10, 61, 64, 8};
    int counts[8] = {0}, seen[100] = {0};
    shelf s = shelf_of(options, 3, 6, false);
    fill(&s, lh_task_successor);
    for (int i = 0; i < s.count; i++)
        if (s.item[i].set == LH_SET_TEST) {
            counts[s.item[i].axes[DIGITS]]++;
            if (s.item[i].axes[DIGITS] <= 2) seen[value_of(show_kept(&s, &s.item[i]).input, 1, 62, 10)]++;
        }
    const int want[8] = {0, 9, 90, 900, 9000, 10000, 10000, 0};
    assert_memory_equal(counts, want, sizeof want);
    for (int n = 1; n < 100; n++) assert_int_equal(seen[n], 1);
    free(s.item);
}

/* Numbers above 32 bits have a value on the axis of digits, too. */
static void test_long_numbers_have_their_digits(void **state) {
    (void)state;
    const int times[] = {10, 13, 1, 0, 0, 64, 8};
    shelf s = shelf_of(times, 3, 12, false);
    int counts[14] = {0};
    s.least = 9;
    fill(&s, lh_task_multiplication);
    for (int i = 0; i < s.count; i++) {
        const kept *k = &s.item[i];
        assert_int_equal(k->axes[DIGITS], digits_of(10, value_of(show_kept(&s, k).input, 1, 14, 10)));
        if (k->set == LH_SET_TEST) counts[k->axes[DIGITS]]++;
    }
    for (int digits = 1; digits < 14; digits++)
        assert_int_equal(counts[digits], digits >= 9 && digits <= 12 ? 10000 : 0);
    free(s.item);
}

/* The longest numbers of the widest frame, in the task's own frame, in the narrowest one, and in that width. */
static void test_numbers_fill_the_widest_frame(void **state) {
    (void)state;
    const int next[] = {10, LH_MOST_PLACES, 64, 8};
    shelf s = shelf_of(next, 3, LH_MOST_PLACES, false);
    int own = 0, framed = 0;
    s.least = LH_MOST_PLACES - 1;
    s.frame_axis = FRAME;
    s.frame[1] = LH_MOST_PLACES;
    fill(&s, lh_task_successor);
    for (int i = 0; i < s.count; i++) {
        if (s.item[i].set != LH_SET_TEST) continue;
        assert_int_equal(s.item[i].axes[DIGITS], LH_MOST_PLACES - 1);
        assert_int_equal(s.item[i].input_length, LH_MOST_PLACES + 2);
        *(s.item[i].axes[FRAME] == LH_NO_VALUE ? &own : &framed) += 1;
    }
    assert_int_equal(own, 10000);
    assert_int_equal(framed, 20000);
    free(s.item);
}

/* Converts an input and a target to another frame, by removing or adding zeros. */
static shown in_frame(const shown *own, int from, int width) {
    shown out;
    const char sign = own->input[1 + from];
    int digits = width < from ? width : from;
    char *at = out.input;
    *at++ = '$';
    for (int operand = 0; operand < (sign == '+' ? 2 : 1); operand++) {
        if (operand > 0) *at++ = '+';
        for (int i = 0; i < width; i++)
            *at++ = i < width - digits ? '0' : own->input[1 + operand * (from + 1) + from - width + i];
    }
    if (sign == '*') { /* a product's single digit has no frame */
        memcpy(at, own->input + 1 + from, 2);
        at += 2;
    }
    memcpy(at, "&", 2);
    for (int i = 0; i < width; i++) out.target[i] = i < from ? own->target[i] : '0';
    memcpy(out.target + width, "&", 2);
    return out;
}

/* Every test number occurs again in each frame; without padding there is a place for the sum's last carry. */
static void check_frames(shelf *s, lh_task_collect *task, int own_width) {
    int count = 0, at[2] = {0, 0};
    fill(s, task);
    while (count < s->count && (s->item[count].set != LH_SET_TEST || s->item[count].axes[FRAME] == LH_NO_VALUE))
        count++;
    for (int i = 0; i < count; i++) {
        const kept *k = &s->item[i];
        assert_int_equal(k->axes[FRAME], LH_NO_VALUE);
        if (k->set != LH_SET_TEST) continue;
        for (int f = 0; f < 2; f++) {
            int width = s->frame[f] > 0 ? s->frame[f] : k->axes[DIGITS] + 1;
            if (width < k->axes[DIGITS] + 1) continue;
            while (s->item[count + at[f]].axes[FRAME] != s->frame[f]) at[f]++;
            const kept *other = &s->item[count + at[f]++];
            shown own = show_kept(s, k), got = show_kept(s, other), want = in_frame(&own, own_width, width);
            assert_string_equal(got.input, want.input);
            assert_string_equal(got.target, want.target);
            assert_int_equal(other->axes[DIGITS], k->axes[DIGITS]);
            assert_int_equal(other->axes[CARRY], k->axes[CARRY]);
            assert_int_equal(other->axes[TRAINED], k->axes[TRAINED]);
        }
    }
    assert_true(at[0] > 0 && at[1] > 0);
    assert_true(s->c.apart[LH_SET_TEST] >> FRAME & 1);
    free(s->item);
}

static void test_frames_hold_the_same_numbers(void **state) {
    (void)state;
    const int add[] = {10, 7, 0, 0, 64, 8}, next[] = {10, 7, 64, 8}, times[] = {10, 13, 0, 0, 0, 64, 8};
    lh_error error;
    shelf s = shelf_of(add, 5, 4, false);
    s.frame_axis = FRAME;
    memcpy(s.frame, (const int[]){0, 12}, sizeof s.frame);
    check_frames(&s, lh_task_addition, 7);
    s = shelf_of(next, 5, 4, true); /* with numbers drawn by chain */
    s.frame_axis = FRAME;
    memcpy(s.frame, (const int[]){4, 12}, sizeof s.frame); /* four digits do not fit in the first frame */
    check_frames(&s, lh_task_successor, 7);
    s = shelf_of(times, 5, 12, false);
    s.least = 9; /* also above 32 bits */
    s.frame_axis = FRAME;
    memcpy(s.frame, (const int[]){0, 16}, sizeof s.frame);
    check_frames(&s, lh_task_multiplication, 13);
    s = shelf_of(next, 5, 4, false);
    s.frame_axis = FRAME;
    s.frame[0] = s.frame[1] = 1;
    lh_assert_error(lh_task_successor(&s.c, &error), LH_ERR_INPUT, &error,
                    "successor: eval.by asks for a frame of 1 places, which has room for numbers of 0 digits");
    free(s.item);
}

/* Digits and chains that only a wider frame can hold have equally many examples, in that frame alone. */
static void test_frames_have_chains_of_their_own(void **state) {
    (void)state;
    enum { OWN = 6, FRAMES = 3, MOST = 8 };
    static const int frame[FRAMES] = {LH_NO_VALUE, 0, 12};
    const int add[] = {10, OWN + 1, 0, 0, 64, 8};
    int uniform[FRAMES][MOST + 1] = {{0}}, cell[FRAMES][MOST + 1][MOST + 1] = {{{0}}};
    shelf s = shelf_of(add, 5, MOST, true);
    s.least = OWN;
    s.frame_axis = FRAME;
    memcpy(s.frame, frame + 1, sizeof s.frame);
    fill(&s, lh_task_addition);
    for (int i = 0; i < s.count; i++) {
        const kept *k = &s.item[i];
        if (k->set != LH_SET_TEST) continue;
        int f = k->axes[FRAME] == LH_NO_VALUE ? 0 : k->axes[FRAME] == 0 ? 1 : 2, digits = k->axes[DIGITS];
        shown text = show_kept(&s, k);
        int width = f == 2 ? 12 : OWN + 1;
        assert_int_equal(strlen(text.input), 2 * width + 3);
        uint64_t x = value_of(text.input, 1, 1 + width, 10), y = value_of(text.input, 2 + width, 2 + 2 * width, 10);
        assert_int_equal(reversed_value(text.target, 10), x + y);
        assert_int_equal(digits_of(10, x < y ? x : y), digits);
        if (k->axes[CARRY] == LH_NO_VALUE) uniform[f][digits]++;
        else {
            assert_int_equal(k->axes[CARRY], chain_of(10, false, x, y, digits));
            cell[f][digits][k->axes[CARRY]]++;
        }
    }
    for (int f = 0; f < FRAMES; f++)
        for (int digits = 1; digits <= MOST; digits++) {
            bool there = digits == OWN || (f == 2 && digits > OWN);
            assert_int_equal(uniform[f][digits], there ? 10000 : 0);
            for (int chain = 0; chain <= MOST; chain++)
                assert_int_equal(cell[f][digits][chain], there && chain <= digits ? 500 : 0);
        }
    assert_int_equal(s.c.apart[LH_SET_TEST], 1u << CARRY | 1u << FRAME);
    free(s.item);
}

static void test_a_frame_too_narrow_is_told(void **state) {
    (void)state;
    const int options[] = {10, 6, 0, 0, 1048576, 8}, six[] = {10, 7, 0, 1, 64, 8}, far[] = {10, 200, 64, 8};
    lh_error error;
    shelf s = shelf_of(options, 0, 1, false);
    lh_assert_error(lh_task_addition(&s.c, &error), LH_ERR_INPUT, &error,
                    "addition: the frame has room for numbers of 5 digits, and those to train on have up to 7 in base "
                    "10\n  expected: a task.options.width that is 2 greater, or a smaller task.options.numbers");
    s = shelf_of(six, 0, 1, false);
    lh_assert_error(lh_task_addition(&s.c, &error), LH_ERR_INPUT, &error, "up to 7 in base 10");
    s = shelf_of(far, 0, 150, true);
    lh_assert_error(lh_task_successor(&s.c, &error), LH_ERR_INPUT, &error,
                    "eval.by asks for carries of numbers of 150 digits\n  expected: at most 128");
    free(s.item);
}

/* ---- draws by chain ---- */

enum { DRAWS = 20000 };

/* All pairs of numbers with these digits and this chain are drawn equally often, and no others. */
static void check_uniform(int base, bool product, int digits, int chain) {
    uint64_t high = 1, y_last, b = (uint64_t)base;
    for (int i = 0; i < digits; i++) high *= b;
    y_last = product ? b : high;
    int *seen = calloc((size_t)(high * y_last), sizeof *seen), pairs = 0;
    lh_chains *c;
    lh_error error;
    lh_rng rng = lh_rng_at(lh_key_of_seed(9), (uint32_t)digits, (uint32_t)chain, 0);
    lh_assert_ok(lh_chains_open(&c, base, product, digits + 1, &error), &error);
    lh_chains_aim(c, chain);
    for (int i = 0; i < DRAWS; i++) {
        uint8_t x[8], y[8];
        uint64_t first = 0, second = 0;
        if (!lh_chains_draw(c, &rng, digits, x, y)) break;
        assert_int_equal(lh_longest_chain(base, product, digits, x, y), chain);
        for (int d = digits - 1; d >= 0; d--) first = first * b + x[d];
        for (int d = product ? 0 : digits - 1; d >= 0; d--) second = second * b + y[d];
        seen[first * y_last + second]++;
    }
    for (uint64_t x = high / b; x < high; x++)
        for (uint64_t y = product ? 0 : high / b; y < y_last; y++)
            pairs += chain_of(base, product, x, y, digits) == chain;
    for (uint64_t x = 0; x < high; x++)
        for (uint64_t y = 0; y < y_last; y++) {
            bool there = x >= high / b && (product || y >= high / b) && chain_of(base, product, x, y, digits) == chain;
            double want = there ? (double)DRAWS / pairs : 0, off = seen[x * y_last + y] - want;
            assert_true(off * off <= 36 * want); /* within six standard deviations */
        }
    lh_chains_close(c);
    free(seen);
}

static void test_draws_by_chain_are_uniform(void **state) {
    (void)state;
    for (int chain = 0; chain <= 3; chain++) {
        check_uniform(3, false, 3, chain);
        check_uniform(4, true, 3, chain);
        check_uniform(2, false, 4, chain);
        check_uniform(6, false, 1 + chain % 2, chain / 2);
    }
    check_uniform(2, true, 3, 1); /* no product of bits makes a carry */
}

/* Long numbers, which rarely have such a chain by chance. */
static void test_draws_of_long_numbers_have_their_chain(void **state) {
    (void)state;
    static const int chains[] = {0, 1, 2, 30, 59, 60};
    for (int product = 0; product < 2; product++) {
        lh_chains *c;
        lh_error error;
        lh_rng rng = lh_rng_at(lh_key_of_seed(9), 0, 0, 0);
        lh_assert_ok(lh_chains_open(&c, 10, product, 60, &error), &error);
        for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
            uint8_t x[60], y[60];
            lh_chains_aim(c, chains[i]);
            for (int draw = 0; draw < 20; draw++) {
                assert_true(lh_chains_draw(c, &rng, 60, x, y));
                assert_int_equal(lh_longest_chain(10, product, 60, x, y), chains[i]);
                assert_true(x[59] > 0 && (product || y[59] > 0));
            }
        }
        lh_chains_close(c);
    }
}

/* ---- evaluations by groups ---- */

typedef struct fixture {
    lh_spec spec;
    lh_task task;
    lh_data data;
} fixture;

static void make_spec(fixture *f, const int *options, lh_by by) {
    static const char *const axis[] = {"digits", "carry", "trained", "frame"};
    f->task = (lh_task){.kind = "successor",
                        .collect = lh_task_successor,
                        .options = options,
                        .input_symbols = 15,
                        .output_symbols = 15,
                        .axis = axis,
                        .axes = 4};
    f->data = (lh_data){.longest = 21};
    f->spec = (lh_spec){.id = "arithmetic", .task = &f->task, .data = &f->data, .train = {.batch = 16}};
    f->spec.eval = (lh_eval_defaults){.axis = "length", .by = by, .sets = 1u << LH_SET_TEST};
}

static void open_groups(fixture *f, lh_corpus *corpus) {
    lh_error error;
    lh_assert_ok(lh_corpus_open(corpus, &f->spec, NULL, &error), &error);
    lh_assert_ok(lh_corpus_bind(corpus, &f->spec, &error), &error);
}

/* Numbers below 64: some of 2 digits are trained on; carries are separate; groups beyond training are marked. */
static void test_groups_know_what_was_trained_on(void **state) {
    (void)state;
    const int options[] = {10, 9, 64, 8};
    const lh_by digits = {1, {{DIGITS, false, {NULL, 0, 1, 3, 1}}}};
    const lh_by both = {2, {{DIGITS, false, {NULL, 0, 1, 3, 1}}, {CARRY, true, {NULL, 0, 0, 0, 1}}}};
    fixture f;
    lh_corpus c;
    make_spec(&f, options, digits);
    f.spec.eval.with_trained = true;
    open_groups(&f, &c);
    assert_int_equal(c.final.count, 3);
    assert_int_equal(c.final.group[2].count, 900);
    assert_false(lh_group_is_beyond(&c.final, &c.final.group[1], 0));
    assert_true(lh_group_is_beyond(&c.final, &c.final.group[2], 0));
    double share = lh_group_trained(&c.final, &c.final.group[1]);
    long one = lround(9 * lh_group_trained(&c.final, &c.final.group[0])), two = lround(90 * share);
    assert_true(lh_group_trained(&c.final, &c.final.group[2]) == 0);
    assert_true(one + two == 56 || one + two == 55); /* 0 has one digit and is not tested */
    lh_groups_close(&c.final);
    f.spec.eval.with_trained = false;
    lh_error error;
    lh_assert_ok(lh_groups_open(&c.final, &c, &f.spec, &digits, 0, &error), &error);
    const lh_group *second = &c.final.group[c.final.count - 3];
    assert_int_equal(second->set, LH_SET_TEST);
    lh_groups_close(&c.final);
    lh_assert_ok(lh_groups_open(&c.final, &c, &f.spec, &digits, 1u << LH_SET_TEST, &error), &error);
    assert_int_equal(c.final.group[c.final.count - 2].count, 90 - two);
    assert_true(lh_group_trained(&c.final, &c.final.group[c.final.count - 2]) == share); /* share of all 90 numbers */
    lh_corpus_close(&c);
    make_spec(&f, options, both);
    f.spec.eval.with_trained = true;
    open_groups(&f, &c);
    assert_int_equal(c.final.count, 3 + 2 + 3 + 4);
    assert_int_equal(c.final.group[0].value[CARRY], LH_NO_VALUE);
    assert_int_equal(c.final.group[0].count, 9);
    const lh_group *last = &c.final.group[c.final.count - 1]; /* 999 is the only such number, 500 times */
    assert_int_equal(last->value[CARRY], 3);
    assert_int_equal(last->count, 500);
    assert_true(lh_group_is_beyond(&c.final, last, 1));
    lh_groups_close(&c.final);
    lh_assert_ok(lh_groups_open(&c.final, &c, &f.spec, &digits, 1u << LH_SET_TEST, &error), &error);
    assert_int_equal(c.final.group[1].count, 90); /* without the numbers drawn for chains */
    lh_corpus_close(&c);
}

/* Groups by digits, carries and frames together have every combination in the training frame and in the other one;
 * groups by two of these axes leave out examples of the third. */
static void test_groups_have_carries_in_frames(void **state) {
    (void)state;
    static const int32_t wide[] = {12};
    const int options[] = {10, 9, 64, 8};
    const lh_by digits = {1, {{DIGITS, false, {NULL, 0, 1, 3, 1}}}};
    lh_by by = digits;
    by.of[1].axis = CARRY;
    by.of[1].all = true;
    by.of[2].axis = FRAME;
    by.of[2].values = (lh_lengths){wide, 1, 0, 0, 0};
    fixture f;
    lh_corpus c;
    lh_error error;
    by.count = 3;
    make_spec(&f, options, by);
    f.data.longest = 27;
    f.spec.eval.with_trained = true;
    open_groups(&f, &c);
    assert_int_equal(c.final.count, 2 * (3 + 2 + 3 + 4));
    int framed = 0;
    for (int i = 0; i < c.final.count; i++) {
        const lh_group *g = &c.final.group[i];
        framed += g->value[2] == 12;
        if (g->value[1] != LH_NO_VALUE) assert_int_equal(g->count, 500);
        else assert_int_equal(g->count, g->value[0] == 1 ? 9 : g->value[0] == 2 ? 90 : 900);
    }
    assert_int_equal(framed, 12);
    lh_groups_close(&c.final);
    by.count = 2;
    lh_assert_ok(lh_groups_open(&c.final, &c, &f.spec, &by, 1u << LH_SET_TEST, &error), &error);
    assert_int_equal(c.final.count, 12);
    lh_groups_close(&c.final);
    by.of[1] = by.of[2];
    lh_assert_ok(lh_groups_open(&c.final, &c, &f.spec, &by, 1u << LH_SET_TEST, &error), &error);
    assert_int_equal(c.final.count, 6);
    lh_corpus_close(&c);
}

/* Frames have shapes of their own, numbered after those of the split: the order of the split does not change. */
static void test_frames_leave_the_order_of_the_split(void **state) {
    (void)state;
    const int options[] = {10, 9, 64, 8};
    const lh_by by = {2, {{DIGITS, false, {NULL, 0, 1, 2, 1}}, {FRAME, false, {NULL, 0, 4, 6, 1}}}};
    fixture f;
    lh_corpus c;
    int shapes = 0;
    make_spec(&f, options, by);
    open_groups(&f, &c);
    assert_true(c.shapes >= 4);
    for (int n = 1; n <= c.shapes; n++) {
        if (lh_dataset_count(&c.train, n) == 0) continue;
        assert_true(n >= 4);
        assert_int_equal(lh_order_number(&c.train, n), 1);
        assert_int_equal(lh_order_number(&c.validation, n), 1);
        shapes++;
    }
    for (int n = 1; n <= c.shapes; n++) { /* examples tested in a frame count only in evaluations by frame */
        bool own = lh_dataset_count(&c.train, n) > 0;
        assert_true(lh_dataset_count(&c.eval, n) > 0);
        assert_true(lh_dataset_counts(&c.eval, f.task.axes, n) == own);
        assert_true(lh_dataset_counts(&c.train, f.task.axes, n) == own);
    }
    assert_int_equal(shapes, 1);
    lh_corpus_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_examples_of_the_paper),
        cmocka_unit_test(test_literals_are_padded_and_solved),
        cmocka_unit_test(test_literals_fill_the_widest_frame),
        cmocka_unit_test(test_literals_that_are_none_are_told),
        cmocka_unit_test(test_addition_and_multiplication_are_right),
        cmocka_unit_test(test_frames_hold_the_same_numbers),
        cmocka_unit_test(test_successor_goes_by_trailing_digits),
        cmocka_unit_test(test_permutation_is_split_seven_to_one),
        cmocka_unit_test(test_pairs_stay_within_their_part),
        cmocka_unit_test(test_stratified_operands_have_all_counts_of_digits),
        cmocka_unit_test(test_digits_are_tested_as_the_paper_does),
        cmocka_unit_test(test_long_numbers_have_their_digits),
        cmocka_unit_test(test_numbers_fill_the_widest_frame),
        cmocka_unit_test(test_frames_have_chains_of_their_own),
        cmocka_unit_test(test_a_frame_too_narrow_is_told),
        cmocka_unit_test(test_draws_by_chain_are_uniform),
        cmocka_unit_test(test_draws_of_long_numbers_have_their_chain),
        cmocka_unit_test(test_groups_know_what_was_trained_on),
        cmocka_unit_test(test_groups_have_carries_in_frames),
        cmocka_unit_test(test_frames_leave_the_order_of_the_split),
    };
    return cmocka_run_group_tests_name("arithmetic", tests, NULL, NULL);
}
