/* Matrix products of wide models by cuBLASLt, which is found at run time. The build needs no toolkit. */
#ifndef LONGHAND_CUDA_LIBRARY_H
#define LONGHAND_CUDA_LIBRARY_H

#include <stdint.h>

#include "runtime/cuda/device.h"

typedef struct lh_cuda_library lh_cuda_library;

/* Opens cuBLASLt for products in the program's precision. If LONGHAND_CUBLASLT is set, it names the file. Otherwise
 * lh_cuda_find_library searches, in each folder the latest version first. The library's major version must not be
 * above the major version of CUDA that the driver knows. The device's context must be current for this and all other
 * calls. LH_ERR_ENVIRONMENT: no suitable library, or it does not start; the message lists the searched places and
 * the reasons of refusal. */
lh_status lh_cuda_library_open(const lh_cuda_device *device, lh_cuda_library **library, lh_error *error);

/* Enqueues a product in the stream. The library chooses an algorithm by the product's shape; the algorithm determines
 * the order of additions. *is_complete: the result is complete; false: the caller must add the bias and, if
 * product->rectified, apply max(x, 0). */
lh_status lh_cuda_library_multiply(lh_cuda_library *library, const lh_cuda_product *product, CUstream stream,
                                   bool *is_complete, lh_error *error);

/* Folds the library's algorithm for a product's shape, and its treatment of the bias, into a digest: both depend on the
 * device and determine the bits of sums. */
lh_status lh_cuda_library_digest(lh_cuda_library *library, const lh_cuda_product *product, uint32_t *digest,
                                 lh_error *error);

/* The name and version, "cuBLASLt 13.1.0"; valid until the library is closed. */
const char *lh_cuda_library_name(const lh_cuda_library *library);

/* Closes the library; no product may be pending in a stream. NULL is valid. */
void lh_cuda_library_close(lh_cuda_library *library);

#endif
