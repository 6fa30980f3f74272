/* Free Addition: a + b without a frame of fixed width; the digit counts of the two numbers vary independently.
 *
 * symbols:        0 1 2 3 4 5 6 7 8 9 + = & _
 *                 a b c d e f g h i j k l m n o p q r s t u v w x y z A B C D E F G H I J K L M N O P Q R S T
 *                 U V W X Y Z aa ab ac ba bb bc ca cb cc da db dc ea eb ec fa fb fc ga gb gc ha hb hc ia ib
 *                 ic ja jb jc ka kb kc la lb lc ma mb mc na nb nc oa ob oc pa pb pc qa qb qc ra rb rc sa sb
 *                 sc ta tb tc ua ub uc va vb vc wa wb wc xa xb xc ya yb yc za
 * option order:   reversed plain reversed_sum; reversed: lowest digits first; reversed_sum: only in the sum
 * option padding: none longer; longer: zeros fill numbers to the length of the longer one, and sums to one digit more
 * option longest: 1..4096 = 20; maximum digit count in training; each pair of digit counts is equally likely
 * option pairs:   64..16777216 = 1048576; number of training and validation pairs
 * option parts:   2..1000 = 64; number of parts of these pairs; the last part, at least one pair, is the validation set
 * option tests:   1..10000 = 100; test pairs for each pair of digit counts
 * option hints:   0..128 = 0; number of hints; a hint stands before a digit and shows the digit's place, cyclically
 * option spaces:  0..99 = 0; percentage of the input's symbols with a space (_) before them
 * symbol count:   14 - 1 / (1 + hints + spaces) + hints, at least 13
 * start symbol:   =
 * end symbol:     &
 * input length:   (2 * longest * (2 - 1 / (1 + hints)) + 1) * (4 - 3 * (1 / (1 + spaces)))
 * output length:  (longest + 1) * (2 - 1 / (1 + hints)) + 1
 * chance:         0.1
 * literal:        12+345
 * sets:           train test validation
 * number length:  longest + 1 in training; digits + 1, first + 1, second + 1 in tests; 1 with hints; cut by spaces
 * axis digits:    1 to 4096; digits of the longer number
 * axis first:     1 to 4096; digits of the first number
 * axis second:    1 to 4096; digits of the second number
 * axis trained:   0 to 1; 1 if the pair is a training example, else 0
 * positions:      2 + place for a digit and its hint; 1 for +; 1 for =, or the greatest position before a plain sum
 */
#include <stddef.h>

#include "data/free_sums.h"

lh_task_collect lh_task_free_addition;
lh_task_solve lh_solve_free_addition;
lh_task_place lh_place_free_addition;

/* Formulas in the header above divide integers: 1 / (1 + hints) is 1 without hints, else 0. The number length is the
 * maximum count of adjacent digits. In tests it is the greatest of the three values. Hints and spaces separate digits.
 */
static const char kind[] = "free_addition";

enum { ORDER, PADDING, MAX_DIGITS, PAIRS, PARTS, TESTS, HINTS, SPACES }; /* options */
enum { PLAIN = 1, REVERSED_SUM, LONGER = 1 };                            /* choices */
enum { PLUS = LH_PLUS, EQUALS, END, SPACE, FIRST_HINT };                 /* tokens after the digits */
enum { MAX_SPACES = 3 /* maximum spaces before a symbol */ };

/* Hints and spaces of an example. */
typedef struct extras {
    int first_hint; /* index of the lowest digits' hint in the list of hints */
    int spaces;     /* percentage of input symbols with a space before them */
    lh_rng rng;     /* random numbers of the spaces */
} extras;

static extras draw_extras(const lh_addends *addends, const int *options) {
    extras e = {.spaces = options[SPACES], .rng = addends->rng};
    e.first_hint = options[HINTS] > 0 ? (int)lh_rng_below(&e.rng, (uint32_t)options[HINTS]) : 0;
    return e;
}

/* Computes the sum, lowest digit first. It has one digit more than the longer number; its highest digit may be 0. */
static void add_numbers(const lh_addends *addends, uint8_t *sum) {
    const int longer = lh_find_most_digits(addends);
    int carry = 0;
    for (int d = 0; d < longer; d++) {
        carry += lh_get_addend_digit(addends, 0, d) + lh_get_addend_digit(addends, 1, d);
        sum[d] = (uint8_t)(carry % 10);
        carry /= 10;
    }
    sum[longer] = (uint8_t)carry;
}

static int count_number_digits(const lh_addends *addends, const int *options, int i) {
    return options[PADDING] == LONGER ? lh_find_most_digits(addends) : addends->digits[i];
}

static int count_sum_digits(const lh_addends *addends, const int *options, const uint8_t *sum) {
    const int longer = lh_find_most_digits(addends);
    return longer + (options[PADDING] == LONGER || sum[longer] > 0);
}

static bool begins_with_lowest(const int *options, bool is_sum) {
    return options[ORDER] != PLAIN && (is_sum || options[ORDER] != REVERSED_SUM);
}

/* The place, 0 for the lowest digit, of the digit that is written at `index` in a number of `count` digits. */
static int find_place(const int *options, bool is_sum, int index, int count) {
    return begins_with_lowest(options, is_sum) ? index : count - 1 - index;
}

/* Writes a space with a probability of e->spaces percent. After it, writes a second one with a tenth of this
 * probability, and then a third one with a hundredth. McLeish et al. 2024 have no limit; here three is the maximum. */
static void write_spaces(lh_token_writer *w, extras *e) {
    uint32_t unit = 100; /* percent, then tenths of a percent, then hundredths */
    if (e->spaces == 0) return;
    for (int i = 0; i < MAX_SPACES && lh_rng_below(&e->rng, unit) < (uint32_t)e->spaces; i++, unit *= 10)
        lh_write_token(w, SPACE);
}

/* Writes a digit, and before it the hint of its place in its number. */
static void write_digit(lh_token_writer *w, const extras *e, const int *options, int digit, int place) {
    if (options[HINTS] > 0) lh_write_token(w, FIRST_HINT + (e->first_hint + place) % options[HINTS]);
    lh_write_token(w, digit);
}

/* Sets the lengths of the example of two numbers and, if example->input is not NULL, writes it. */
static void write_example(const lh_addends *addends, extras e, const int *options, lh_example *example) {
    uint8_t sum[LH_MAX_PLACES + 1];
    add_numbers(addends, sum);
    const int digits = count_sum_digits(addends, options, sum);
    lh_token_writer input = {example->input, 0}, target = {example->input == NULL ? NULL : example->target, 0};
    for (int i = 0; i < 2; i++) {
        const int count = count_number_digits(addends, options, i);
        for (int t = 0; t < count; t++) {
            const int place = find_place(options, false, t, count);
            write_spaces(&input, &e);
            write_digit(&input, &e, options, lh_get_addend_digit(addends, i, place), place);
        }
        if (i == 0) {
            write_spaces(&input, &e);
            lh_write_token(&input, PLUS);
        }
    }
    for (int t = 0; t < digits; t++) {
        const int place = find_place(options, true, t, digits);
        write_digit(&target, &e, options, sum[place], place);
    }
    lh_write_token(&target, END);
    example->input_length = input.count;
    example->output_length = target.count;
}

/* The position of =: 1, or the greatest position of the example. longer: digit count of the longer number. */
static int place_equals(const int *options, int longer) { return begins_with_lowest(options, true) ? 1 : longer + 3; }

/* Positions of Cho et al. 2024, "Position Coupling for Improving Length Generalization of Arithmetic Transformers". */
void lh_place_free_addition(const lh_example *example, int32_t *input, int32_t *target) {
    const int *options = example->options, width = options[HINTS] > 0 ? 2 : 1; /* width: tokens per digit */
    int count[2] = {0}, number = 0; /* count: digits of each number; number: 0 before the +, 1 after it */
    for (int t = 0; t < example->input_length; t++) {
        number |= example->input[t] == PLUS;
        count[number] += example->input[t] < PLUS;
    }
    const int longer = count[0] > count[1] ? count[0] : count[1];
    number = 0;
    for (int t = 0, digit = 0; t < example->input_length; t++) {
        const uint16_t token = example->input[t];
        input[t] = 2 + find_place(options, false, digit, count[number]);
        if (token == SPACE) input[t] = 0;
        if (token < PLUS) digit++; /* a hint has the position of the digit after it */
        if (token != PLUS) continue;
        input[t] = 1;
        number = 1;
        digit = 0;
    }
    target[0] = place_equals(options, longer);
    for (int t = 0; t + 1 < example->output_length; t++)
        target[t + 1] = t / width <= longer ? 2 + find_place(options, true, t / width, longer + 1) : 0;
}

static void expand(uint64_t seed, const uint16_t *word, lh_example *example) {
    lh_addends addends;
    lh_draw_addends(2, example->options[MAX_DIGITS], seed, word, &addends);
    write_example(&addends, draw_extras(&addends, example->options), example->options, example);
}

static lh_status measure(const lh_addends *addends, const int *options, lh_item *item, lh_error *error) {
    lh_example sizes = {.input = NULL};
    const int longer = lh_find_most_digits(addends), equals = place_equals(options, longer);
    write_example(addends, draw_extras(addends, options), options, &sizes);
    item->input_length = sizes.input_length;
    item->output_length = sizes.output_length;
    item->greatest_position = equals > longer + 2 ? equals : longer + 2;
    if (options[HINTS] == 0 || options[HINTS] > longer) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT,
                   "%s: task.options.hints is %d, and sums of numbers of %d digits need %d hints\n"
                   "  expected: at least %d hints (at most 128), or shorter numbers",
                   kind, options[HINTS], longer, longer + 1, longer + 1);
}

lh_status lh_task_free_addition(lh_collection *collection, lh_error *error) {
    const int *options = collection->options;
    const lh_sum_task task = {.kind = kind,
                              .numbers = 2,
                              .max_digits = options[MAX_DIGITS],
                              .pairs = options[PAIRS],
                              .parts = options[PARTS],
                              .tests = options[TESTS],
                              .measure = measure,
                              .expand = expand};
    return lh_collect_sums(&task, collection, error);
}

lh_status lh_solve_free_addition(const lh_literal *literal, lh_example *example, lh_error *error) {
    lh_literal l = *literal;
    lh_addends addends;
    if (l.count > 0 && l.token[l.count - 1] == EQUALS) l.count--;
    lh_status status = lh_read_addends(kind, 2, &l, &addends, error);
    if (status == LH_OK) write_example(&addends, (extras){.spaces = 0}, l.options, example);
    return status;
}
