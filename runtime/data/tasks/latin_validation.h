/* Reads puzzles from a file: comma-separated values after a header line. The column `grid_rowmajor` or `puzzles` has
 * the 16 cells by rows: `.` or 0 is a blank, 1 to 4 are symbols, `?` or 5 is the cell to solve. Two columns are
 * optional: `answer` or `solutions`, and `vectors` or `condition` (Binary, Ternary, Quaternary and possible suffixes).
 * Their values are compared with values computed from the puzzle.
 */
#ifndef LONGHAND_TASK_LATIN_VALIDATION_H
#define LONGHAND_TASK_LATIN_VALIDATION_H

#include <stdio.h>
#include <string.h>

#include "latin_square.h"
#include "longhand/task.h"

enum { LATIN_MAX_ITEMS = 1200, LATIN_SHOWN = 40 /* maximum bytes of a field in a message */ };
enum { LATIN_GRID, LATIN_ANSWER, LATIN_CONDITION, LATIN_COLUMNS }; /* columns that are read, see latin_read_names */

/* One line of the file, and its position for messages. */
typedef struct latin_row {
    const char *path;
    int number;       /* number of the line, from 1 */
    const char *text; /* [bytes] text of the line */
    int bytes;
    const int *column; /* [LATIN_COLUMNS] index of each column in a line; -1: missing */
    const uint64_t *squares;
    lh_error *error;
} latin_row;

/* Finds a field of the line by its index; false: the line has fewer fields. */
static bool latin_find_field(const latin_row *row, int column, const char **text, int *bytes) {
    const char *cursor = row->text, *end = row->text + row->bytes;
    for (; column > 0; column--) {
        cursor = memchr(cursor, ',', (size_t)(end - cursor));
        if (cursor == NULL) return false;
        cursor++;
    }
    const char *comma = memchr(cursor, ',', (size_t)(end - cursor));
    *text = cursor;
    *bytes = (int)((comma != NULL ? comma : end) - cursor);
    return true;
}

static int latin_limit_shown(int bytes) { return bytes < LATIN_SHOWN ? bytes : LATIN_SHOWN; }

static lh_status latin_fail_cell(const latin_row *row, int cell, char found) {
    return lh_fail(row->error, LH_ERR_INPUT,
                   "%s:%d: cell %d is %c, which is not a symbol of this task\n"
                   "  expected: 1 to 4, . or 0 for a blank, ? or 5 for the cell to solve",
                   row->path, row->number, cell, found >= '!' && found <= '~' ? found : ' ');
}

static lh_status latin_read_grid(const latin_row *row, const char *text, int bytes, latin_puzzle *p) {
    int probes = 0;
    *p = (latin_puzzle){0, -1};
    if (bytes != LATIN_CELLS)
        return lh_fail(row->error, LH_ERR_INPUT, "%s:%d: the grid has %d cells\n  expected: %d, by rows", row->path,
                       row->number, bytes, LATIN_CELLS);
    for (int cell = 0; cell < LATIN_CELLS; cell++) {
        char c = text[cell];
        if (c >= '1' && c <= '4') p->givens |= (uint64_t)1 << (4 * cell + c - '1');
        else if (c == '?' || c == '5') {
            p->probe = cell;
            probes++;
        } else if (c != '.' && c != '0') return latin_fail_cell(row, cell, c);
    }
    if (probes == 1) return LH_OK;
    return lh_fail(row->error, LH_ERR_INPUT, "%s:%d: %d cells to solve\n  expected: one cell with ? or 5", row->path,
                   row->number, probes);
}

/* Checks that a puzzle has exactly one answer, found by a single step. */
static lh_status latin_check_puzzle(const latin_row *row, const latin_puzzle *p, latin_answer *answer) {
    int possible = latin_find_possible(p, row->squares);
    if (possible == 0)
        return lh_fail(row->error, LH_ERR_INPUT,
                       "%s:%d: no Latin square has these cells\n  expected: each symbol once in a row and a column",
                       row->path, row->number);
    if (latin_count_bits((uint64_t)possible) > 1)
        return lh_fail(row->error, LH_ERR_INPUT,
                       "%s:%d: the puzzle is ambiguous: %d symbols fit cell %d\n  expected: one answer", row->path,
                       row->number, latin_count_bits((uint64_t)possible), p->probe);
    *answer = latin_classify(p, false);
    if (answer->vectors > 0) return LH_OK;
    return lh_fail(row->error, LH_ERR_INPUT,
                   "%s:%d: the puzzle takes more than one step\n  expected: a puzzle that one step solves, from at "
                   "most three rows and columns",
                   row->path, row->number);
}

/* Compares the answer, vectors and condition in the file, if any, with the computed values. */
static lh_status latin_check_optional_columns(const latin_row *row, const latin_answer *answer) {
    static const char *const conditions[] = {"Binary", "Ternary", "Quaternary"};
    const char *text, *name = conditions[answer->vectors - 1];
    int bytes;
    if (row->column[LATIN_ANSWER] >= 0 && latin_find_field(row, row->column[LATIN_ANSWER], &text, &bytes) &&
        (bytes != 1 || text[0] != '0' + answer->symbol))
        return lh_fail(row->error, LH_ERR_INPUT,
                       "%s:%d: the answer is %.*s\n  expected: %d, computed from the puzzle's cells", row->path,
                       row->number, latin_limit_shown(bytes), text, answer->symbol);
    if (row->column[LATIN_CONDITION] < 0 || !latin_find_field(row, row->column[LATIN_CONDITION], &text, &bytes))
        return LH_OK;
    if (bytes == 1 && text[0] == '0' + answer->vectors) return LH_OK;
    if (bytes >= (int)strlen(name) && strncmp(text, name, strlen(name)) == 0) return LH_OK;
    return lh_fail(
        row->error, LH_ERR_INPUT,
        "%s:%d: the number of vectors or the condition is %.*s\n  expected: %d or %s, computed from the puzzle's cells",
        row->path, row->number, latin_limit_shown(bytes), text, answer->vectors, name);
}

/* Reads a puzzle and its answer from a line. */
static lh_status latin_read_row(const latin_row *row, latin_puzzle *p, latin_answer *answer) {
    const char *text;
    int bytes;
    if (!latin_find_field(row, row->column[LATIN_GRID], &text, &bytes))
        return lh_fail(row->error, LH_ERR_INPUT, "%s:%d: the line ends before its grid", row->path, row->number);
    lh_status status = latin_read_grid(row, text, bytes, p);
    if (status == LH_OK) status = latin_check_puzzle(row, p, answer);
    return status == LH_OK ? latin_check_optional_columns(row, answer) : status;
}

/* Reads the indices of columns from the header line. */
static lh_status latin_read_names(const latin_row *row, int column[LATIN_COLUMNS]) {
    static const char *const names[LATIN_COLUMNS][2] = {
        {"grid_rowmajor", "puzzles"}, {"answer", "solutions"}, {"vectors", "condition"}};
    const char *text;
    int bytes;
    for (int i = 0; i < LATIN_COLUMNS; i++) {
        column[i] = -1;
        for (int field = 0; column[i] < 0 && latin_find_field(row, field, &text, &bytes); field++)
            for (int j = 0; j < 2; j++)
                if ((int)strlen(names[i][j]) == bytes && strncmp(text, names[i][j], (size_t)bytes) == 0)
                    column[i] = field;
    }
    if (column[LATIN_GRID] >= 0) return LH_OK;
    return lh_fail(row->error, LH_ERR_INPUT,
                   "%s:%d: no column is called grid_rowmajor or puzzles\n  expected: a line of names, then a puzzle on "
                   "each line",
                   row->path, row->number);
}

/* Checks that the file has equally many puzzles of one, two and three vectors. Each puzzle has two rotated copies, so
 * this count must be a multiple of 3. */
static lh_status latin_check_counts(const latin_answer *answers, int count, const char *path, lh_error *error) {
    int counts[LATIN_VECTORS] = {0};
    for (int i = 0; i < count; i++) counts[answers[i].vectors - 1]++;
    if (count > 0 && counts[0] == counts[1] && counts[1] == counts[2] && counts[0] % 3 == 0) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT,
                   "%s: there are %d puzzles of one vector, %d of two and %d of three\n  expected: equal numbers, "
                   "multiples of 3; the published file has 36 of each",
                   path, counts[0], counts[1], counts[2]);
}

/* Reads the whole file; puzzles and answers hold LATIN_MAX_ITEMS elements. */
static lh_status latin_read_file(const lh_collection *c, const uint64_t *squares, latin_puzzle *puzzles,
                                 latin_answer *answers, int *count, lh_error *error) {
    int column[LATIN_COLUMNS];
    latin_row row = {.path = c->path, .text = c->validation, .column = column, .squares = squares, .error = error};
    lh_status status = LH_OK;
    *count = 0;
    while (status == LH_OK && row.text[0] != 0) {
        int bytes = (int)strcspn(row.text, "\n");
        row.number++;
        row.bytes = bytes > 0 && row.text[bytes - 1] == '\r' ? bytes - 1 : bytes;
        if (row.number == 1) status = latin_read_names(&row, column);
        else if (row.bytes > 0 && *count == LATIN_MAX_ITEMS)
            return lh_fail(error, LH_ERR_INPUT, "%s:%d: more than %d puzzles", c->path, row.number, LATIN_MAX_ITEMS);
        else if (row.bytes > 0) {
            status = latin_read_row(&row, &puzzles[*count], &answers[*count]);
            ++*count;
        }
        row.text += bytes + (row.text[bytes] == '\n');
    }
    return status == LH_OK ? latin_check_counts(answers, *count, c->path, error) : status;
}

#endif
