/* Puzzles of the Latin Square Task: a 4 x 4 grid with some given symbols and one cell to solve, the probe.
 *
 * A puzzle's number of vectors is the number of rows and columns that one solution step must combine, as computed by
 * the code of Ito et al. 2024: the first strategy that applies determines the number and the answer. Steps that fill
 * another cell first are not allowed. Cells are numbered 0 .. 15 by rows.
 */
#ifndef LONGHAND_TASK_LATIN_SQUARE_H
#define LONGHAND_TASK_LATIN_SQUARE_H

#include <stdbool.h>
#include <stdint.h>

#include "longhand/rng.h"

enum { LATIN_CELLS = 16, LATIN_SQUARES = 576, LATIN_VECTORS = 3, LATIN_PROBE = 5 /* token of the probe */ };

/* A puzzle. Each cell has four bits: bit s - 1 is set if symbol s is given, and none if no symbol is given. */
typedef struct latin_puzzle {
    uint64_t givens;
    int probe; /* index of the cell to solve, whose symbol is not given */
} latin_puzzle;

/* Strategies in the order in which they are tried. */
typedef enum latin_strategy {
    LATIN_NONE,
    LATIN_ROW,             /* the probe's row has three symbols */
    LATIN_COLUMN,          /* the probe's column has three symbols */
    LATIN_UNION,           /* the probe's row and column together have three symbols */
    LATIN_THREE_COLUMNS,   /* the probe's row has no given, and the columns of the row's other blanks share a symbol */
    LATIN_ROW_TWO_COLUMNS, /* the row has one given, and the columns of its other blanks share another symbol */
    LATIN_THREE_ROWS,      /* LATIN_THREE_COLUMNS with rows and columns exchanged */
    LATIN_COLUMN_TWO_ROWS  /* LATIN_ROW_TWO_COLUMNS with rows and columns exchanged */
} latin_strategy;

typedef struct latin_answer {
    latin_strategy strategy;
    int vectors; /* 1, 2, 3; 0: no single step gives the answer */
    int symbol;  /* 1 .. 4 */
} latin_answer;

static inline int latin_count_bits(uint64_t bits) { return __builtin_popcountll(bits); }

/* The symbol of a cell as a bit; 0: the cell is blank. */
static inline int latin_get_symbol_bit(uint64_t givens, int cell) { return (int)(givens >> 4 * cell) & 15; }

/* The symbols of a row or column, as bits. */
static inline int latin_collect_row_symbols(uint64_t givens, int row) {
    int cells = (int)(givens >> 16 * row) & 0xffff;
    cells |= cells >> 8;
    return (cells | cells >> 4) & 15;
}

static inline int latin_collect_column_symbols(uint64_t givens, int column) {
    uint64_t cells = givens >> 4 * column & 0x000f000f000f000fu;
    cells |= cells >> 32;
    return (int)(cells | cells >> 16) & 15;
}

/* The symbol of a mask with one bit. */
static inline int latin_get_symbol(int bit) { return __builtin_ctz((unsigned)bit) + 1; }

/* The probe's row or column. */
typedef struct latin_line {
    int symbols; /* given symbols of the line, as bits */
    int givens;  /* number of given symbols */
    /* As bits: symbols that this line lacks, and that are in every line which crosses it at a blank other than the
     * probe. */
    int crossing_symbols;
} latin_line;

static inline latin_line latin_make_line(const latin_puzzle *p, bool is_row) {
    int index = is_row ? p->probe / 4 : p->probe % 4;
    latin_line line = {.crossing_symbols = 15}; /* all symbols */
    line.symbols =
        is_row ? latin_collect_row_symbols(p->givens, index) : latin_collect_column_symbols(p->givens, index);
    for (int i = 0; i < 4; i++) {
        int cell = is_row ? 4 * index + i : 4 * i + index;
        if (latin_get_symbol_bit(p->givens, cell) != 0) line.givens++;
        else if (cell != p->probe)
            line.crossing_symbols &=
                is_row ? latin_collect_column_symbols(p->givens, i) : latin_collect_row_symbols(p->givens, i);
    }
    line.crossing_symbols &= ~line.symbols;
    return line;
}

/* Classifies a puzzle. is_strict: a puzzle of three vectors gets 0 if two vectors also solve it, by a strategy that the
 * published code lacks: the probe's line has two givens, and the line that crosses it at its other blank has the
 * answer. */
static inline latin_answer latin_classify(const latin_puzzle *p, bool is_strict) {
    latin_line row = latin_make_line(p, true), column = latin_make_line(p, false);
    int line_symbols = row.symbols | column.symbols;
    if (latin_count_bits((uint64_t)row.symbols) == 3)
        return (latin_answer){LATIN_ROW, 1, latin_get_symbol(15 & ~row.symbols)};
    if (latin_count_bits((uint64_t)column.symbols) == 3)
        return (latin_answer){LATIN_COLUMN, 1, latin_get_symbol(15 & ~column.symbols)};
    if (latin_count_bits((uint64_t)line_symbols) == 3)
        return (latin_answer){LATIN_UNION, 2, latin_get_symbol(15 & ~line_symbols)};
    if (is_strict &&
        ((row.givens == 2 && row.crossing_symbols != 0) || (column.givens == 2 && column.crossing_symbols != 0)))
        return (latin_answer){LATIN_NONE, 0, 0};
    if (row.givens < 2 && row.crossing_symbols != 0)
        return (latin_answer){row.givens == 0 ? LATIN_THREE_COLUMNS : LATIN_ROW_TWO_COLUMNS, 3,
                              latin_get_symbol(row.crossing_symbols)};
    if (column.givens < 2 && column.crossing_symbols != 0)
        return (latin_answer){column.givens == 0 ? LATIN_THREE_ROWS : LATIN_COLUMN_TWO_ROWS, 3,
                              latin_get_symbol(column.crossing_symbols)};
    return (latin_answer){LATIN_NONE, 0, 0};
}

/* ---- squares ---- */

/* Appends all squares that complete `square`, whose cells before `cell` are filled; returns the new count. */
static inline int latin_extend(uint64_t square, int cell, uint64_t *squares, int count) {
    if (cell == LATIN_CELLS) {
        squares[count] = square;
        return count + 1;
    }
    int excluded = latin_collect_row_symbols(square, cell / 4) | latin_collect_column_symbols(square, cell % 4);
    for (int bit = 1; bit < 16; bit *= 2)
        if ((excluded & bit) == 0) count = latin_extend(square | (uint64_t)bit << 4 * cell, cell + 1, squares, count);
    return count;
}

/* Lists all Latin squares of order 4, in the bit format of givens. */
static inline void latin_list_squares(uint64_t squares[LATIN_SQUARES]) { latin_extend(0, 0, squares, 0); }

/* The symbols of the probe in all squares that complete a puzzle, as bits; 0: no square completes it. */
static inline int latin_find_possible(const latin_puzzle *p, const uint64_t squares[LATIN_SQUARES]) {
    int symbols = 0;
    for (int i = 0; i < LATIN_SQUARES; i++)
        if ((p->givens & ~squares[i]) == 0) symbols |= latin_get_symbol_bit(squares[i], p->probe);
    return symbols;
}

/* Draws a puzzle: a uniformly random square, with 3 to 11 givens and the probe at random cells. */
static inline latin_puzzle latin_draw(lh_rng *rng, const uint64_t squares[LATIN_SQUARES]) {
    uint64_t square = squares[lh_rng_below(rng, LATIN_SQUARES)];
    int givens = 3 + (int)lh_rng_below(rng, 9), cell[LATIN_CELLS];
    latin_puzzle p = {0, 0};
    for (int i = 0; i < LATIN_CELLS; i++) cell[i] = i;
    for (int i = 0; i <= givens; i++) {
        int j = i + (int)lh_rng_below(rng, (uint32_t)(LATIN_CELLS - i)), chosen = cell[j];
        cell[j] = cell[i];
        if (i < givens) p.givens |= square & (uint64_t)15 << 4 * chosen;
        else p.probe = chosen;
    }
    return p;
}

/* ---- two puzzles ---- */

static inline bool latin_are_equal(const latin_puzzle *a, const latin_puzzle *b) {
    return a->givens == b->givens && a->probe == b->probe;
}

/* Whether the Jaccard distance of two puzzles is 0.8 or less. A puzzle is the set of its non-blank cells with their
 * contents, the probe included. */
static inline bool latin_are_similar(const latin_puzzle *a, const latin_puzzle *b) {
    int is_same_probe = a->probe == b->probe;
    return 5 * (latin_count_bits(a->givens & b->givens) + is_same_probe) >=
           latin_count_bits(a->givens | b->givens) + 2 - is_same_probe;
}

/* The puzzle rotated clockwise by 90 degrees, with every symbol replaced by the next, the last one by the first. */
static inline latin_puzzle latin_rotate(const latin_puzzle *p) {
    latin_puzzle rotated = {0, p->probe % 4 * 4 + 3 - p->probe / 4};
    for (int cell = 0; cell < LATIN_CELLS; cell++) {
        int symbols = latin_get_symbol_bit(p->givens, cell);
        uint64_t next = (uint64_t)(symbols << 1 | symbols >> 3) & 15;
        rotated.givens |= next << 4 * (cell % 4 * 4 + 3 - cell / 4);
    }
    return rotated;
}

#endif
