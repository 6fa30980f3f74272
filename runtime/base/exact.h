/* Turns off fused multiply-adds, so that each operation is rounded separately. A file whose results must have the same
 * bits at every instruction-set level includes this header first. */
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
