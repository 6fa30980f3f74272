/* The emulation computes what a device computes, in every order of threads, and detects errors of device code. */
#include "lh_test.h"

#include <math.h>
#include <string.h>

#include "emulation.h"
#include "found.h"

enum { ORDERS = 5 };

static void set_order(unsigned order) {
    lh_emulation emulation = {.order = order, .max_idle_rounds = 100};
    lh_emulation_set(&emulation);
}

static lh_status launch(const char *kernel, int blocks, int threads, size_t memory, lh_error *error, void *a, void *b,
                        void *c) {
    void *arguments[] = {a, b, c};
    return lh_emulation_launch(kernel, blocks, threads, memory, arguments, error);
}

static void test_sum_by_shuffles_in_every_order(void **state) {
    enum { BLOCKS = 3, THREADS = 256 };
    float in[BLOCKS * THREADS], out[BLOCKS], *ip = in, *op = out;
    lh_error error;
    for (int i = 0; i < BLOCKS * THREADS; i++) in[i] = (float)(i % 61);
    for (unsigned order = 0; order < ORDERS; order++) {
        set_order(order);
        lh_assert_ok(launch("sum_kernel", BLOCKS, THREADS, THREADS / 32 * sizeof(float), &error, &ip, &op, NULL),
                     &error);
        for (int b = 0; b < BLOCKS; b++) {
            float expected = 0;
            for (int i = 0; i < THREADS; i++) expected += in[b * THREADS + i];
            assert_true(out[b] == expected);
        }
    }
}

static void test_grid_barrier_holds_in_every_order(void **state) {
    enum { BLOCKS = 6 };
    int rounds = 9;
    lh_error error;
    for (unsigned order = 0; order < ORDERS; order++) {
        unsigned cells[2 * BLOCKS] = {0}, arrivals = 0, *cp = cells, *ap = &arrivals;
        set_order(order);
        lh_assert_ok(launch("meet_kernel", BLOCKS, 64, 0, &error, &cp, &ap, &rounds), &error);
        unsigned sum = BLOCKS * (BLOCKS - 1) / 2 + BLOCKS;
        for (int round = 1; round < rounds; round++) sum = BLOCKS * (sum + 1);
        for (int b = 0; b < BLOCKS; b++) assert_int_equal(cells[rounds % 2 * BLOCKS + b], sum);
        assert_int_equal(arrivals, BLOCKS * rounds);
    }
}

static void test_shuffles_and_votes_exchange_values_of_a_warp(void **state) {
    int out[3][32], *op = &out[0][0];
    double large[32], *lp = large;
    lh_error error;
    for (unsigned order = 0; order < ORDERS; order++) {
        set_order(order);
        lh_assert_ok(launch("shuffle_kernel", 1, 32, 0, &error, &op, &lp, NULL), &error);
        for (int t = 0; t < 32; t++) {
            assert_int_equal(out[0][t], t + 5 < 32 ? t + 5 : t);
            assert_int_equal(out[1][t], 107);
            assert_int_equal(out[2][t], 0x49249249);
            assert_true(large[t] == 1.0 / (1 + (t ^ 1)) + (t < 8 ? 1.0 / 3 : 0));
        }
    }
}

/* Returns the set of orders, one bit each, in which every thread reads its neighbour's number; in the other orders some
 * thread reads a NaN. */
static unsigned find_right_orders(const char *kernel, int threads, int side) {
    float out[256], *op = out;
    lh_error error;
    unsigned right = 0;
    for (unsigned order = 0; order < ORDERS; order++) {
        int equal_count = 0;
        set_order(order);
        lh_assert_ok(launch(kernel, 1, threads, (size_t)threads * sizeof(float), &error, &op, &side, NULL), &error);
        for (int t = 0; t < threads; t++) {
            int expected = t + side < 0 || t + side == threads ? t : t + side;
            assert_true(isnan(out[t]) || out[t] == (float)expected);
            equal_count += out[t] == (float)expected;
        }
        right |= (unsigned)(equal_count == threads) << order;
    }
    return right;
}

static void test_missing_barrier_shows_in_some_order(void **state) {
    for (int threads = 32; threads <= 256; threads *= 8)
        for (int side = -1; side <= 1; side += 2) {
            assert_int_equal(find_right_orders("neighbour_kernel", threads, side), (1 << ORDERS) - 1);
            unsigned by_luck = side < 0 ? LH_EMULATION_ASCENDING : LH_EMULATION_DESCENDING;
            assert_int_equal(find_right_orders("racing_kernel", threads, side), 1 << by_luck);
        }
}

static void test_divergent_barrier_is_reported(void **state) {
    lh_error error;
    for (unsigned order = 0; order < ORDERS; order++) {
        set_order(order);
        lh_assert_error(launch("divergent_kernel", 5, 64, 0, &error, NULL, NULL, NULL), LH_ERR_INPUT, &error,
                        "reached by 40 of 64 threads of block 3");
    }
}

static void test_partial_shuffle_is_reported(void **state) {
    int out[64], *op = out;
    lh_error error;
    set_order(0);
    lh_assert_error(launch("partial_kernel", 1, 64, 0, &error, &op, NULL, NULL), LH_ERR_INPUT, &error,
                    "__shfl_xor_sync");
    unsigned mask = 0xffffu;
    int source = 3;
    lh_assert_error(launch("masked_kernel", 1, 32, 0, &error, &op, &mask, &source), LH_ERR_INPUT, &error,
                    "is not in its mask");
    lh_assert_error(launch("masked_kernel", 1, 16, 0, &error, &op, &mask, (source = 20, &source)), LH_ERR_INPUT, &error,
                    "a lane that takes no part");
    lh_assert_ok(launch("masked_kernel", 1, 16, 0, &error, &op, &mask, (source = 3, &source)), &error);
    assert_int_equal(out[15], 3);
}

static void test_deadlock_is_reported(void **state) {
    unsigned flag = 0, *fp = &flag;
    lh_error error;
    for (unsigned order = 0; order < ORDERS; order++) {
        set_order(order);
        lh_assert_error(launch("waiting_kernel", 2, 64, 0, &error, &fp, NULL, NULL), LH_ERR_INPUT, &error,
                        "deadlock after 101 rounds; __nanosleep");
    }
    lh_assert_error(launch("polling_kernel", 2, 64, 0, &error, &fp, NULL, NULL), LH_ERR_INPUT, &error,
                    "deadlock after 10001 rounds; __nanosleep");
    flag = 1;
    lh_assert_ok(launch("waiting_kernel", 2, 64, 0, &error, &fp, NULL, NULL), &error);
    lh_assert_ok(launch("polling_kernel", 2, 64, 0, &error, &fp, NULL, NULL), &error);
}

static int write_shared(int index) {
    lh_error error;
    return launch("outside_kernel", 2, 64, 10 * sizeof(float), &error, &index, NULL, NULL);
}

static void test_write_outside_of_shared_memory_is_reported(void **state) {
    set_order(0);
    assert_int_equal(lh_find_error(write_shared, 0), LH_OK);
    assert_int_equal(lh_find_error(write_shared, 9), LH_OK);
    assert_int_not_equal(lh_find_error(write_shared, 10), LH_OK);
    assert_int_not_equal(lh_find_error(write_shared, -1), LH_OK);
}

/* Numbers with 1 + bits significant bits: their product is exact even if operands are rounded. */
static float make_number(int i, int bits) { return ldexpf((float)(i * 7919 % (2 << bits) - (1 << bits)), -bits); }

static void check_product(const char *kernel, int k, int bits) {
    float a[16 * 16], b[16 * 8], c[16 * 8], expected[16 * 8], *ap = a, *bp = b, *cp = c;
    lh_error error;
    for (int i = 0; i < 16 * k; i++) a[i] = make_number(i + 1, bits);
    for (int i = 0; i < 8 * k; i++) b[i] = make_number(3 * i + 5, bits);
    for (int i = 0; i < 16 * 8; i++) {
        double sum = c[i] = make_number(i, 4);
        for (int j = 0; j < k; j++) sum += (double)a[i / 8 * k + j] * b[j * 8 + i % 8];
        expected[i] = (float)sum;
    }
    /* Rounding to fewer bits must remove these differences, up or down. */
    for (int i = 0; i < 16 * k; i++) a[i] *= 1 + ldexpf(i % 2 ? 1 : -1, -bits - 3);
    lh_assert_ok(launch(kernel, 1, 32, 0, &error, &ap, &bp, &cp), &error);
    assert_memory_equal(c, expected, sizeof expected);
}

static void test_rounding_to_fewer_bits_is_that_of_the_device(void **state) {
    const struct {
        float x;
        unsigned tf32, bf16;
    } cases[] = {
        {1, 0x3f800000, 0x3f80},
        {-1.5f, 0xbfc00000, 0xbfc0},
        {0x1.002p0f, 0x3f802000, 0x3f80}, /* tf32: half way, rounded away from zero */
        {-0x1.002p0f, 0xbf802000, 0xbf80},
        {0x1.001ffep0f, 0x3f800000, 0x3f80},
        {0x1.01p0f, 0x3f808000, 0x3f80}, /* bf16: half way, rounded to even */
        {0x1.03p0f, 0x3f818000, 0x3f82},
        {0x1.010002p0f, 0x3f808000, 0x3f81},
        {0x1.fffffep0f, 0x40000000, 0x4000},
        {0x1.fffffep127f, 0x7f800000, 0x7f80},
        {-INFINITY, 0xff800000, 0xff80},
        {NAN, 0x7fffffff, 0x7fff},
    };
    enum { CASES = sizeof cases / sizeof cases[0] };
    float in[CASES], *ip = in;
    unsigned out[2][CASES], *op = &out[0][0];
    lh_error error;
    for (int i = 0; i < CASES; i++) in[i] = cases[i].x;
    lh_assert_ok(launch("rounding_kernel", 1, CASES, 0, &error, &ip, &op, NULL), &error);
    for (int i = 0; i < CASES; i++) {
        assert_int_equal(out[0][i], cases[i].tf32);
        assert_int_equal(out[1][i], 0x3f800000 | cases[i].bf16);
    }
}

static void test_products_of_fragments_are_exact(void **state) {
    for (unsigned order = 0; order < ORDERS; order++) {
        set_order(order);
        check_product("tf32_kernel", 8, 10);
        check_product("bf16_kernel", 16, 7);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum_by_shuffles_in_every_order),
        cmocka_unit_test(test_grid_barrier_holds_in_every_order),
        cmocka_unit_test(test_shuffles_and_votes_exchange_values_of_a_warp),
        cmocka_unit_test(test_missing_barrier_shows_in_some_order),
        cmocka_unit_test(test_divergent_barrier_is_reported),
        cmocka_unit_test(test_partial_shuffle_is_reported),
        cmocka_unit_test(test_deadlock_is_reported),
        cmocka_unit_test(test_write_outside_of_shared_memory_is_reported),
        cmocka_unit_test(test_rounding_to_fewer_bits_is_that_of_the_device),
        cmocka_unit_test(test_products_of_fragments_are_exact),
    };
    return cmocka_run_group_tests_name("emulation", tests, NULL, NULL);
}
