/* Positions of tokens in files of examples. The tests read lines of files, make batches, and read lines of input for
 * predict. */
#include "lh_test.h"

#include <stdio.h>
#include <string.h>

#include "cli/verbs/input.h"
#include "data/batch.h"
#include "toy_files.h"

enum { MAX_POSITION = 9 };

static const lh_token_positions by_line = {.by_line = true, .greatest = MAX_POSITION};

static void make_files(toy_files *f, const char *path) {
    toy_make_files(f, path, NULL);
    f->format.positions = &by_line;
}

static void check_positions(const toy_files *f, int n, int64_t index, const int32_t *expected, size_t count) {
    assert_memory_equal(lh_dataset_get_positions(&f->corpus.train, n, index), expected, count * sizeof *expected);
}

/* Positions belong to the example of their line, also after the examples are ordered by shape. */
static void test_lines_have_positions(void **state) {
    static const char *const texts[] = {
        "{\"input\":[1,2,3],\"target\":[3],\"positions\":[1,2,9,0]}\n"
        "{\"input\":[4],\"target\":[0,1],\"positions\":[5,6,7]}\n"
        "{\"positions\":[4,3,2,1],\"input\":[0,0,1],\"target\":[2]}\n",
        "input\ttarget\tpositions\n1 2 3\t3\t1 2 9 0\n4\t0 1\t5 6  7\n0 0 1\t2\t4 3 2 1\n",
    };
    static const int32_t expected[3][4] = {{5, 6, 7}, {1, 2, 9, 0}, {4, 3, 2, 1}};
    for (int i = 0; i < 2; i++) {
        toy_files f;
        lh_error error;
        make_files(&f, lh_test_write_text(*state, "x.txt", texts[i]));
        lh_assert_ok(lh_corpus_open(&f.corpus, &f.spec, NULL, &error), &error);
        assert_string_equal(f.corpus.train.ignored, "");
        check_positions(&f, 1, 0, expected[0], 3);
        check_positions(&f, 2, 0, expected[1], 4);
        check_positions(&f, 2, 1, expected[2], 4);
        lh_corpus_close(&f.corpus);
    }
}

/* The last token of a target has no position. If the reader adds an end symbol, this symbol is the last token, so the
 * token before it needs a position. */
static void test_last_token_before_an_added_end_symbol_needs_a_position(void **state) {
    static const uint16_t end = 4;
    static const int32_t expected[] = {1, 2, 3, 4, 5};
    toy_files f;
    lh_error error;
    make_files(&f,
               lh_test_write_text(*state, "x.jsonl", "{\"input\":[1,1],\"target\":[0,0],\"positions\":[1,2,3,4,5]}\n"));
    f.task.end = &end;
    lh_assert_ok(lh_corpus_open(&f.corpus, &f.spec, NULL, &error), &error);
    check_positions(&f, 1, 0, expected, 5);
    lh_corpus_close(&f.corpus);
}

static void test_bad_positions_are_errors_with_file_and_line(void **state) {
    static const char *const cases[][2] = {
        {"", "x.jsonl:2: positions is missing\n  expected: a list of integers, since encoding.positions.kind is"},
        {",\"positions\":7", "x.jsonl:2: positions is not a list\n  expected: a list of integers"},
        {",\"positions\":[]", "x.jsonl:2: positions is empty"},
        {",\"positions\":[1,2]",
         "x.jsonl:2: positions has 2 items\n  expected: 3, one for each of the input's 1 tokens, the"},
        {",\"positions\":[1,2,3,4]", "x.jsonl:2: positions has 4 items\n  expected: 3"},
        {",\"positions\":[1,2,10]", "positions[2] is 10\n  expected: 0 to encoding.positions.max_position = 9"},
        {",\"positions\":[-1,2,3]", "x.jsonl:2: positions[0] is -1\n"},
        {",\"positions\":[1,99999999999,3]", "x.jsonl:2: positions[1] is 99999999999\n"},
        {",\"positions\":[1,\"2\",3]", "x.jsonl:2: positions[1] is not an integer"},
        {",\"positions\":[1,2.0,3]", "x.jsonl:2: positions[1] is not an integer"},
        {",\"positions\":[1,null,3]", "x.jsonl:2: positions[1] is not an integer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        toy_files f;
        lh_error error;
        snprintf(text, sizeof text,
                 "{\"input\":[1],\"target\":[1],\"positions\":[1,1]}\n{\"input\":[1],\"target\":[1,2]%s}\n",
                 cases[i][0]);
        make_files(&f, lh_test_write_text(*state, "x.jsonl", text));
        lh_assert_error(lh_corpus_open(&f.corpus, &f.spec, NULL, &error), LH_ERR_INPUT, &error, cases[i][1]);
    }
    toy_files f;
    lh_error error;
    make_files(&f, lh_test_write_text(*state, "x.tsv", "input\ttarget\tpositions\n1\t1\t1 b\n"));
    lh_assert_error(lh_corpus_open(&f.corpus, &f.spec, NULL, &error), LH_ERR_INPUT, &error,
                    "x.tsv:2: positions[1] is not an integer");
}

/* A spec that takes no positions from lines ignores the key `positions`, whatever its value. */
static void test_other_specs_ignore_positions(void **state) {
    toy_files f;
    toy_open_files(&f, lh_test_write_text(*state, "x.jsonl", "{\"input\":[1],\"target\":[1],\"positions\":\"none\"}\n"),
                   NULL);
    assert_string_equal(f.corpus.train.ignored, "\"positions\"");
    assert_null(lh_dataset_get_positions(&f.corpus.train, 1, 0));
    lh_corpus_close(&f.corpus);
}

/* A batch has the positions of its examples. For each sequence, training adds an offset to the positions above 0. */
static void test_batches_have_positions_of_lines(void **state) {
    static const uint32_t indices_in_shape[] = {1, 0};
    static const uint16_t input[] = {2, 2}, target[] = {2};
    static const int32_t expected[2][3] = {{3, 0, 5}, {1, 2, 9}};
    int32_t positions[] = {7, 8, 0};
    toy_files f;
    lh_batch batch;
    lh_error error;
    make_files(&f, lh_test_write_text(*state, "x.jsonl",
                                      "{\"input\":[1,1],\"target\":[0],\"positions\":[1,2,9]}\n"
                                      "{\"input\":[1,3],\"target\":[0],\"positions\":[3,0,5]}\n"));
    lh_assert_ok(lh_corpus_open(&f.corpus, &f.spec, NULL, &error), &error);
    lh_assert_ok(lh_corpus_bind(&f.corpus, &f.spec, &error), &error);
    lh_assert_ok(lh_batch_open(&batch, &f.spec, 1, 2, &error), &error);
    const lh_source source = {.key = lh_key_of_seed(1), .domain = LH_DOMAIN_DATA, .indices_in_shape = indices_in_shape};
    const lh_draw draw = {.key = lh_key_of_seed(9), .step = 3, .example = LH_SHARED, .domain = LH_DOMAIN_POSITIONS};
    lh_assert_ok(lh_batch_fill(&batch, &f.spec, &source, 1, 0, 2, &error), &error);
    assert_memory_equal(batch.positions[0], expected, sizeof expected);
    lh_batch_shift_positions(&batch, &f.spec, &draw, 0);
    const int32_t offset = batch.positions[0][0] - 3;
    assert_in_range(offset, 0, MAX_POSITION - 5);
    assert_int_equal(batch.positions[0][1], 0);
    assert_int_equal(batch.positions[0][2], 5 + offset);
    assert_memory_equal(batch.positions[0] + 3, expected[1], sizeof expected[1]);
    lh_batch_put(&batch, &f.spec, 1, 1, input, target, positions);
    assert_memory_equal(batch.positions[0] + 3, positions, sizeof positions);
    lh_batch_close(&batch);
    lh_corpus_close(&f.corpus);
}

/* Positions in a line of input determine the number of outputs, unless the line gives it. */
static void test_lines_of_input_have_positions(void **state) {
    static const struct {
        const char *line, *message; /* message NULL: the line is valid, and has `outputs` outputs */
        int outputs;
    } cases[] = {
        {"{\"input\":[1,2],\"positions\":[3,4,5,9,0]}", NULL, 3},
        {"{\"input\":[1,2],\"positions\":[3,4,5,9,0],\"target\":[1,1,1]}", NULL, 3},
        {"{\"input\":[1,2],\"positions\":[3,4,5],\"outputs\":1}", NULL, 1},
        {"{\"input\":[1,2],\"positions\":[3,4,5,6],\"outputs\":3}",
         "line 5: 4 positions\n  expected: 5, one for each token", 0},
        {"{\"input\":[1,2],\"positions\":[3,4]}", "line 5: 2 positions\n  expected: 3", 0},
        {"{\"input\":[1,2],\"positions\":[3,4,10]}", "line 5: positions[2] is not an integer from 0 to 9", 0},
        {"{\"input\":[1,2],\"positions\":{\"source\":[3,4]}}", "line 5: \"positions\" is not a list of integers", 0},
        {"{\"input\":[1,2]}",
         "line 5: has no positions, but the model reads positions from lines\n  expected: {\"input\"", 0},
    };
    toy_files f;
    lh_line_shapes lines;
    lh_error error;
    make_files(&f, "none");
    lh_line_shapes_open(&lines, &f.spec);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lh_input input;
        lh_status status = lh_input_read_json(&input, &lines.spec, 5, cases[i].line, LH_LINE_ONLY, &error);
        if (cases[i].message != NULL) lh_assert_error(status, LH_ERR_INPUT, &error, cases[i].message);
        else {
            lh_assert_ok(status, &error);
            assert_int_equal(lh_get_output_length(&lines.spec, input.n), cases[i].outputs);
            assert_int_equal(lh_input_make_query(&input).line_positions[0][2], 5);
        }
        lh_input_free(&input);
    }
    lh_input input;
    lh_assert_error(lh_input_read_symbols(&input, &lines.spec, 1, "1 2", &error), LH_ERR_INPUT, &error,
                    "line 1: has no positions");
    lh_input_free(&input);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        lh_test_in_directory(test_lines_have_positions),
        lh_test_in_directory(test_last_token_before_an_added_end_symbol_needs_a_position),
        lh_test_in_directory(test_bad_positions_are_errors_with_file_and_line),
        lh_test_in_directory(test_other_specs_ignore_positions),
        lh_test_in_directory(test_batches_have_positions_of_lines),
        lh_test_in_directory(test_lines_of_input_have_positions),
    };
    return cmocka_run_group_tests_name("line_positions", tests, NULL, NULL);
}
