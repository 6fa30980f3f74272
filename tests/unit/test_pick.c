/* data/datasets/pick.h: the examples of a file that an evaluation chooses if there are more than requested. */
#include "lh_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/datasets/pick.h"
#include "eval/eval_lines.h"
#include "eval/evaluate.h"
#include "longhand/rng.h"
#include "lh_engines.h"
#include "toy_files.h"
#include "toy_program.h"

enum { SUMS = 1000, LARGE = 3 /* tokens of a sum from 100 on */ };

typedef struct fixture {
    toy_files files;
    bool is_large[SUMS + 1]; /* [line] whether the sum has three digits */
} fixture;

/* Writes 1,000 sums of two numbers of two digits, each digit modulo the toy's 5 symbols; a target has as many tokens
 * as the sum has digits. */
static char *write_sums(fixture *f) {
    char *text = malloc(SUMS * 80), *cursor = text;
    lh_rng rng = lh_rng_at(lh_key_of_seed(7), 0, 0, 0);
    for (int line = 1; line <= SUMS; line++) {
        int a = 10 + (int)lh_rng_below(&rng, 90), b = 10 + (int)lh_rng_below(&rng, 90);
        f->is_large[line] = a + b > 99;
        cursor += sprintf(cursor, "{\"input\":[%d,%d,%d,%d],\"target\":[%s1,1]}\n", a / 10 % 5, a % 5, b / 10 % 5,
                          b % 5, f->is_large[line] ? "1," : "");
    }
    return text;
}

static void open_sums(fixture *f, const char *directory) {
    lh_error error;
    memset(f, 0, sizeof *f);
    char *text = write_sums(f);
    toy_open_files(&f->files, lh_test_write_text(directory, "sums.jsonl", text), NULL);
    free(text);
    lh_assert_ok(lh_corpus_bind(&f->files.corpus, &f->files.spec, &error), &error);
}

/* Marks the chosen lines of the file's only condition; returns the number of large sums. */
static int choose_lines(const fixture *f, lh_pick choice, bool is_picked[SUMS + 1]) {
    static const lh_by length = {.count = 1, .axes = {{.axis = LH_BY_LENGTH, .all = true}}};
    lh_groups groups;
    lh_error error;
    int large_count = 0;
    memset(is_picked, 0, (SUMS + 1) * sizeof *is_picked);
    lh_assert_ok(lh_groups_open(&groups, &f->files.corpus, &f->files.spec, &length, 0, &error), &error);
    lh_assert_ok(lh_pick_examples(&groups, &f->files.corpus, &choice, &error), &error);
    assert_int_equal(groups.count, 1);
    assert_int_equal(groups.group[0].total, SUMS);
    assert_int_equal(groups.group[0].count, choice.limit > 0 && choice.limit < SUMS ? choice.limit : SUMS);
    for (int64_t i = 0; i < groups.group[0].count; i++) {
        int n = lh_dataset_find_shape(&f->files.corpus.train, f->files.corpus.shapes, groups.indices[i]);
        int line = (int)f->files.corpus.train.line[groups.indices[i]];
        assert_true(i == 0 || groups.indices[i] > groups.indices[i - 1]); /* ordered by shape */
        assert_int_equal(groups.indices_in_shape[i] + f->files.corpus.train.first[n - 1], groups.indices[i]);
        assert_int_equal(f->files.corpus.sizes[n - 1].output == LARGE, f->is_large[line]);
        assert_false(is_picked[line]);
        is_picked[line] = true;
        large_count += f->is_large[line];
    }
    lh_groups_close(&groups);
    return large_count;
}

static int count_large(const fixture *f, int lines) {
    int large_count = 0;
    for (int line = 1; line <= lines; line++) large_count += f->is_large[line];
    return large_count;
}

/* A choice of 500 has sums of three digits in proportion to the file; the shortest 500 would be nearly all small. */
static void test_limit_chooses_examples_of_all_kinds(void **state) {
    fixture f;
    bool is_picked[SUMS + 1];
    open_sums(&f, *state);
    int count_of_all = count_large(&f, SUMS);
    assert_in_range(count_of_all, 550, 650);
    for (uint64_t seed = 0; seed < 20; seed++) {
        int large_count = choose_lines(&f, (lh_pick){.limit = 500, .seed = seed, .in_order = false}, is_picked);
        assert_in_range(large_count, count_of_all / 2 - 40, count_of_all / 2 + 40); /* the standard deviation is 8 */
    }
    assert_int_equal(choose_lines(&f, (lh_pick){.limit = 0, .seed = 1, .in_order = false}, is_picked), count_of_all);
    assert_int_equal(f.files.corpus.final.group[0].count, f.files.spec.eval.examples);
    lh_corpus_close(&f.files.corpus);
}

static void test_choices_are_nested_and_depend_on_the_seed(void **state) {
    fixture f;
    bool hundred[SUMS + 1], larger[SUMS + 1], repeated[SUMS + 1], other_seed[SUMS + 1];
    int common = 0;
    open_sums(&f, *state);
    choose_lines(&f, (lh_pick){.limit = 100, .seed = 1, .in_order = false}, hundred);
    choose_lines(&f, (lh_pick){.limit = 500, .seed = 1, .in_order = false}, larger);
    choose_lines(&f, (lh_pick){.limit = 500, .seed = 1, .in_order = false}, repeated);
    choose_lines(&f, (lh_pick){.limit = 500, .seed = 2, .in_order = false}, other_seed);
    assert_memory_equal(larger, repeated, sizeof larger);
    for (int line = 1; line <= SUMS; line++) {
        assert_true(!hundred[line] || larger[line]);
        common += larger[line] && other_seed[line];
    }
    assert_in_range(common, 200, 300); /* two independent choices of 500 of 1000 share about 250 */
    lh_corpus_close(&f.files.corpus);
}

static void test_choice_in_order_of_the_file_has_the_first_lines(void **state) {
    fixture f;
    bool is_picked[SUMS + 1];
    open_sums(&f, *state);
    assert_int_equal(choose_lines(&f, (lh_pick){.limit = 300, .seed = 1, .in_order = true}, is_picked),
                     count_large(&f, 300));
    for (int line = 1; line <= SUMS; line++) assert_int_equal(is_picked[line], line <= 300);
    lh_corpus_close(&f.files.corpus);
}

/* Preferred examples (lh_pick.preferred_count) are the choice of 128 examples; large sums are in proportion to the
 * file. */
static void test_preferred_examples_are_of_all_kinds(void **state) {
    static const lh_by length = {.count = 1, .axes = {{.axis = LH_BY_LENGTH, .all = true}}};
    fixture f;
    lh_groups groups;
    lh_error error;
    bool is_preferred[SUMS + 1];
    int large_count = 0;
    open_sums(&f, *state);
    choose_lines(&f, (lh_pick){.limit = 128, .seed = 1}, is_preferred);
    lh_pick choice = {.limit = 500, .seed = 1, .preferred_count = 128};
    lh_assert_ok(lh_groups_open(&groups, &f.files.corpus, &f.files.spec, &length, 0, &error), &error);
    lh_assert_ok(lh_pick_examples(&groups, &f.files.corpus, &choice, &error), &error);
    assert_int_equal(groups.group[0].count, 500);
    for (int64_t i = 0; i < 500; i++) {
        int line = (int)f.files.corpus.train.line[groups.indices[i]];
        assert_int_equal(is_preferred[line], i < 128);
        assert_true(i == 0 || i == 128 || groups.indices[i] > groups.indices[i - 1]);
        large_count += i < 128 && f.is_large[line];
    }
    assert_in_range(large_count, 60, 98); /* a proportional choice has 79 of 128 */
    lh_groups_close(&groups);
    lh_corpus_close(&f.files.corpus);
}

/* Evaluates a choice of 100 examples; returns the last line of the file at path. */
static const char *evaluate(fixture *f, bool in_order, const char *path, bool *was_in_file) {
    static char line[512];
    lh_error error;
    lh_groups groups;
    lh_eval_result result;
    lh_engine_config config = {.spec = &f->files.spec, .seed = 7, .threads = 1};
    lh_engine *engine = lh_test_open_engine(config, &toy_float);
    lh_assert_ok(lh_groups_open(&groups, &f->files.corpus, &f->files.spec, &f->files.spec.eval.by, 0, &error), &error);
    lh_assert_ok(
        lh_pick_examples(&groups, &f->files.corpus, &(lh_pick){.limit = 100, .seed = 1, .in_order = in_order}, &error),
        &error);
    lh_eval_request request = {.groups = &groups, .draws = 1, .seed = 1, .step = 5, .path = path, .only_missing = true};
    lh_assert_ok(lh_evaluate(engine, &request, &result, &error), &error);
    engine->ops->close(engine);
    lh_groups_close(&groups);
    *was_in_file = result.was_in_file;
    size_t bytes;
    char *text = lh_test_read(path, &bytes), *last = text;
    for (char *cursor = text; *cursor != 0; cursor++)
        if (*cursor == '\n' && cursor[1] != 0) last = cursor + 1;
    snprintf(line, sizeof line, "%s", last);
    free(text);
    return line;
}

/* Lines record the number of examples in the file and how they were chosen. Lines with another order, or of another
 * file, do not count. */
static void test_lines_record_number_of_available_examples(void **state) {
    const char *path = lh_test_path(*state, "eval.jsonl");
    fixture f;
    bool was_in_file;
    open_sums(&f, *state);
    const char *line = evaluate(&f, false, path, &was_in_file);
    assert_false(was_in_file);
    assert_non_null(strstr(line, "\"examples\":100,\"of\":1000,\"draws\":1,"));
    char data[64];
    snprintf(data, sizeof data, ",\"data\":\"%.16s\"}\n", f.files.corpus.train.digest);
    assert_non_null(strstr(line, data));
    evaluate(&f, false, path, &was_in_file);
    assert_true(was_in_file);
    line = evaluate(&f, true, path, &was_in_file);
    assert_false(was_in_file);
    assert_non_null(strstr(line, "\"of\":1000,\"order\":\"file\",\"draws\":1,"));
    f.files.corpus.train.digest[0] ^= 1;
    f.files.corpus.eval.digest[0] ^= 1;
    evaluate(&f, true, path, &was_in_file);
    assert_false(was_in_file);
    lh_corpus_close(&f.files.corpus);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        lh_test_in_directory(test_limit_chooses_examples_of_all_kinds),
        lh_test_in_directory(test_choices_are_nested_and_depend_on_the_seed),
        lh_test_in_directory(test_choice_in_order_of_the_file_has_the_first_lines),
        lh_test_in_directory(test_preferred_examples_are_of_all_kinds),
        lh_test_in_directory(test_lines_record_number_of_available_examples),
    };
    return cmocka_run_group_tests_name("pick", tests, NULL, NULL);
}
