/* Lengths mixed within a batch. The gradient of generated code in float64 must be a weighted sum over the sequences.
 * The gradient of a sequence comes from a batch of one length in which all labels of the other sequences are masked.
 * The gradient of a mean over sequences is also compared with finite differences. */
#include "support/lh_test.h"

#include <stdlib.h>
#include <string.h>

#include "bench/gradcheck.h"
#include "data/batch.h"
#include "support/lh_engines.h"
#include "support/lh_parity.h"

extern const lh_spec longhand_spec_parity_mixed, longhand_spec_parity_mixed_means, longhand_spec_parity_mixed_sliced;

lh_task_sample lh_task_stack_manipulation;

enum {
    SEQUENCES = 13,
    SHARDS = 4,
    SEED = 6,
    EVERY_SEQUENCE = -1,
    NO_LABELS = 5 /* a sequence whose labels are all masked */
};

static int counted_sequence; /* the only sequence with labels that count; or EVERY_SEQUENCE */

static void sample(lh_rng *rng, int n, lh_example *example) {
    int index = (int)rng->counter[2];
    lh_task_stack_manipulation(rng, n, example);
    for (int i = 0; i < example->output_length; i++)
        example->mask[i] = (counted_sequence == EVERY_SEQUENCE || index == counted_sequence) && index != NO_LABELS &&
                           (i + index) % 3 != 1;
}

typedef struct first_step {
    lh_sums sums;
    double *gradient; /* [parameter_storage] */
} first_step;

/* Makes the first step of a batch. sequence: the value of counted_sequence; n: the length of all sequences; 0: mixed
 * lengths. */
static first_step make_step(const lh_spec *from, int sequence, int n, int threads) {
    lh_error error;
    lh_task task = *from->task;
    lh_spec spec = *from;
    lh_step_metrics metrics;
    counted_sequence = sequence;
    task.sample = sample;
    spec.task = &task;
    spec.train.batch = SEQUENCES;
    spec.train.shards = SHARDS;
    lh_engine *engine = lh_test_open_engine((lh_engine_config){.spec = &spec,
                                                               .seed = SEED,
                                                               .learning_rate = 1e-3,
                                                               .threads = threads,
                                                               .trains = true,
                                                               .keeps_gradient = true,
                                                               .fixed_length = n},
                                            from->cpu[0]);
    lh_test_step(engine, 1, &metrics);
    first_step r = {metrics.sums, lh_parity_reserve((size_t)spec.parameter_storage * sizeof(double))};
    lh_assert_ok(engine->ops->read_gradient(engine, r.gradient, &error), &error);
    engine->ops->close(engine);
    return r;
}

/* Compares the gradient of a mixed batch with the gradients of its sequences, weighted equally if weighs_equally, else
 * by their numbers of counted labels. */
static void check_gradient(const lh_spec *from, bool weighs_equally) {
    lh_spec spec = *from;
    lh_batch_parts parts;
    lh_error error;
    size_t count = (size_t)spec.parameter_storage;
    spec.train.batch = SEQUENCES;
    lh_assert_ok(lh_batch_parts_open(&parts, &spec, &error), &error);
    lh_batch_parts_draw(&parts, &spec, lh_key_of_seed(SEED), 0);
    assert_true(parts.count > SHARDS);
    first_step mixed = make_step(from, EVERY_SEQUENCE, 0, 1);
    double *expected = lh_parity_reserve(count * sizeof *expected), loss = 0;
    int64_t counted = 0;
    for (int p = 0; p < parts.count; p++)
        for (int i = parts.parts[p].first; i < parts.parts[p].first + parts.parts[p].sequences; i++) {
            first_step part_step = make_step(from, i, parts.parts[p].n, 1);
            double weight = weighs_equally ? 1.0 / (double)mixed.sums.sequences
                                           : (double)part_step.sums.counted / (double)mixed.sums.counted;
            for (size_t e = 0; e < count; e++)
                expected[e] += part_step.sums.counted > 0 ? weight * part_step.gradient[e] : 0;
            counted += part_step.sums.counted;
            loss += part_step.sums.loss;
            free(part_step.gradient);
        }
    assert_int_equal(mixed.sums.counted, counted);
    assert_int_equal(mixed.sums.sequences, SEQUENCES - 1);
    lh_assert_close(&mixed.sums.loss, &loss, 1, 1e-12, 0);
    lh_parity_check_values(8, mixed.gradient, expected, count, 1e-12);
    lh_batch_parts_close(&parts);
    free(mixed.gradient);
    free(expected);
}

static void test_gradient_is_the_sum_over_single_lengths_weighted_by_labels(void **state) {
    check_gradient(&longhand_spec_parity_mixed, false); /* sequences weigh by their labels */
}

static void test_shorter_sequences_read_parts_of_the_tables_of_the_longest(void **state) {
    check_gradient(&longhand_spec_parity_mixed_sliced, false);
}

static void test_gradient_of_the_mean_over_sequences_weighs_them_equally(void **state) {
    check_gradient(&longhand_spec_parity_mixed_means, true); /* sequences have equal weights */
}

/* Sequences have different numbers of counted labels, so the mean over sequences is not the mean over labels. */
static void test_gradcheck_of_the_mean_over_sequences_passes(void **state) {
    const lh_spec *from = &longhand_spec_parity_mixed_means;
    lh_task task = *from->task;
    lh_spec spec = *from;
    lh_target target;
    lh_error error = {""};
    lh_gradcheck_result *results = lh_parity_reserve((size_t)spec.tensor_count * sizeof *results);
    counted_sequence = EVERY_SEQUENCE;
    task.sample = sample;
    spec.task = &task;
    lh_assert_ok(lh_target_open(&target, &spec, "cpu", &error), &error);
    lh_assert_ok(lh_gradcheck(&target, 9, 1, results, &error), &error);
    for (int t = 0; t < spec.tensor_count; t++)
        if (spec.tensors[t].learned && !results[t].passed)
            fail_msg("%s: error %g", spec.tensors[t].name, results[t].worst_error);
    lh_target_close(&target);
    free(results);
}

static void check_threads(const lh_spec *spec) {
    first_step one_thread = make_step(spec, EVERY_SEQUENCE, 0, 1),
               three_threads = make_step(spec, EVERY_SEQUENCE, 0, 3);
    assert_memory_equal(one_thread.gradient, three_threads.gradient,
                        (size_t)spec->parameter_storage * sizeof *one_thread.gradient);
    assert_memory_equal(&one_thread.sums, &three_threads.sums, sizeof one_thread.sums);
    free(one_thread.gradient);
    free(three_threads.gradient);
}

static void test_step_has_equal_bits_for_any_number_of_threads(void **state) {
    check_threads(&longhand_spec_parity_mixed);
    check_threads(&longhand_spec_parity_mixed_sliced);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient_is_the_sum_over_single_lengths_weighted_by_labels),
        cmocka_unit_test(test_shorter_sequences_read_parts_of_the_tables_of_the_longest),
        cmocka_unit_test(test_gradient_of_the_mean_over_sequences_weighs_them_equally),
        cmocka_unit_test(test_gradcheck_of_the_mean_over_sequences_passes),
        cmocka_unit_test(test_step_has_equal_bits_for_any_number_of_threads),
    };
    return cmocka_run_group_tests_name("mixed", tests, NULL, NULL);
}
