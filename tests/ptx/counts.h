/* What the machine issued in the last launch, for programs that count. C and C++. */
#ifndef LH_TESTS_PTX_COUNTS_H
#define LH_TESTS_PTX_COUNTS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lh_ptx_count {
    char kind[32]; /* of instructions.lua: instructions of warps; sectors_loaded, sectors_stored: 32 bytes each */
    long long count;
} lh_ptx_count;

extern bool lh_ptx_counts_wanted; /* before a launch: whether sectors are counted, too */

/* How many kinds there are, at most `most`; 0: no program is there (LONGHAND_PTX). */
int lh_ptx_counts(lh_ptx_count *counts, int most);

#ifdef __cplusplus
}
#endif
#endif
