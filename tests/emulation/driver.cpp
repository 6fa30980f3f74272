/* The driver's API over host memory: device, context, modules, memory. The functions have the names that the library of
 * a real driver exports, so that a shared library of these files can replace it. */
#include "device.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>

#include "guarded.h"

enum {
    DEFAULT_BLOCK_MEMORY = 48 << 10, /* bytes; default limit of a kernel's shared memory */
    RESERVED_BLOCK_MEMORY = 1 << 10  /* bytes that each resident block needs in addition */
};

static const struct {
    CUresult error;
    const char *name, *text;
} ERRORS[] = {
    {SUCCESS, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {COOPERATIVE_LAUNCH_TOO_LARGE, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"},
};

lh_device_state lh_device;
std::recursive_mutex lh_device_mutex;
thread_local CUcontext lh_device_context;

void lh_device_explain(CUresult error, const std::string &reason) {
    lh_device.explained_error = error;
    snprintf(lh_device.reason.text, sizeof lh_device.reason.text, "%s", reason.c_str());
}

void lh_device_break(CUresult error, const std::string &reason) {
    if (lh_device.sticky_error) return;
    lh_device.sticky_error = error;
    lh_device_explain(error, reason);
}

void lh_device_check_memory(const char *operation) {
    for (const auto *kind : {&lh_device.device_memory, &lh_device.host_memory})
        for (const auto &[memory, bytes] : *kind)
            if (const char *damage = lh_guarded_find_damage(memory, bytes))
                lh_device_break(ILLEGAL_ADDRESS, std::string(operation) + ": " +
                                                     (kind == &lh_device.device_memory ? "device" : "pinned") +
                                                     " memory of " + std::to_string(bytes) + " bytes was " + damage);
}

int lh_device_count_resident(CUfunction function, int threads, size_t block_memory) {
    if (threads < 1 || threads > 1024 || block_memory > (size_t)function->block_memory) return 0;
    size_t resident = (lh_emulated.block_memory + RESERVED_BLOCK_MEMORY) / (block_memory + RESERVED_BLOCK_MEMORY);
    return (int)std::min(resident, (size_t)lh_emulated.blocks_per_multiprocessor);
}

extern "C" {

CUresult cuInit(unsigned) {
    lh_device_call c("cuInit", NO_NEED);
    if (c.failure) return c.failure;
    std::string problem;
    if (!lh_emulation_read(&problem)) {
        lh_device_explain(INVALID_VALUE, problem);
        return INVALID_VALUE;
    }
    if (lh_emulated.devices < 1) return NO_DEVICE;
    lh_device.is_initialised = true;
    return SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
    lh_device_call c("cuDriverGetVersion", NO_NEED);
    *version = lh_emulated.driver_version;
    return c.failure;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
    *name = NULL;
    for (const auto &status : ERRORS)
        if (status.error == error) *name = status.name;
    return *name ? SUCCESS : INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
    *text = NULL;
    for (const auto &status : ERRORS)
        if (status.error == error) *text = status.text;
    if (error && error == lh_device.explained_error) *text = lh_device.reason.text;
    return *text ? SUCCESS : INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count) {
    lh_device_call c("cuDeviceGetCount", INITIALISED);
    *count = lh_emulated.devices;
    return c.failure;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    lh_device_call c("cuDeviceGet", INITIALISED);
    if (c.failure) return c.failure;
    *device = ordinal;
    return ordinal < 0 || ordinal >= lh_emulated.devices ? INVALID_DEVICE : SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice) {
    lh_device_call c("cuDeviceGetName", INITIALISED);
    snprintf(name, (size_t)length, "emulated sm_%d", lh_emulated.architecture);
    return c.failure;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
    lh_device_call c("cuDeviceGetAttribute", INITIALISED);
    if (c.failure) return c.failure;
    switch (attribute) {
    case LH_CUDA_MULTIPROCESSORS: *value = lh_emulated.multiprocessors; return SUCCESS;
    case LH_CUDA_MAJOR: *value = lh_emulated.architecture / 10; return SUCCESS;
    case LH_CUDA_MINOR: *value = lh_emulated.architecture % 10; return SUCCESS;
    case LH_CUDA_COOPERATIVE: *value = 1; return SUCCESS;
    case LH_CUDA_WATCHDOG: *value = lh_emulated.watchdog; return SUCCESS;
    case LH_CUDA_BLOCK_MEMORY: *value = (int)lh_emulated.block_memory; return SUCCESS;
    }
    return INVALID_VALUE;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice) {
    lh_device_call c("cuDeviceTotalMem", INITIALISED);
    *bytes = lh_emulated.memory;
    return c.failure;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
    lh_device_call c("cuDevicePrimaryCtxRetain", INITIALISED);
    if (c.failure) return c.failure;
    lh_device.context.holders++;
    *context = &lh_device.context;
    return SUCCESS;
}

/* Releases the context also after a failed kernel; the device works again once nobody holds it. */
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
    lh_device_call c("cuDevicePrimaryCtxRelease", NO_NEED);
    if (lh_device.context.holders == 0) return INVALID_CONTEXT;
    lh_device_run_everything();
    if (--lh_device.context.holders == 0) lh_device.sticky_error = lh_device.explained_error = SUCCESS;
    return SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
    lh_device_call c("cuCtxSetCurrent", INITIALISED);
    lh_device_context = context;
    return c.failure;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
    lh_device_call c("cuMemGetInfo", CONTEXT);
    *free_bytes = lh_emulated.memory - lh_device.used_bytes;
    *total_bytes = lh_emulated.memory;
    return c.failure;
}

/* Whether an image can run on the device; its content names its architecture ("sm_80", "compute_75"), or none. */
static bool can_run_image(const char *image) {
    int major = lh_emulated.architecture / 10;
    if (strncmp(image, "sm_", 3) == 0) {
        int architecture = atoi(image + 3);
        return architecture / 10 == major && architecture <= lh_emulated.architecture;
    }
    return strncmp(image, "compute_", 8) != 0 || atoi(image + 8) <= lh_emulated.architecture;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned, int *, void **) {
    lh_device_call c("cuModuleLoadDataEx", CONTEXT);
    if (c.failure) return c.failure;
    if (!image) return INVALID_VALUE;
    if (!can_run_image(static_cast<const char *>(image))) return NO_BINARY_FOR_GPU;
    lh_device.modules.insert(*module = new CUmod_st());
    return SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
    lh_device_call c("cuModuleUnload", CONTEXT);
    if (c.must_not_release()) return c.failure;
    lh_device_run_everything();
    if (lh_device.modules.erase(module) == 0) return INVALID_HANDLE;
    delete module;
    return c.failure;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    lh_device_call c("cuModuleGetFunction", CONTEXT);
    if (c.failure) return c.failure;
    if (!lh_device.modules.count(module)) return INVALID_HANDLE;
    const lh_emulated_kernel *kernel = lh_emulated_kernel::find(name);
    if (!kernel) return NOT_FOUND;
    *function = &module->functions.emplace(name, CUfunc_st{kernel, DEFAULT_BLOCK_MEMORY}).first->second;
    return SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
    lh_device_call c("cuFuncSetAttribute", CONTEXT);
    if (c.failure) return c.failure;
    if (attribute == LH_CUDA_FUNCTION_CARVE_OUT) return value >= -1 && value <= 100 ? SUCCESS : INVALID_VALUE;
    if (attribute != LH_CUDA_FUNCTION_BLOCK_MEMORY || value < 0 || (size_t)value > lh_emulated.block_memory)
        return INVALID_VALUE;
    function->block_memory = value;
    return SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t block_memory) {
    lh_device_call c("cuOccupancyMaxActiveBlocksPerMultiprocessor", CONTEXT);
    if (c.failure) return c.failure;
    *blocks = lh_device_count_resident(function, threads, block_memory);
    return SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
    lh_device_call c("cuMemAlloc", CONTEXT);
    if (c.failure) return c.failure;
    if (bytes == 0) return INVALID_VALUE;
    if (bytes > lh_emulated.memory - lh_device.used_bytes) return OUT_OF_MEMORY;
    unsigned char *memory = lh_guarded_make(bytes);
    if (!memory) return OUT_OF_MEMORY;
    lh_device.device_memory[memory] = bytes;
    lh_device.used_bytes += bytes;
    *pointer = reinterpret_cast<CUdeviceptr>(memory);
    return SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
    lh_device_call c("cuMemFree", CONTEXT);
    if (c.must_not_release()) return c.failure;
    lh_device_run_everything();
    auto found = lh_device.device_memory.find(reinterpret_cast<unsigned char *>(pointer));
    if (found == lh_device.device_memory.end()) return pointer ? INVALID_VALUE : SUCCESS;
    lh_device_check_memory("cuMemFree");
    lh_device.used_bytes -= found->second;
    lh_guarded_free(found->first);
    lh_device.device_memory.erase(found);
    return c.failure ? c.failure : lh_device.sticky_error;
}

CUresult cuMemAllocHost_v2(void **pointer, size_t bytes) {
    lh_device_call c("cuMemAllocHost", CONTEXT);
    if (c.failure) return c.failure;
    unsigned char *memory = bytes ? lh_guarded_make(bytes) : NULL;
    if (!memory) return bytes ? OUT_OF_MEMORY : INVALID_VALUE;
    lh_device.host_memory[memory] = bytes;
    *pointer = memory;
    return SUCCESS;
}

CUresult cuMemFreeHost(void *pointer) {
    lh_device_call c("cuMemFreeHost", CONTEXT);
    if (c.must_not_release()) return c.failure;
    lh_device_run_everything();
    auto found = lh_device.host_memory.find(static_cast<unsigned char *>(pointer));
    if (found == lh_device.host_memory.end()) return INVALID_VALUE;
    lh_device_check_memory("cuMemFreeHost");
    lh_guarded_free(found->first);
    lh_device.host_memory.erase(found);
    return c.failure ? c.failure : lh_device.sticky_error;
}

} /* extern "C" */

const lh_cuda_driver *lh_emulated_driver(void) {
    static lh_cuda_driver driver;
    driver.cuInit = cuInit;
    driver.cuDriverGetVersion = cuDriverGetVersion;
    driver.cuGetErrorName = cuGetErrorName;
    driver.cuGetErrorString = cuGetErrorString;
    driver.cuDeviceGetCount = cuDeviceGetCount;
    driver.cuDeviceGet = cuDeviceGet;
    driver.cuDeviceGetName = cuDeviceGetName;
    driver.cuDeviceGetAttribute = cuDeviceGetAttribute;
    driver.cuDeviceTotalMem = cuDeviceTotalMem_v2;
    driver.cuDevicePrimaryCtxRetain = cuDevicePrimaryCtxRetain;
    driver.cuDevicePrimaryCtxRelease = cuDevicePrimaryCtxRelease_v2;
    driver.cuCtxSetCurrent = cuCtxSetCurrent;
    driver.cuMemGetInfo = cuMemGetInfo_v2;
    driver.cuModuleLoadDataEx = cuModuleLoadDataEx;
    driver.cuModuleUnload = cuModuleUnload;
    driver.cuModuleGetFunction = cuModuleGetFunction;
    driver.cuFuncSetAttribute = cuFuncSetAttribute;
    driver.cuOccupancyMaxActiveBlocksPerMultiprocessor = cuOccupancyMaxActiveBlocksPerMultiprocessor;
    driver.cuMemAlloc = cuMemAlloc_v2;
    driver.cuMemFree = cuMemFree_v2;
    driver.cuMemAllocHost = cuMemAllocHost_v2;
    driver.cuMemFreeHost = cuMemFreeHost;
    lh_device_add_streams(&driver);
    return &driver;
}
