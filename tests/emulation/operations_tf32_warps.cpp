/* Products divided among warps, in tf32 (operations.h). */
#include "cuda_emulation.h"

typedef float real;
#include "operations_sizes.h"
#include "kernels/cuda/product_tf32.cu"
#include "kernels/cuda/product_forms.cu"
#include "kernels/cuda/stored_tf32.cu"
#include "kernels/cuda/product_warps.cu"
#include "operations.cu"

OPERATIONS("tf32_warps")
