/* The samplers of runtime/data/tasks modulo 5: simple arithmetic, brackets, equations. The test parses expressions
 * itself, so it finds malformed expressions. It also checks distributions, and the scores of analytic predictors. */
#include "lh_tasks.h"
#include "lh_test.h"

lh_task_sample lh_task_modular_arithmetic_simple, lh_task_modular_arithmetic_brackets, lh_task_solve_equation;

/* ---- the targets, by definition ---- */

enum { PLUS = 5, MINUS = 6, TIMES = 7, UNKNOWN = 9 /* x */, EQUALS = 10 }; /* tokens; 0 to 4 are digits */

static int reduce_modulo_5(int value) { return (value % 5 + 5) % 5; }

/* The value of a sum of products without brackets; -1 if the tokens are not such a sum. */
static int compute_value_of_sum(const uint16_t *tokens, int count) {
    int sum = 0, sign = 1;
    for (int i = 0; i < count;) {
        int product = sign;
        for (bool has_operator = true; has_operator; i += 2) { /* a digit and the operator after it */
            if (tokens[i] > 4) return -1;
            product = reduce_modulo_5(product * tokens[i]);
            if (i + 1 < count && (tokens[i + 1] < PLUS || tokens[i + 1] > TIMES)) return -1;
            has_operator = i + 1 < count && tokens[i + 1] == TIMES;
        }
        sum = reduce_modulo_5(sum + product);
        sign = i - 1 < count && tokens[i - 1] == MINUS ? -1 : 1;
    }
    return sum;
}

/* The tokens of an expression with brackets, read up to `cursor`. */
typedef struct token_text {
    const uint16_t *cursor, *end;
    int operators; /* number of the task's operators; the tokens after the last operator are the brackets */
    int x_value;   /* value of x; -1: there is no x */
    bool is_valid; /* no token read so far is wrong */
} token_text;

static int take_token(token_text *t) {
    t->is_valid = t->is_valid && t->cursor < t->end;
    return t->is_valid ? *t->cursor++ : -1;
}

static void expect(token_text *t, int token) { t->is_valid = take_token(t) == token && t->is_valid; }

static bool is_next(const token_text *t, int token) { return t->cursor < t->end && *t->cursor == token; }

static int read_digit(token_text *t) {
    int token = take_token(t);
    if (t->x_value >= 0 && token == UNKNOWN) return t->x_value;
    t->is_valid = t->is_valid && token < 5;
    return token;
}

static int read_signed_digit(token_text *t) {
    if (!is_next(t, MINUS)) return read_digit(t);
    take_token(t);
    return reduce_modulo_5(-read_digit(t));
}

/* Reads a digit, a negative digit, either kind in brackets, or (left op right). */
static int read_expression(token_text *t) {
    int open = PLUS + t->operators;
    if (!is_next(t, open)) return read_signed_digit(t);
    take_token(t);
    int left_value = read_expression(t);
    if (!is_next(t, open + 1)) {
        int op = take_token(t), right_value = read_expression(t);
        t->is_valid = t->is_valid && op >= PLUS && op < open;
        left_value = reduce_modulo_5(op == PLUS    ? left_value + right_value
                                     : op == MINUS ? left_value - right_value
                                                   : left_value * right_value);
    }
    expect(t, open + 1);
    return left_value;
}

/* The value of an expression; -1 if the tokens are not an expression. */
static int evaluate_tokens(const uint16_t *tokens, int count, int operators, int x_value) {
    token_text t = {tokens, tokens + count, operators, x_value, true};
    int value = read_expression(&t);
    return t.is_valid && t.cursor == t.end ? value : -1;
}

static bool sum_has_value(const lh_drawn_example *d) {
    return d->counted == 1 && d->target[0] == compute_value_of_sum(d->input, d->inputs);
}

static bool brackets_have_value(const lh_drawn_example *d) {
    return d->counted == 1 && d->target[0] == evaluate_tokens(d->input, d->inputs, 3, -1);
}

/* Whether the target solves the equation, and no other digit does. */
static bool equation_is_solved(const lh_drawn_example *d) {
    int unknowns = 0;
    if (d->n < 3) return d->counted == 1 && d->target[0] == 0 && d->input[0] == 0 && d->input[d->n - 1] == 0;
    for (int i = 0; i < d->n; i++) unknowns += d->input[i] == UNKNOWN;
    if (unknowns != 1 || d->input[d->n - 2] != EQUALS || d->input[d->n - 1] > 4) return false;
    for (int x = 0; x < 5; x++) {
        bool solves = evaluate_tokens(d->input, d->n - 2, 2, x) == d->input[d->n - 1];
        if (solves != (x == d->target[0])) return false;
    }
    return d->counted == 1;
}

static int get_odd_length(int n) { return n % 2 ? n : n - 1; }

static const lh_task_case simple = {.sample = lh_task_modular_arithmetic_simple,
                                    .rule = sum_has_value,
                                    .inputs = get_odd_length,
                                    .outputs = lh_get_one,
                                    .symbols = 9,
                                    .classes = 5};
static const lh_task_case brackets = {.sample = lh_task_modular_arithmetic_brackets,
                                      .rule = brackets_have_value,
                                      .inputs = lh_keep_length,
                                      .outputs = lh_get_one,
                                      .symbols = 11,
                                      .classes = 5};
static const lh_task_case equation = {.sample = lh_task_solve_equation,
                                      .rule = equation_is_solved,
                                      .inputs = lh_keep_length,
                                      .outputs = lh_get_one,
                                      .symbols = 11,
                                      .classes = 5};

/* ---- targets ---- */

static void test_simple_arithmetic_has_its_value_at_every_length(void **state) {
    lh_check_worked_example(&simple, "15273", "2");
    lh_check_worked_example(&simple, "0647362", "1");
    lh_check_every_length(&simple);
}

static void test_brackets_have_their_value_at_every_length(void **state) {
    lh_check_worked_example(&brackets, "88639749", "3");
    lh_check_worked_example(&brackets, "8268156499", "0");
    lh_check_every_length(&brackets);
}

static void test_equations_are_solved_at_every_length(void **state) {
    lh_check_worked_example(&equation, "79538a1", "3");
    lh_check_worked_example(&equation, "762698a0", "3");
    lh_check_worked_example(&equation, "0", "0");
    lh_check_worked_example(&equation, "00", "0");
    lh_check_every_length(&equation);
}

/* ---- distributions ---- */

static void test_digits_and_operators_of_simple_arithmetic_are_uniform(void **state) {
    static lh_drawn_example example;
    static long digits[11][5], operators[10][3], pairs[10][15];
    for (uint32_t e = 0; e < 6000; e++) {
        lh_draw_example(&simple, 22, 3, e, &example);
        for (int i = 0; i < 11; i++) digits[i][example.input[2 * i]]++;
        for (int i = 0; i < 10; i++) {
            operators[i][example.input[2 * i + 1] - 5]++;
            pairs[i][example.input[2 * i] * 3 + example.input[2 * i + 1] - 5]++;
        }
    }
    for (int i = 0; i < 11; i++) lh_check_equal(digits[i], 5);
    for (int i = 0; i < 10; i++) lh_check_equal(operators[i], 3);
    for (int i = 0; i < 10; i++) lh_check_equal(pairs[i], 15);
}

/* The number of tokens in the first operand of a pair of brackets. */
static int measure_left_side(const lh_drawn_example *d, int operators) {
    int depth = 0, i = 1;
    do { /* up to the operator at the outer level; a minus before a digit is a sign */
        if (d->input[i] == 5 + operators) depth++;
        if (d->input[i] == 6 + operators) depth--;
        i++;
    } while (depth > 0 || d->input[i] < 5 || d->input[i] >= 5 + operators);
    return i - 1;
}

/* The left side of (left op right) has 1 to length - 4 tokens, with equal frequencies. Operators and digits are
 * uniform, too. length: tokens of the expression, that is, n without the = and the result of an equation. */
static void check_pairs(const lh_task_case *task, int n, int length, int operators) {
    static lh_drawn_example example;
    long lengths[20] = {0}, operator_counts[3] = {0}, digits[5] = {0};
    for (uint32_t e = 0; e < 6000; e++) {
        lh_draw_example(task, n, 3, e, &example);
        int left = measure_left_side(&example, operators);
        lengths[left - 1]++;
        operator_counts[example.input[left + 1] - 5]++;
        if (left == 1 && example.input[1] < 5) digits[example.input[1]]++;
    }
    lh_check_equal(lengths, length - 4);
    lh_check_equal(operator_counts, operators);
    lh_check_equal(digits, 5);
}

static void test_left_sides_operators_and_digits_of_expressions_are_uniform(void **state) {
    check_pairs(&brackets, 20, 20, 3);
    check_pairs(&equation, 22, 20, 2);
}

/* Short expressions: a digit, a minus for n = 2 and 4, brackets for n = 3 and 4. */
static void test_short_expressions_have_their_form(void **state) {
    static const uint16_t form[5][4] = {{0}, {0}, {6, 0}, {8, 0, 9}, {8, 6, 0, 9}};
    static const int digit_index[5] = {0, 0, 1, 1, 2};
    static lh_drawn_example example;
    for (int n = 1; n <= 4; n++) {
        long digits[5] = {0};
        for (uint32_t e = 0; e < 2000; e++) {
            lh_draw_example(&brackets, n, 3, e, &example);
            for (int i = 0; i < n; i++)
                if (i != digit_index[n]) assert_int_equal(example.input[i], form[n][i]);
            digits[example.input[digit_index[n]]]++;
        }
        lh_check_equal(digits, 5);
    }
}

/* In (d op d), the digits have the indices 1 and 3. The sampler hides the next digit, cyclically, from a uniform index
 * on. From the indices 0, 1 and 4 this is the first digit, from 2 and 3 the second. */
static void test_hidden_digit_is_the_next_from_a_uniform_index_on(void **state) {
    enum { EXAMPLES = 10000 };
    static lh_drawn_example example;
    long hidden_first = 0, answers[5] = {0}; /* hidden_first: expressions whose first digit is hidden */
    for (uint32_t e = 0; e < EXAMPLES; e++) {
        lh_draw_example(&equation, 7, 3, e, &example);
        hidden_first += example.input[1] == UNKNOWN;
        answers[example.target[0]]++;
    }
    assert_in_range(hidden_first, EXAMPLES * 3 / 5 - 210, EXAMPLES * 3 / 5 + 210); /* 4.3 standard deviations */
    lh_check_equal(answers, 5);
}

/* Zero is the value of 29.2% of expressions with brackets at n = 41 and of 31.6% at n = 500; the other values are
 * equally frequent. */
static void test_classes_of_brackets_have_their_shares(void **state) {
    enum { EXAMPLES = 10000 };
    static lh_drawn_example example;
    for (int i = 0; i < 2; i++) {
        long count[5] = {0};
        for (uint32_t e = 0; e < EXAMPLES; e++) {
            lh_draw_example(&brackets, i ? 500 : 41, 3, e, &example);
            count[example.target[0]]++;
        }
        double actual = 100.0 * (double)count[0] / EXAMPLES, expected = i ? 31.6 : 29.2;
        lh_assert_close(&actual, &expected, 1, 0, 1.9);
        lh_check_equal(count + 1, 4);
    }
}

/* ---- analytic predictors ---- */

/* Calls of lh_check_score give the step of the lengths, the expected score and its error. */

static void test_constants_score_as_derived(void **state) {
    lh_check_score(&simple, lh_guess_0, 1, 20.0, 0.0);
    lh_check_score(&simple, lh_guess_1, 1, 20.0, 0.0);
    lh_check_score(&brackets, lh_guess_0, 1, 31.01, 0.005);
    lh_check_score(&equation, lh_guess_0, 1, 20.0, 0.5); /* the classes are near uniform */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simple_arithmetic_has_its_value_at_every_length),
        cmocka_unit_test(test_brackets_have_their_value_at_every_length),
        cmocka_unit_test(test_equations_are_solved_at_every_length),
        cmocka_unit_test(test_digits_and_operators_of_simple_arithmetic_are_uniform),
        cmocka_unit_test(test_left_sides_operators_and_digits_of_expressions_are_uniform),
        cmocka_unit_test(test_short_expressions_have_their_form),
        cmocka_unit_test(test_hidden_digit_is_the_next_from_a_uniform_index_on),
        cmocka_unit_test(test_classes_of_brackets_have_their_shares),
        cmocka_unit_test(test_constants_score_as_derived),
    };
    return cmocka_run_group_tests_name("tasks of expressions", tests, NULL, NULL);
}
