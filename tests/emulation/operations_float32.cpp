/* The operations of kernels/cuda in float32 (operations.h). */
#include "cuda_emulation.h"

typedef float real;
#include "operations_sizes.h"
#include "kernels/cuda/slab.cu"
#include "kernels/cuda/product_fma.cu"
#include "kernels/cuda/product_forms.cu"
#include "kernels/cuda/product.cu"
#include "operations.cu"
#include "kernels/cuda/functions_float32.cu"
#include "kernels/cuda/norm_lanes.cu"
#include "operations_rows.cu"

OPERATIONS("float32")
OPERATIONS_OF_ROWS("float32")
