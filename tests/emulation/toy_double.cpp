/* The toy model's kernels in double, and one with a wrong gradient. */
#include "cuda_emulation.h"

extern "C" {
#include "longhand/math.h"
}
#include "longhand/rng.h"

typedef double real;
#include "longhand/cuda_interface.h"
#include "longhand/cuda_place.h"
#define toy_train_kernel toy_double_train_kernel
#define toy_wide_train_kernel toy_double_wide_train_kernel
#define toy_evaluate_kernel toy_double_evaluate_kernel
#include "toy.cu"

/* One element of the gradient is off by a thousandth after the step. */
extern "C" __global__ void toy_wrong_train_kernel(const lh_cuda_train a) {
    toy_double_train_kernel(a);
    if (blockIdx.x == 0 && threadIdx.x == 0) ((real *)a.replicas->gradient)[SCALE + 2] *= 1.001;
}

EMULATED_KERNEL(toy_double_train_kernel)
EMULATED_KERNEL(toy_double_evaluate_kernel)
EMULATED_KERNEL(toy_wrong_train_kernel)
