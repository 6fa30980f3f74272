/* A CUDA device with the kernels of one experiment loaded: which device, which of the program's images, and how much
 * of it runs at once. The engine (cuda/fleet/fleet.h) owns memory, streams and launches.
 */
#ifndef LONGHAND_CUDA_DEVICE_H
#define LONGHAND_CUDA_DEVICE_H

#include <stddef.h>

#include "longhand/cuda.h"
#include "longhand/status.h"
#include "runtime/cuda/driver.h"

typedef struct lh_cuda_device {
    const lh_cuda_driver *driver;
    const lh_cuda_program *program;
    int ordinal;
    CUdevice handle;
    char name[128];
    int architecture;   /* 90: compute capability 9.0 */
    int driver_version; /* highest CUDA version that the driver knows, 13000: 13.0 */
    int multiprocessors;
    int cooperative;                  /* 1: launches kernels whose blocks are all resident, which every program needs */
    int watchdog;                     /* 1: a launch of seconds is ended, as where the GPU drives a display */
    size_t block_memory;              /* shared memory that a block may have, bytes */
    size_t total_memory, free_memory; /* bytes; free: after the kernels were loaded */
    char image[1024];                 /* what runs, for people: "sm_90", "compute_75, compiled by the driver", ... */
    char compiler[64]; /* what made its machine code: "nvcc 13.0 for sm_90", "driver 13.0 from compute_75", ... */
    CUcontext context;
    CUmodule module;
    CUfunction train, evaluate;
    int train_blocks, evaluate_blocks; /* resident at once on the whole device, 1 or more: the largest grid */
} lh_cuda_device;

/* The number in "cuda" (0) or "cuda:1" (1). LH_ERR_USAGE: the text is neither. */
lh_status lh_cuda_ordinal(const char *text, int *ordinal, lh_error *error);

/* Finds the driver and the device, loads the image that fits it best (machine code, else the intermediate form, else
 * the source compiled on this machine) and prepares both kernels for program->block_memory. The context is current for
 * the calling thread afterwards. LH_ERR_ENVIRONMENT, naming what there is and what is needed: no driver, no such
 * device, a driver or a device too old, no image that fits. device is zeroed on error. */
lh_status lh_cuda_device_open(lh_cuda_device *device, const lh_cuda_program *program, int ordinal, lh_error *error);

/* Makes the device's context current for the calling thread; every thread calls it before its first driver call. */
lh_status lh_cuda_use(const lh_cuda_device *device, lh_error *error);

/* Unloads the kernels; what was allocated must be freed before. No context is current for the calling thread afterwards.
 * A zeroed device is fine. */
void lh_cuda_device_close(lh_cuda_device *device);

#endif
