/* Examples of runtime/data/tasks/latin_square: training and held-out sets, and valid and invalid validation files.
 * The first comment of latin_square.c explains vectors and strict. */
#include "lh_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/datasets/corpus.h"
#include "lh_latin.h"

lh_task_collect lh_task_latin_square;

enum { PUZZLES = 60, HELD_OUT = PUZZLES / 10, ITEMS = 108 };

static uint64_t squares[LATIN_SQUARES];

typedef struct fixture {
    lh_spec spec;
    lh_task task;
    lh_data data;
    int options[2];
} fixture;

static void make_spec(fixture *f, uint64_t seed, int puzzles, bool is_strict, const char *validation) {
    static const char *const axis[] = {"vectors", "puzzle"};
    *f = (fixture){.options = {puzzles, is_strict}};
    f->task = (lh_task){.kind = "latin_square",
                        .collect = lh_task_latin_square,
                        .options = f->options,
                        .input_symbols = 6,
                        .output_symbols = 4,
                        .axis = axis,
                        .axes = 2};
    f->data = (lh_data){.longest = 17, .validation = validation, .seed = seed};
    f->spec = (lh_spec){.id = "latin", .task = &f->task, .data = &f->data, .train = {.batch = 16}};
    f->spec.eval.axis = "length";
}

static void open_corpus(lh_corpus *c, fixture *f) {
    lh_error error;
    lh_assert_ok(lh_corpus_open(c, &f->spec, NULL, &error), &error);
}

/* Reads an example as a puzzle, with its target. */
static latin_puzzle read_puzzle(const lh_dataset *set, int64_t i, int *symbol) {
    const uint16_t *tokens = set->tokens + set->start[i];
    latin_puzzle p = {0, -1};
    for (int cell = 0; cell < LATIN_CELLS; cell++)
        if (tokens[cell] == LATIN_PROBE) p.probe = cell;
        else if (tokens[cell] > 0) p.givens |= (uint64_t)1 << (4 * cell + tokens[cell] - 1);
    *symbol = tokens[LATIN_CELLS] + 1;
    return p;
}

/* Checks that every example is a puzzle with one answer and the recorded number of vectors. Each number of vectors
 * must have count_per_number examples. */
static void check_set(const lh_dataset *set, int count_per_number, bool is_strict) {
    int count[LATIN_VECTORS + 1] = {0}, symbol;
    assert_int_equal(set->count, LATIN_VECTORS * count_per_number);
    for (int64_t i = 0; i < set->count; i++) {
        latin_puzzle p = read_puzzle(set, i, &symbol);
        latin_answer answer = latin_classify(&p, is_strict);
        assert_int_equal(answer.vectors, set->values[2 * i]);
        assert_int_equal(answer.symbol, symbol);
        assert_int_equal(latin_find_possible(&p, squares), 1 << (symbol - 1));
        count[answer.vectors]++;
    }
    for (int v = 1; v <= LATIN_VECTORS; v++) assert_int_equal(count[v], count_per_number);
}

/* Checks that no puzzle occurs twice in train and test together, and that none is similar to a validation puzzle. */
static void check_distances(const lh_corpus *c) {
    const lh_dataset *sets[2] = {&c->train, &c->eval};
    int symbol;
    for (int s = 0; s < 2; s++)
        for (int64_t i = 0; i < sets[s]->count; i++) {
            latin_puzzle p = read_puzzle(sets[s], i, &symbol);
            for (int64_t j = 0; j < c->validation.count; j++) {
                latin_puzzle validation_puzzle = read_puzzle(&c->validation, j, &symbol);
                assert_false(latin_are_similar(&p, &validation_puzzle));
            }
            for (int t = s; t < 2; t++)
                for (int64_t j = t == s ? i + 1 : 0; j < sets[t]->count; j++) {
                    latin_puzzle second_puzzle = read_puzzle(sets[t], j, &symbol);
                    assert_false(latin_are_equal(&p, &second_puzzle));
                }
        }
}

static void test_sets_are_balanced_and_not_similar_to_validation(void **state) {
    for (int is_strict = 0; is_strict < 2; is_strict++) {
        fixture f;
        lh_corpus c;
        make_spec(&f, 3, PUZZLES, is_strict, NULL);
        open_corpus(&c, &f);
        assert_int_equal(c.shapes, 1);
        check_set(&c.train, PUZZLES - HELD_OUT, is_strict);
        check_set(&c.eval, HELD_OUT, is_strict);
        check_set(&c.validation, ITEMS / LATIN_VECTORS, is_strict);
        check_distances(&c);
        for (int64_t i = 0; i < c.train.count; i++) assert_int_equal(c.train.values[2 * i + 1], LH_NO_VALUE);
        lh_corpus_close(&c);
    }
}

/* 12 puzzles of each number of vectors, each followed by two rotated copies; all items are numbered from 1. */
static void test_task_has_a_validation_set_of_its_own(void **state) {
    fixture f;
    lh_corpus c;
    int symbol;
    make_spec(&f, 0, 30, false, NULL); /* seed 0, 30 puzzles, not strict, no file */
    open_corpus(&c, &f);
    for (int i = 0; i < ITEMS; i++) {
        latin_puzzle p = read_puzzle(&c.validation, i, &symbol);
        assert_int_equal(c.validation.values[2 * i], i / 36 + 1);
        assert_int_equal(c.validation.values[2 * i + 1], i + 1);
        if (i % 3 > 0) {
            latin_puzzle previous = read_puzzle(&c.validation, i - 1, &symbol), rotated = latin_rotate(&previous);
            assert_true(latin_are_equal(&rotated, &p));
        }
        for (int j = 0; j < i; j++) {
            latin_puzzle earlier = read_puzzle(&c.validation, j, &symbol);
            assert_false(latin_are_equal(&earlier, &p));
        }
    }
    lh_corpus_close(&c);
}

static void test_task_has_the_same_examples_for_the_same_seed(void **state) {
    fixture f;
    lh_corpus a, b;
    make_spec(&f, 7, PUZZLES, false, NULL);
    open_corpus(&a, &f);
    open_corpus(&b, &f);
    assert_string_equal(a.train.digest, b.train.digest);
    assert_string_equal(a.eval.digest, b.eval.digest);
    assert_string_equal(a.validation.digest, b.validation.digest);
    assert_string_equal(a.train.path, "latin_square");
    lh_corpus_close(&b);
    f.data.seed = 8;
    open_corpus(&b, &f);
    assert_string_not_equal(a.train.digest, b.train.digest);
    assert_string_not_equal(a.eval.digest, b.eval.digest);
    assert_string_not_equal(a.validation.digest, b.validation.digest);
    lh_corpus_close(&a);
    lh_corpus_close(&b);
}

static int progress_calls; /* number of reports of progress */

static void count_call(void *context, double share) {
    assert_true(share >= *(double *)context && share < 1);
    *(double *)context = share;
    progress_calls++;
}

static void test_task_reports_progress(void **state) {
    fixture f;
    lh_corpus c;
    lh_error error;
    double share = 0;
    lh_corpus_request request = {.progress = count_call, .context = &share};
    make_spec(&f, 0, 300, false, NULL);
    progress_calls = 0;
    lh_assert_ok(lh_corpus_open(&c, &f.spec, &request, &error), &error);
    assert_true(progress_calls > 0);
    lh_corpus_close(&c);
}

/* ---- files ---- */

/* Lines of a file: one puzzle for each number of vectors. The published file has a puzzle and two rotated copies; three
 * equal lines are also valid. */
#define NAMES "id,vectors,grid_rowmajor,answer\n"
#define PUZZLE_1 "0,1,123?............,4\n"
#define PUZZLE_2 "1,2,12.?...3........,4\n"
#define PUZZLE_3 "2,3,?....1....1....1,1\n"

static void test_file_is_read_in_both_alphabets(void **state) {
    static const char *const texts[] = {
        NAMES PUZZLE_1 PUZZLE_1 PUZZLE_1 PUZZLE_2 PUZZLE_2 PUZZLE_2 PUZZLE_3 PUZZLE_3 PUZZLE_3,
        "ID,LST_num,condition,puzzles,solutions\r\n"
        "0,,Binary,1235000000000000,4\r\n1,,Binary_Step1,1235000000000000,4\r\n2,,Binary-Step2,1235000000000000,4\r\n"
        "0,,Ternary,1205000300000000,4\r\n1,,Ternary,1205000300000000,4\r\n2,,Ternary,1205000300000000,4\r\n"
        "0,,Quaternary,5000010000100001,1\r\n\r\n1,,Quaternary,5000010000100001,1\r\n2,,Quaternary,5000010000100001,1"};
    char digest[2][LH_SHA256_TEXT];
    for (int i = 0; i < 2; i++) {
        fixture f;
        lh_corpus c;
        int symbol;
        make_spec(&f, 0, 30, false, lh_test_write_text(*state, "items.csv", texts[i]));
        open_corpus(&c, &f);
        assert_int_equal(c.validation.count, 9);
        for (int j = 0; j < 9; j++) {
            latin_puzzle p = read_puzzle(&c.validation, j, &symbol);
            assert_int_equal(c.validation.values[2 * j], j / 3 + 1);
            assert_int_equal(c.validation.values[2 * j + 1], j + 1);
            assert_int_equal(latin_classify(&p, false).symbol, symbol);
        }
        check_distances(&c);
        assert_string_equal(c.validation.path, f.data.validation);
        memcpy(digest[i], c.train.digest, sizeof digest[i]);
        lh_corpus_close(&c);
    }
    assert_string_equal(digest[0], digest[1]); /* both files exclude the same puzzles */
}

static void test_invalid_file_is_refused(void **state) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {NAMES PUZZLE_1 PUZZLE_1 PUZZLE_1 PUZZLE_2 PUZZLE_2 PUZZLE_2 PUZZLE_3 PUZZLE_3,
         "items.csv: there are 3 puzzles of one vector, 3 of two and 2 of "
         "three\n  expected: equal numbers, multiples of 3; the published file has 36 of each"},
        {NAMES PUZZLE_1 PUZZLE_2 PUZZLE_3, "1 puzzles of one vector, 1 of two and 1 of three"},
        {NAMES, "there are 0 puzzles of one vector"},
        {"", "there are 0 puzzles of one vector"},
        {"id,grid\n", "items.csv:1: no column is called grid_rowmajor or puzzles"},
        {NAMES "0,1\n", "items.csv:2: the line ends before its grid"},
        {NAMES "0,1,123?...........,4\n", "items.csv:2: the grid has 15 cells\n  expected: 16, by rows"},
        {NAMES PUZZLE_1 "0,1,12a?............,4\n", "items.csv:3: cell 2 is a, which is not a symbol of this task"},
        {NAMES "0,1,1263............,4\n", "items.csv:2: cell 2 is 6"},
        {NAMES "0,1,12.\t?...........,4\n", "items.csv:2: cell 3 is  , which"},
        {NAMES "0,1,1234............,4\n", "items.csv:2: 0 cells to solve\n  expected: one cell with ? or 5"},
        {NAMES "0,1,12??............,4\n", "items.csv:2: 2 cells to solve"},
        {NAMES "0,1,122?............,4\n", "items.csv:2: no Latin square has these cells"},
        {NAMES "0,1,123?...4........,4\n", "items.csv:2: no Latin square has these cells"},
        {NAMES "0,1,12.?............,4\n", "items.csv:2: the puzzle is ambiguous: 2 symbols fit cell 3"},
        {NAMES "0,1,123?............,3\n",
         "items.csv:2: the answer is 3\n  expected: 4, computed from the puzzle's cells"},
        {NAMES "0,2,123?............,4\n", "vectors or the condition is 2\n  expected: 1 or Binary"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        lh_corpus c;
        lh_error error;
        make_spec(&f, 0, 30, false, lh_test_write_text(*state, "items.csv", cases[i].text));
        lh_assert_error(lh_corpus_open(&c, &f.spec, NULL, &error), LH_ERR_INPUT, &error, cases[i].message);
    }
}

/* The puzzle has one answer, but other cells must be filled first, so its number of vectors is 0. */
static void test_file_with_a_puzzle_of_several_steps_is_refused(void **state) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(9), 0, 0, 0);
    char grid[LATIN_CELLS + 1], text[128];
    latin_puzzle p;
    do p = latin_draw(&rng, squares);
    while (latin_classify(&p, false).vectors > 0 || latin_count_bits((uint64_t)latin_find_possible(&p, squares)) > 1);
    fixture f;
    lh_corpus c;
    lh_error error;
    lh_write_latin_grid(&p, grid);
    snprintf(text, sizeof text, NAMES "0,1,%s,1\n", grid);
    make_spec(&f, 0, 30, false, lh_test_write_text(*state, "items.csv", text));
    lh_assert_error(lh_corpus_open(&c, &f.spec, NULL, &error), LH_ERR_INPUT, &error,
                    "items.csv:2: the puzzle takes more than one step");
    make_spec(&f, 0, 30, false, "nowhere.csv");
    lh_assert_error(lh_corpus_open(&c, &f.spec, NULL, &error), LH_ERR_INPUT, &error, "hint: --validation FILE");
}

/* Text after a byte 0 would be ignored without a message. */
static void test_file_with_a_byte_0_is_refused(void **state) {
    static const char text[] = NAMES PUZZLE_1 PUZZLE_1 PUZZLE_1 PUZZLE_2 PUZZLE_2 PUZZLE_2 PUZZLE_3 PUZZLE_3 PUZZLE_3
        "\0" PUZZLE_1 PUZZLE_1 PUZZLE_1;
    const char *path = lh_test_path(*state, "items.csv");
    fixture f;
    lh_corpus c;
    lh_error error;
    lh_test_write(path, text, sizeof text - 1);
    make_spec(&f, 0, 30, false, path);
    lh_assert_error(lh_corpus_open(&c, &f.spec, NULL, &error), LH_ERR_INPUT, &error, "is 0\n  expected: text");
}

/* A flag may give another path than the plan, but the file must have the planned digest. */
static void test_file_with_another_digest_is_refused(void **state) {
    static const char text[] = NAMES PUZZLE_1 PUZZLE_1 PUZZLE_1 PUZZLE_2 PUZZLE_2 PUZZLE_2 PUZZLE_3 PUZZLE_3 PUZZLE_3;
    char digest[LH_SHA256_TEXT];
    fixture f;
    lh_corpus c;
    lh_error error;
    const lh_corpus_request request = {.path = {[LH_SET_VALIDATION] = lh_test_write_text(*state, "items.csv", text)}};
    lh_sha256(text, strlen(text), digest);
    digest[16] = 0;
    make_spec(&f, 0, 30, false, "nowhere.csv");
    f.data.validation_digest = digest;
    lh_assert_ok(lh_corpus_open(&c, &f.spec, &request, &error), &error);
    lh_corpus_close(&c);
    digest[0] = digest[0] == '0' ? '1' : '0';
    lh_assert_error(lh_corpus_open(&c, &f.spec, &request, &error), LH_ERR_INPUT, &error,
                    "of the file that this trainer was built for");
    f.data.validation = NULL;
    lh_assert_error(lh_corpus_open(&c, &f.spec, &request, &error), LH_ERR_INPUT, &error,
                    "--validation: this trainer's spec has no validation file");
}

/* A file with any bytes is read or refused. The bytes of a case depend on its index. */
static void test_mutated_files_are_read_or_refused(void **state) {
    enum { CASES = 500 };
    static const char valid_table[] =
        NAMES PUZZLE_1 PUZZLE_1 PUZZLE_1 PUZZLE_2 PUZZLE_2 PUZZLE_2 PUZZLE_3 PUZZLE_3 PUZZLE_3;
    static const char likely[] = ",\n\r.?0123456789abc";
    int refused_count = 0;
    for (uint32_t index = 0; index < CASES; index++) {
        char text[sizeof valid_table];
        size_t bytes = sizeof valid_table - 1;
        lh_rng rng = lh_rng_at(lh_key_of_seed(2), index, 0, 0);
        memcpy(text, valid_table, sizeof valid_table);
        for (uint32_t changes = 1 + lh_rng_below(&rng, 3); changes > 0; changes--) {
            bool is_any_byte = lh_rng_below(&rng, 8) == 0;
            text[lh_rng_below(&rng, (uint32_t)bytes)] =
                is_any_byte ? (char)lh_rng_below(&rng, 256) : likely[lh_rng_below(&rng, sizeof likely - 1)];
        }
        if (lh_rng_below(&rng, 4) == 0) bytes = lh_rng_below(&rng, (uint32_t)bytes);
        const char *path = lh_test_path(*state, "items.csv");
        fixture f;
        lh_corpus c;
        lh_error error = {""};
        lh_test_write(path, text, bytes);
        make_spec(&f, 0, 30, false, path);
        lh_status status = lh_corpus_open(&c, &f.spec, NULL, &error);
        if (status == LH_OK) {
            assert_int_equal(c.validation.count, 9);
            lh_corpus_close(&c);
            continue;
        }
        refused_count++;
        assert_int_equal(status, LH_ERR_INPUT);
        assert_non_null(strstr(error.text, "items.csv"));
    }
    assert_in_range(refused_count, CASES / 2, CASES - 1);
}

/* Compares the published file, which is not part of the project, with the statements of its paper. */
static void test_published_file_matches_its_paper(void **state) {
    const char *path = getenv("LONGHAND_LST_VALIDATION");
    if (path == NULL || path[0] == 0) {
        print_message("SKIPPED: LONGHAND_LST_VALIDATION names no file of the published puzzles\n");
        skip();
    }
    fixture f;
    lh_corpus c;
    int count[LATIN_VECTORS][LATIN_COLUMN_TWO_ROWS + 1] = {{0}}, symbol;
    make_spec(&f, 0, 30, false, path);
    open_corpus(&c, &f);
    check_set(&c.validation, 36, false);
    for (int i = 0; i < ITEMS; i++) {
        latin_puzzle p = read_puzzle(&c.validation, i, &symbol);
        count[i / 36][latin_classify(&p, false).strategy]++;
        if (i % 3 == 0) continue;
        latin_puzzle previous = read_puzzle(&c.validation, i - 1, &symbol), rotated = latin_rotate(&previous);
        assert_true(latin_are_equal(&rotated, &p));
    }
    check_distances(&c);
    assert_int_equal(count[0][LATIN_ROW], 19);
    assert_int_equal(count[0][LATIN_COLUMN], 17);
    assert_int_equal(count[1][LATIN_UNION], 36);
    assert_int_equal(count[2][LATIN_THREE_COLUMNS], 6);
    assert_int_equal(count[2][LATIN_ROW_TWO_COLUMNS], 24);
    assert_int_equal(count[2][LATIN_COLUMN_TWO_ROWS], 6);
    lh_corpus_close(&c);
}

int main(void) {
    latin_list_squares(squares);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets_are_balanced_and_not_similar_to_validation),
        cmocka_unit_test(test_task_has_a_validation_set_of_its_own),
        cmocka_unit_test(test_task_has_the_same_examples_for_the_same_seed),
        cmocka_unit_test(test_task_reports_progress),
        lh_test_in_directory(test_file_is_read_in_both_alphabets),
        lh_test_in_directory(test_invalid_file_is_refused),
        lh_test_in_directory(test_file_with_a_puzzle_of_several_steps_is_refused),
        lh_test_in_directory(test_file_with_another_digest_is_refused),
        lh_test_in_directory(test_file_with_a_byte_0_is_refused),
        lh_test_in_directory(test_mutated_files_are_read_or_refused),
        cmocka_unit_test(test_published_file_matches_its_paper),
    };
    return cmocka_run_group_tests_name("latin_corpus", tests, NULL, NULL);
}
