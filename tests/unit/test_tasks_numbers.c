/* The samplers of runtime/data/tasks with binary numbers: addition, multiplication, square root. The test computes
 * results in limbs of 32 bits and checks roots by their definition. It also checks distributions, and the scores of
 * analytic predictors. */
#include "lh_tasks.h"
#include "lh_test.h"

#include <string.h>

lh_task_sample lh_task_binary_addition, lh_task_binary_multiplication, lh_task_compute_sqrt;

/* ---- numbers ---- */

enum { LIMBS = LH_TASKS_LONGEST / 32 + 2 };

typedef struct number {
    uint32_t limb[LIMBS];
} number;

static void set_bit(number *x, int i) { x->limb[i / 32] |= 1u << i % 32; }

static int get_bit(const number *x, int i) { return (int)(x->limb[i / 32] >> i % 32 & 1); }

/* Reads bits. step: 1 if the lowest bit comes first; -1 if the highest comes first, and `bits` points to the last
 * bit. */
static number read_number(const uint16_t *bits, int count, int step) {
    number x = {{0}};
    for (int i = 0; i < count; i++)
        if (bits[i * step] == 1) set_bit(&x, i);
    return x;
}

static int count_bits(const number *x) {
    int length = 32 * LIMBS;
    while (length > 0 && !get_bit(x, length - 1)) length--;
    return length;
}

static number add(const number *x, const number *y) {
    number sum;
    uint64_t carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t)x->limb[i] + y->limb[i];
        sum.limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return sum;
}

static number multiply(const number *x, const number *y) {
    number product = {{0}};
    for (int i = 0; i < LIMBS; i++) {
        uint64_t carry = 0;
        for (int j = 0; x->limb[i] != 0 && i + j < LIMBS; j++) {
            carry += (uint64_t)x->limb[i] * y->limb[j] + product.limb[i + j];
            product.limb[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    return product;
}

static bool is_less(const number *x, const number *y) {
    int i = LIMBS - 1;
    while (i > 0 && x->limb[i] == y->limb[i]) i--;
    return x->limb[i] < y->limb[i];
}

/* ---- the targets, by definition ---- */

/* Whether the target has the bits of x up to the highest 1, but at least `min_bits` bits, then a terminator (the last
 * counted label), then zeros. */
static bool is_written(const lh_drawn_example *d, const number *x, int min_bits) {
    int length = count_bits(x) > min_bits ? count_bits(x) : min_bits;
    if (length + 1 > d->outputs || d->target[length] != 2 || d->counted != length + 1) return false;
    for (int i = 0; i < d->outputs; i++)
        if (i != length && d->target[i] != (i < length ? get_bit(x, i) : 0)) return false;
    return true;
}

/* Reads the two operands. Returns whether both exist and neither is 0. */
static bool read_operands(const lh_drawn_example *d, number *x, number *y) {
    int index = 0;
    while (index < d->n && d->input[index] != 2) index++;
    if (index == 0 || index >= d->n - 1) return false;
    for (int i = index + 1; i < d->n; i++)
        if (d->input[i] > 1) return false;
    *x = read_number(d->input, index, 1);
    *y = read_number(d->input + index + 1, d->n - 1 - index, 1);
    return count_bits(x) > 0 && count_bits(y) > 0;
}

/* Reads an input that is a single number. Returns whether the number is allowed: 0 with one bit, 0 to 2 with two
 * bits. */
static bool read_single_number(const lh_drawn_example *d, number *x) {
    *x = read_number(d->input, d->n, 1);
    return x->limb[0] < (d->n == 1 ? 1 : 3) && d->input[0] < 2 && d->input[d->n - 1] < 2;
}

static bool is_sum_right(const lh_drawn_example *d) {
    number x, y;
    if (d->n < 3) return read_single_number(d, &x) && is_written(d, &x, 1);
    if (!read_operands(d, &x, &y)) return false;
    number sum = add(&x, &y);
    return is_written(d, &sum, 1);
}

static bool is_product_right(const lh_drawn_example *d) {
    number x, y, zero = {{0}};
    if (d->n < 3) return read_single_number(d, &x) && is_written(d, &zero, d->n - 1);
    if (!read_operands(d, &x, &y)) return false;
    number product = multiply(&x, &y);
    return is_written(d, &product, 1);
}

/* Whether root^2 <= x < (root + 1)^2. */
static bool is_root_right(const lh_drawn_example *d) {
    number unit = {{1}}, x = read_number(d->input + d->n - 1, d->n, -1);
    for (int i = 0; i < d->outputs; i++)
        if (d->target[i] > 1) return false;
    number root = read_number(d->target + d->outputs - 1, d->outputs, -1), next = add(&root, &unit);
    number square = multiply(&root, &root), next_square = multiply(&next, &next);
    return d->counted == d->outputs && count_bits(&x) > 0 && !is_less(&x, &square) && is_less(&x, &next_square);
}

static int halve_length(int n) { return n - n / 2; }

static const lh_task_case addition = {.sample = lh_task_binary_addition,
                                      .rule = is_sum_right,
                                      .inputs = lh_keep_length,
                                      .outputs = lh_add_one,
                                      .symbols = 3,
                                      .classes = 3};
static const lh_task_case multiplication = {.sample = lh_task_binary_multiplication,
                                            .rule = is_product_right,
                                            .inputs = lh_keep_length,
                                            .outputs = lh_keep_length,
                                            .symbols = 3,
                                            .classes = 3};
static const lh_task_case root = {.sample = lh_task_compute_sqrt,
                                  .rule = is_root_right,
                                  .inputs = lh_keep_length,
                                  .outputs = halve_length,
                                  .symbols = 2,
                                  .classes = 2};

/* ---- targets ---- */

static void test_addition_is_right_at_every_length(void **state) {
    lh_check_worked_example(&addition, "001201101", "010112|0000");
    lh_check_worked_example(&addition, "1121", "0012|0");
    lh_check_worked_example(&addition, "121", "012|0");
    lh_check_worked_example(&addition, "0", "02|");
    lh_check_worked_example(&addition, "00", "02|0");
    lh_check_worked_example(&addition, "10", "12|0");
    lh_check_worked_example(&addition, "01", "012|");
    lh_check_every_length(&addition);
}

static void test_multiplication_is_right_at_every_length(void **state) {
    lh_check_worked_example(&multiplication, "001201101", "00011012|0");
    lh_check_worked_example(&multiplication, "1121", "112|0");
    lh_check_worked_example(&multiplication, "0", "2|");
    lh_check_worked_example(&multiplication, "00", "02|");
    lh_check_worked_example(&multiplication, "10", "02|");
    lh_check_worked_example(&multiplication, "01", "02|");
    lh_check_every_length(&multiplication);
}

static void test_square_root_is_right_at_every_length(void **state) {
    lh_check_worked_example(&root, "100101", "110");
    lh_check_worked_example(&root, "00111", "010");
    lh_check_every_length(&root);
}

/* All numbers of up to 12 bits but 0 occur, each with its root rounded down. */
static void test_square_roots_of_all_small_numbers_are_right(void **state) {
    static lh_drawn_example example;
    static unsigned char has_occurred[4096];
    for (uint32_t e = 0; e < 60000; e++) {
        lh_draw_example(&root, 12, 4, e, &example);
        unsigned x = 0, r = 0;
        for (int i = 0; i < 12; i++) x = 2 * x + example.input[i];
        for (int i = 0; i < 6; i++) r = 2 * r + example.target[i];
        assert_true(r * r <= x && x < (r + 1) * (r + 1));
        has_occurred[x] = 1;
    }
    for (int x = 1; x < 4096; x++) assert_int_equal(has_occurred[x], 1);
    assert_int_equal(has_occurred[0], 0);
}

/* ---- distributions ---- */

/* Checks distributions: the operator's index, from 1 to n - 2, is uniform; both operands are uniform and not 0. */
static void check_operands(const lh_task_case *task) {
    static lh_drawn_example example;
    long operator_counts[9] = {0}, pairs[49] = {0}, singles[3] = {0};
    for (uint32_t e = 0; e < 8000; e++) {
        lh_draw_example(task, 11, 3, e, &example);
        int index = 0;
        while (example.input[index] != 2) index++;
        operator_counts[index - 1]++;
        lh_draw_example(task, 7, 3, e, &example);
        if (example.input[3] == 2) {
            number x = read_number(example.input, 3, 1), y = read_number(example.input + 4, 3, 1);
            pairs[(x.limb[0] - 1) * 7 + y.limb[0] - 1]++;
        }
        lh_draw_example(task, 2, 3, e, &example);
        singles[example.input[0] + 2 * example.input[1]]++;
    }
    lh_check_equal(operator_counts, 9);
    lh_check_equal(pairs, 49);
    lh_check_equal(singles, 3);
}

static void test_operands_are_uniform(void **state) {
    check_operands(&addition);
    check_operands(&multiplication);
}

static void test_radicands_are_uniform(void **state) {
    static lh_drawn_example example;
    long count[15] = {0};
    for (uint32_t e = 0; e < 6000; e++) {
        lh_draw_example(&root, 4, 3, e, &example);
        count[8 * example.input[0] + 4 * example.input[1] + 2 * example.input[2] + example.input[3] - 1]++;
    }
    lh_check_equal(count, 15);
}

/* ---- analytic predictors ---- */

/* Calls of lh_check_score give the step of the lengths, the expected score and its error. */

static void test_constants_score_as_derived(void **state) {
    lh_check_score(&addition, lh_guess_1, 2, 50.0, 0.1);
    lh_check_score(&addition, lh_guess_0, 2, 49.3, 0.1);
    lh_check_score(&multiplication, lh_guess_0, 6, 49.8, 0.1);
    lh_check_score(&multiplication, lh_guess_1, 6, 49.6, 0.1);
    lh_check_score(&root, lh_guess_1, 10, 50.2, 0.1);
    lh_check_score(&root, lh_guess_0, 10, 49.8, 0.1);
}

static void test_counted_outputs_per_token_are_as_derived(void **state) {
    double actual[2] = {lh_compute_counted_share(&addition, 6), lh_compute_counted_share(&multiplication, 2)},
           expected[2] = {0.744, 0.987};
    lh_assert_close(actual, expected, 2, 0, 0.008);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addition_is_right_at_every_length),
        cmocka_unit_test(test_multiplication_is_right_at_every_length),
        cmocka_unit_test(test_square_root_is_right_at_every_length),
        cmocka_unit_test(test_square_roots_of_all_small_numbers_are_right),
        cmocka_unit_test(test_operands_are_uniform),
        cmocka_unit_test(test_radicands_are_uniform),
        cmocka_unit_test(test_constants_score_as_derived),
        cmocka_unit_test(test_counted_outputs_per_token_are_as_derived),
    };
    return cmocka_run_group_tests_name("tasks of numbers", tests, NULL, NULL);
}
