/* data/trial.h: samplers that each violate the interface in one way, and their messages. A valid sampler gives the same
 * examples with and without a trial. */
#include "lh_test.h"

#include <string.h>

#include "data/batch.h"
#include "toy_spec.h"

lh_task_sample lh_task_bucket_sort;

enum { N = 6, FIRST_WRONG = 3 }; /* a task length, and the first example that samplers make wrong */

static uint32_t get_example_index(const lh_rng *rng) { return rng->counter[2]; }

static bool is_wrong_example(const lh_rng *rng) { return get_example_index(rng) >= FIRST_WRONG; }

static void write_too_large_token(lh_rng *rng, int n, lh_example *example) {
    bool is_wrong = is_wrong_example(rng);
    lh_task_bucket_sort(rng, n, example);
    if (is_wrong) example->input[4] = TOY_SYMBOLS;
}

static void write_too_large_target(lh_rng *rng, int n, lh_example *example) {
    bool is_wrong = is_wrong_example(rng);
    lh_task_bucket_sort(rng, n, example);
    if (is_wrong) example->target[1] = 65535; /* (uint16_t)-1 must not be taken for an unwritten element */
}

static void write_past_the_end(lh_rng *rng, int n, lh_example *example) {
    bool is_wrong = is_wrong_example(rng);
    lh_task_bucket_sort(rng, n, example);
    if (is_wrong) example->input[n] = 0;
}

static void write_before_the_beginning(lh_rng *rng, int n, lh_example *example) {
    bool is_wrong = is_wrong_example(rng);
    lh_task_bucket_sort(rng, n, example);
    if (is_wrong) example->target[-1] = 0;
}

static void write_mask_past_the_end(lh_rng *rng, int n, lh_example *example) {
    bool is_wrong = is_wrong_example(rng);
    lh_task_bucket_sort(rng, n, example);
    if (is_wrong) example->mask[n + 1] = 0;
}

static void write_too_large_mask(lh_rng *rng, int n, lh_example *example) {
    bool is_wrong = is_wrong_example(rng);
    lh_task_bucket_sort(rng, n, example);
    if (is_wrong) example->mask[2] = 2;
}

static void write_undeclared_mask(lh_rng *rng, int n, lh_example *example) {
    bool is_wrong = is_wrong_example(rng);
    lh_task_bucket_sort(rng, n, example);
    if (is_wrong) example->mask[2] = 0;
}

static void leave_out_input(lh_rng *rng, int n, lh_example *example) {
    uint16_t old_token = example->input[n - 1];
    bool is_wrong = is_wrong_example(rng);
    lh_task_bucket_sort(rng, n, example);
    if (is_wrong) example->input[n - 1] = old_token;
}

static void leave_out_target(lh_rng *rng, int n, lh_example *example) {
    uint16_t old_token = example->target[0];
    bool is_wrong = is_wrong_example(rng);
    lh_task_bucket_sort(rng, n, example);
    if (is_wrong) example->target[0] = old_token;
}

static void use_static_state(lh_rng *rng, int n, lh_example *example) {
    static uint16_t calls;
    bool is_wrong = is_wrong_example(rng);
    lh_task_bucket_sort(rng, n, example);
    if (is_wrong) example->input[0] = calls++ % 2;
}

static void use_static_mask(lh_rng *rng, int n, lh_example *example) {
    static uint8_t calls;
    bool is_wrong = is_wrong_example(rng);
    lh_task_bucket_sort(rng, n, example);
    if (is_wrong) example->mask[5] = calls++ % 2;
}

static const struct {
    lh_task_sample *sample;
    const char *message;
} cases[] = {
    {write_too_large_token, "input[4] is 5\n  expected: 0 to 4, one of the 5 input symbols"},
    {write_too_large_target, "target[1] is 65535\n  expected: 0 to 4, one of the 5 output symbols"},
    {write_past_the_end, "input[6] was written, past the end\n  expected: writes to input[0] .. input[5] only"},
    {write_before_the_beginning, "target[-1] was written, before the beginning"},
    {write_mask_past_the_end, "mask[7] was written, past the end"},
    {write_too_large_mask, "mask[2] is 2\n  expected: 1, or 0 if the output does not count"},
    {write_undeclared_mask, "mask[2] is 0, but the file's header has no line `mask`\n"
                            "  expected: `mask: loss` (masked labels count in neither loss nor accuracy) or "
                            "`mask: accuracy` (masked labels count in the loss, but not in the accuracy)"},
    {leave_out_input, "input[5] was not written\n  expected: all of input[0] .. input[5]"},
    {leave_out_target, "target[0] was not written"},
    {use_static_state, "made twice, input[0] is 0 the first time and 1 the second\n  expected: the same example"},
    {use_static_mask, "made twice, mask[5] is 0 the first time and 1 the second"},
};

/* The toy's spec with a task of the user's file own.c. */
typedef struct own_task {
    lh_spec spec;
    lh_task task;
} own_task;

static void make_own_spec(own_task *o, lh_task_sample *sample) {
    o->task = *lh_toy_spec.task;
    o->task.sample = sample;
    o->task.source = "own.c";
    o->spec = lh_toy_spec;
    o->spec.task = &o->task;
}

/* Fills a batch of 8 examples of step 12, or of an evaluation. domain: LH_DOMAIN_DATA or LH_DOMAIN_EVAL. */
static lh_status fill(const own_task *o, uint32_t domain, lh_batch *batch, lh_error *error) {
    lh_source source = {.key = lh_key_of_seed(4), .step = 11, .domain = domain};
    lh_assert_ok(lh_batch_open(batch, &o->spec, N, 8, error), error);
    return lh_batch_fill(batch, &o->spec, &source, N, 0, 8, error);
}

static void test_batch_of_a_wrong_sampler_names_defect_and_example(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        own_task o;
        lh_batch batch;
        lh_error error;
        make_own_spec(&o, cases[i].sample);
        lh_assert_error(fill(&o, LH_DOMAIN_DATA, &batch, &error), LH_ERR_INPUT, &error, cases[i].message);
        assert_non_null(strstr(error.text, "own.c: task length 6, example 3 of step 12: "));
        lh_batch_close(&batch);
    }
}

static void test_batch_of_a_sampler_with_declared_masks_is_accepted(void **state) {
    static const lh_loss losses[] = {LH_LOSS_ALL, LH_LOSS_COUNTED};
    for (int i = 0; i < 2; i++) {
        own_task o;
        lh_batch batch;
        lh_error error;
        make_own_spec(&o, write_undeclared_mask);
        o.task.loss = losses[i];
        lh_assert_ok(fill(&o, LH_DOMAIN_DATA, &batch, &error), &error);
        for (int label = 0; label < 8 * N; label++)
            assert_int_equal(batch.mask[label], label < FIRST_WRONG * N || label % N != 2);
        assert_int_equal(lh_batch_count_sequences(&batch, &o.spec), 8);
        memset(batch.mask + N, 0, N);
        assert_int_equal(lh_batch_count_sequences(&batch, &o.spec), 7);
        lh_batch_close(&batch);
    }
}

static void test_batch_of_evaluation_is_named_in_the_message(void **state) {
    own_task o;
    lh_batch batch;
    lh_error error;
    make_own_spec(&o, write_too_large_token);
    lh_assert_error(fill(&o, LH_DOMAIN_EVAL, &batch, &error), LH_ERR_INPUT, &error,
                    "own.c: task length 6, example 3 of the evaluation: input[4]");
    lh_batch_close(&batch);
}

static void test_trial_does_not_change_the_batch_of_a_right_sampler(void **state) {
    own_task o, without_source;
    lh_batch tried, untried;
    lh_error error;
    make_own_spec(&o, lh_task_bucket_sort);
    make_own_spec(&without_source, lh_task_bucket_sort);
    without_source.task.source = NULL;
    lh_assert_ok(fill(&o, LH_DOMAIN_DATA, &tried, &error), &error);
    lh_assert_ok(fill(&without_source, LH_DOMAIN_DATA, &untried, &error), &error);
    assert_memory_equal(tried.tokens[0], untried.tokens[0], 8 * 2 * N * sizeof(uint16_t));
    assert_memory_equal(tried.labels, untried.labels, 8 * N * sizeof(uint16_t));
    assert_memory_equal(tried.mask, untried.mask, 8 * N);
    assert_null(untried.trial.memory);
    lh_batch_close(&tried);
    lh_batch_close(&untried);
}

/* Violates the interface at one length, in every example. */
static void write_wrong_token_at_nine(lh_rng *rng, int n, lh_example *example) {
    lh_task_bucket_sort(rng, n, example);
    if (n == 9) example->input[8] = 7;
}

static int get_length_or_0_at_four(int n) { return n == 4 ? 0 : n; }

static void test_trial_of_a_wrong_length_names_it(void **state) {
    own_task o;
    lh_error error;
    lh_lengths short_lengths = {.first = 1, .last = 8, .step = 1}, all_lengths = {.first = 1, .last = 20, .step = 1};
    make_own_spec(&o, write_wrong_token_at_nine);
    lh_assert_ok(lh_try_lengths(&o.task, &short_lengths, lh_key_of_seed(1), &error), &error);
    lh_assert_error(lh_try_lengths(&o.task, &all_lengths, lh_key_of_seed(1), &error), LH_ERR_INPUT, &error,
                    "own.c: task length 9, example 0 of the evaluation: input[8] is 7");
    o.task.output_length = get_length_or_0_at_four;
    lh_assert_error(lh_try_lengths(&o.task, &short_lengths, lh_key_of_seed(1), &error), LH_ERR_INPUT, &error,
                    "own.c: task length 4: the header's formulas give 4 input and 0 output tokens");
    o.task.source = NULL; /* built-in tasks are not tried */
    lh_assert_ok(lh_try_lengths(&o.task, &all_lengths, lh_key_of_seed(1), &error), &error);
}

static void place_well(const lh_example *example, int32_t *input, int32_t *target) {
    for (int i = 0; i < example->input_length; i++) input[i] = example->input[i];
    for (int i = 1; i < example->output_length; i++) target[i] = i + 1; /* target[0] stays 0, which means no position */
}

static void place_past_the_end(const lh_example *example, int32_t *input, int32_t *target) {
    place_well(example, input, target);
    target[example->output_length] = 3;
}

static void place_before_the_beginning(const lh_example *example, int32_t *input, int32_t *target) {
    place_well(example, input, target);
    input[-1] = 3;
}

static void place_by_target(const lh_example *example, int32_t *input, int32_t *target) {
    place_well(example, input, target);
    target[0] = 1 + example->target[0];
}

static void test_trial_of_positions_names_writes_beside_arrays_and_reads_of_the_target(void **state) {
    static const struct {
        lh_task_place *place;
        const char *message;
    } wrong[] = {
        {place_past_the_end,
         "own.c: task length 6, example 0 of the evaluation: the function lh_place wrote target[6], "
         "past the end\n  expected: writes to target[0] .. target[5] only"},
        {place_before_the_beginning, "the function lh_place wrote input[-1], before the beginning"},
        {place_by_target, " with another target\n  expected: positions that do not depend on example->target"},
    };
    own_task o;
    lh_error error;
    lh_lengths lengths = {.first = N, .last = N, .step = 1};
    make_own_spec(&o, lh_task_bucket_sort);
    o.task.place = place_well;
    lh_assert_ok(lh_try_lengths(&o.task, &lengths, lh_key_of_seed(1), &error), &error);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        o.task.place = wrong[i].place;
        lh_assert_error(lh_try_lengths(&o.task, &lengths, lh_key_of_seed(1), &error), LH_ERR_INPUT, &error,
                        wrong[i].message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_of_a_wrong_sampler_names_defect_and_example),
        cmocka_unit_test(test_batch_of_a_sampler_with_declared_masks_is_accepted),
        cmocka_unit_test(test_batch_of_evaluation_is_named_in_the_message),
        cmocka_unit_test(test_trial_does_not_change_the_batch_of_a_right_sampler),
        cmocka_unit_test(test_trial_of_a_wrong_length_names_it),
        cmocka_unit_test(test_trial_of_positions_names_writes_beside_arrays_and_reads_of_the_target),
    };
    return cmocka_run_group_tests_name("trial", tests, NULL, NULL);
}
