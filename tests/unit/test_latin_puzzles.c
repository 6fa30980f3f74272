/* Puzzles of runtime/data/tasks/latin_square: all squares, strategies by the paper's rules, rotation and similarity. */
#include "lh_test.h"

#include <stdlib.h>
#include <string.h>

#include "lh_latin.h"

enum { DEFAULT_COUNT = 400 };

static uint64_t squares[LATIN_SQUARES];

/* A puzzle in the format of the published file. */
static latin_puzzle parse_puzzle(const char *grid) {
    latin_puzzle p = {0, -1};
    for (int cell = 0; cell < LATIN_CELLS; cell++)
        if (grid[cell] == '?') p.probe = cell;
        else if (grid[cell] != '.') p.givens |= (uint64_t)1 << (4 * cell + grid[cell] - '1');
    return p;
}

/* ---- the paper's rules, cell by cell ---- */

/* Cell i of row `line`, or of column `line`. */
static int get_cell(bool is_row, int line, int i) { return is_row ? 4 * line + i : 4 * i + line; }

static bool has_symbol(const char *grid, bool is_row, int line, char symbol) {
    for (int i = 0; i < 4; i++)
        if (grid[get_cell(is_row, line, i)] == symbol) return true;
    return false;
}

static int count_givens(const char *grid, bool is_row, int line) {
    int count = 0;
    for (int i = 0; i < 4; i++) {
        char content = grid[get_cell(is_row, line, i)];
        count += content >= '1' && content <= '4';
    }
    return count;
}

/* Whether each blank of the line except the probe is crossed by a line that has the symbol. */
static bool has_crossing_everywhere(const char *grid, bool is_row, int line, char symbol) {
    for (int i = 0; i < 4; i++)
        if (grid[get_cell(is_row, line, i)] == '.' && !has_symbol(grid, !is_row, i, symbol)) return false;
    return true;
}

/* The only symbol, from 1, that neither the row nor the column has; 0: no symbol, or several. row or column -1: this
 * line is ignored. */
static int find_missing(const char *grid, int row, int column) {
    int symbol = 0, count = 0;
    for (char s = '1'; s <= '4'; s++)
        if ((row < 0 || !has_symbol(grid, true, row, s)) && (column < 0 || !has_symbol(grid, false, column, s))) {
            symbol = s - '0';
            count++;
        }
    return count == 1 ? symbol : 0;
}

/* The answer by three vectors: a symbol that the line of the probe lacks, and that all other blanks of this line cannot
 * have. */
static latin_answer find_crossing_answer(const char *grid, bool is_row, int line) {
    int givens = count_givens(grid, is_row, line);
    latin_strategy row_strategy = givens == 0 ? LATIN_THREE_COLUMNS : LATIN_ROW_TWO_COLUMNS,
                   column_strategy = givens == 0 ? LATIN_THREE_ROWS : LATIN_COLUMN_TWO_ROWS;
    for (char s = '1'; givens < 2 && s <= '4'; s++)
        if (!has_symbol(grid, is_row, line, s) && has_crossing_everywhere(grid, is_row, line, s))
            return (latin_answer){.strategy = is_row ? row_strategy : column_strategy, .vectors = 3, .symbol = s - '0'};
    return (latin_answer){LATIN_NONE, 0, 0};
}

static latin_answer answer_by_paper(const char *grid) {
    int probe = (int)(strchr(grid, '?') - grid), row = probe / 4, column = probe % 4;
    int in_row = find_missing(grid, row, -1), in_column = find_missing(grid, -1, column),
        in_both = find_missing(grid, row, column);
    if (in_row != 0) return (latin_answer){LATIN_ROW, 1, in_row};
    if (in_column != 0) return (latin_answer){LATIN_COLUMN, 1, in_column};
    if (in_both != 0) return (latin_answer){LATIN_UNION, 2, in_both};
    latin_answer answer = find_crossing_answer(grid, true, row);
    return answer.vectors > 0 ? answer : find_crossing_answer(grid, false, column);
}

/* Whether the puzzle has a solution by two vectors that the published classifier does not know. In such a solution, a
 * line of the probe has one other blank, which cannot hold the answer. */
static bool has_lax_step(const char *grid) {
    int probe = (int)(strchr(grid, '?') - grid);
    for (int direction = 0; direction < 2; direction++) {
        bool is_row = direction == 0;
        int line = is_row ? probe / 4 : probe % 4;
        for (char s = '1'; count_givens(grid, is_row, line) == 2 && s <= '4'; s++)
            if (!has_symbol(grid, is_row, line, s) && has_crossing_everywhere(grid, is_row, line, s)) return true;
    }
    return false;
}

/* ---- puzzles ---- */

/* The number of puzzles to test: LH_LATIN_ITEMS, if it is set. */
static int choose_item_count(int default_count) {
    const char *requested = getenv("LH_LATIN_ITEMS");
    return requested != NULL ? atoi(requested) : default_count;
}

static void test_squares_are_all_latin_squares_of_order_four(void **state) {
    for (int i = 0; i < LATIN_SQUARES; i++) {
        for (int line = 0; line < 4; line++) {
            assert_int_equal(latin_collect_row_symbols(squares[i], line), 15);
            assert_int_equal(latin_collect_column_symbols(squares[i], line), 15);
        }
        assert_int_equal(latin_count_bits(squares[i]), LATIN_CELLS);
        if (i > 0) assert_true(squares[i] != squares[i - 1]); /* equal squares would be neighbours */
    }
}

/* Samples puzzles until there are enough of each number of vectors. Strategy and answer must be those of the paper's
 * rules, and the answer must be the only symbol that Latin squares with the given cells have in the probe. */
static void test_classifier_agrees_with_the_paper_and_with_all_squares(void **state) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(5), 0, 0, 0);
    int requested = choose_item_count(DEFAULT_COUNT) / LATIN_VECTORS, count[LATIN_VECTORS + 1] = {0},
        left_out_count = 0;
    while (count[1] < requested || count[2] < requested || count[3] < requested) {
        latin_puzzle p = latin_draw(&rng, squares);
        char grid[LATIN_CELLS + 1];
        lh_write_latin_grid(&p, grid);
        latin_answer actual = latin_classify(&p, false), expected = answer_by_paper(grid);
        assert_int_equal(actual.strategy, expected.strategy);
        assert_int_equal(actual.vectors, expected.vectors);
        assert_int_equal(actual.symbol, expected.symbol);
        bool is_left_out = expected.vectors == 3 && has_lax_step(grid);
        assert_int_equal(latin_classify(&p, true).vectors, is_left_out ? 0 : expected.vectors);
        left_out_count += is_left_out;
        assert_in_range(latin_count_bits(p.givens), 3, 11);
        if (count[actual.vectors]++ < requested && actual.vectors > 0)
            assert_int_equal(latin_find_possible(&p, squares), 1 << (actual.symbol - 1));
    }
    assert_true(left_out_count > 0);
}

static void test_classifier_takes_the_first_strategy(void **state) {
    static const struct {
        const char *grid;
        latin_strategy strategy;
        int symbol;
    } cases[] = {
        {"123?............", LATIN_ROW, 4},
        {"?...2...3...4...", LATIN_COLUMN, 1},
        {"123?...1...2...3", LATIN_ROW, 4},
        {"12.?...3........", LATIN_UNION, 4},
        {"?....1....1....1", LATIN_THREE_COLUMNS, 1},
        {"2?..1.1.........", LATIN_NONE, 0},
        {"2?....1....1....", LATIN_ROW_TWO_COLUMNS, 1},
        {"?.....2..3......", LATIN_NONE, 0},
        {"?....1....1.....", LATIN_NONE, 0},
        {".?..3....3.....3", LATIN_NONE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        latin_puzzle p = parse_puzzle(cases[i].grid);
        latin_answer answer = latin_classify(&p, false);
        if (answer.strategy != cases[i].strategy || answer.symbol != cases[i].symbol)
            fail_msg("%s: strategy %d, symbol %d", cases[i].grid, answer.strategy, answer.symbol);
    }
}

/* A rotation clockwise by 90 degrees moves cell (r, c) to (c, 3 - r); each symbol is replaced by the next. */
static void test_rotation_moves_cells_and_symbols(void **state) {
    latin_puzzle p = parse_puzzle("12.."
                                  "..4."
                                  "...."
                                  "?..3");
    char grid[LATIN_CELLS + 1];
    latin_puzzle rotated = latin_rotate(&p);
    lh_write_latin_grid(&rotated, grid);
    assert_string_equal(grid, "?..2"
                              "...3"
                              "..1."
                              "4...");
    lh_rng rng = lh_rng_at(lh_key_of_seed(6), 0, 0, 0);
    for (int i = 0; i < DEFAULT_COUNT; i++) {
        latin_puzzle puzzle = latin_draw(&rng, squares), rotated_once = latin_rotate(&puzzle), end = rotated_once;
        latin_answer a = latin_classify(&puzzle, true), b = latin_classify(&rotated_once, true);
        assert_int_equal(a.vectors, b.vectors);
        if (a.vectors > 0) assert_int_equal(b.symbol, a.symbol % 4 + 1);
        for (int j = 0; j < 3; j++) end = latin_rotate(&end);
        assert_true(latin_are_equal(&puzzle, &end));
    }
}

/* The distance of two puzzles is 1 - shared / all. all: number of cells that either puzzle fills; shared: number of
 * these cells that have the same content in both. Puzzles are similar if their distance is at most 0.8. */
static void test_similar_puzzles_differ_in_at_most_four_fifths(void **state) {
    latin_puzzle a = parse_puzzle("1?......2.......");
    latin_puzzle quarter = parse_puzzle("1...?..........."); /* 1 of 4 is shared */
    latin_puzzle sixth = parse_puzzle("1....?........34");   /* 1 of 6 */
    latin_puzzle fifth = parse_puzzle("1....?.........4");   /* 1 of 5 */
    latin_puzzle different = parse_puzzle("2....?..........");
    latin_puzzle probe_alone = parse_puzzle("2?..............");
    assert_true(latin_are_similar(&a, &a));
    assert_true(latin_are_similar(&a, &quarter));
    assert_true(latin_are_similar(&a, &fifth));
    assert_false(latin_are_similar(&a, &sixth));
    assert_false(latin_are_similar(&a, &different));
    assert_true(latin_are_similar(&a, &probe_alone));
}

int main(void) {
    latin_list_squares(squares);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_squares_are_all_latin_squares_of_order_four),
        cmocka_unit_test(test_classifier_agrees_with_the_paper_and_with_all_squares),
        cmocka_unit_test(test_classifier_takes_the_first_strategy),
        cmocka_unit_test(test_rotation_moves_cells_and_symbols),
        cmocka_unit_test(test_similar_puzzles_differ_in_at_most_four_fifths),
    };
    return cmocka_run_group_tests_name("latin_puzzles", tests, NULL, NULL);
}
