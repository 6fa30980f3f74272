/* data/datasets/example_groups.h: axes in files of examples, their conditions, and evaluations by axes. */
#include "lh_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval_lines.h"
#include "eval/evaluate.h"
#include "lh_engines.h"
#include "toy_files.h"
#include "toy_program.h"

enum { DIGITS, CARRY };

/* Makes lh_toy_spec with files whose lines may have two axes. */
static void make_spec(toy_files *f, const char *train, const char *eval, const char *validation) {
    static const char *const axis[] = {"digits", "carry"};
    toy_make_files(f, train, eval);
    f->task.axis = axis;
    f->task.axes = 2;
    f->data.validation = validation;
}

/* Two shapes; digits 1 and 2, carry 0 and 3, one line without either. */
static const char *const train_lines = "{\"input\":[1,2],\"target\":[3],\"digits\":2,\"carry\":3}\n"
                                       "{\"input\":[1],\"target\":[0],\"digits\":1,\"carry\":0}\n"
                                       "{\"input\":[2],\"target\":[1],\"digits\":2,\"carry\":3}\n"
                                       "{\"carry\":0,\"input\":[4,4],\"target\":[2],\"digits\":2}\n"
                                       "{\"input\":[3],\"target\":[3]}\n"
                                       "{\"input\":[0,1],\"target\":[4],\"digits\":2,\"carry\":3}\n";
static const char *const test_lines = "{\"input\":[2,2],\"target\":[3],\"digits\":7,\"carry\":1}\n";
static const char *const validation_lines = "{\"input\":[0],\"target\":[3],\"digits\":1}\n"
                                            "{\"input\":[1],\"target\":[3],\"digits\":1}\n";

static void open_corpus(toy_files *f) {
    lh_error error;
    lh_assert_ok(lh_corpus_open(&f->corpus, &f->spec, NULL, &error), &error);
    lh_assert_ok(lh_corpus_bind(&f->corpus, &f->spec, &error), &error);
}

static void open_files(toy_files *f, const char *directory, bool has_test, bool has_validation) {
    make_spec(f, lh_test_write_text(directory, "train.jsonl", train_lines),
              has_test ? lh_test_write_text(directory, "test.jsonl", test_lines) : NULL,
              has_validation ? lh_test_write_text(directory, "validation.jsonl", validation_lines) : NULL);
    open_corpus(f);
}

/* All values of both axes. */
static const lh_by by_both = {.count = 2, .axes = {{.axis = DIGITS, .all = true}, {.axis = CARRY, .all = true}}};

static void open_groups(lh_groups *groups, const toy_files *f, const lh_by *by, unsigned sets) {
    lh_error error;
    lh_assert_ok(lh_groups_open(groups, &f->corpus, &f->spec, by, sets, &error), &error);
}

/* The groups are the occurring combinations of values, and one group of the examples without values; within a group
 * examples are ordered by shape. */
static void test_groups_are_the_occurring_combinations(void **state) {
    toy_files f;
    lh_groups g;
    open_files(&f, *state, false, false); /* only training examples */
    open_groups(&g, &f, &by_both, 0);
    /* values of digits and carry, and number of examples */
    static const int expected[4][3] = {{LH_NO_VALUE, LH_NO_VALUE, 1}, {1, 0, 1}, {2, 0, 1}, {2, 3, 3}};
    assert_int_equal(g.count, 4);
    assert_int_equal(g.axes, 2);
    assert_string_equal(g.name[0], "digits");
    for (int i = 0; i < 4; i++) {
        assert_int_equal(g.group[i].set, LH_SET_TRAIN);
        assert_int_equal(g.group[i].value[0], expected[i][0]);
        assert_int_equal(g.group[i].value[1], expected[i][1]);
        assert_int_equal(g.group[i].count, expected[i][2]);
    }
    const lh_group *last = &g.group[3]; /* inputs [2] of shape 1, then [1, 2] and [0, 1] of shape 2 */
    static const uint32_t indices[3] = {1, 3, 5}, indices_in_shape[3] = {1, 0, 2};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(g.indices[last->first + i], indices[i]);
        assert_int_equal(g.indices_in_shape[last->first + i], indices_in_shape[i]);
        assert_int_equal(lh_dataset_find_shape(&f.corpus.train, f.corpus.shapes, indices[i]), i > 0 ? 2 : 1);
    }
    lh_groups_close(&g);
    lh_corpus_close(&f.corpus);
}

static void test_groups_of_a_range_leave_out_other_values(void **state) {
    static const int32_t list[] = {2, 9};
    const lh_by by = {.count = 3,
                      .axes = {{.axis = LH_BY_LENGTH, .values = {.first = 2, .last = 5, .step = 1}},
                               {.axis = DIGITS, .values = {.list = list, .count = 2}},
                               {.axis = CARRY, .values = {.first = 0, .last = 9, .step = 3}}}};
    toy_files f;
    lh_groups g;
    open_files(&f, *state, false, false);
    open_groups(&g, &f, &by, 0);
    assert_int_equal(g.count, 2); /* length 2: 2 digits with carry 0, and with carry 3 */
    assert_string_equal(g.name[0], "length");
    for (int axis = 0; axis < 3; axis++) assert_int_equal(g.group[1].value[axis], axis < 2 ? 2 : 3);
    assert_int_equal(g.group[1].count, 2);
    lh_groups_close(&g);
    lh_corpus_close(&f.corpus);
}

/* By default, groups have examples of the held-out sets, if there are any. A group never has examples of two sets. */
static void test_groups_have_examples_of_one_held_out_set(void **state) {
    const lh_by digits = {.count = 1, .axes = {{.axis = DIGITS, .all = true}}};
    toy_files f;
    lh_groups g;
    lh_error error;
    open_files(&f, *state, true, true); /* with test and validation set */
    open_groups(&g, &f, &digits, 0);
    assert_int_equal(g.sets, 1u << LH_SET_TEST | 1u << LH_SET_VALIDATION);
    assert_int_equal(g.count, 2);
    assert_int_equal(g.group[0].set, LH_SET_TEST);
    assert_int_equal(g.group[0].value[0], 7);
    assert_int_equal(g.group[1].set, LH_SET_VALIDATION);
    assert_int_equal(g.group[1].count, 2);
    lh_groups_close(&g);
    open_groups(&g, &f, &digits, lh_sets_parse("validation,train"));
    assert_int_equal(g.count, 4);
    assert_int_equal(g.group[3].set, LH_SET_VALIDATION);
    lh_groups_close(&g);
    lh_corpus_close(&f.corpus);
    assert_int_equal(lh_sets_parse("tests"), 0);
    open_files(&f, *state, true, false); /* with a test set */
    lh_assert_error(lh_groups_open(&g, &f.corpus, &f.spec, &digits, 1u << LH_SET_VALIDATION, &error), LH_ERR_INPUT,
                    &error, "eval.splits: there are no examples for validation");
    lh_groups_close(&g);
    const lh_by absent = {.count = 1, .axes = {{.axis = DIGITS, .values = {.first = 30, .last = 40, .step = 1}}}};
    lh_assert_error(lh_groups_open(&g, &f.corpus, &f.spec, &absent, 0, &error), LH_ERR_INPUT, &error,
                    "eval.by: no example of");
    lh_groups_close(&g);
    const lh_by longer = {.count = 1,
                          .axes = {{.axis = LH_BY_LENGTH, .values = {.first = 1000, .last = 1001, .step = 1}}}};
    lh_assert_error(lh_groups_open(&g, &f.corpus, &f.spec, &longer, 0, &error), LH_ERR_INPUT, &error,
                    "has no example with an input of these lengths\n  expected: lengths from ");
    lh_groups_close(&g);
    lh_corpus_close(&f.corpus);
}

static void test_invalid_axes_are_refused(void **state) {
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"{\"input\":[1],\"target\":[0],\"digits\":-1}\n", "bad.jsonl:1: digits is not a valid value"},
        {"{\"input\":[1],\"target\":[0],\"carry\":\"3\"}\n", "bad.jsonl:1: carry is not a valid value"},
        {"{\"input\":[1],\"target\":[0],\"carry\":1000000001}\n", "an integer from 0 to 1000000000"},
    };
    const lh_by carry = {.count = 1, .axes = {{.axis = CARRY, .all = true}}};
    toy_files f;
    lh_groups g;
    lh_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_spec(&f, lh_test_write_text(*state, "bad.jsonl", cases[i].line), NULL, NULL);
        lh_assert_error(lh_corpus_open(&f.corpus, &f.spec, NULL, &error), LH_ERR_INPUT, &error, cases[i].message);
    }
    open_files(&f, *state, false, true); /* with a validation set */
    lh_assert_error(lh_groups_open(&g, &f.corpus, &f.spec, &carry, 1u << LH_SET_VALIDATION, &error), LH_ERR_INPUT,
                    &error, "has a value on carry");
    lh_groups_close(&g);
    lh_corpus_close(&f.corpus);
}

/* ---- evaluations ---- */

enum { MAX_GROUPS = 8 };

/* Evaluates groups. Returns the number of conditions. */
static int evaluate(const toy_files *f, const lh_groups *groups, const char *path, lh_eval_result results[MAX_GROUPS]) {
    lh_error error;
    lh_engine *engine = lh_test_open_engine((lh_engine_config){.spec = &f->spec, .seed = 7, .threads = 2}, &toy_float);
    lh_eval_request request = {.groups = groups, .draws = 1, .seed = 1, .step = 5, .path = path, .only_missing = true};
    lh_assert_ok(lh_evaluate(engine, &request, results, &error), &error);
    bool is_complete = false;
    if (path != NULL) {
        lh_assert_ok(lh_evaluation_is_complete(&f->spec, &request, &is_complete, &error), &error);
        assert_true(is_complete);
    }
    engine->ops->close(engine);
    return lh_count_eval_conditions(&request);
}

/* Sums the loss, or the accuracy, of every condition times its number of examples. */
static double compute_weighted_sum(const lh_eval_result *results, int count, bool sums_loss) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += results[i].examples * (sums_loss ? results[i].loss : results[i].accuracy);
    return sum;
}

/* Groups by length and groups by axes cover the same examples. */
static void test_evaluations_by_axes_and_by_length_have_equal_sums(void **state) {
    toy_files f;
    lh_groups two_axes;
    lh_eval_result by_length[MAX_GROUPS], by_axes[MAX_GROUPS];
    open_files(&f, *state, false, false);
    open_groups(&two_axes, &f, &by_both, 0);
    int groups_by_length = evaluate(&f, &f.corpus.final, NULL, by_length),
        groups_by_axes = evaluate(&f, &two_axes, NULL, by_axes);
    assert_int_equal(groups_by_length, 2);
    assert_int_equal(groups_by_axes, 4);
    assert_int_equal(by_length[0].n, 1);
    assert_int_equal(by_axes[3].n, 2);
    assert_true(compute_weighted_sum(by_length, groups_by_length, false) ==
                compute_weighted_sum(by_axes, groups_by_axes, false));
    double expected = compute_weighted_sum(by_length, groups_by_length, true),
           actual = compute_weighted_sum(by_axes, groups_by_axes, true);
    lh_assert_close(&actual, &expected, 1, 1e-6, 0);
    lh_groups_close(&two_axes);
    lh_corpus_close(&f.corpus);
}

/* A line has a number for each axis of the group; a later evaluation finds the line if all its numbers agree. */
static void test_lines_of_an_evaluation_by_axes_are_read_back(void **state) {
    const char *path = lh_test_path(*state, "eval.jsonl");
    static const char *const line_begins[] = {
        "{\"step\":5,\"split\":\"train\",\"by\":{},\"examples\":1,",
        "{\"step\":5,\"split\":\"train\",\"by\":{\"digits\":1,\"carry\":0},\"examples\":1,",
        "{\"step\":5,\"split\":\"train\",\"by\":{\"digits\":2,\"carry\":0},\"examples\":1,",
        "{\"step\":5,\"split\":\"train\",\"by\":{\"digits\":2,\"carry\":3},\"examples\":3,",
        "{\"step\":5,\"split\":\"validation\",\"by\":{\"digits\":1},\"examples\":2,",
    };
    toy_files f;
    lh_groups groups;
    lh_eval_result results[MAX_GROUPS];
    char name[LH_EVAL_NAME];
    size_t bytes, bytes_after;
    open_files(&f, *state, false, true);
    open_groups(&groups, &f, &by_both, lh_sets_parse("train,validation"));
    assert_int_equal(evaluate(&f, &groups, path, results), 5);
    assert_string_equal(lh_eval_write_name(&results[3], name), "train, digits 2, carry 3");
    assert_string_equal(lh_eval_write_name(&results[4], name), "validation, digits 1");
    char *text = lh_test_read(path, &bytes), *line = text;
    for (int i = 0; i < 5; i++, line = strchr(line, '\n') + 1) assert_ptr_equal(strstr(line, line_begins[i]), line);
    free(text);
    evaluate(&f, &groups, path, results); /* all lines exist */
    free(lh_test_read(path, &bytes_after));
    assert_int_equal(bytes_after, bytes);
    lh_groups_close(&groups);
    lh_corpus_close(&f.corpus);
}

/* In lines of an evaluation during training, `split` does not name a set. So the key `set` distinguishes the groups of
 * different sets. */
static void test_lines_of_another_set_are_not_taken(void **state) {
    const char *path = lh_test_path(*state, "eval.jsonl");
    toy_files f;
    lh_groups groups;
    lh_error error;
    lh_eval_result results[MAX_GROUPS];
    bool found[2] = {false};
    open_files(&f, *state, false, true);
    open_groups(&groups, &f, &by_both, lh_sets_parse("train,validation"));
    assert_int_equal(evaluate(&f, &groups, NULL, results), 5);
    lh_group other_group = *results[3].group;
    other_group.set = LH_SET_VALIDATION;
    results[3].split = "during";
    lh_assert_ok(lh_eval_append(path, 5, 1, &results[3], NULL, NULL, &error), &error);
    results[4] = results[3];
    results[4].group = &other_group;
    lh_assert_ok(lh_eval_find(path, 5, 1, &results[3], found, 2, &error), &error);
    assert_true(found[0] && !found[1]);
    lh_groups_close(&groups);
    lh_corpus_close(&f.corpus);
}

/* ---- comparison with training ---- */

static void add_axis_trained(toy_files *f) {
    static const char *const axis[] = {"digits", "carry", "trained"};
    f->task.axis = axis;
    f->task.axes = 3;
}

static void open_with_trained(toy_files *f, const char *directory) {
    static const char *const held_out = "{\"input\":[1],\"target\":[0],\"digits\":2,\"trained\":1}\n"
                                        "{\"input\":[2],\"target\":[1],\"digits\":2,\"trained\":0}\n"
                                        "{\"input\":[2],\"target\":[2],\"digits\":2,\"carry\":4,\"trained\":0}\n"
                                        "{\"input\":[3],\"target\":[3],\"digits\":1,\"trained\":1}\n"
                                        "{\"input\":[4],\"target\":[3],\"digits\":3,\"trained\":0}\n";
    make_spec(f, lh_test_write_text(directory, "train.jsonl", train_lines),
              lh_test_write_text(directory, "held.jsonl", held_out), NULL);
    add_axis_trained(f);
    open_corpus(f);
}

/* Checks the fields of each line directly before "data", the digest of the data. */
static void check_lines(const char *path, const char *const *ends, int count) {
    size_t bytes;
    char *text = lh_test_read(path, &bytes), *line = text;
    for (int i = 0; i < count; i++) {
        char *end = strstr(line, ",\"data\":\"");
        assert_non_null(end);
        assert_true((size_t)(end - line) > strlen(ends[i]));
        assert_memory_equal(end - strlen(ends[i]), ends[i], strlen(ends[i]));
        line = strchr(end, '\n') + 1;
    }
    assert_int_equal(*line, 0);
    free(text);
}

/* The key `trained` has the share of examples that are also training examples. The key `beyond` lists the axes on which
 * the group is beyond training. Lines of evaluations without training examples have the key `novel`. */
static void test_evaluation_lines_compare_with_training(void **state) {
    const lh_by digits = {.count = 1, .axes = {{.axis = DIGITS, .all = true}}};
    const char *path = lh_test_path(*state, "eval.jsonl");
    static const char *const line_ends[] = {
        "\"sd_over_draws\":0,\"trained\":1",
        ",\"trained\":0.5",
        "\"sd_over_draws\":0,\"beyond\":[\"carry\"],\"trained\":0",
        "\"sd_over_draws\":0,\"beyond\":[\"digits\"],\"trained\":0",
    };
    static const char *const novel_line_ends[] = {
        "\"trained\":0.5,\"novel\":true",
        "\"beyond\":[\"carry\"],\"trained\":0,\"novel\":true",
        "\"beyond\":[\"digits\"],\"trained\":0,\"novel\":true",
    };
    toy_files f;
    lh_groups g;
    lh_eval_result results[MAX_GROUPS];
    open_with_trained(&f, *state);
    f.spec.eval.with_trained = true;
    open_groups(&g, &f, &by_both, 0);
    assert_int_equal(evaluate(&f, &g, path, results), 4);
    check_lines(path, line_ends, 4);
    lh_groups_close(&g);
    f.spec.eval.with_trained = false;
    open_groups(&g, &f, &by_both, 0);
    assert_int_equal(g.group[0].value[DIGITS], 2); /* no example of one digit is new */
    remove(path);
    assert_int_equal(evaluate(&f, &g, path, results), 3);
    check_lines(path, novel_line_ends, 3);
    lh_groups_close(&g);
    f.spec.eval.with_trained = true;
    f.corpus.eval.exclusive_axes = 1u << CARRY;
    open_groups(&g, &f, &digits, 0);
    assert_int_equal(g.count, 3);
    assert_int_equal(g.group[1].count, 2); /* exclusive_axes leaves out the example of carry 4 */
    lh_groups_close(&g);
    lh_corpus_close(&f.corpus);
}

/* The axis `length` of files is one of the axes on which a condition can be beyond training. */
static void test_lines_record_lengths_beyond_training(void **state) {
    static const char *const held_out = "{\"input\":[1,3],\"target\":[0]}\n"
                                        "{\"input\":[2,1,0],\"target\":[1]}\n";
    static const char *const line_ends[] = {"\"sd_over_draws\":0", "\"sd_over_draws\":0,\"beyond\":[\"length\"]"};
    const char *path = lh_test_path(*state, "eval.jsonl");
    toy_files f;
    lh_eval_result results[MAX_GROUPS];
    make_spec(&f, lh_test_write_text(*state, "train.jsonl", train_lines),
              lh_test_write_text(*state, "held.jsonl", held_out), NULL);
    open_corpus(&f);
    assert_int_equal(evaluate(&f, &f.corpus.final, path, results), 2);
    check_lines(path, line_ends, 2); /* training inputs have one or two symbols */
    lh_corpus_close(&f.corpus);
}

static void test_groups_without_new_examples_are_refused(void **state) {
    const lh_by one_digit = {.count = 1, .axes = {{.axis = DIGITS, .values = {.first = 1, .last = 1, .step = 1}}}};
    toy_files f;
    lh_groups g;
    lh_error error;
    open_with_trained(&f, *state);
    lh_assert_error(lh_groups_open(&g, &f.corpus, &f.spec, &one_digit, 0, &error), LH_ERR_INPUT, &error,
                    "held.jsonl that eval.by requests is also a training example");
    lh_groups_close(&g);
    lh_corpus_close(&f.corpus);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        lh_test_in_directory(test_groups_are_the_occurring_combinations),
        lh_test_in_directory(test_groups_of_a_range_leave_out_other_values),
        lh_test_in_directory(test_groups_have_examples_of_one_held_out_set),
        lh_test_in_directory(test_invalid_axes_are_refused),
        lh_test_in_directory(test_evaluations_by_axes_and_by_length_have_equal_sums),
        lh_test_in_directory(test_lines_of_an_evaluation_by_axes_are_read_back),
        lh_test_in_directory(test_lines_of_another_set_are_not_taken),
        lh_test_in_directory(test_evaluation_lines_compare_with_training),
        lh_test_in_directory(test_lines_record_lengths_beyond_training),
        lh_test_in_directory(test_groups_without_new_examples_are_refused),
    };
    return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
