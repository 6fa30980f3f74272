/* longhand/positions.h: distinct positions, in range, ascending if sorted, and uniform over subsets or orders. */
#include "lh_test.h"

#include <string.h>

#include "longhand/positions.h"

enum { MAX_RANGE = 2048 };

static lh_draw make_draw(uint32_t step) {
    return (lh_draw){.key = lh_key_of_seed(5), .step = step, .example = LH_SHARED, .domain = LH_DOMAIN_POSITIONS};
}

/* Draws positions, and checks that no element after scratch[range - 1] is written. */
static void draw(uint32_t step, uint32_t layer, int first, int range, int count, bool is_sorted, int32_t *out) {
    static int32_t scratch[MAX_RANGE + 1];
    lh_draw draw = make_draw(step);
    memset(scratch, 0xee, sizeof scratch);
    lh_draw_positions(&draw, layer, first, range, count, is_sorted, out, scratch);
    assert_int_equal(scratch[range], (int32_t)0xeeeeeeee);
}

/* Checks that sampled positions are distinct, in range, and ascending if they are sorted. */
static void check_draw(int first, int range, int count, bool is_sorted) {
    int32_t out[MAX_RANGE + 1];
    uint8_t is_used[MAX_RANGE] = {0};
    out[count] = -77;
    draw((uint32_t)count, 0, first, range, count, is_sorted, out);
    for (int i = 0; i < count; i++) {
        assert_in_range(out[i] - first, 0, range - 1);
        assert_false(is_used[out[i] - first]++);
        if (is_sorted && i > 0) assert_true(out[i] > out[i - 1]);
    }
    assert_int_equal(out[count], -77);
}

static void test_positions_of_every_size_are_distinct_and_in_range(void **state) {
    for (int is_sorted = 0; is_sorted < 2; is_sorted++) {
        for (int count = 0; count <= 40; count++) check_draw(1, 40, count, is_sorted);
        check_draw(0, 1, 1, is_sorted);
        check_draw(0, 2048, 1, is_sorted);
        check_draw(1, 2047, 499, is_sorted);
        check_draw(0, 2048, 2048, is_sorted);
        check_draw(-5, 11, 11, is_sorted);
    }
}

static void test_sorted_positions_of_a_whole_range_are_the_range(void **state) {
    int32_t out[100];
    draw(3, 0, 7, 100, 100, true, out); /* step 3, layer 0; all 100 of 7 .. 106, sorted */
    for (int i = 0; i < 100; i++) assert_int_equal(out[i], 7 + i);
}

static void test_positions_with_the_same_counter_are_the_same(void **state) {
    int32_t a[40], b[40];
    draw(3, 1, 0, 2048, 40, true, a); /* step 3, layer 1; 40 of 0 .. 2047, sorted */
    draw(3, 1, 0, 2048, 40, true, b);
    assert_memory_equal(a, b, sizeof a);
    draw(3, 2, 0, 2048, 40, true, b);
    assert_memory_not_equal(a, b, sizeof a); /* another layer */
    draw(4, 1, 0, 2048, 40, true, b);
    assert_memory_not_equal(a, b, sizeof a); /* another step */
}

/* The first distance is 0. The others are sampled from 1 .. range - 1 and sorted. Distances and positions have
 * different sites. */
static void test_distances_ascend_from_zero_at_their_own_site(void **state) {
    lh_draw draw = make_draw(3);
    int32_t out[41], positions[41], expected[40], scratch[64];
    for (int count = 1; count <= 40; count++) {
        out[count] = -77;
        lh_draw_distances(&draw, 2, 64, count, out, scratch);
        assert_int_equal(out[0], 0);
        for (int i = 1; i < count; i++) assert_in_range(out[i], out[i - 1] + 1, 63);
        assert_int_equal(out[count], -77);
    }
    lh_draw_positions(&draw, 2, 0, 64, 40, true, positions, scratch);
    assert_memory_not_equal(out + 1, positions + 1, 39 * sizeof *out);
    lh_draw_distances(&draw, 2, 40, 40, out, scratch); /* all distances */
    for (int i = 0; i < 40; i++) assert_int_equal(out[i], i);
    draw.domain = LH_DOMAIN_EVAL;
    lh_rng rng = lh_rng_at(draw.key, draw.step, draw.example, lh_site(LH_DOMAIN_EVAL, 2, LH_PLACE_DISTANCES));
    lh_draw_distances(&draw, 2, 64, 2, expected, scratch);
    assert_int_equal(expected[1], 1 + (int)lh_rng_below(&rng, 63));
}

/* In LH_DOMAIN_EVAL, sampled positions have the place LH_PLACE_POSITIONS, since examples are in this domain too. */
static void test_positions_have_the_documented_counter(void **state) {
    lh_draw draw = {.key = lh_key_of_seed(5), .step = 6, .example = 7, .domain = LH_DOMAIN_EVAL};
    lh_rng rng = lh_rng_at(draw.key, 6, 7, lh_site(LH_DOMAIN_EVAL, 3, LH_PLACE_POSITIONS));
    int32_t out, scratch[1000];
    lh_draw_positions(&draw, 3, 100, 1000, 1, false, &out, scratch);
    assert_int_equal(out, 100 + (int)lh_rng_below(&rng, 1000));
    draw.domain = LH_DOMAIN_POSITIONS;
    rng = lh_rng_at(draw.key, 6, 7, lh_site(LH_DOMAIN_POSITIONS, 3, 0));
    lh_draw_positions(&draw, 3, 100, 1000, 1, false, &out, scratch);
    assert_int_equal(out, 100 + (int)lh_rng_below(&rng, 1000));
}

/* Distances to the right equal the result of lh_draw_distances. Distances to the left have a site of their own: its
 * place is LH_PLACE_DRAWN_LEFT in LH_DOMAIN_POSITIONS, and LH_PLACE_LEFT in LH_DOMAIN_EVAL. */
static void test_signed_distances_ascend_to_both_sides(void **state) {
    lh_draw draw = make_draw(3);
    int32_t buffer[2 * 64 + 1], right[64], scratch[64], *middle = buffer + 64;
    for (int count = 1; count <= 64; count++) {
        memset(buffer, 0xee, sizeof buffer);
        lh_draw_signed_distances(&draw, 2, 64, count, middle, scratch);
        lh_draw_distances(&draw, 2, 64, count, right, scratch);
        assert_memory_equal(middle, right, (size_t)count * sizeof *right);
        for (int i = 1; i < count; i++) assert_in_range(-middle[-i], -middle[1 - i] + 1, 63);
        assert_int_equal(middle[count], (int32_t)0xeeeeeeee);
        assert_int_equal(middle[-count], (int32_t)0xeeeeeeee);
    }
    for (int d = -63; d <= 63; d++) assert_int_equal(middle[d], d); /* all distances */
    lh_rng rng = lh_rng_at(draw.key, draw.step, LH_SHARED, lh_site(LH_DOMAIN_POSITIONS, 2, LH_PLACE_DRAWN_LEFT));
    lh_draw_signed_distances(&draw, 2, 64, 2, middle, scratch);
    assert_int_equal(-middle[-1], 1 + (int)lh_rng_below(&rng, 63));
    draw.domain = LH_DOMAIN_EVAL;
    rng = lh_rng_at(draw.key, draw.step, LH_SHARED, lh_site(LH_DOMAIN_EVAL, 2, LH_PLACE_LEFT));
    lh_draw_signed_distances(&draw, 2, 64, 2, middle, scratch);
    assert_int_equal(-middle[-1], 1 + (int)lh_rng_below(&rng, 63));
}

/* The next token to the left and the next to the right each have one of 4 distances. All 16 pairs of distances are
 * equally frequent: chi-square, 15 degrees of freedom. */
static void test_sides_of_signed_distances_are_independent(void **state) {
    long pairs[16] = {0};
    for (uint32_t step = 0; step < 16000; step++) {
        int32_t buffer[3], scratch[5];
        lh_draw draw = make_draw(step);
        lh_draw_signed_distances(&draw, 1, 5, 2, buffer + 1, scratch);
        pairs[4 * (-buffer[0] - 1) + buffer[2] - 1]++;
    }
    assert_true(lh_test_compute_chi_square(pairs, 16) < 37.70);
}

/* The counter depends on the sequence and, in evaluation, on the draw; positions begin at `first`. */
static void test_positions_of_a_sequence_have_the_documented_counter(void **state) {
    lh_draw draw = make_draw(3);
    int32_t a[40], b[40], scratch[1000];
    lh_rng rng = lh_rng_at(draw.key, 3, 7, lh_site(LH_DOMAIN_POSITIONS, 0, LH_PLACE_DRAWN_POSITIONS));
    lh_draw_sequence(&draw, 0, 7, 1, 1000, 1, false, a, scratch);
    assert_int_equal(a[0], 1 + (int)lh_rng_below(&rng, 1000));
    draw = (lh_draw){.key = draw.key, .step = 6, .example = LH_MOST_DRAWS - 1, .domain = LH_DOMAIN_EVAL};
    rng = lh_rng_at(draw.key, 6, 7, lh_site(LH_DOMAIN_EVAL, LH_MOST_DRAWS - 1, LH_PLACE_SEQUENCE));
    lh_draw_sequence(&draw, 0, 7, 1, 1000, 1, true, a, scratch);
    assert_int_equal(a[0], 1 + (int)lh_rng_below(&rng, 1000));
    lh_draw_sequence(&draw, 0, 7, 1, 1000, 40, true, a, scratch);
    for (int i = 0; i < 40; i++) assert_in_range(a[i], i > 0 ? a[i - 1] + 1 : 1, 1000);
    lh_draw_sequence(&draw, 0, 8, 1, 1000, 40, true, b, scratch);
    assert_memory_not_equal(a, b, sizeof a); /* another sequence */
    draw.example--;
    lh_draw_sequence(&draw, 0, 7, 1, 1000, 40, true, b, scratch);
    assert_memory_not_equal(a, b, sizeof a); /* another draw */
}

/* All 10 subsets of 3 out of 5 are equally frequent: chi-square, 9 degrees of freedom, 99.9% point. */
static void test_sorted_positions_are_uniform_over_subsets(void **state) {
    long times[32] = {0}, subsets[10];
    int count = 0;
    for (uint32_t step = 0; step < 10000; step++) {
        int32_t out[3];
        draw(step, 0, 0, 5, 3, true, out);
        times[1 << out[0] | 1 << out[1] | 1 << out[2]]++;
    }
    for (int set = 0; set < 32; set++)
        if (times[set]) subsets[count++ % 10] = times[set];
    assert_int_equal(count, 10);
    assert_true(lh_test_compute_chi_square(subsets, 10) < 27.88);
}

/* All 60 orders of 3 out of 5 are equally frequent: 59 degrees of freedom. */
static void test_unsorted_positions_are_uniform_over_orders(void **state) {
    long times[125] = {0}, orders[60];
    int count = 0;
    for (uint32_t step = 0; step < 30000; step++) {
        int32_t out[3];
        draw(step, 0, 0, 5, 3, false, out);
        times[out[0] * 25 + out[1] * 5 + out[2]]++;
    }
    for (int order = 0; order < 125; order++)
        if (times[order]) orders[count++ % 60] = times[order];
    assert_int_equal(count, 60);
    assert_true(lh_test_compute_chi_square(orders, 60) < 98.32);
}

/* The setting of Ruoss et al. 2023: 40 positions of 2048. Each sixteenth of the range is equally frequent. The k-th
 * smallest position, from k = 0, has the mean (k + 1) 2049 / 41 - 1. */
static void test_positions_of_a_large_range_have_their_order_statistics(void **state) {
    enum { DRAWS = 4000 };
    long count[16] = {0};
    double sum[3] = {0};
    for (uint32_t step = 0; step < DRAWS; step++) {
        int32_t out[40];
        draw(step, 0, 0, 2048, 40, true, out);
        for (int i = 0; i < 40; i++) count[out[i] / 128]++;
        sum[0] += out[0] / (double)DRAWS;
        sum[1] += out[19] / (double)DRAWS;
        sum[2] += out[39] / (double)DRAWS;
    }
    double expected[3] = {2049.0 / 41 - 1, 20 * 2049.0 / 41 - 1, 40 * 2049.0 / 41 - 1};
    lh_assert_close(sum, expected, 3, 0, 10); /* standard errors 0.8, 2.5, 0.8 */
    assert_true(lh_test_compute_chi_square(count, 16) < 37.70);
}

static void test_draw_or_copy_functions_copy_given_values_or_draw(void **state) {
    const int32_t positions[] = {0, 4, 7};
    lh_draw draw = make_draw(3);
    int32_t out[5], expected[5], scratch[64];
    lh_draw_or_copy_positions(positions, &draw, 1, 0, 64, 3, true, out, scratch);
    assert_memory_equal(out, positions, sizeof positions);
    lh_draw_or_copy_distances(positions, &draw, 1, 64, 3, out, scratch);
    assert_memory_equal(out, positions, sizeof positions);
    lh_draw_or_copy_signed_distances(positions, &draw, 1, 64, 3, out + 2, scratch);
    assert_memory_equal(out, ((int32_t[]){-7, -4, 0, 4, 7}), sizeof out);
    lh_draw_or_copy_positions(NULL, &draw, 1, 0, 64, 5, true, out, scratch);
    lh_draw_positions(&draw, 1, 0, 64, 5, true, expected, scratch);
    assert_memory_equal(out, expected, sizeof out);
    lh_draw_or_copy_distances(NULL, &draw, 1, 64, 5, out, scratch);
    lh_draw_distances(&draw, 1, 64, 5, expected, scratch);
    assert_memory_equal(out, expected, sizeof out);
    lh_draw_or_copy_signed_distances(NULL, &draw, 1, 64, 3, out + 2, scratch);
    lh_draw_signed_distances(&draw, 1, 64, 3, expected + 2, scratch);
    assert_memory_equal(out, expected, sizeof out);
}

/* Queries at 0 and 5, keys at 5, 0 and 1: the distances are 5, 0, 1 and 0, -5, -4. The first call lists the distances
 * that occur, the second all distances from -2 to 2. longhand/positions.h describes the parts of `out`. */
static void test_sort_pairs_lists_pairs_by_distance(void **state) {
    const int32_t queries[] = {0, 5}, keys[] = {5, 0, 1};
    int32_t rank[12], out[1 + 5 + 6 + 6 + 6];
    lh_sort_pairs(queries, keys, 2, 3, -5, 5, false, 5, rank, out);
    const int32_t distances[] = {5, -5, -4, 0, 1, 5}, index[] = {4, 2, 2, 0, 3, 1}, start[] = {0, 1, 2, 4, 5, 6};
    assert_memory_equal(out, distances, sizeof distances);
    assert_memory_equal(out + 6, index, sizeof index);
    assert_memory_equal(out + 12, start, sizeof start);
    assert_memory_equal(out + 18, ((int32_t[]){4, 5, 1, 3, 2, 0}), 6 * sizeof *out);
    lh_sort_pairs(queries, keys, 2, 3, -2, 2, true, 5, rank, out);
    const int32_t limited[] = {5, -2, -1, 0, 1, 2}, starts[] = {0, 2, 2, 4, 5, 6};
    assert_memory_equal(out, limited, sizeof limited);
    assert_memory_equal(out + 12, starts, sizeof starts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions_of_every_size_are_distinct_and_in_range),
        cmocka_unit_test(test_sorted_positions_of_a_whole_range_are_the_range),
        cmocka_unit_test(test_positions_with_the_same_counter_are_the_same),
        cmocka_unit_test(test_positions_have_the_documented_counter),
        cmocka_unit_test(test_distances_ascend_from_zero_at_their_own_site),
        cmocka_unit_test(test_signed_distances_ascend_to_both_sides),
        cmocka_unit_test(test_sides_of_signed_distances_are_independent),
        cmocka_unit_test(test_positions_of_a_sequence_have_the_documented_counter),
        cmocka_unit_test(test_sorted_positions_are_uniform_over_subsets),
        cmocka_unit_test(test_unsorted_positions_are_uniform_over_orders),
        cmocka_unit_test(test_positions_of_a_large_range_have_their_order_statistics),
        cmocka_unit_test(test_draw_or_copy_functions_copy_given_values_or_draw),
        cmocka_unit_test(test_sort_pairs_lists_pairs_by_distance),
    };
    return cmocka_run_group_tests_name("positions", tests, NULL, NULL);
}
