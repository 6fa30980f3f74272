/* Memory of a CUDA device, and pinned memory of the host, with messages that say how much was wanted for what. */
#ifndef LONGHAND_CUDA_DEVICE_MEMORY_H
#define LONGHAND_CUDA_DEVICE_MEMORY_H

#include "runtime/cuda/device.h"

/* Memory of the device, 256-byte aligned. LH_ERR_ENVIRONMENT without it. For bytes = 0: *memory is 0. */
lh_status lh_cuda_allocate(const lh_cuda_device *device, size_t bytes, const char *what, CUdeviceptr *memory,
                           lh_error *error);
void lh_cuda_release(const lh_cuda_device *device, CUdeviceptr *memory); /* 0: nothing to do; *memory is 0 after it */

/* Pinned memory of the host, from which and to which copies run beside everything else. */
lh_status lh_cuda_pin(const lh_cuda_device *device, size_t bytes, const char *what, void **memory, lh_error *error);
void lh_cuda_unpin(const lh_cuda_device *device, void **memory);

/* The smallest multiple of 256 that is at least bytes: pieces of one allocation stay aligned. */
static inline size_t lh_cuda_aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

#endif
