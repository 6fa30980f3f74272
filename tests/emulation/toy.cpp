/* The toy model's kernels in the emulation. */
#include "cuda_emulation.h"

extern "C" {
#include "longhand/math.h"
}
#include "longhand/rng.h"

typedef float real;
#include "longhand/cuda_interface.h"
#include "longhand/cuda_place.h"
#include "toy.cu"

EMULATED_KERNEL(toy_train_kernel)
EMULATED_KERNEL(toy_wide_train_kernel)
EMULATED_KERNEL(toy_evaluate_kernel)
