/* Memory of a CUDA device, and pinned memory of the host. Messages about missing memory name the requested bytes and
 * what they are for: `purpose`, a noun phrase. All errors are LH_ERR_ENVIRONMENT. */
#ifndef LONGHAND_CUDA_DEVICE_MEMORY_H
#define LONGHAND_CUDA_DEVICE_MEMORY_H

#include "runtime/cuda/device.h"

/* Allocates device memory, 256-byte aligned. If bytes is 0, nothing is allocated. *memory is 0 if bytes is 0 or after
 * an error. */
lh_status lh_cuda_allocate(const lh_cuda_device *device, size_t bytes, const char *purpose, CUdeviceptr *memory,
                           lh_error *error);
void lh_cuda_release(const lh_cuda_device *device, CUdeviceptr *memory); /* sets *memory to 0; 0 is valid */

/* Allocates pinned host memory, whose copies to and from the device run asynchronously. */
lh_status lh_cuda_pin(const lh_cuda_device *device, size_t bytes, const char *purpose, void **memory, lh_error *error);
void lh_cuda_unpin(const lh_cuda_device *device, void **memory); /* sets *memory to NULL; NULL is valid */

/* The smallest multiple of 256 that is at least bytes; keeps parts of one allocation aligned. */
static inline size_t lh_cuda_align(size_t bytes) { return (bytes + 255) / 256 * 256; }

#endif
