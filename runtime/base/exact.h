/* Include first in a file whose results must have the same bits at every instruction-set level: each operation is
 * rounded by itself, never joined with another into a fused multiply-add. */
#ifndef LONGHAND_EXACT_H
#define LONGHAND_EXACT_H

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#ifdef __FAST_MATH__
#error "this file needs IEEE arithmetic: compile it without -ffast-math"
#endif

#endif
