/* A replacement for libcuda.so.1, for tests of the search for the driver and of opening a device. It has the functions
 * that runtime/cuda/driver.c looks up, and computes nothing. Environment variables, read at every call, choose its
 * results. Its variables fake_... record the calls; tests read them with dlsym.
 *
 *     FAKE_CUDA_INIT, _RETAIN, _LOAD, _FUNCTION, _ATTRIBUTE   result of the call with this word in its name (0)
 *     FAKE_CUDA_VERSION        version that cuDriverGetVersion reports (13000)
 *     FAKE_CUDA_COUNT          number of devices (1)
 *     FAKE_CUDA_ARCHITECTURE   architecture of all devices (90)
 *     FAKE_CUDA_BLOCK_MEMORY   most bytes of shared memory of a block (232448)
 *     FAKE_CUDA_COOPERATIVE    0: the devices have no cooperative launches (1)
 *     FAKE_CUDA_RESIDENT       resident blocks of a multiprocessor (2); of the evaluation kernel one more
 *     FAKE_CUDA_CARVED         resident blocks after a call that sets the share of shared memory (FAKE_CUDA_RESIDENT)
 *
 * Compiled with -DFAKE_CUDA_OLD, the library lacks cuLaunchCooperativeKernel.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;

int fake_inits, fake_contexts, fake_modules, fake_block_memory, fake_carve_out;
char fake_image[256]; /* the beginning of the loaded image, as text */
_Thread_local void *fake_current;

static int read_setting(const char *name, int default_value) {
    const char *text = getenv(name);
    return text && text[0] ? atoi(text) : default_value;
}

CUresult cuInit(unsigned flags) {
    __atomic_fetch_add(&fake_inits, 1, __ATOMIC_SEQ_CST);
    usleep(10000); /* so that threads that start at once meet here, unless the code under test stops them */
    return flags == 0 ? read_setting("FAKE_CUDA_INIT", 0) : 1;
}

CUresult cuDriverGetVersion(int *version) {
    *version = read_setting("FAKE_CUDA_VERSION", 13000);
    return 0;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
    *name = error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : error == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU" : NULL;
    return *name ? 0 : 1;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
    *text = error == 2 ? "out of memory" : error == 209 ? "no kernel image is available" : NULL;
    return *text ? 0 : 1;
}

CUresult cuDeviceGetCount(int *count) {
    *count = read_setting("FAKE_CUDA_COUNT", 1);
    return 0;
}

CUresult cuDeviceGet(int *device, int ordinal) {
    *device = 7 + ordinal;
    return ordinal < read_setting("FAKE_CUDA_COUNT", 1) ? 0 : 101;
}

CUresult cuDeviceGetName(char *name, int length, int device) {
    strncpy(name, device == 8 ? "Fake B" : "Fake A", (size_t)length);
    return 0;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
    int architecture = read_setting("FAKE_CUDA_ARCHITECTURE", 90);
    switch (attribute) {
    case 16: /* multiprocessors */ *value = device == 8 ? 4 : 10; return 0;
    case 17: /* time limit of kernels */ *value = 0; return 0;
    case 75: /* compute capability, major */ *value = architecture / 10; return 0;
    case 76: /* compute capability, minor */ *value = architecture % 10; return 0;
    case 95: /* cooperative launches */ *value = read_setting("FAKE_CUDA_COOPERATIVE", 1); return 0;
    case 97: /* most shared memory of a block */ *value = read_setting("FAKE_CUDA_BLOCK_MEMORY", 232448); return 0;
    default: return 1;
    }
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) {
    *bytes = (size_t)device << 30;
    return 0;
}

CUresult cuDevicePrimaryCtxRetain(void **context, int device) {
    static char contexts[16];
    int result = read_setting("FAKE_CUDA_RETAIN", 0);
    if (result != 0) return result;
    fake_contexts++;
    *context = &contexts[device];
    return 0;
}

CUresult cuDevicePrimaryCtxRelease_v2(int device) {
    fake_contexts--;
    return device >= 7 ? 0 : 101;
}

CUresult cuCtxSetCurrent(void *context) {
    fake_current = context;
    return 0;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    *free_bytes = 5000;
    *total = 6000;
    return fake_current ? 0 : 201;
}

CUresult cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
    int result = read_setting("FAKE_CUDA_LOAD", 0);
    if (!fake_current) return 201;
    if (result != 0 && count == 2 && options[0] == 5 && options[1] == 6 && (size_t)values[1] > 64)
        strcpy(values[0], "ptxas error: Unresolved extern function 'nowhere'");
    if (result != 0) return result;
    strncpy(fake_image, image, sizeof fake_image - 1);
    *module = fake_image;
    fake_modules++;
    return 0;
}

CUresult cuModuleUnload(void *module) {
    fake_modules -= module == fake_image;
    return fake_current ? 0 : 201;
}

CUresult cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = (void *)name;
    fake_carve_out = -1;
    return module == fake_image ? read_setting("FAKE_CUDA_FUNCTION", 0) : 1;
}

CUresult cuFuncSetAttribute(void *function, int attribute, int value) {
    if (attribute == 9) fake_carve_out = value;
    else fake_block_memory = attribute == 8 && function ? value : -1;
    return read_setting("FAKE_CUDA_ATTRIBUTE", 0);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t block_memory) {
    int resident = read_setting("FAKE_CUDA_RESIDENT", 2);
    if (fake_carve_out > 0) resident = read_setting("FAKE_CUDA_CARVED", resident);
    *blocks = strstr(function, "evaluate") && resident > 0 ? resident + 1 : resident;
    return threads > 0 && (int)block_memory == fake_block_memory ? 0 : 1;
}

/* Functions that are looked up, but not called when a device is opened. */
#define NEVER_CALLED(name) \
    CUresult name(void) { return 999; }
NEVER_CALLED(cuMemAlloc_v2)
NEVER_CALLED(cuMemFree_v2)
NEVER_CALLED(cuMemAllocHost_v2)
NEVER_CALLED(cuMemFreeHost)
NEVER_CALLED(cuMemsetD8Async)
NEVER_CALLED(cuMemcpyHtoDAsync_v2)
NEVER_CALLED(cuMemcpyDtoHAsync_v2)
NEVER_CALLED(cuStreamCreate)
NEVER_CALLED(cuStreamDestroy_v2)
NEVER_CALLED(cuStreamSynchronize)
NEVER_CALLED(cuLaunchKernel)
#ifndef FAKE_CUDA_OLD
NEVER_CALLED(cuLaunchCooperativeKernel)
#endif
