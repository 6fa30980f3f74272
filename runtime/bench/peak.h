/* Measures the multiply-add peak of an instruction-set level, with which benchmarks compare their rates. */
#ifndef LONGHAND_PEAK_H
#define LONGHAND_PEAK_H

#include <stdint.h>

/* Runs `rounds` rounds of independent multiply-adds in registers and returns the number of floating-point operations,
 * two per multiply-add. */
typedef double lh_peak_function(int64_t rounds);

/* The loop of a level ("x86-64-v4") for elements of real_bytes (4 or 8); NULL: the level has no loop. */
lh_peak_function *lh_peak_find(const char *level, int real_bytes);

#endif
