/* Products of wide models by cuBLASLt, which is found at run time. Nothing here needs a toolkit to build. */
#ifndef LONGHAND_CUDA_LIBRARY_H
#define LONGHAND_CUDA_LIBRARY_H

#include <stdint.h>

#include "runtime/cuda/device.h"

typedef struct lh_cuda_library lh_cuda_library;

/* cuBLASLt 13, 12 or 11, whichever is the latest that the driver takes, ready for products in the program's precision:
 * the file that LONGHAND_CUBLASLT names, or one that lh_cuda_find finds. The device's context is current, as for all
 * calls. LH_ERR_ENVIRONMENT: there is none, or it does not start; the message says where it was looked for, and why
 * what was found will not do. */
lh_status lh_cuda_library_open(const lh_cuda_device *device, lh_cuda_library **library, lh_error *error);

/* Puts a product into the stream. The library chooses how, once for each shape; which sums it makes in which order is
 * its own affair. *whole: whether a bias is added and rectified, too; false where the library does not do so. */
lh_status lh_cuda_library_multiply(lh_cuda_library *library, const lh_cuda_product *product, CUstream stream,
                                   bool *whole, lh_error *error);

/* Folds how the library makes a product's shape, and what of its bias, into a digest: it chooses by the device, and its
 * sums with it. */
lh_status lh_cuda_library_digest(lh_cuda_library *library, const lh_cuda_product *product, uint32_t *digest,
                                 lh_error *error);

/* "cuBLASLt 13.1.0", valid as long as the library. */
const char *lh_cuda_library_name(const lh_cuda_library *library);

/* When nothing waits in a stream. NULL: nothing to do. */
void lh_cuda_library_close(lh_cuda_library *library);

#endif
