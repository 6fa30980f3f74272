/* Declarations for the code that runs a grid: its configuration, the order of its parts. Not for tests. */
#ifndef LH_TESTS_GRID_H
#define LH_TESTS_GRID_H

#include <random>
#include <vector>

#include "cuda_emulation.h"
#include "emulation.h"

/* The numbers 0 to count - 1 in the configured order. */
std::vector<int> lh_grid_order(int count, std::minstd_rand *random);

extern lh_emulation lh_emulated; /* the configuration, with defaults filled in */

#endif
