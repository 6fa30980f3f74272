/* data/batch.h: lengths, shapes, and examples that depend on their counters alone. */
#include "lh_test.h"

#include <stdlib.h>
#include <string.h>

#include "data/batch.h"
#include "toy_spec.h"

static const int32_t list[] = {6, 50, 10};

static void test_lengths_of_ranges_and_lists_are_enumerated(void **state) {
    lh_lengths range = {.first = 1, .last = 40, .step = 1}, strided = {.first = 41, .last = 500, .step = 20},
               listed = {.list = list, .count = 3};
    assert_int_equal(lh_lengths_count(&range), 40);
    assert_int_equal(lh_lengths_get(&range, 39), 40);
    assert_int_equal(lh_lengths_count(&strided), 23);
    assert_int_equal(lh_lengths_get(&strided, 22), 481);
    assert_int_equal(lh_lengths_find_longest(&strided), 481);
    assert_int_equal(lh_lengths_count(&listed), 3);
    assert_int_equal(lh_lengths_get(&listed, 2), 10);
    assert_int_equal(lh_lengths_find_longest(&listed), 50);
}

static void test_lengths_of_an_empty_range_are_none(void **state) {
    lh_lengths empty = {.first = 5, .last = 4, .step = 1}; /* no length */
    assert_int_equal(lh_lengths_count(&empty), 0);
    assert_int_equal(lh_lengths_find_longest(&empty), 0);
}

static void test_train_lengths_are_uniform(void **state) {
    long count[6] = {0};
    for (uint32_t step = 0; step < 6000; step++) {
        int n = lh_draw_train_length(&lh_toy_spec, lh_key_of_seed(1), step, LH_SHARED);
        assert_in_range(n, 1, 6);
        count[n - 1]++;
    }
    assert_true(lh_test_compute_chi_square(count, 6) < 20.52); /* 99.9% point, 5 degrees of freedom */
}

static void test_train_length_has_the_documented_counter(void **state) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(8), 5, LH_SHARED, lh_site(LH_DOMAIN_DATA, 0, LH_PLACE_LENGTH));
    int expected = 1 + (int)lh_rng_below(&rng, 6);
    assert_int_equal(lh_draw_train_length(&lh_toy_spec, lh_key_of_seed(8), 5, LH_SHARED), expected);
}

/* Mixed lengths of 100,000 sequences. Each length is uniform. It is independent of the previous sequence in the
 * batch, and of the same sequence in the previous step. */
static void test_mixed_lengths_are_uniform_and_independent(void **state) {
    enum { BATCH = 50, STEPS = 2000, LENGTHS = 6 };
    static int length[STEPS][BATCH];
    long count[LENGTHS] = {0};
    long in_batch[LENGTHS * LENGTHS] = {0}, in_steps[LENGTHS * LENGTHS] = {0}; /* counts of pairs of lengths */
    for (int step = 0; step < STEPS; step++)
        for (int i = 0; i < BATCH; i++) {
            int n = length[step][i] =
                lh_draw_train_length(&lh_toy_spec, lh_key_of_seed(1), (uint32_t)step, (uint32_t)i) - 1;
            assert_in_range(n, 0, LENGTHS - 1);
            count[n]++;
            if (i > 0) in_batch[length[step][i - 1] * LENGTHS + n]++;
            if (step > 0) in_steps[length[step - 1][i] * LENGTHS + n]++;
        }
    assert_true(lh_test_compute_chi_square(count, LENGTHS) < 20.52); /* 99.9% point, 5 degrees of freedom */
    assert_true(lh_test_compute_chi_square(in_batch, LENGTHS * LENGTHS) < 66.62); /* 99.9% point, 35 degrees */
    assert_true(lh_test_compute_chi_square(in_steps, LENGTHS * LENGTHS) < 66.62); /* 99.9% point, 35 degrees */
}

/* Lengths are uniform over the lengths of a curriculum's stage and, after the last stage, over all lengths. */
static void test_curriculum_limits_the_lengths_of_its_stages(void **state) {
    static const lh_curriculum_stage stages[] = {{.until_step = 3000, .longest = 2},
                                                 {.until_step = 6000, .longest = 4}};
    lh_spec spec = lh_toy_spec;
    spec.train.curriculum = stages;
    spec.train.curriculum_count = 2;
    for (uint32_t first = 0, lengths = 2; first < 9000; first += 3000, lengths += 2) {
        long count[6] = {0};
        for (uint32_t step = first; step < first + 3000; step++)
            count[lh_draw_train_length(&spec, lh_key_of_seed(2), step, LH_SHARED) - 1]++;
        for (uint32_t n = lengths; n < 6; n++) assert_int_equal(count[n], 0);
        assert_true(lh_test_compute_chi_square(count, (int)lengths) < 20.52); /* 99.9% point for 6 lengths */
    }
}

/* The parts of a batch have the lengths of its sequences, the longest first. */
static void test_parts_of_a_mixed_batch_are_its_sorted_lengths(void **state) {
    lh_spec spec = lh_toy_spec;
    lh_batch_parts parts;
    lh_error error;
    int count[7] = {0}, first = 0;
    spec.train.batch = 13;
    spec.train.mixes_lengths = true;
    lh_assert_ok(lh_batch_parts_open(&parts, &spec, &error), &error);
    lh_batch_parts_draw(&parts, &spec, lh_key_of_seed(3), 9);
    for (uint32_t i = 0; i < 13; i++) count[lh_draw_train_length(&spec, lh_key_of_seed(3), 9, i)]++;
    for (int p = 0; p < parts.count; first += parts.parts[p++].sequences) {
        assert_true(p == 0 || parts.parts[p].n < parts.parts[p - 1].n);
        assert_int_equal(parts.parts[p].first, first);
        assert_int_equal(parts.parts[p].sequences, count[parts.parts[p].n]);
    }
    assert_int_equal(first, 13);
    lh_batch_parts_close(&parts);
}

/* For each length, lh_count_trained_sequences counts as many sequences as the batches have, also if a batch has mixed
 * lengths. A curriculum limits the lengths of the first steps. */
static void test_trained_sequences_are_those_of_the_batches(void **state) {
    static const lh_curriculum_stage stage = {.until_step = 10, .longest = 3};
    for (int mixes_lengths = 0; mixes_lengths < 2; mixes_lengths++) {
        lh_spec spec = lh_toy_spec;
        lh_batch_parts parts;
        lh_error error;
        int64_t *actual, expected[6] = {0};
        spec.train.mixes_lengths = mixes_lengths;
        spec.train.curriculum = &stage;
        spec.train.curriculum_count = 1;
        lh_assert_ok(lh_batch_parts_open(&parts, &spec, &error), &error);
        lh_assert_ok(lh_count_trained_sequences(&spec, lh_key_of_seed(3), 30, &actual, &error), &error);
        for (uint32_t step = 0; step < 30; step++) {
            lh_batch_parts_draw(&parts, &spec, lh_key_of_seed(3), step);
            for (int p = 0; p < parts.count; p++) expected[parts.parts[p].n - 1] += parts.parts[p].sequences;
        }
        assert_memory_equal(actual, expected, sizeof expected);
        assert_true(expected[0] > 0 && expected[5] > 0);
        free(actual);
        lh_batch_parts_close(&parts);
    }
}

static void test_shape_has_the_lengths_of_the_streams(void **state) {
    lh_shape shape = lh_make_shape(&lh_toy_spec, 7, 3);
    assert_int_equal(shape.sequences, 3);
    assert_int_equal(shape.length[0], 14);
    assert_int_equal(shape.length[1], 0);
    assert_int_equal(shape.labels, 7);
}

static lh_source make_source(uint32_t step, uint32_t distinct_examples) {
    return (lh_source){
        .key = lh_key_of_seed(4), .step = step, .domain = LH_DOMAIN_DATA, .distinct_examples = distinct_examples};
}

static lh_batch open_batch(int longest_n, int sequences) {
    lh_batch batch;
    lh_error error;
    lh_assert_ok(lh_batch_open(&batch, &lh_toy_spec, longest_n, sequences, &error), &error);
    return batch;
}

/* Each row is the sampler's example, in the toy's format. */
static void test_fill_rows_are_samples_of_their_counters(void **state) {
    enum { N = 5, ROWS = 4, FIRST = 100 };
    lh_batch batch = open_batch(N, ROWS);
    lh_source source = make_source(9, 0);
    lh_batch_fill(&batch, &lh_toy_spec, &source, N, FIRST, ROWS, NULL);
    assert_int_equal(batch.shape.sequences, ROWS);
    for (uint32_t row = 0; row < ROWS; row++) {
        uint16_t input[N], target[N];
        uint8_t mask[N];
        lh_example example = {.input_length = N, .output_length = N, .input = input, .target = target, .mask = mask};
        lh_rng rng = lh_rng_at(source.key, 9, FIRST + row, lh_site(LH_DOMAIN_DATA, 0, LH_PLACE_SAMPLE));
        lh_toy_spec.task->sample(&rng, N, &example);
        assert_memory_equal(batch.tokens[0] + row * 2 * N, input, sizeof input);
        assert_memory_equal(batch.labels + row * N, target, sizeof target);
        for (int i = 0; i < N; i++) {
            assert_int_equal(batch.tokens[0][row * 2 * N + N + (uint32_t)i], TOY_EMPTY);
            assert_int_equal(batch.mask[row * N + (uint32_t)i], 1);
        }
    }
    lh_batch_close(&batch);
}

static void sample_options(lh_rng *rng, int n, lh_example *example) {
    for (int i = 0; i < n; i++) example->input[i] = (uint16_t)lh_rng_below(rng, 2);
    for (int i = 0; i < n; i++) example->target[i] = (uint16_t)example->options[i % 2];
}

/* A task's options reach its sampler, whether the task is built in or a user's own. lh_try_lengths checks a user's
 * sampler before the batch is filled. */
static void test_fill_samplers_see_the_options(void **state) {
    static const int options[] = {3, 1};
    for (int has_source = 0; has_source < 2; has_source++) {
        lh_task task = *lh_toy_spec.task;
        lh_spec spec = lh_toy_spec;
        task.sample = sample_options;
        task.options = options;
        task.source = has_source ? "tell_options.c" : NULL;
        spec.task = &task;
        lh_batch batch;
        lh_error error;
        lh_lengths lengths = {.first = 1, .last = 4, .step = 1};
        lh_source source = make_source(2, 0);
        lh_assert_ok(lh_try_lengths(&task, &lengths, source.key, &error), &error);
        lh_assert_ok(lh_batch_open(&batch, &spec, 4, 3, &error), &error);
        lh_assert_ok(lh_batch_fill(&batch, &spec, &source, 4, 0, 3, &error), &error);
        for (int i = 0; i < 12; i++) assert_int_equal(batch.labels[i], options[i % 2]);
        lh_batch_close(&batch);
    }
}

/* A batch in one piece equals the same batch in shards. */
static void test_fill_in_parts_equals_whole(void **state) {
    lh_batch batch = open_batch(6, 8), shard = open_batch(6, 3);
    lh_source source = make_source(2, 0);
    lh_batch_fill(&batch, &lh_toy_spec, &source, 6, 0, 8, NULL);
    for (int first = 0; first < 8; first += 3) {
        int rows = first + 3 <= 8 ? 3 : 8 - first;
        lh_batch_fill(&shard, &lh_toy_spec, &source, 6, (uint32_t)first, rows, NULL);
        assert_memory_equal(shard.tokens[0], batch.tokens[0] + first * 12, (size_t)rows * 12 * sizeof(uint16_t));
        assert_memory_equal(shard.labels, batch.labels + first * 6, (size_t)rows * 6 * sizeof(uint16_t));
    }
    lh_batch_close(&batch);
    lh_batch_close(&shard);
}

static void test_fill_repeats_the_distinct_examples(void **state) {
    lh_batch batch = open_batch(6, 6);
    lh_source source = make_source(0, 2);
    lh_batch_fill(&batch, &lh_toy_spec, &source, 6, 0, 6, NULL);
    for (int row = 2; row < 6; row++)
        assert_memory_equal(batch.tokens[0] + row * 12, batch.tokens[0] + (row - 2) * 12, 12 * sizeof(uint16_t));
    assert_memory_not_equal(batch.tokens[0], batch.tokens[0] + 12, 12 * sizeof(uint16_t));
    lh_batch_close(&batch);
}

static void test_fill_gives_other_examples_in_another_domain_or_step(void **state) {
    lh_batch a = open_batch(30, 2), b = open_batch(30, 2);
    lh_source source = make_source(0, 0), changed = make_source(1, 0);
    lh_batch_fill(&a, &lh_toy_spec, &source, 30, 0, 2, NULL);
    lh_batch_fill(&b, &lh_toy_spec, &changed, 30, 0, 2, NULL);
    assert_memory_not_equal(a.tokens[0], b.tokens[0], 120 * sizeof(uint16_t));
    changed.step = 0;
    changed.domain = LH_DOMAIN_EVAL;
    lh_batch_fill(&b, &lh_toy_spec, &changed, 30, 0, 2, NULL);
    assert_memory_not_equal(a.tokens[0], b.tokens[0], 120 * sizeof(uint16_t));
    lh_batch_close(&a);
    lh_batch_close(&b);
}

static int get_shrinking_length(int n) { return n % 2 ? n : n - 1; }

/* A formula of a length need not grow with n, so buffers fit the largest example up to longest_n. The sanitizer checks
 * the writes. */
static void test_open_fits_the_largest_example_of_any_formula(void **state) {
    lh_task task = *lh_toy_spec.task;
    lh_format format = *lh_toy_spec.format;
    lh_spec spec = lh_toy_spec;
    lh_batch batch;
    lh_error error;
    task.input_length = get_shrinking_length;
    format.stream[0].length = get_shrinking_length;
    task.output_length = format.labels = get_shrinking_length;
    spec.task = &task;
    spec.format = &format;
    lh_assert_ok(lh_batch_open(&batch, &spec, 8, 2, &error), &error);
    memset(batch.tokens[0], 0, 2 * 7 * sizeof(uint16_t));
    memset(batch.labels, 0, 2 * 7 * sizeof(uint16_t));
    memset(batch.input, 0, 7 * sizeof(uint16_t));
    memset(batch.mask, 0, 2 * 7);
    lh_batch_close(&batch);
    assert_null(batch.memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths_of_ranges_and_lists_are_enumerated),
        cmocka_unit_test(test_lengths_of_an_empty_range_are_none),
        cmocka_unit_test(test_train_lengths_are_uniform),
        cmocka_unit_test(test_train_length_has_the_documented_counter),
        cmocka_unit_test(test_mixed_lengths_are_uniform_and_independent),
        cmocka_unit_test(test_curriculum_limits_the_lengths_of_its_stages),
        cmocka_unit_test(test_parts_of_a_mixed_batch_are_its_sorted_lengths),
        cmocka_unit_test(test_trained_sequences_are_those_of_the_batches),
        cmocka_unit_test(test_shape_has_the_lengths_of_the_streams),
        cmocka_unit_test(test_fill_rows_are_samples_of_their_counters),
        cmocka_unit_test(test_fill_samplers_see_the_options),
        cmocka_unit_test(test_fill_in_parts_equals_whole),
        cmocka_unit_test(test_fill_repeats_the_distinct_examples),
        cmocka_unit_test(test_fill_gives_other_examples_in_another_domain_or_step),
        cmocka_unit_test(test_open_fits_the_largest_example_of_any_formula),
    };
    return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
