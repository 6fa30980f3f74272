/* diagnosis/overfit: the cause for each set of facts, and facts measured on toy trainings. */
#include "diagnosis/overfit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lh_engines.h"
#include "lh_test.h"
#include "toy_program.h"
#include "toy_runs.h"
#include "engine/checkpoint.h"

/* Facts of a run that has no defect, but an accuracy below 1. For them lh_overfit_find_cause finds no cause. */
static const lh_overfit_facts plain = {
    .counted = 40,
    .data_attainable = 1,
    .windows = 20,
    .first_loss = 1.6,
    .earlier_loss = 0.5,
    .recent_loss = 0.5,
    .steps_between = 100,
    .earlier_accuracy = 0.8,
    .recent_accuracy = 0.8,
    .gradient_norm = 2,
    .recent_gradient_norm = 0.1,
    .clipped = 0.1,
    .update_norm = 0.1,
    .parameter_norm = 24,
    .update_norm_sum = 50,
    .steps = 400,
    .start_norm = 22,
    .start_attainable = 1,
    .end_attainable = 1,
    .accuracy = 0.8,
    .loss = 0.5,
    .guess_loss = 1.609,
};

static const lh_overfit_run plain_run = {.examples = 4, .length = 10, .learning_rate = 1e-3};

/* Checks the cause that lh_overfit_find_cause finds for these facts, and that its message has the words and the
 * hint. */
static void check_cause(lh_overfit_facts facts, lh_overfit_cause cause, const char *words, const char *hint) {
    lh_error error;
    assert_int_equal(lh_overfit_find_cause(&facts), cause);
    lh_assert_error(lh_overfit_write_message(&plain_run, &toy, &facts, &error), LH_ERR_INPUT, &error,
                    "--overfit 4: accuracy ");
    if (strstr(error.text, words) == NULL || strstr(error.text, hint) == NULL) fail_msg("%s", error.text);
}

static void test_find_cause_finds_every_cause(void **state) {
    lh_overfit_facts f = plain;
    check_cause(f, LH_OVERFIT_UNKNOWN, "likely cause: none found", "--overfit 1");
    f.earlier_loss = 1.0;
    check_cause(f, LH_OVERFIT_FALLING, "from 1 to 0.5 within 100 steps", "--steps 570");
    f.recent_accuracy = f.earlier_accuracy = 0.69;
    check_cause(f, LH_OVERFIT_DROPOUT, "in training it is 0.6900", "model.dropout=0");
    f.earlier_accuracy = 0.67; /* the accuracy still rises, so its mean in training may lag behind */
    check_cause(f, LH_OVERFIT_FALLING, "from 1 to 0.5 within 100 steps", "--steps 570");
    f.end_attainable = 0.4;
    check_cause(f, LH_OVERFIT_COLLAPSED, "at most 0.4000", "--learning-rate 0.0001");
    f.start_attainable = 0.4;
    check_cause(f, LH_OVERFIT_INDISTINGUISHABLE, "cannot tell apart", "the positions of tokens");
    f.recent_loss = 3;
    check_cause(f, LH_OVERFIT_RATE_HIGH, "1.86 times the loss of guessing", "--learning-rate 0.0001");
    f.update_norm_sum = 0.2;
    check_cause(f, LH_OVERFIT_RATE_LOW, "moved the parameters by 0.91%", "--learning-rate 0.01");
    f.gradient_norm = 1e-9;
    check_cause(f, LH_OVERFIT_NO_GRADIENT, "never exceeded 1e-09", "gradcheck");
    f.windows = 1;
    check_cause(f, LH_OVERFIT_SHORT, "400 steps, 1 lines", "--log-every");
    f.data_attainable = 0.9;
    check_cause(f, LH_OVERFIT_CONFLICT, "equal inputs have different targets", "sample --length 10 --count 4");
    f.counted = 0;
    check_cause(f, LH_OVERFIT_NOTHING_COUNTED, "no position", "bucket_sort");
}

/* A task that makes its dataset has no file of training examples: the message names the kind of the task instead. */
static void test_message_names_a_task_that_makes_its_dataset(void **state) {
    lh_sizes sizes[10] = {[9] = {.input = 10, .output = 10}};
    const lh_data data = {.train = NULL};
    const lh_corpus corpus = {.sizes = sizes, .shapes = 10, .train = {.path = "latin_square"}};
    lh_overfit_facts f = plain;
    f.counted = 0;
    toy.data = &data;
    toy.corpus = &corpus;
    check_cause(f, LH_OVERFIT_NOTHING_COUNTED, "no position",
                "check the examples of latin_square: trainer sample --length 10");
}

static void test_large_parameters_show_a_high_learning_rate(void **state) {
    lh_overfit_facts f = plain;
    f.parameter_norm = 221;
    check_cause(f, LH_OVERFIT_RATE_HIGH, "10 times the initial norm", "--learning-rate 0.0001");
}

static void test_estimate_of_steps_continues_the_fall_of_the_loss(void **state) {
    lh_overfit_facts f = plain;
    f.guess_loss = 1.25; /* the loss to reach is 0.125: two halvings of 0.5, each in 100 steps */
    f.earlier_loss = 1.0;
    assert_true(lh_overfit_estimate_steps(&f) == 600.0);
    f.recent_loss = 0.1;
    assert_true(lh_overfit_estimate_steps(&f) == 800.0);
}

static void test_read_metrics_compares_the_last_two_quarters(void **state) {
    lh_error error;
    lh_overfit_facts f = {0};
    char text[4096] = "";
    for (int i = 1; i <= 8; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "{\"step\":%d,\"loss\":%d,\"accuracy\":0.%d,\"grad_norm\":%d,\"clipped_share\":0.5,"
                 "\"parameter_norm\":%d,\"update_norm\":0.25}\n",
                 i * 10, 10 - i, i, i, 20 + i);
    const char *path = lh_test_write_text(*state, "metrics.jsonl", text);
    lh_assert_ok(lh_overfit_read_metrics(path, &f, &error), &error);
    double actual[] = {f.first_loss,       f.earlier_loss,    f.recent_loss,    f.steps_between,
                       f.earlier_accuracy, f.recent_accuracy, f.gradient_norm,  f.recent_gradient_norm,
                       f.clipped,          f.update_norm,     f.parameter_norm, f.update_norm_sum};
    double expected[] = {8.5, 4.5, 2.5, 20, 0.55, 0.75, 8, 7.5, 0.5, 0.25, 27.5, 20};
    lh_assert_close(actual, expected, 12, 1e-12, 0);
    assert_int_equal(f.windows, 8);
    lh_assert_ok(lh_overfit_read_metrics(lh_test_path(*state, "none"), &f, &error), &error);
}

static lh_task task;
static lh_tensor tensors[TOY_TENSORS];

/* Measures a toy after this number of steps. init: see lh_overfit_run. */
static lh_overfit_facts measure_from(void **state, int steps, const char *init) {
    lh_error error;
    lh_overfit_facts facts;
    lh_step_metrics metrics[100];
    lh_lengths lengths = {.first = 4, .last = 4, .step = 1};
    lh_engine_config config = {.spec = &toy,
                               .seed = 3,
                               .learning_rate = 0.01,
                               .threads = 2,
                               .trains = true,
                               .fixed_length = 4,
                               .distinct_examples = 6};
    lh_engine *engine = lh_test_open_engine(config, &toy_float);
    lh_assert_ok(engine->ops->reserve(engine, &lengths, 6, &error), &error);
    lh_test_step(engine, steps, metrics);
    lh_state old_state = lh_test_copy_state(engine);
    lh_overfit_run run = {.examples = 6,
                          .length = 4,
                          .seed = 3,
                          .learning_rate = 0.01,
                          .metrics = lh_test_path(*state, "none"),
                          .init = init};
    lh_assert_ok(lh_overfit_measure(&run, engine, &facts, &error), &error);
    lh_state new_state = lh_test_copy_state(engine);
    assert_memory_equal(old_state.parameters, new_state.parameters, TOY_STORAGE * sizeof(float));
    assert_memory_equal(old_state.optimizer[1], new_state.optimizer[1], TOY_STORAGE * sizeof(float));
    assert_int_equal(engine->step, steps);
    lh_state_close(&old_state);
    lh_state_close(&new_state);
    engine->ops->close(engine);
    return facts;
}

static lh_overfit_facts measure(void **state, int steps) { return measure_from(state, steps, NULL); }

static void test_targets_of_a_sound_task_are_attainable(void **state) {
    lh_overfit_facts f = measure(state, 100);
    assert_int_equal(f.counted, 24);
    assert_true(f.data_attainable == 1.0 && f.start_attainable == 1.0 && f.end_attainable == 1.0);
    assert_int_equal(f.steps, 100);
    assert_true(f.accuracy > 0.2 && f.accuracy < 1.0 && f.loss < f.guess_loss);
    lh_assert_close(&f.guess_loss, &(double){log(5.0)}, 1, 1e-12, 0);
    assert_true(f.start_norm > 1.0);
}

/* Samples examples with one and the same input, and a first label that is 0 or 1 at random. */
static void sample_contradiction(lh_rng *rng, int n, lh_example *example) {
    uint16_t symbol = (uint16_t)lh_rng_below(rng, 2);
    for (int i = 0; i < n; i++) example->input[i] = (uint16_t)(i % 5), example->target[i] = i == 0 ? symbol : 1;
}

static void test_contradiction_is_found(void **state) {
    task = *toy.task;
    task.sample = sample_contradiction;
    toy.task = &task;
    lh_overfit_facts f = measure(state, 1);
    assert_true(f.data_attainable >= 21.0 / 24.0 && f.data_attainable < 1.0); /* 3 or more of 6 first labels agree */
    assert_int_equal(lh_overfit_find_cause(&f), LH_OVERFIT_CONFLICT);
}

/* Samples examples with the same input and a random first label, which does not count. */
static void sample_masked_contradiction(lh_rng *rng, int n, lh_example *example) {
    sample_contradiction(rng, n, example);
    example->mask[0] = 0;
}

static void test_masked_contradiction_is_allowed(void **state) {
    task = *toy.task;
    task.sample = sample_masked_contradiction;
    toy.task = &task;
    lh_overfit_facts f = measure(state, 1);
    assert_int_equal(f.counted, 18); /* 24 labels, less the first label of each of 6 examples */
    assert_true(f.data_attainable == 1.0);
}

static void count_nothing(lh_rng *rng, int n, lh_example *example) { /* a sampler without counted labels */
    sample_contradiction(rng, n, example);
    memset(example->mask, 0, (size_t)n);
}

static void test_empty_mask_is_found(void **state) {
    task = *toy.task;
    task.sample = count_nothing;
    toy.task = &task;
    lh_overfit_facts f = measure(state, 1);
    assert_int_equal(f.counted, 0);
    assert_int_equal(lh_overfit_find_cause(&f), LH_OVERFIT_NOTHING_COUNTED);
}

/* With a position table of zeros all outputs of a sequence are equal. */
static void test_indistinguishable_positions_are_found(void **state) {
    memcpy(tensors, toy.tensors, sizeof tensors);
    tensors[TOY_POSITION].init = LH_INIT_CONSTANT;
    tensors[TOY_POSITION].value = 0;
    toy.tensors = tensors;
    lh_overfit_facts f = measure(state, 1);
    assert_true(f.data_attainable == 1.0);
    assert_true(f.start_attainable < 0.8 && f.end_attainable == f.start_attainable);
}

/* A run that began with a checkpoint is compared with this checkpoint, not with the initial values of its seed. Here
 * the initial values have a position table of zeros. */
static void test_measurement_begins_with_the_run_s_checkpoint(void **state) {
    lh_error error;
    const char *init = lh_test_path(*state, "init.safetensors");
    lh_engine_config config = {.spec = &toy, .seed = 5, .learning_rate = 0.01, .threads = 1, .trains = true};
    lh_engine *engine = lh_test_open_engine(config, &toy_float);
    lh_state start = lh_test_copy_state(engine);
    lh_assert_ok(
        lh_checkpoint_write(init, &toy, &start, &(lh_checkpoint_facts){.level = "x86-64", .compiler = "cc"}, &error),
        &error);
    lh_state_close(&start);
    engine->ops->close(engine);
    double sampled_norm = measure(state, 1).start_norm;
    memcpy(tensors, toy.tensors, sizeof tensors);
    tensors[TOY_POSITION].init = LH_INIT_CONSTANT;
    tensors[TOY_POSITION].value = 0;
    toy.tensors = tensors;
    lh_overfit_facts f = measure_from(state, 1, init);
    assert_true(f.start_attainable == 1.0 && f.end_attainable < 0.8);
    assert_true(f.start_norm > 1.0 && f.start_norm != sampled_norm);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_find_cause_finds_every_cause),
        RUN_TEST(test_message_names_a_task_that_makes_its_dataset),
        RUN_TEST(test_large_parameters_show_a_high_learning_rate),
        RUN_TEST(test_estimate_of_steps_continues_the_fall_of_the_loss),
        RUN_TEST(test_read_metrics_compares_the_last_two_quarters),
        RUN_TEST(test_targets_of_a_sound_task_are_attainable),
        RUN_TEST(test_contradiction_is_found),
        RUN_TEST(test_masked_contradiction_is_allowed),
        RUN_TEST(test_empty_mask_is_found),
        RUN_TEST(test_indistinguishable_positions_are_found),
        RUN_TEST(test_measurement_begins_with_the_run_s_checkpoint),
    };
    return cmocka_run_group_tests_name("overfit", tests, NULL, NULL);
}
