/* A CUDA device with the loaded kernels of one trainer: properties of the device, the loaded image, and the number of
 * blocks that are resident at once. The engine (cuda/fleet/fleet.h) owns memory, streams and launches. */
#ifndef LONGHAND_CUDA_DEVICE_H
#define LONGHAND_CUDA_DEVICE_H

#include <stddef.h>

#include "longhand/cuda.h"
#include "longhand/status.h"
#include "runtime/cuda/driver.h"

typedef struct lh_cuda_device {
    const lh_cuda_driver *driver;
    const lh_cuda_program *program;
    int ordinal; /* N of the flag --device cuda:N */
    CUdevice handle;
    char name[128];
    int architecture;   /* compute capability times 10: 90 for 9.0 */
    int driver_version; /* highest CUDA version that the driver knows, 13000: 13.0 */
    int multiprocessors;
    int cooperative;     /* 1: supports cooperative launches, whose blocks are all resident; every program needs them */
    int watchdog;        /* 1: the driver ends launches that take seconds, as on a GPU that drives a display */
    size_t block_memory; /* maximum shared memory of a block, bytes */
    size_t total_memory, free_memory; /* bytes; free_memory: after the kernels were loaded */
    char image[1024];  /* loaded image, for messages: "sm_90", "compute_75, compiled by the driver", ... */
    char compiler[64]; /* compiler of the machine code: "nvcc 13.0 for sm_90", "driver 13.0 from compute_75", ... */
    CUcontext context;
    CUmodule module;
    CUfunction train, evaluate;
    int train_blocks, evaluate_blocks; /* blocks resident at once on the whole device (the largest grid), 1 or more */
} lh_cuda_device;

/* Parses "cuda" (0) or "cuda:1" (1). LH_ERR_USAGE: the text has another form. */
lh_status lh_cuda_parse_ordinal(const char *text, int *ordinal, lh_error *error);

/* Finds the driver and the device, loads the image that fits best (machine code, else the intermediate form, else
 * the source compiled on this machine) and prepares both kernels for program->block_memory. Afterwards the context is
 * current for the calling thread. LH_ERR_ENVIRONMENT: no driver, no such device, a driver or device that cannot run
 * the program, or no suitable image; the message names what was found and what is needed. LH_ERR_INPUT: the source does
 * not compile. After an error device is zeroed. */
lh_status lh_cuda_device_open(lh_cuda_device *device, const lh_cuda_program *program, int ordinal, lh_error *error);

/* Makes the device's context current for the calling thread; every thread calls it before its first driver call. */
lh_status lh_cuda_make_current(const lh_cuda_device *device, lh_error *error);

/* Unloads the kernels. All device memory must be freed before. Afterwards the calling thread has no current context. A
 * zeroed device is valid. */
void lh_cuda_device_close(lh_cuda_device *device);

#endif
