/* Products that are cut by warp, in float64, for test_operations.c. */
#include "cuda_emulation.h"

typedef double real;
#include "operations_sizes.h"
#include "kernels/cuda/product_shuffles.cu"
#include "kernels/cuda/product_forms.cu"
#include "kernels/cuda/product_warps.cu"
#include "operations.cu"

OPERATIONS("float64_warps")
