/* Counts of the instructions that the machine issued in the last launch. C and C++. */
#ifndef LH_TESTS_PTX_COUNTS_H
#define LH_TESTS_PTX_COUNTS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Parts of a launch, by a team's meetings, each an atomic addition of every block: block 0 between the last two of
 * lh_ptx_meetings meetings, or from the start; all blocks after those meetings; what comes before, and other blocks. */
enum { LH_PTX_FIRST, LH_PTX_REST, LH_PTX_OTHER, LH_PTX_PARTS };

typedef struct lh_ptx_count {
    char kind[32]; /* of instructions.lua: instructions of warps; sectors_loaded, sectors_stored: 32 bytes each */
    long long count;
} lh_ptx_count;

extern int lh_ptx_meetings;       /* before a launch; 1 at first */
extern bool lh_ptx_counts_wanted; /* before a launch: whether sectors are counted, too */

/* How many kinds a part has, at most `most`; 0: no program is there (LONGHAND_PTX). In step only (machine.cpp). */
int lh_ptx_counts(int part, lh_ptx_count *counts, int most);

#ifdef __cplusplus
}
#endif
#endif
