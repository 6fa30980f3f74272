/* The CUDA driver as a table of functions, found at run time. The build needs no toolkit, and a trainer
 * with CUDA code can also start on a machine without a driver.
 *
 * Members of lh_cuda_driver have the names of functions of the driver API, without version suffixes, and behave as
 * documented there; types are declared here because no header of the toolkit is included.
 */
#ifndef LONGHAND_CUDA_DRIVER_H
#define LONGHAND_CUDA_DRIVER_H

#include <stddef.h>

#include "longhand/status.h"

typedef int CUresult; /* 0: success */
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;

typedef struct lh_cuda_driver {
    CUresult (*cuInit)(unsigned flags);
    CUresult (*cuDriverGetVersion)(int *version); /* 13000: 13.0 */
    CUresult (*cuGetErrorName)(CUresult error, const char **name);
    CUresult (*cuGetErrorString)(CUresult error, const char **text);
    CUresult (*cuDeviceGetCount)(int *count);
    CUresult (*cuDeviceGet)(CUdevice *device, int ordinal);
    CUresult (*cuDeviceGetName)(char *name, int length, CUdevice device);
    CUresult (*cuDeviceGetAttribute)(int *value, int attribute, CUdevice device);
    CUresult (*cuDeviceTotalMem)(size_t *bytes, CUdevice device);
    CUresult (*cuDevicePrimaryCtxRetain)(CUcontext *context, CUdevice device);
    CUresult (*cuDevicePrimaryCtxRelease)(CUdevice device);
    CUresult (*cuCtxSetCurrent)(CUcontext context);
    CUresult (*cuMemGetInfo)(size_t *free_bytes, size_t *total);
    CUresult (*cuModuleLoadDataEx)(CUmodule *module, const void *image, unsigned count, int *options, void **values);
    CUresult (*cuModuleUnload)(CUmodule module);
    CUresult (*cuModuleGetFunction)(CUfunction *function, CUmodule module, const char *name);
    CUresult (*cuFuncSetAttribute)(CUfunction function, int attribute, int value);
    CUresult (*cuOccupancyMaxActiveBlocksPerMultiprocessor)(int *blocks, CUfunction function, int threads,
                                                            size_t block_memory);
    CUresult (*cuMemAlloc)(CUdeviceptr *pointer, size_t bytes);
    CUresult (*cuMemFree)(CUdeviceptr pointer);
    CUresult (*cuMemAllocHost)(void **pointer, size_t bytes);
    CUresult (*cuMemFreeHost)(void *pointer);
    CUresult (*cuMemsetD8Async)(CUdeviceptr pointer, unsigned char value, size_t bytes, CUstream stream);
    CUresult (*cuMemcpyHtoDAsync)(CUdeviceptr to, const void *from, size_t bytes, CUstream stream);
    CUresult (*cuMemcpyDtoHAsync)(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
    CUresult (*cuStreamCreate)(CUstream *stream, unsigned flags);
    CUresult (*cuStreamDestroy)(CUstream stream);
    CUresult (*cuStreamSynchronize)(CUstream stream);
    CUresult (*cuLaunchKernel)(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned block_memory, CUstream stream,
                               void **arguments, void **extra);
    CUresult (*cuLaunchCooperativeKernel)(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned block_memory,
                                          CUstream stream, void **arguments);
} lh_cuda_driver;

/* Constants of the driver API; tests/cuda/driver.c compares them with a toolkit's headers. */
enum {
    LH_CUDA_OUT_OF_MEMORY = 2, /* CUDA_ERROR_... */
    LH_CUDA_STUB_LIBRARY = 34,
    LH_CUDA_DEVICE_UNAVAILABLE = 46,
    LH_CUDA_NO_DEVICE = 100,
    LH_CUDA_ERROR_LOG = 5, /* CU_JIT_ERROR_LOG_BUFFER */
    LH_CUDA_ERROR_LOG_BYTES = 6,
    LH_CUDA_STREAM_NON_BLOCKING = 1, /* CU_STREAM_NON_BLOCKING: the stream waits for no other stream */
    LH_CUDA_MULTIPROCESSORS = 16,    /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */
    LH_CUDA_WATCHDOG = 17,           /* CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT */
    LH_CUDA_MAJOR = 75,
    LH_CUDA_MINOR = 76,                /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_... */
    LH_CUDA_COOPERATIVE = 95,          /* CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH */
    LH_CUDA_BLOCK_MEMORY = 97,         /* CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    LH_CUDA_FUNCTION_BLOCK_MEMORY = 8, /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
    LH_CUDA_FUNCTION_CARVE_OUT = 9,    /* CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, in percent */
    LH_CUDA_CARVE_OUT_DEFAULT = -1     /* CU_SHAREDMEM_CARVEOUT_DEFAULT */
};

/* The driver of this machine, opened once per process: libcuda.so.1, or the library that the environment variable
 * LONGHAND_CUDA_DRIVER names. LH_ERR_ENVIRONMENT: there is no driver, the library is the toolkit's stub or lacks a
 * function, or the driver cannot start or finds no device; the message names the cause and a remedy. */
lh_status lh_cuda_driver_open(const lh_cuda_driver **driver, lh_error *error);

/* LH_OK if result is 0; else LH_ERR_ENVIRONMENT with the name of the call and the driver's error text. */
lh_status lh_cuda_check(const lh_cuda_driver *driver, CUresult result, const char *call, lh_error *error);

#endif
