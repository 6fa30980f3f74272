/* Products divided among warps, and rows in quads, in float64 (operations.h). */
#include "cuda_emulation.h"

typedef double real;
#include "operations_sizes.h"
#include "kernels/cuda/product_shuffles.cu"
#include "kernels/cuda/product_forms.cu"
#include "kernels/cuda/stored_reals.cu"
#include "kernels/cuda/product_warps.cu"
#include "operations.cu"
#include "kernels/cuda/functions_float64.cu"
#include "kernels/cuda/norm_quads.cu"
#include "operations_rows.cu"

OPERATIONS("float64_warps")
OPERATIONS_OF_ROWS("float64_warps")
