#include "cuda_emulation.h"

#include "kernels.cu"

#include "fragments.cu"

EMULATED_KERNEL(sum_kernel)
EMULATED_KERNEL(meet_kernel)
EMULATED_KERNEL(shuffle_kernel)
EMULATED_KERNEL(neighbour_kernel)
EMULATED_KERNEL(racing_kernel)
EMULATED_KERNEL(divergent_kernel)
EMULATED_KERNEL(partial_kernel)
EMULATED_KERNEL(masked_kernel)
EMULATED_KERNEL(waiting_kernel)
EMULATED_KERNEL(polling_kernel)
EMULATED_KERNEL(outside_kernel)
EMULATED_KERNEL(outside_global_kernel)
EMULATED_KERNEL(rounding_kernel)
EMULATED_KERNEL(tf32_kernel)
EMULATED_KERNEL(bf16_kernel)
