/* Declarations for the files that run a grid: the configuration, and the order of blocks, warps and lanes. */
#ifndef LH_TESTS_GRID_H
#define LH_TESTS_GRID_H

#include <random>
#include <vector>

#include "cuda_emulation.h"
#include "emulation.h"

/* Returns the numbers 0 to count - 1 in the configured order. */
std::vector<int> lh_grid_make_order(int count, std::minstd_rand *random);

extern lh_emulation lh_emulated; /* the configuration, with defaults filled in */

#endif
