/* Counts of the instructions that the machine issued in the last launch. C and C++. */
#ifndef LH_TESTS_PTX_COUNTS_H
#define LH_TESTS_PTX_COUNTS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Parts of a launch: block 0 until its first atomic addition, that is, until its team first meets; all blocks from
 * there; the other blocks before. */
enum { LH_PTX_FIRST, LH_PTX_REST, LH_PTX_OTHER, LH_PTX_PARTS };

typedef struct lh_ptx_count {
    char kind[32]; /* of instructions.lua: instructions of warps; sectors_loaded, sectors_stored: 32 bytes each */
    long long count;
} lh_ptx_count;

extern bool lh_ptx_counts_wanted; /* before a launch: whether sectors are counted, too */

/* How many kinds a part has, at most `most`; 0: no program is there (LONGHAND_PTX). In step only (machine.cpp). */
int lh_ptx_counts(int part, lh_ptx_count *counts, int most);

#ifdef __cplusplus
}
#endif
#endif
