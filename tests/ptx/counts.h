/* Counts of the instructions that the machine issued in the last launch. C and C++. */
#ifndef LH_TESTS_PTX_COUNTS_H
#define LH_TESTS_PTX_COUNTS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Parts of a launch, divided by the first lh_ptx_team_barriers barriers of the team. A block passes such a barrier when
 * it adds to a counter in memory.
 * FIRST: block 0 between the last two of these barriers, or from the start to the barrier if it is the only one.
 * REST: all blocks after these barriers.
 * OTHER: everything else. */
enum { LH_PTX_FIRST, LH_PTX_REST, LH_PTX_OTHER, LH_PTX_PARTS };

typedef struct lh_ptx_count {
    char kind[32]; /* a kind of instructions.lua; or sectors_loaded, sectors_stored: 32 bytes each */
    long long count;
} lh_ptx_count;

extern int lh_ptx_team_barriers;   /* set before a launch; the default is 1 */
extern bool lh_ptx_counts_sectors; /* set before a launch; false: no sectors are counted */

/* Stores the counts of a part, at most `max_count`, and returns their number; 0: LONGHAND_PTX names no program. Counts
 * are right only if warps run in lockstep (machine.cpp). */
int lh_ptx_read_counts(int program_part, lh_ptx_count *counts, int max_count);

#ifdef __cplusplus
}
#endif
#endif
