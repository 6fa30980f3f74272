/* A hand-written CUDA half for toy_spec: the model of toy_program.h in float, with random rows. Its device code is
 * tests/emulation/toy.cu, which programs that launch it link. Draws, dropout and the order of sums equal toy_drawn's if
 * both have equally many shards; losses and updates may differ in their last digits.
 */
#ifndef TOY_CUDA_H
#define TOY_CUDA_H

#include "toy_spec.h"

/* Variants: "chip" with 4 shards, as on the CPU; "replicas" with 2. */
extern const lh_cuda_program toy_cuda;

/* The toy's model in double: tests/emulation/toy_double.cpp. */
extern const lh_cuda_program toy_double_cuda;

#endif
