/* Counts of the instructions that the machine issued in the last launch. C and C++. */
#ifndef LH_TESTS_PTX_COUNTS_H
#define LH_TESTS_PTX_COUNTS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Parts of a launch, divided by the team's barriers, each of which is an atomic addition of every block: block 0
 * between the last two of lh_ptx_meetings barriers, or from the start; all blocks after these barriers; the rest. */
enum { LH_PTX_FIRST, LH_PTX_REST, LH_PTX_OTHER, LH_PTX_PARTS };

typedef struct lh_ptx_count {
    char kind[32]; /* of instructions.lua; or sectors_loaded, sectors_stored: 32 bytes each */
    long long count;
} lh_ptx_count;

extern int lh_ptx_meetings;       /* set before a launch; 1 at first */
extern bool lh_ptx_counts_wanted; /* set before a launch: whether sectors are counted, too */

/* The number of kinds of a part, at most `most`; 0: LONGHAND_PTX names no program. Only for orders in lockstep
 * (machine.cpp). */
int lh_ptx_counts(int part, lh_ptx_count *counts, int most);

#ifdef __cplusplus
}
#endif
#endif
