/* The operations of kernels/cuda in float64 (operations.h). */
#include "cuda_emulation.h"

typedef double real;
#include "operations_sizes.h"
#include "kernels/cuda/slab.cu"
#include "kernels/cuda/product_fma.cu"
#include "kernels/cuda/product_forms.cu"
#include "kernels/cuda/product.cu"
#include "operations.cu"
#include "kernels/cuda/functions_float64.cu"
#include "kernels/cuda/norm_lanes.cu"
#include "operations_rows.cu"

OPERATIONS("float64")
OPERATIONS_OF_ROWS("float64")
