/* Text of a puzzle of the latin_square task, for its tests. */
#ifndef LH_TESTS_LATIN_H
#define LH_TESTS_LATIN_H

#include "data/tasks/latin_square.h"

/* Writes the puzzle as the published file does: cell by cell its symbol, '?' for the probe, '.' for an empty cell. */
static inline void lh_write_latin_grid(const latin_puzzle *p, char grid[LATIN_CELLS + 1]) {
    for (int cell = 0; cell < LATIN_CELLS; cell++) {
        int symbol_bit = latin_get_symbol_bit(p->givens, cell);
        grid[cell] = cell == p->probe ? '?' : symbol_bit == 0 ? '.' : (char)('0' + latin_get_symbol(symbol_bit));
    }
    grid[LATIN_CELLS] = 0;
}

#endif
