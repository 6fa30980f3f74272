/* kernels/cpu/recurrence.h and memory.h. Steps are compared with results that an independent implementation of the code
 * of Deletang et al. 2023 printed. The functions that add tokens and read cells to a step's sums are compared with
 * plain loops. test_parity.c compares whole networks. */
#include "support/lh_kernels.h"

#include "base/cpu_level.h"

enum { ROWS = 3, WIDTH = 16, CELL_WIDTH = 8 };

#include "kernels/cpu/memory.h"

static const double PRINTED = 5e-5; /* results are printed with four digits */

static void assert_printed(int count, const real *actual, double expected) { /* each number equals the printed one */
    for (int i = 0; i < count; i++)
        if (!(fabs(actual[i] - expected) <= PRINTED)) fail_msg("%d: %.6f, not %.4f", i, actual[i], expected);
}

static void fill(int count, real value, real *x) {
    for (int i = 0; i < count; i++) x[i] = value;
}

/* All weights of x are 1, all weights of h 0.5; x = 1, h = 0.2, c = 0.3. */
static void test_lstm_step_of_the_printed_case_gives_the_printed_state(void **state) {
    real gates[ROWS * 4 * WIDTH], cells[ROWS * WIDTH], states[ROWS * WIDTH];
    fill(ROWS * 4 * WIDTH, (real)(1 + 0.5 * 0.2), gates);
    fill(ROWS * WIDTH, (real)0.3, cells);
    lstm_step(ROWS, WIDTH, cells, gates, cells, states);
    assert_printed(ROWS * WIDTH, cells, 0.8679);
    assert_printed(ROWS * WIDTH, states, 0.5254);
}

static void test_lstm_step_without_earlier_cells_starts_at_zero(void **state) {
    real gates[2][ROWS * 4 * WIDTH], cells[2][ROWS * WIDTH], states[2][ROWS * WIDTH], zero[ROWS * WIDTH] = {0};
    for (int i = 0; i < 2; i++) {
        for (int n = 0; n < ROWS * 4 * WIDTH; n++) gates[i][n] = (real)(n % 7 - 3);
        lstm_step(ROWS, WIDTH, i ? zero : NULL, gates[i], cells[i], states[i]);
    }
    assert_memory_equal(cells[0], cells[1], sizeof *cells);
    assert_memory_equal(states[0], states[1], sizeof *states);
}

static void test_rnn_step_rectifies_sum_and_bias(void **state) {
    real bias[WIDTH], states[ROWS * WIDTH];
    fill(WIDTH, (real)0.25, bias);
    for (int n = 0; n < ROWS * WIDTH; n++) states[n] = (real)(n % 2 ? 0.5 : -0.5);
    rnn_step(ROWS, WIDTH, bias, states);
    for (int n = 0; n < ROWS * WIDTH; n++) assert_true(states[n] == (real)(n % 2 ? 0.75 : 0));
}

/* Sequences have three tokens; the functions read only the first. Token 2 occurs twice, so its row collects two
 * gradients. */
static void test_token_sums_read_and_collect_rows(void **state) {
    static const uint16_t token[ROWS * 3] = {2, 9, 9, 0, 9, 9, 2, 9, 9};
    real table[3 * WIDTH], bias[WIDTH], sums[ROWS * WIDTH], dtable[3 * WIDTH] = {0};
    for (int n = 0; n < 3 * WIDTH; n++) table[n] = (real)n;
    fill(WIDTH, (real)0.5, bias);
    token_sums(ROWS, WIDTH, token, 3, table, bias, sums);
    for (int m = 0; m < ROWS; m++)
        for (int n = 0; n < WIDTH; n++) assert_true(sums[m * WIDTH + n] == table[token[3 * m] * WIDTH + n] + bias[n]);
    token_sums_grad(ROWS, WIDTH, token, 3, sums, dtable);
    for (int n = 0; n < WIDTH; n++) {
        assert_true(dtable[n] == sums[WIDTH + n] && dtable[WIDTH + n] == 0);
        assert_true(dtable[2 * WIDTH + n] == sums[n] + sums[2 * WIDTH + n]);
    }
}

/* Fills the numbers of `count` cells with one value for each cell. */
static void fill_cells(int count, const double *values, real *cells) {
    for (int i = 0; i < count; i++) fill(CELL_WIDTH, (real)values[i], cells + i * CELL_WIDTH);
}

enum { HEADS = 2 * CELL_WIDTH };

/* Fills the heads of one row. The cell to push has the number `value` in all places. Then come logits whose softmax
 * is `probabilities`. */
static void fill_heads(double value, const double *probabilities, int actions, real *heads) {
    fill(HEADS, 0, heads);
    fill(CELL_WIDTH, (real)value, heads);
    for (int k = 0; k < actions; k++) heads[CELL_WIDTH + k] = (real)log(probabilities[k]);
}

static const double ACTIONS[] = {0.5, 0.3, 0.2}, STACK[] = {1, 2, 3, 0, 0};

/* A stack of three cells that is full: its last cell is lost by the push, and an empty cell follows it. */
static void test_stack_step_of_the_printed_case_gives_the_printed_stack(void **state) {
    real stack[5 * CELL_WIDTH], heads[HEADS], bias[HEADS] = {0}, read[CELL_WIDTH];
    fill_cells(5, STACK, stack);
    fill_heads(9, ACTIONS, 3, heads);
    stack_step(1, HEADS, 3, 5 * CELL_WIDTH, bias, stack, heads, stack, read);
    static const double expected[] = {5.3, 1.8, 1.6, 0, 0};
    for (int i = 0; i < 5; i++) assert_printed(CELL_WIDTH, stack + i * CELL_WIDTH, expected[i]);
    assert_printed(CELL_WIDTH, read, 5.3);
}

static void test_stack_step_adds_biases_of_value_and_actions(void **state) {
    real stack[4 * CELL_WIDTH], heads[HEADS], bias[HEADS], read[CELL_WIDTH];
    fill_cells(4, STACK, stack);
    fill(HEADS, 0, heads);
    fill_heads(9, ACTIONS, 3, bias);
    stack_step(1, HEADS, 1, 4 * CELL_WIDTH, bias, stack, heads, stack, read);
    assert_printed(CELL_WIDTH, read, 5.3);
    assert_printed(CELL_WIDTH, heads, 9);
    for (int k = 0; k < 3; k++) assert_printed(1, heads + CELL_WIDTH + k, ACTIONS[k]);
}

/* The gradient of the sum of all numbers of the new stack. A cell has 8 equal numbers. The new stack is a mixture of
 * three stacks: after a push their sum is 8 (9 + 1 + 2), after a pop 8 (2 + 3), and without a change 8 (1 + 2 + 3). */
static void test_stack_step_grad_has_values_computed_by_hand(void **state) {
    real stack[5 * CELL_WIDTH], heads[HEADS], dstack[5 * CELL_WIDTH] = {0};
    fill_cells(5, STACK, stack);
    fill(CELL_WIDTH, 9, heads);
    for (int k = 0; k < 3; k++) heads[CELL_WIDTH + k] = (real)ACTIONS[k];
    fill(3 * CELL_WIDTH, 1, dstack);
    stack_step_grad(1, HEADS, 3, 5 * CELL_WIDTH, stack, heads, dstack);
    const double action[] = {8 * 12, 8 * 5, 8 * 6}, mean = 8 * (0.5 * 12 + 0.3 * 5 + 0.2 * 6);
    assert_printed(CELL_WIDTH, heads, 0.5);
    for (int k = 0; k < 3; k++) assert_printed(1, heads + CELL_WIDTH + k, ACTIONS[k] * (action[k] - mean));
    static const double cells[] = {0.5 + 0.2, 1, 0.3 + 0.2, 0, 0};
    for (int i = 0; i < 5; i++) assert_printed(CELL_WIDTH, dstack + i * CELL_WIDTH, cells[i]);
}

/* The expected tapes are: unmoved, moved by one cell to the left and to the right, and moved by two cells to the left
 * and to the right. */
static void test_printed_moves_give_printed_tapes(void **state) {
    static const double tape[] = {9, 2, 3, 4};
    static const double moved[TAPE_ACTIONS][4] = {{9, 2, 3, 4}, {2, 3, 4, 9}, {4, 9, 2, 3}, {3, 4, 9, 2}, {3, 4, 9, 2}};
    real from[4 * CELL_WIDTH], to[4 * CELL_WIDTH];
    fill_cells(4, tape, from);
    for (int k = 0; k < TAPE_ACTIONS; k++) {
        real action[TAPE_ACTIONS] = {0};
        action[k] = 1;
        move_tape(4, 2, action, from, to); /* 4 cells, jump by 2 */
        for (int i = 0; i < 4; i++) assert_printed(CELL_WIDTH, to + i * CELL_WIDTH, moved[k][i]);
    }
}

/* A jump by one cell distinguishes its two directions, and a tape may have a single cell. */
static void test_move_tape_jumps_in_both_directions(void **state) {
    static const double tape[] = {1, 2, 3}, shifted_left[] = {2, 3, 1}, shifted_right[] = {3, 1, 2};
    real from[3 * CELL_WIDTH], to[3 * CELL_WIDTH];
    fill_cells(3, tape, from);
    move_tape(3, 1, (real[]){0, 0, 0, 1, 0}, from, to); /* 3 cells, jump by 1; action: jump left */
    for (int i = 0; i < 3; i++) assert_printed(CELL_WIDTH, to + i * CELL_WIDTH, shifted_left[i]);
    move_tape(3, 1, (real[]){0, 0, 0, 0, 1}, from, to); /* action: jump right */
    for (int i = 0; i < 3; i++) assert_printed(CELL_WIDTH, to + i * CELL_WIDTH, shifted_right[i]);
    move_tape(1, 0, (real[]){0.1f, 0.2f, 0.3f, 0.15f, 0.25f}, from, to); /* 1 cell, no jump */
    assert_printed(CELL_WIDTH, to, 1);
}

static const double MOVES[TAPE_ACTIONS] = {0.4, 0.2, 0.2, 0.1, 0.1};

/* The first cell is replaced before the tape moves. A row of `written` has two cells; the second is not read. */
static void test_tape_step_replaces_first_cell_and_moves(void **state) {
    static const double cells[] = {1, 2, 3, 4};
    real old_cells[4 * CELL_WIDTH], new_cells[4 * CELL_WIDTH], written[2 * CELL_WIDTH], read[CELL_WIDTH];
    real actions[TAPE_ACTIONS], bias[TAPE_ACTIONS] = {0};
    fill_cells(4, cells, old_cells);
    fill_cells(2, (double[]){9, NAN}, written);
    for (int k = 0; k < TAPE_ACTIONS; k++) actions[k] = (real)log(MOVES[k]);
    tape_step(1, TAPE_ACTIONS, 2 * CELL_WIDTH, 4, 2, bias, written, actions, old_cells, new_cells, read);
    const double first = 0.4 * 9 + 0.2 * 2 + 0.2 * 4 + 0.2 * 3;
    assert_printed(CELL_WIDTH, read, first);
    assert_printed(CELL_WIDTH, new_cells, first);
    assert_printed(CELL_WIDTH, new_cells + CELL_WIDTH, 0.4 * 2 + 0.2 * 3 + 0.2 * 9 + 0.2 * 4);
    assert_printed(CELL_WIDTH, old_cells, 9);
    for (int k = 0; k < TAPE_ACTIONS; k++) assert_printed(1, actions + k, MOVES[k]);
}

/* The gradient of the sum of the new first cell's numbers. The five actions take this cell from the old cells 0, 1, 3,
 * 2 and 2. */
static void test_tape_step_grad_has_values_computed_by_hand(void **state) {
    static const double cells[] = {9, 2, 3, 4};
    real old_cells[4 * CELL_WIDTH], dnew_cells[4 * CELL_WIDTH] = {0}, dold_cells[4 * CELL_WIDTH], dwritten[CELL_WIDTH];
    real actions[TAPE_ACTIONS];
    fill_cells(4, cells, old_cells);
    fill(CELL_WIDTH, 1, dnew_cells);
    for (int k = 0; k < TAPE_ACTIONS; k++) actions[k] = (real)MOVES[k];
    tape_step_grad(1, TAPE_ACTIONS, CELL_WIDTH, 4, 2, old_cells, dnew_cells, actions, dold_cells, dwritten);
    static const double expected[] = {0, 0.2, 0.2, 0.2}, source[TAPE_ACTIONS] = {9, 2, 4, 3, 3};
    const double mean = 0.4 * 9 + 0.2 * 2 + 0.2 * 4 + 0.2 * 3;
    for (int i = 0; i < 4; i++) assert_printed(CELL_WIDTH, dold_cells + i * CELL_WIDTH, expected[i]);
    assert_printed(CELL_WIDTH, dwritten, 0.4);
    for (int k = 0; k < TAPE_ACTIONS; k++) assert_printed(1, actions + k, MOVES[k] * 8 * (source[k] - mean));
}

/* The numbers of cells at six steps. At step t, earlier steps have filled at most t cells. Later steps can read at most
 * 6 - t of them. */
static void test_stack_cells_grow_until_the_middle_step(void **state) {
    static const int unlimited[] = {0, 1, 2, 3, 2, 1}, limited[] = {0, 1, 2, 2, 2, 1};
    for (int t = 0; t < 6; t++) {
        assert_int_equal(count_stack_cells(t, 6, 6), unlimited[t]);
        assert_int_equal(count_stack_cells(t, 6, 2), limited[t]);
    }
    assert_int_equal(count_stack_numbers(6, 6), (3 + 2) * CELL_WIDTH);
    assert_int_equal(count_stack_numbers(1, 1), 2 * CELL_WIDTH);
}

enum { COLUMNS = 2 * WIDTH };

static void test_add_read_adds_product_and_cells_times_weight(void **state) {
    real *product = make_random_reals(1, ROWS * COLUMNS, ROWS * COLUMNS), *sums = make_reals(ROWS * WIDTH);
    real *read = make_random_reals(2, ROWS * CELL_WIDTH, ROWS * CELL_WIDTH);
    real *weight = make_random_reals(3, CELL_WIDTH * WIDTH, CELL_WIDTH * WIDTH);
    fill(ROWS * WIDTH, 1, sums);
    double expected[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++) {
        int m = i / WIDTH, n = i % WIDTH;
        expected[i] = 1 + product[m * COLUMNS + n];
        for (int k = 0; k < CELL_WIDTH; k++) expected[i] += (double)read[m * CELL_WIDTH + k] * weight[k * WIDTH + n];
    }
    add_read(ROWS, WIDTH, COLUMNS, product, read, weight, sums);
    check_close(sums, expected, ROWS * WIDTH, sum_tolerance(CELL_WIDTH));
    free_all(product, sums, read, weight);
}

/* Gradients of cells are added at their places, here every second cell. */
static void test_add_read_grad_copies_sums_and_adds_to_cells(void **state) {
    real *dsums = make_random_reals(1, ROWS * WIDTH, ROWS * WIDTH), *dproduct = make_reals(ROWS * COLUMNS);
    real *weight = make_random_reals(2, CELL_WIDTH * WIDTH, CELL_WIDTH * WIDTH);
    real dcells[2 * ROWS * CELL_WIDTH];
    fill(ROWS * COLUMNS, 5, dproduct);
    fill(2 * ROWS * CELL_WIDTH, 1, dcells);
    double expected[2 * ROWS * CELL_WIDTH];
    for (int i = 0; i < 2 * ROWS * CELL_WIDTH; i++) {
        int m = i / (2 * CELL_WIDTH), k = i % (2 * CELL_WIDTH);
        expected[i] = 1;
        for (int n = 0; k < CELL_WIDTH && n < WIDTH; n++)
            expected[i] += (double)dsums[m * WIDTH + n] * weight[k * WIDTH + n];
    }
    add_read_grad(ROWS, WIDTH, COLUMNS, dsums, weight, 2 * CELL_WIDTH, dproduct, dcells);
    check_close(dcells, expected, 2 * ROWS * CELL_WIDTH, sum_tolerance(WIDTH));
    for (int m = 0; m < ROWS; m++) {
        assert_memory_equal(dproduct + m * COLUMNS, dsums + m * WIDTH, WIDTH * sizeof(real));
        for (int n = WIDTH; n < COLUMNS; n++) assert_true(dproduct[m * COLUMNS + n] == 5);
    }
    free_all(dsums, dproduct, weight);
}

static void test_read_weight_grad_sums_outer_products(void **state) {
    real *read = make_random_reals(1, ROWS * CELL_WIDTH, ROWS * CELL_WIDTH);
    real *dsums = make_random_reals(2, ROWS * WIDTH, ROWS * WIDTH), *dweight = make_reals(CELL_WIDTH * WIDTH);
    fill(CELL_WIDTH * WIDTH, 1, dweight);
    double expected[CELL_WIDTH * WIDTH];
    for (int i = 0; i < CELL_WIDTH * WIDTH; i++) {
        expected[i] = 1;
        for (int m = 0; m < ROWS; m++)
            expected[i] += (double)read[m * CELL_WIDTH + i / WIDTH] * dsums[m * WIDTH + i % WIDTH];
    }
    read_weight_grad(ROWS, WIDTH, read, dsums, dweight);
    check_close(dweight, expected, CELL_WIDTH * WIDTH, sum_tolerance(ROWS));
    free_all(read, dsums, dweight);
}

static const struct CMUnitTest TESTS[] = {
    cmocka_unit_test(test_lstm_step_of_the_printed_case_gives_the_printed_state),
    cmocka_unit_test(test_lstm_step_without_earlier_cells_starts_at_zero),
    cmocka_unit_test(test_rnn_step_rectifies_sum_and_bias),
    cmocka_unit_test(test_token_sums_read_and_collect_rows),
    cmocka_unit_test(test_stack_step_of_the_printed_case_gives_the_printed_stack),
    cmocka_unit_test(test_stack_step_adds_biases_of_value_and_actions),
    cmocka_unit_test(test_stack_step_grad_has_values_computed_by_hand),
    cmocka_unit_test(test_stack_cells_grow_until_the_middle_step),
    cmocka_unit_test(test_printed_moves_give_printed_tapes),
    cmocka_unit_test(test_move_tape_jumps_in_both_directions),
    cmocka_unit_test(test_tape_step_replaces_first_cell_and_moves),
    cmocka_unit_test(test_tape_step_grad_has_values_computed_by_hand),
    cmocka_unit_test(test_add_read_adds_product_and_cells_times_weight),
    cmocka_unit_test(test_add_read_grad_copies_sums_and_adds_to_cells),
    cmocka_unit_test(test_read_weight_grad_sums_outer_products),
};

int main(void) {
    if (!lh_level_is_supported(LH_LEVEL_NAME)) {
        print_message("recurrence: skipped, this machine does not run %s\n", LH_LEVEL_NAME);
        return 0;
    }
    return cmocka_run_group_tests_name(REAL_BYTES == 8 ? "recurrence " LH_LEVEL_NAME " float64"
                                                       : "recurrence " LH_LEVEL_NAME " float32",
                                       TESTS, NULL, NULL);
}
