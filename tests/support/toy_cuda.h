/* A CUDA half for toy_spec, written by hand: the model of toy_program.h in float, with drawn rows. Its device code is
 * tests/emulation/toy.cu; programs that launch it link that. Bits are those of toy_drawn where both have as many shards.
 */
#ifndef TOY_CUDA_H
#define TOY_CUDA_H

#include "toy_spec.h"

/* Variants: "chip" with 4 shards, as the CPU's; "replicas" with 2. */
extern const lh_cuda_program toy_cuda;

/* In double: tests/emulation/toy_double.cpp. */
extern const lh_cuda_program toy_double_cuda;

#endif
