/* Device code is compiled into trainers; programs that link the host half of a test spec have none. */
#include "longhand/cuda.h"

extern const lh_cuda_image lh_cuda_images[];
const lh_cuda_image lh_cuda_images[] = {{NULL, NULL, NULL}};
