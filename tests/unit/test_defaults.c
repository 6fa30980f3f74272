/* training/defaults.h: every value in the text of a trainer's defaults is read; a damaged text is refused. */
#include "lh_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "toy_spec.h"
#include "training/defaults.h"

enum { CAPACITY = 1024 };

/* Makes a spec whose defaults are a valid first line and `body`. */
static lh_spec make_spec(char buffer[CAPACITY], const char *body) {
    char digest[LH_SHA256_TEXT];
    lh_sha256(body, strlen(body), digest);
    memset(buffer, 0, CAPACITY);
    snprintf(buffer, CAPACITY, "longhand defaults %d %d %.16s\n%s", LH_DEFAULTS_VERSION, CAPACITY, digest, body);
    lh_spec spec = lh_toy_spec;
    spec.defaults = buffer;
    spec.defaults_capacity = CAPACITY;
    spec.resolved = NULL;
    return spec;
}

static const char *const body = "train.steps 4000000000\n"
                                "train.epochs 7\n"
                                "train.learning_rate 0.0003\n"
                                "train.log_every 25\n"
                                "train.checkpoint_every 50\n"
                                "train.checkpoint_minutes 2.5\n"
                                "train.keep_all true\n"
                                "train.keep_steps 3,4000000001\n"
                                "train.init a b/c.safetensors\n"
                                "train.init_checksum 00000000000000aa\n"
                                "eval.lengths 41:500:9\n"
                                "eval.examples 64\n"
                                "eval.batch 16\n"
                                "eval.draws 3\n"
                                "eval.noise 0,0.25,1e1\n"
                                "eval.during_every 4000000002\n"
                                "eval.during_lengths 7,9,20\n"
                                "eval.during_examples 32\n"
                                "resolved {\"id\":\"other spec\"}\n";

static void test_defaults_are_read_into_the_spec(void **state) {
    char buffer[CAPACITY];
    lh_defaults d;
    lh_error error;
    lh_spec spec = make_spec(buffer, body);
    lh_assert_ok(lh_defaults_open(&d, &spec, &error), &error);
    const lh_train_defaults *train = &d.spec.train;
    const lh_eval_defaults *eval = &d.spec.eval;
    assert_int_equal(train->steps, 4000000000);
    assert_int_equal(train->epochs, 7);
    assert_true(train->learning_rate == 3e-4);
    assert_int_equal(train->log_every, 25);
    assert_int_equal(train->checkpoint_every, 50);
    assert_true(train->checkpoint_minutes == 2.5);
    assert_true(train->keep_all);
    assert_string_equal(train->init, "a b/c.safetensors");
    assert_string_equal(train->init_checksum, "00000000000000aa");
    assert_int_equal(train->keep_steps_count, 2);
    assert_int_equal(train->keep_steps[0], 3);
    assert_int_equal(train->keep_steps[1], 4000000001);
    assert_null(eval->lengths.list);
    assert_int_equal(eval->lengths.first, 41);
    assert_int_equal(eval->lengths.last, 500);
    assert_int_equal(eval->lengths.step, 9);
    assert_int_equal(eval->examples, 64);
    assert_int_equal(eval->batch, 16);
    assert_int_equal(eval->draws, 3);
    assert_int_equal(eval->noise.count, 3);
    assert_true(eval->noise.deviation[0] == 0 && eval->noise.deviation[1] == 0.25 && eval->noise.deviation[2] == 10);
    assert_int_equal(eval->during_every, 4000000002);
    assert_int_equal(eval->during_lengths.count, 3);
    assert_int_equal(eval->during_lengths.list[0], 7);
    assert_int_equal(eval->during_lengths.list[2], 20);
    assert_int_equal(eval->during_examples, 32);
    assert_string_equal(d.spec.resolved, "{\"id\":\"other spec\"}");
    assert_int_equal(train->batch, lh_toy_spec.train.batch);
    assert_string_equal(d.spec.id, "toy");
    lh_defaults_close(&d);
}

static void test_defaults_of_a_spec_without_a_text_are_its_own(void **state) {
    lh_defaults d;
    lh_error error;
    lh_assert_ok(lh_defaults_open(&d, &lh_toy_spec, &error), &error);
    assert_memory_equal(&d.spec, &lh_toy_spec, sizeof d.spec);
    lh_defaults_close(&d);
}

static lh_spec make_spec_with_axes(char *buffer, lh_task *task, const char *text) {
    static const char *const axis[] = {"vectors", "puzzle"};
    lh_spec spec = make_spec(buffer, text);
    *task = *lh_toy_spec.task;
    task->axis = axis;
    task->axes = 2;
    spec.task = task;
    return spec;
}

/* Axes are stored in the task's order, length first. */
static void test_defaults_have_the_axes_of_an_evaluation(void **state) {
    char buffer[CAPACITY];
    lh_defaults d;
    lh_error error;
    lh_task task;
    lh_spec spec = make_spec_with_axes(buffer, &task,
                                       "eval.by puzzle=3,9;length=*;vectors=1:3:2\neval.sets validation,train\n"
                                       "eval.during_by vectors=*\neval.during_sets test\nresolved {}\n");
    lh_assert_ok(lh_defaults_open(&d, &spec, &error), &error);
    const lh_by *by = &d.spec.eval.by;
    assert_int_equal(by->count, 3);
    assert_int_equal(by->axes[0].axis, LH_BY_LENGTH);
    assert_true(by->axes[0].all);
    assert_int_equal(by->axes[1].axis, 0);
    assert_int_equal(by->axes[1].values.last, 3);
    assert_int_equal(by->axes[1].values.step, 2);
    assert_int_equal(by->axes[2].axis, 1);
    assert_false(by->axes[2].all);
    assert_int_equal(by->axes[2].values.list[1], 9);
    assert_int_equal(d.spec.eval.sets, 1u << LH_SET_TRAIN | 1u << LH_SET_VALIDATION);
    assert_int_equal(d.spec.eval.during_by.count, 1);
    assert_int_equal(d.spec.eval.during_sets, 1u << LH_SET_TEST);
    lh_defaults_close(&d);
}

static void assert_refused(const lh_spec *spec, const char *expected) {
    lh_defaults d;
    lh_error error;
    if (lh_defaults_open(&d, spec, &error) != LH_ERR_INPUT) fail_msg("accepted: %s", spec->defaults);
    assert_non_null(strstr(error.text, "that this program stores are damaged"));
    assert_non_null(strstr(error.text, expected));
    lh_defaults_close(&d);
}

static void test_defaults_with_any_flipped_bit_are_refused(void **state) {
    char buffer[CAPACITY];
    lh_spec spec = make_spec(buffer, body);
    int bits = 8 * (int)strlen(buffer);
    for (int i = 0; i < bits; i++) {
        buffer[i / 8] = (char)(buffer[i / 8] ^ 1 << i % 8);
        assert_refused(&spec, "expected: longhand defaults 1 1024 ");
        buffer[i / 8] = (char)(buffer[i / 8] ^ 1 << i % 8);
    }
    memset(buffer + strlen(buffer), 'x', CAPACITY - strlen(buffer));
    assert_refused(&spec, "a 0 at the end of the text");
}

/* Texts with a valid digest and a wrong line. */
static void test_unknown_defaults_are_refused(void **state) {
    static const char *const invalid_lines[] = {
        "train.stops 3",         "train.steps",           "train.steps ",        "train.steps -3",
        "train.steps 3x",        "train.steps 3 ",        "train.steps 0x3",     "train.steps 9223372036854775808",
        "eval.draws 2147483648", "train.learning_rate x", "train.keep_all yes",  "train.learning_rate nan",
        "train.keep_steps 3,",   "train.keep_steps ,3",   "train.keep_steps 3;", "eval.lengths 3:4",
        "eval.lengths 3:4:0",    "eval.lengths 3:4:5:6",  "eval.lengths 3,x",    "eval.lengths ",
        "eval.by length",        "eval.by length=",       "eval.by vectors=*",   "eval.sets train;test",
        "eval.sets tests",       "eval.by length=3:4",
    };
    for (int i = 0; i < (int)(sizeof invalid_lines / sizeof *invalid_lines); i++) {
        char buffer[CAPACITY], text[256];
        snprintf(text, sizeof text, "%s\nresolved {}\n", invalid_lines[i]);
        lh_spec spec = make_spec(buffer, text);
        assert_refused(&spec, "a name and its value");
    }
    char buffer[CAPACITY];
    lh_spec spec = make_spec(buffer, "train.steps 3\n");
    assert_refused(&spec, "a line with the field `resolved`");
    spec = make_spec(buffer, body);
    spec.defaults_capacity = CAPACITY - 1;
    assert_refused(&spec, "expected: longhand defaults 1 1023 ");
}

/* The program that starts a trainer passes it the digest of the defaults with which the trainer was built. */
static void test_defaults_other_than_the_requested_are_stale(void **state) {
    char buffer[CAPACITY], digest[LH_SHA256_TEXT];
    lh_defaults d;
    lh_error error;
    lh_spec spec = make_spec(buffer, body);
    lh_sha256(body, strlen(body), digest);
    digest[16] = 0;
    setenv("LONGHAND_DEFAULTS", digest, 1);
    lh_assert_ok(lh_defaults_open(&d, &spec, &error), &error);
    lh_defaults_close(&d);
    setenv("LONGHAND_DEFAULTS", "0123456789abcdef", 1);
    assert_int_equal(lh_defaults_open(&d, &spec, &error), LH_ERR_STALE);
    assert_non_null(strstr(error.text, "expected: LONGHAND_DEFAULTS=0123456789abcdef, found: "));
    lh_defaults_close(&d);
    unsetenv("LONGHAND_DEFAULTS");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_read_into_the_spec),
        cmocka_unit_test(test_defaults_have_the_axes_of_an_evaluation),
        cmocka_unit_test(test_defaults_of_a_spec_without_a_text_are_its_own),
        cmocka_unit_test(test_defaults_with_any_flipped_bit_are_refused),
        cmocka_unit_test(test_unknown_defaults_are_refused),
        cmocka_unit_test(test_defaults_other_than_the_requested_are_stale),
    };
    return cmocka_run_group_tests_name("defaults", tests, NULL, NULL);
}
