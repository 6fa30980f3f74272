/* What the driver and the device language share: how a grid is run. Not for tests. */
#ifndef LH_TESTS_GRID_H
#define LH_TESTS_GRID_H

#include "cuda_emulation.h"
#include "emulation.h"

/* Runs a kernel whose arguments are bound. LH_ERR_INPUT: it failed, see emulation.h. */
lh_status lh_grid_run(const char *name, const lh_emulated_kernel::call &kernel, int blocks, int threads,
                      size_t block_memory, lh_error *error);

extern lh_emulation lh_emulated; /* the configuration, every field filled */

#endif
