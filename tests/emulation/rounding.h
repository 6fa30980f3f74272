/* Operands of products on tensor cores, in C++ on the host. */
#ifndef LH_TESTS_ROUNDING_H
#define LH_TESTS_ROUNDING_H

unsigned to_tf32(float x);                 /* bits, rounded to nearest, ties away from zero */
unsigned pack_bf16(float low, float high); /* bits, rounded to nearest, ties to even */

#endif
