/* Observation of a launch's accesses to memory: races, and traffic between blocks and global memory. */
#ifndef LH_TESTS_PTX_OBSERVE_H
#define LH_TESTS_PTX_OBSERVE_H

#include "counts.h"
#include "machine.h"

extern const lh_ptx_program *lh_ptx_running; /* the program of the current launch */
extern int lh_ptx_lane_order[LANES];         /* the order in which lanes run and store */
extern bool lh_ptx_observes;                 /* whether races or sectors are observed */

/* Starts the observation of a launch of `blocks` blocks. */
void lh_ptx_observe_begin(int blocks, bool finds_races, bool counts_sectors);

/* Throws lh_ptx_fault if the access races with an earlier one. */
void lh_ptx_observe(const lh_ptx_access &access);

void lh_ptx_observe_fence(const lh_ptx_warp &w, unsigned mask); /* a fence of the lanes in mask */
void lh_ptx_observe_barrier(const lh_ptx_block &block);         /* a barrier that the block passes */

/* Returns the part (counts.h) of a launch in which a block is. */
inline int lh_ptx_part(const lh_ptx_block &b) {
    if (b.phase >= lh_ptx_team_barriers) return LH_PTX_REST;
    return b.index == 0 && b.phase == lh_ptx_team_barriers - 1 ? LH_PTX_FIRST : LH_PTX_OTHER;
}

/* The number of sectors, 32 bytes of global memory, that loads and stores of warps have touched, by part. */
extern long long lh_ptx_sectors_loaded[LH_PTX_PARTS], lh_ptx_sectors_stored[LH_PTX_PARTS];

#endif
