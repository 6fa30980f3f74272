/* Groups of an evaluation of arithmetic: by digits, chains of carries and frames. test_arithmetic.c lists the options
 * of the tasks. */
#include <math.h>

#include "data/datasets/corpus.h"
#include "data/datasets/epoch.h"
#include "lh_arithmetic.h"
#include "lh_test.h"

typedef struct fixture {
    lh_spec spec;
    lh_task task;
    lh_data data;
} fixture;

static void make_spec(fixture *f, const int *options, lh_by by) {
    static const char *const axis[] = {"digits", "carry", "trained", "frame"};
    f->task = (lh_task){.kind = "successor",
                        .collect = lh_task_successor,
                        .options = options,
                        .input_symbols = 15,
                        .output_symbols = 15,
                        .axis = axis,
                        .axes = 4};
    f->data = (lh_data){.longest = 21};
    static const lh_format format; /* all 0: no positions that depend on tokens */
    f->spec =
        (lh_spec){.id = "arithmetic", .task = &f->task, .data = &f->data, .format = &format, .train = {.batch = 16}};
    f->spec.eval = (lh_eval_defaults){.axis = "length", .by = by, .sets = 1u << LH_SET_TEST};
}

static void open_groups(fixture *f, lh_corpus *corpus) {
    lh_error error;
    lh_assert_ok(lh_corpus_open(corpus, &f->spec, NULL, &error), &error);
    lh_assert_ok(lh_corpus_bind(corpus, &f->spec, &error), &error);
}

/* Training has 56 of the numbers below 64, which have one or two digits. Numbers that are sampled for a chain of
 * carries have groups of their own. The groups of three digits are beyond the training numbers. */
static void test_groups_record_the_share_of_trained_numbers(void **state) {
    const int options[] = {10, 9, 64, 8};
    const lh_by digits = {.count = 1, .axes = {{.axis = DIGITS, .values = {.first = 1, .last = 3, .step = 1}}}};

    const lh_by two_axes = {
        .count = 2,
        .axes = {{.axis = DIGITS, .values = {.first = 1, .last = 3, .step = 1}}, {.axis = CARRY, .all = true}}};
    fixture f;
    lh_corpus c;
    make_spec(&f, options, digits);
    f.spec.eval.with_trained = true;
    open_groups(&f, &c);
    assert_int_equal(c.final.count, 3);
    assert_int_equal(c.final.group[2].count, 900);
    assert_false(lh_is_group_beyond(&c.final, &c.final.group[1], 0));
    assert_true(lh_is_group_beyond(&c.final, &c.final.group[2], 0));
    double share = lh_group_compute_trained_share(&c.final, &c.final.group[1]);
    long trained_one_digit = lround(9 * lh_group_compute_trained_share(&c.final, &c.final.group[0]));
    long trained_two_digits = lround(90 * share);
    assert_true(lh_group_compute_trained_share(&c.final, &c.final.group[2]) == 0);
    assert_in_range(trained_one_digit + trained_two_digits, 55, 56); /* 0 has one digit and is not tested */
    lh_groups_close(&c.final);
    f.spec.eval.with_trained = false;
    lh_error error;
    lh_assert_ok(lh_groups_open(&c.final, &c, &f.spec, &digits, 0, &error), &error);
    const lh_group *last_test_group = &c.final.group[c.final.count - 3]; /* before two groups of the validation set */
    assert_int_equal(last_test_group->set, LH_SET_TEST);
    assert_int_equal(last_test_group->value[DIGITS], 3);
    lh_groups_close(&c.final);
    lh_assert_ok(lh_groups_open(&c.final, &c, &f.spec, &digits, 1u << LH_SET_TEST, &error), &error);
    assert_int_equal(c.final.group[c.final.count - 2].count, 90 - trained_two_digits);
    assert_true(lh_group_compute_trained_share(&c.final, &c.final.group[c.final.count - 2]) ==
                share); /* share of all 90 numbers */
    lh_corpus_close(&c);
    make_spec(&f, options, two_axes);
    f.spec.eval.with_trained = true;
    open_groups(&f, &c);
    assert_int_equal(c.final.count, 3 + 2 + 3 + 4);
    assert_int_equal(c.final.group[0].value[CARRY], LH_NO_VALUE);
    assert_int_equal(c.final.group[0].count, 9);
    const lh_group *last = &c.final.group[c.final.count - 1]; /* the one number with this chain, 999, 500 times */
    assert_int_equal(last->value[CARRY], 3);
    assert_int_equal(last->count, 500);
    assert_true(lh_is_group_beyond(&c.final, last, 1));
    lh_groups_close(&c.final);
    lh_assert_ok(lh_groups_open(&c.final, &c, &f.spec, &digits, 1u << LH_SET_TEST, &error), &error);
    assert_int_equal(c.final.group[1].count, 90); /* all numbers but the numbers drawn for chains */
    lh_corpus_close(&c);
}

/* Groups by three axes (digits, carries, frames): each group of the training frame has a counterpart in the other
 * frame. Groups by two of these axes leave out the examples that were drawn for the third axis. */
static void test_groups_have_carries_in_frames(void **state) {
    static const int32_t wide[] = {12};
    const int options[] = {10, 9, 64, 8};
    const lh_by digits = {.count = 1, .axes = {{.axis = DIGITS, .values = {.first = 1, .last = 3, .step = 1}}}};
    lh_by by = digits;
    by.axes[1].axis = CARRY;
    by.axes[1].all = true;
    by.axes[2].axis = FRAME;
    by.axes[2].values = (lh_lengths){.list = wide, .count = 1};
    fixture f;
    lh_corpus c;
    lh_error error;
    by.count = 3;
    make_spec(&f, options, by);
    f.data.longest = 27;
    f.spec.eval.with_trained = true;
    open_groups(&f, &c);
    assert_int_equal(c.final.count, 2 * (3 + 2 + 3 + 4));
    int framed_count = 0;
    for (int i = 0; i < c.final.count; i++) {
        const lh_group *g = &c.final.group[i];
        framed_count += g->value[2] == 12;
        if (g->value[1] != LH_NO_VALUE) assert_int_equal(g->count, 500);
        else assert_int_equal(g->count, g->value[0] == 1 ? 9 : g->value[0] == 2 ? 90 : 900);
    }
    assert_int_equal(framed_count, 12);
    lh_groups_close(&c.final);
    by.count = 2;
    lh_assert_ok(lh_groups_open(&c.final, &c, &f.spec, &by, 1u << LH_SET_TEST, &error), &error);
    assert_int_equal(c.final.count, 12);
    lh_groups_close(&c.final);
    by.axes[1] = by.axes[2];
    lh_assert_ok(lh_groups_open(&c.final, &c, &f.spec, &by, 1u << LH_SET_TEST, &error), &error);
    assert_int_equal(c.final.count, 6);
    lh_corpus_close(&c);
}

/* Examples in narrower frames have shapes of their own. The indices of these shapes are lower than the index of the
 * training shape. The order of the training split must not depend on the index of its shape. */
static void test_frames_do_not_change_the_order_of_the_split(void **state) {
    const int options[] = {10, 9, 64, 8};
    const lh_by by = {.count = 2,
                      .axes = {{.axis = DIGITS, .values = {.first = 1, .last = 2, .step = 1}},
                               {.axis = FRAME, .values = {.first = 4, .last = 6, .step = 1}}}};
    fixture f;
    lh_corpus c;
    int shapes = 0;
    make_spec(&f, options, by);
    open_groups(&f, &c);
    assert_true(c.shapes >= 4);
    for (int n = 1; n <= c.shapes; n++) {
        if (lh_dataset_count_examples(&c.train, n) == 0) continue;
        assert_true(n >= 4);
        assert_int_equal(lh_get_order_word(&c.train, n), 1);
        assert_int_equal(lh_get_order_word(&c.validation, n), 1);
        shapes++;
    }
    for (int n = 1; n <= c.shapes; n++) { /* only evaluations by frame use the examples in other frames */
        bool is_training_shape = lh_dataset_count_examples(&c.train, n) > 0;
        assert_true(lh_dataset_count_examples(&c.eval, n) > 0);
        assert_true(lh_dataset_has_general_examples(&c.eval, f.task.axes, n) == is_training_shape);
        assert_true(lh_dataset_has_general_examples(&c.train, f.task.axes, n) == is_training_shape);
    }
    assert_int_equal(shapes, 1);
    lh_corpus_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_record_the_share_of_trained_numbers),
        cmocka_unit_test(test_groups_have_carries_in_frames),
        cmocka_unit_test(test_frames_do_not_change_the_order_of_the_split),
    };
    return cmocka_run_group_tests_name("arithmetic groups", tests, NULL, NULL);
}
