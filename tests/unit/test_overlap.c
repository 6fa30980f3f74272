/* data/datasets/overlap.h compared with a comparison of all pairs of examples; and the axis `trained` of files. */
#include "lh_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/datasets/overlap.h"
#include "longhand/rng.h"
#include "toy_files.h"

enum { TRAIN = 60, TEST = 50, MAX_LENGTH = 4 };

/* Tokens of an example; short examples occur more than once. */
typedef struct example {
    int inputs, outputs;
    uint16_t token[MAX_LENGTH];
} example;

typedef struct fixture {
    toy_files files;
    example train[TRAIN], test[TEST];
} fixture;

static void make_examples(lh_rng *rng, example *list, int count) {
    for (int i = 0; i < count; i++) {
        list[i] = (example){.inputs = 1 + (int)lh_rng_below(rng, 3), .outputs = 1};
        if (list[i].inputs < 3) list[i].outputs += (int)lh_rng_below(rng, 2);
        for (int t = 0; t < list[i].inputs + list[i].outputs; t++) list[i].token[t] = (uint16_t)lh_rng_below(rng, 3);
    }
}

static size_t put_tokens(char *text, const uint16_t *token, int count) {
    size_t used = 0;
    for (int i = 0; i < count; i++) used += (size_t)sprintf(text + used, "%s%d", i > 0 ? "," : "", token[i]);
    return used;
}

/* Writes one example on each second line, so that line numbers differ from the indices of examples. */
static const char *write_file(const char *directory, const char *name, const example *list, int count) {
    static char text[TRAIN * 100];
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        used += (size_t)sprintf(text + used, "{\"input\":[");
        used += put_tokens(text + used, list[i].token, list[i].inputs);
        used += (size_t)sprintf(text + used, "],\"target\":[");
        used += put_tokens(text + used, list[i].token + list[i].inputs, list[i].outputs);
        used += (size_t)sprintf(text + used, "]}\n\n");
    }
    const char *path = lh_test_path(directory, name);
    lh_test_write(path, text, used);
    return path;
}

static void open_files(fixture *f, const char *directory, uint64_t seed) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(seed), 0, 0, 0);
    memset(f, 0, sizeof *f);
    make_examples(&rng, f->train, TRAIN);
    make_examples(&rng, f->test, TEST);
    toy_open_files(&f->files, write_file(directory, "train.jsonl", f->train, TRAIN),
                   write_file(directory, "test.jsonl", f->test, TEST));
}

static bool have_same_input(const example *a, const example *b) {
    return a->inputs == b->inputs && memcmp(a->token, b->token, (size_t)a->inputs * sizeof *a->token) == 0;
}

static bool are_same(const example *a, const example *b) {
    return have_same_input(a, b) && a->outputs == b->outputs &&
           memcmp(a->token, b->token, (size_t)(a->inputs + a->outputs) * sizeof *a->token) == 0;
}

/* Whether a list has an example with the same input and, if with_target, with the same target. */
static bool is_among(const example *sought, const example *list, int count, bool with_target) {
    for (int i = 0; i < count; i++)
        if (with_target ? are_same(sought, &list[i]) : have_same_input(sought, &list[i])) return true;
    return false;
}

/* Counts the example of this index, and lists its line if there is space. */
static void add_example(lh_overlap_count *counted, int index) {
    if (counted->count < LH_OVERLAP_LINES) counted->line[counted->count] = (uint32_t)(2 * index + 1);
    counted->count++;
}

static void assert_count(const lh_overlap_count *actual, const lh_overlap_count *expected) {
    assert_int_equal(actual->count, expected->count);
    for (int i = 0; i < LH_OVERLAP_LINES && i < expected->count; i++)
        assert_int_equal(actual->line[i], expected->line[i]);
}

static void test_overlap_counts_equal_counts_over_all_pairs(void **state) {
    int64_t sums[3] = {0, 0, 0};
    for (uint64_t seed = 0; seed < 20; seed++) {
        fixture f;
        lh_error error;
        lh_overlap actual, expected = {.trained = {.count = 0}};
        uint8_t trained[TEST];
        open_files(&f, *state, seed);
        lh_assert_ok(lh_overlap_count_examples(&f.files.corpus, LH_SET_TEST, &actual, trained, &error), &error);
        for (int i = 0; i < TEST; i++) {
            bool is_trained = is_among(&f.test[i], f.train, TRAIN, true);
            if (is_trained) add_example(&expected.trained, i);
            else if (is_among(&f.test[i], f.train, TRAIN, false)) add_example(&expected.input, i);
            if (is_among(&f.test[i], f.test, i, true)) add_example(&expected.duplicates, i); /* true: with the target */
        }
        for (int64_t index = 0; index < TEST; index++)
            assert_int_equal(trained[index],
                             is_among(&f.test[f.files.corpus.eval.line[index] / 2], f.train, TRAIN, true));
        assert_count(&actual.trained, &expected.trained);
        assert_count(&actual.input, &expected.input);
        assert_count(&actual.duplicates, &expected.duplicates);
        sums[0] += expected.trained.count, sums[1] += expected.input.count, sums[2] += expected.duplicates.count;
        lh_corpus_close(&f.files.corpus);
    }
    for (int i = 0; i < 3; i++) assert_in_range(sums[i], 50, 20 * TEST - 50); /* all cases are frequent */
}

/* eval.by = { trained = true } gives two conditions, which together have all examples of the test set. */
static void test_trained_is_an_axis_of_dataset_files(void **state) {
    static const lh_by by = {.count = 1, .axes = {{.axis = LH_BY_TRAINED, .all = true}}};
    fixture f;
    lh_error error;
    int64_t trained = 0;
    open_files(&f, *state, 1);
    f.files.spec.eval.by = by;
    lh_assert_ok(lh_corpus_bind(&f.files.corpus, &f.files.spec, &error), &error);
    for (int i = 0; i < TEST; i++) trained += is_among(&f.test[i], f.train, TRAIN, true);
    const lh_groups *groups = &f.files.corpus.final;
    assert_int_equal(groups->count, 2);
    assert_string_equal(groups->name[0], "trained");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(groups->group[i].value[0], i);
        assert_int_equal(groups->group[i].total, i == 1 ? trained : TEST - trained);
        assert_false(lh_is_group_beyond(groups, &groups->group[i], 0));
    }
    assert_false(groups->leaves_out_trained);
    lh_corpus_close(&f.files.corpus);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        lh_test_in_directory(test_overlap_counts_equal_counts_over_all_pairs),
        lh_test_in_directory(test_trained_is_an_axis_of_dataset_files),
    };
    return cmocka_run_group_tests_name("overlap", tests, NULL, NULL);
}
