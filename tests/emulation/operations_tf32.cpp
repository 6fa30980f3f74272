/* The operations of kernels/cuda in tf32 (operations.h). */
#include "cuda_emulation.h"

typedef float real;
#include "operations_sizes.h"
#include "kernels/cuda/slab.cu"
#include "kernels/cuda/product_tf32.cu"
#include "kernels/cuda/product_mma.cu"
#include "kernels/cuda/product_forms.cu"
#include "kernels/cuda/product.cu"
#include "operations.cu"

OPERATIONS("tf32")
