/* See device_memory.h. */
#include "runtime/cuda/device_memory.h"

lh_status lh_cuda_allocate(const lh_cuda_device *device, size_t bytes, const char *purpose, CUdeviceptr *memory,
                           lh_error *error) {
    const lh_cuda_driver *driver = device->driver;
    size_t free_bytes = 0, total = 0;
    *memory = 0;
    if (bytes == 0) return LH_OK;
    CUresult result = driver->cuMemAlloc(memory, bytes);
    if (result != LH_CUDA_OUT_OF_MEMORY) return lh_cuda_check(driver, result, "cuMemAlloc", error);
    *memory = 0;
    driver->cuMemGetInfo(&free_bytes, &total);
    return lh_fail(error, LH_ERR_ENVIRONMENT,
                   "no memory on %s: %zu bytes for %s, %zu of %zu bytes are free\n"
                   "  hint: fewer replicas, shorter lengths, or a device that no other program uses",
                   device->name, bytes, purpose, free_bytes, total);
}

void lh_cuda_release(const lh_cuda_device *device, CUdeviceptr *memory) {
    if (*memory != 0) device->driver->cuMemFree(*memory);
    *memory = 0;
}

lh_status lh_cuda_pin(const lh_cuda_device *device, size_t bytes, const char *purpose, void **memory, lh_error *error) {
    const lh_cuda_driver *driver = device->driver;
    *memory = NULL;
    CUresult result = driver->cuMemAllocHost(memory, bytes > 0 ? bytes : 1);
    if (result != LH_CUDA_OUT_OF_MEMORY) return lh_cuda_check(driver, result, "cuMemAllocHost", error);
    *memory = NULL;
    return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory: %zu pinned bytes for %s", bytes, purpose);
}

void lh_cuda_unpin(const lh_cuda_device *device, void **memory) {
    if (*memory != NULL) device->driver->cuMemFreeHost(*memory);
    *memory = NULL;
}
