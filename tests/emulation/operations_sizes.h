/* Declarations that the files of kernels/cuda need, for a synthetic model. `real` must be defined before. */
#ifndef LH_TESTS_OPERATIONS_SIZES_H
#define LH_TESTS_OPERATIONS_SIZES_H

#define INLINE [[maybe_unused]] static __device__ __forceinline__
#define NOINLINE [[maybe_unused]] static __device__ __noinline__

#include "operations.h"
#include "longhand/cuda_interface.h"

enum { THREADS = 256, WIDTH = LH_OPERATIONS_WIDTH, HEAD_WIDTH = LH_OPERATIONS_HEAD, PARAMETER_STORAGE = 4096 };

#define BETA1 ((real)0.9)
#define BETA2 ((real)0.999)
#define REST1 ((real)(1 - 0.9))
#define REST2 ((real)(1 - 0.999))
#define EPSILON ((real)1e-8)
#define MOMENTUM ((real)0.9)

#include "kernels/cuda/block.cu"

#endif
