/* The operations of kernels/cuda in float64, for test_operations.c. */
#include "cuda_emulation.h"

typedef double real;
#include "operations_sizes.h"
#include "kernels/cuda/product_fma.cu"
#include "operations.cu"

OPERATIONS("float64")
