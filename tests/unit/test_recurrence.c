/* kernels/cpu/recurrence.h: steps with printed results, from a second reading of Deletang et al. 2023's code, and the
 * input's part of the sums. test_parity.c compares whole networks. */
#include "support/lh_kernels.h"

#include "base/cpu_level.h"
#include "kernels/cpu/recurrence.h"

enum { ROWS = 3, WIDTH = 16 };

static const double PRINTED = 5e-5; /* results are printed with four digits */

static void assert_printed(int count, const real *actual, double expected) {
    for (int i = 0; i < count; i++)
        if (!(fabs(actual[i] - expected) <= PRINTED)) fail_msg("%d: %.6f, not %.4f", i, actual[i], expected);
}

static void fill(int count, real value, real *x) {
    for (int i = 0; i < count; i++) x[i] = value;
}

/* All weights of x are 1, and of h 0.5; x = 1, h = 0.2, c = 0.3. */
static void test_lstm_step_printed_case_gives_printed_state(void **state) {
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

/* A column of tokens of sequences of three tokens, in which a token occurs twice. */
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

static const struct CMUnitTest TESTS[] = {
    cmocka_unit_test(test_lstm_step_printed_case_gives_printed_state),
    cmocka_unit_test(test_lstm_step_without_earlier_cells_starts_at_zero),
    cmocka_unit_test(test_rnn_step_rectifies_sum_and_bias),
    cmocka_unit_test(test_token_sums_read_and_collect_rows),
};

int main(void) {
    if (!lh_level_runs(LH_LEVEL_NAME)) {
        print_message("recurrence: skipped, this machine does not run %s\n", LH_LEVEL_NAME);
        return 0;
    }
    return cmocka_run_group_tests_name(REAL_BYTES == 8 ? "recurrence " LH_LEVEL_NAME " float64"
                                                       : "recurrence " LH_LEVEL_NAME " float32",
                                       TESTS, NULL, NULL);
}
