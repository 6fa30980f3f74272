/* The operations of kernels/cuda in bf16 (operations.h). */
#include "cuda_emulation.h"

typedef float real;
#include "operations_sizes.h"
#include "kernels/cuda/slab.cu"
#include "kernels/cuda/product_bf16.cu"
#include "kernels/cuda/product_mma.cu"
#include "kernels/cuda/product_forms.cu"
#include "kernels/cuda/product.cu"
#include "operations.cu"

OPERATIONS("bf16")
