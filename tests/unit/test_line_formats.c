/* data/datasets/line_formats: files of examples with tabs, and in the format of SCAN. */
#include "lh_test.h"

#include <string.h>

#include "toy_files.h"

static const char *const input_names[] = {"jump", "twice", "+", "1", "é"};
static const char *const output_names[] = {"JUMP", "0", "1", "10", "12"};

/* Opens a file with the bytes of text. */
static lh_status open_text(void **state, toy_files *f, const char *text, lh_error *error) {
    static const char *axes[] = {"digits"};
    toy_make_files(f, lh_test_write_text(*state, "x.txt", text), NULL);
    f->task.input_symbol = input_names;
    f->task.output_symbol = output_names;
    f->task.axis = axes;
    f->task.axes = 1;
    return lh_corpus_open(&f->corpus, &f->spec, NULL, error);
}

/* Checks that a file has one shape, and the expected tokens of all examples, each input before its target. */
static void check_tokens(void **state, const char *text, int examples, const uint16_t *expected, int count) {
    toy_files f;
    lh_error error;
    lh_assert_ok(open_text(state, &f, text, &error), &error);
    assert_int_equal(f.corpus.train.count, examples);
    assert_memory_equal(f.corpus.train.tokens, expected, (size_t)count * sizeof *expected);
    lh_corpus_close(&f.corpus);
}

static void test_lines_with_tabs_are_read(void **state) {
    const uint16_t words[] = {0, 1, 0, 0, 0, 1, 0, 0};
    check_tokens(state, "jump twice\tJUMP JUMP\r\njump twice\tJUMP JUMP", 2, words, 8);
    const uint16_t characters[] = {3, 2, 4, 1, 2, 3, 2, 4, 1, 2};
    check_tokens(state, "\xef\xbb\xbf\n1+é\t01\n1+é\t0 1\n", 2, characters, 10);
    const uint16_t whole_name[] = {0, 3}; /* "10" is a symbol, so it is not split into characters */
    check_tokens(state, "jump\t10\n", 1, whole_name, 2);
}

static void test_header_names_the_columns(void **state) {
    toy_files f;
    lh_error error;
    const uint16_t expected[] = {3, 1, 2};
    lh_assert_ok(open_text(state, &f, "target\tinput\tdigits\tmask\tsource\n0 1\t1\t7\t01\tweb\n", &error), &error);
    assert_memory_equal(f.corpus.train.tokens, expected, sizeof expected);
    assert_int_equal(f.corpus.train.values[0], 7);
    assert_int_equal(f.corpus.train.masked, 1);
    assert_int_equal(f.corpus.train.line[0], 2);
    assert_string_equal(f.corpus.train.ignored, "\"source\"");
    lh_corpus_close(&f.corpus);
}

static void test_lines_of_scan_are_read(void **state) {
    const uint16_t expected[] = {0, 1, 0, 0, 0, 1, 0, 0};
    check_tokens(state, "IN: jump twice OUT: JUMP JUMP\nIN: jump twice OUT: JUMP JUMP\n", 2, expected, 8);
}

static void test_texts_in_json_are_split_into_tokens(void **state) {
    const uint16_t expected[] = {3, 2, 3, 4};
    check_tokens(state, "{\"input\":\"1 + 1\",\"target\":\"12\",\"id\":5,\"note\":\"x\"}\n", 1, expected, 4);
    toy_files f;
    lh_error error;
    lh_assert_ok(open_text(state, &f, "{\"input\":\"1\",\"target\":\"1\",\"id\":5,\"note\":\"x\"}\n", &error), &error);
    assert_string_equal(f.corpus.train.ignored, "\"id\", \"note\"");
    lh_corpus_close(&f.corpus);
}

/* A target without the end symbol gets it, and its mask gets a 1. */
static void test_end_symbols_are_added(void **state) {
    static const uint16_t end = 4; /* "12" */
    const uint16_t expected[] = {0, 1, 4, 0, 2, 4, 0, 3, 4};
    toy_files f;
    lh_error error;
    const char *path = lh_test_write_text(*state, "x.jsonl",
                                          "{\"input\":[\"jump\"],\"target\":[\"0\"],\"mask\":[0]}\n"
                                          "{\"input\":[\"jump\"],\"target\":[\"1\",\"12\"]}\n"
                                          "{\"input\":[\"jump\"],\"target\":[3,4]}\n");
    toy_make_files(&f, path, NULL);
    f.task.input_symbol = input_names;
    f.task.output_symbol = output_names;
    f.task.end = &end;
    lh_assert_ok(lh_corpus_open(&f.corpus, &f.spec, NULL, &error), &error);
    assert_memory_equal(f.corpus.train.tokens, expected, sizeof expected);
    assert_int_equal(f.corpus.train.mask[1], 0);
    assert_int_equal(f.corpus.train.mask[2], 1);
    assert_int_equal(f.corpus.train.masked, 1);
    lh_corpus_close(&f.corpus);
    lh_test_write_text(*state, "x.jsonl", "{\"input\":[0],\"target\":[1,2],\"mask\":[1]}\n");
    lh_assert_error(lh_corpus_open(&f.corpus, &f.spec, NULL, &error), LH_ERR_INPUT, &error,
                    "x.jsonl:1: mask has 1 items\n  expected: 2, as many as target");
    lh_test_write_text(*state, "x.jsonl", "{\"input\":[0],\"target\":[4,1]}\n");
    lh_assert_error(lh_corpus_open(&f.corpus, &f.spec, NULL, &error), LH_ERR_INPUT, &error,
                    "x.jsonl:1: target[0] is task.end_symbol\n  expected: this symbol only at the end of targets");
}

/* If the blank is a symbol, texts are split into characters, not at blanks. */
static void test_blank_may_be_a_symbol(void **state) {
    static const char *const names[] = {"a", " ", "b", "c", "d"};
    const uint16_t expected[] = {0, 1, 2, 2};
    toy_files f;
    lh_error error;
    toy_make_files(&f, lh_test_write_text(*state, "x.txt", "a b\tb\n"), NULL);
    f.task.input_symbol = f.task.output_symbol = names;
    lh_assert_ok(lh_corpus_open(&f.corpus, &f.spec, NULL, &error), &error);
    assert_memory_equal(f.corpus.train.tokens, expected, sizeof expected);
    lh_corpus_close(&f.corpus);
}

static void test_errors_name_file_line_and_form(void **state) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"jump twice JUMP\n", "x.txt:1: the line is not an example"},
        {"jump\tJUMP\njump\n", "x.txt:2: found 1 columns\n  expected: 2, separated by tabs: input, target"},
        {"jump\tJUMP\njump\tJUMP\t1\n", "x.txt:2: found 3 columns"},
        {"jump\tJUMP\nrun\tJUMP\n", "x.txt:2: input[0] is \"r\", which is not a symbol\n  expected: one of jump twice"},
        {"jump\tJUMP\n\tJUMP\n", "x.txt:2: input is empty"},
        {"IN: jump OUT: JUMP\nIN: jump\n", "x.txt:2: OUT: is missing"},
        {"IN: jump OUT: JUMP\njump OUT: JUMP\n", "x.txt:2: IN: is missing"},
        {"IN: jump OUT: RUN JUMP\n", "x.txt:1: target[0] is \"RUN\""},
        {"jump\t\xff\n", "x.txt:1: the text is not valid UTF-8"},
        {"input\ttarget\tdigits\njump\tJUMP\tten\n", "x.txt:2: digits is not a valid value"},
        {"input\ttarget\tmask\njump\tJUMP\t2\n", "x.txt:2: mask[0] is neither 0 nor 1"},
        {"input\ttarget\n", "x.txt: there are no examples"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        toy_files f;
        lh_error error;
        lh_assert_error(open_text(state, &f, cases[i].text, &error), LH_ERR_INPUT, &error, cases[i].message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        lh_test_in_directory(test_lines_with_tabs_are_read),
        lh_test_in_directory(test_header_names_the_columns),
        lh_test_in_directory(test_lines_of_scan_are_read),
        lh_test_in_directory(test_texts_in_json_are_split_into_tokens),
        lh_test_in_directory(test_end_symbols_are_added),
        lh_test_in_directory(test_blank_may_be_a_symbol),
        lh_test_in_directory(test_errors_name_file_line_and_form),
    };
    return cmocka_run_group_tests_name("line_formats", tests, NULL, NULL);
}
