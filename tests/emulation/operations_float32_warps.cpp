/* Products divided among warps, in float32 (operations.h). */
#include "cuda_emulation.h"

typedef float real;
#include "operations_sizes.h"
#include "kernels/cuda/product_float32.cu"
#include "kernels/cuda/product_forms.cu"
#include "kernels/cuda/stored_reals.cu"
#include "kernels/cuda/product_warps.cu"
#include "operations.cu"

OPERATIONS("float32_warps")
