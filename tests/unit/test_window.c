/* training/window: sums of metrics between two lines of metrics.jsonl, and over epochs. */
#include "lh_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "training/window.h"

/* An epoch has three batches, of 4, 4 and 2 examples. The batches have equal weights in the mean of the epoch. An epoch
 * whose start was not recorded has no mean. */
static void test_window_epoch_is_the_mean_of_its_batches(void **state) {
    static const int64_t correct[] = {4, 1, 1}, counted[] = {4, 4, 2};
    lh_window window = {0};
    for (int64_t step = 1; step <= 7; step++) {
        int batch = (int)((step - 1) % 3);
        lh_step_metrics metrics = {.sums = {.correct = correct[batch], .counted = counted[batch]}};
        lh_window_add(&window, &metrics);
        lh_window_add_to_epoch(&window, &metrics, step, 3);
        assert_int_equal(window.epoch.last_epoch, step / 3);
        lh_window_clear(&window);
    }
    assert_true(fabs(window.epoch.accuracy - (1 + 0.25 + 0.5) / 3) < 1e-15);
    assert_int_equal(window.epoch.steps, 1);
    window.epoch = (lh_window_epoch){0};
    lh_step_metrics later_metrics = {.sums = {.correct = 1, .counted = 1}};
    for (int64_t step = 8; step <= 9; step++) lh_window_add_to_epoch(&window, &later_metrics, step, 3);
    assert_int_equal(window.epoch.last_epoch, 0);
    assert_int_equal(window.epoch.steps, 0);
}

/* Batches with all labels masked do not enter the mean of an epoch. */
static void test_window_epoch_leaves_out_batches_without_counted_labels(void **state) {
    static const int64_t correct[] = {4, 0, 1}, counted[] = {4, 0, 2};
    lh_window window = {0};
    for (int64_t step = 1; step <= 3; step++) {
        lh_step_metrics metrics = {.sums = {.correct = correct[step - 1], .counted = counted[step - 1]}};
        lh_window_add_to_epoch(&window, &metrics, step, 3);
    }
    assert_int_equal(window.epoch.last_epoch, 1);
    assert_int_equal(window.epoch.masked_steps, 0);
    assert_true(fabs(window.epoch.accuracy - (1 + 0.5) / 2) < 1e-15);
    lh_step_metrics no_labels = {.sums = {.counted = 0}};
    for (int64_t step = 4; step <= 6; step++) lh_window_add_to_epoch(&window, &no_labels, step, 3);
    assert_int_equal(window.epoch.last_epoch, 1);
}

/* With task.loss = "all", a batch has a loss even if all its labels are masked. This loss does not enter the mean. */
static void test_window_mean_loss_leaves_out_batches_without_counted_labels(void **state) {
    (void)state;
    lh_window window = {0};
    const lh_step_metrics counted = {.sums = {.loss = 8, .positions = 4, .counted = 4}};
    const lh_step_metrics masked = {.sums = {.loss = 12, .positions = 4}};
    lh_window_add(&window, &counted);
    lh_window_add(&window, &masked);
    assert_true(lh_window_compute_mean(&window, window.loss) == 2);
}

/* A line of metrics.jsonl for steps without counted labels has neither loss nor accuracy. */
static void test_window_log_without_counted_labels_has_no_loss(void **state) {
    lh_error error;
    const char *path = lh_test_path(*state, "metrics.jsonl");
    lh_window window = {.steps = 2, .masked_steps = 2, .parameter_norm = 4, .seconds = 1};
    char *text;
    size_t bytes;
    lh_assert_ok(lh_window_log(&window, path, 2, false, 0.5, 10, &error), &error);
    lh_assert_ok(lh_read_file(path, &text, &bytes, &error), &error);
    assert_non_null(strstr(text, "{\"step\":2,\"grad_norm\":0,"));
    assert_non_null(strstr(text, "\"parameter_norm\":2,"));
    assert_null(strstr(text, "loss"));
    free(text);
}

/* A file has the windows of steps 12 and 13, and none of step 14. A window is loaded by its step. */
static void test_saved_window_is_loaded_with_the_same_sums(void **state) {
    lh_error error;
    const char *path = lh_test_path(*state, "window.jsonl");
    lh_window window = {.steps = 3,
                        .masked_steps = 1,
                        .loss = 0.1,
                        .accuracy = 1.0 / 3.0,
                        .gradient_norm = 1e-300,
                        .clipped_steps = 2,
                        .parameter_norm = 1e17,
                        .update_norm = 0.1 + 0.2,
                        .seconds = 7.25,
                        .metrics_lines = 40,
                        .eval_lines = 2,
                        .epoch = {.steps = 5, .masked_steps = 2, .sum = 2.5, .last_epoch = 3, .accuracy = 0.1},
                        .best = {.step = 8, .score = 1.0 / 3.0, .last_evaluated_step = 12, .waited_evaluations = 1}},
              earlier = window, read_back;
    bool found;
    earlier.loss = 5;
    earlier.masked_steps = 0;
    earlier.epoch = (lh_window_epoch){0};
    earlier.best = (lh_best){0};
    lh_assert_ok(lh_window_save(&earlier, path, 12, &error), &error);
    lh_assert_ok(lh_window_save(&window, path, 13, &error), &error);
    lh_assert_ok(lh_window_load(&read_back, path, 13, &found, &error), &error);
    assert_true(found);
    assert_memory_equal(&window, &read_back, sizeof window);
    lh_assert_ok(lh_window_load(&read_back, path, 12, &found, &error), &error);
    assert_memory_equal(&earlier, &read_back, sizeof earlier);
    lh_assert_ok(lh_window_load(&read_back, path, 14, &found, &error), &error);
    assert_false(found);
    assert_int_equal(read_back.steps, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window_epoch_is_the_mean_of_its_batches),
        cmocka_unit_test(test_window_epoch_leaves_out_batches_without_counted_labels),
        cmocka_unit_test(test_window_mean_loss_leaves_out_batches_without_counted_labels),
        lh_test_in_directory(test_window_log_without_counted_labels_has_no_loss),
        lh_test_in_directory(test_saved_window_is_loaded_with_the_same_sums),
    };
    return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
