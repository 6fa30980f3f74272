/* Finds the CUDA driver; see driver.h. */
#include "runtime/cuda/driver.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* If the signature of a function has changed, the library has two versions: the older one has the plain name
 * (AS_NAMED), the newer one the suffix _v2 (VERSION_2). */
#define AS_NAMED(member) \
    { #member, offsetof(lh_cuda_driver, member) }
#define VERSION_2(member) \
    { #member "_v2", offsetof(lh_cuda_driver, member) }

static const struct {
    const char *symbol;
    size_t offset; /* offset of the member that receives the function's address */
} SYMBOLS[] = {
    AS_NAMED(cuInit),
    AS_NAMED(cuDriverGetVersion),
    AS_NAMED(cuGetErrorName),
    AS_NAMED(cuGetErrorString),
    AS_NAMED(cuDeviceGetCount),
    AS_NAMED(cuDeviceGet),
    AS_NAMED(cuDeviceGetName),
    AS_NAMED(cuDeviceGetAttribute),
    VERSION_2(cuDeviceTotalMem),
    AS_NAMED(cuDevicePrimaryCtxRetain),
    VERSION_2(cuDevicePrimaryCtxRelease),
    AS_NAMED(cuCtxSetCurrent),
    VERSION_2(cuMemGetInfo),
    AS_NAMED(cuModuleLoadDataEx),
    AS_NAMED(cuModuleUnload),
    AS_NAMED(cuModuleGetFunction),
    AS_NAMED(cuFuncSetAttribute),
    AS_NAMED(cuOccupancyMaxActiveBlocksPerMultiprocessor),
    VERSION_2(cuMemAlloc),
    VERSION_2(cuMemFree),
    VERSION_2(cuMemAllocHost),
    AS_NAMED(cuMemFreeHost),
    AS_NAMED(cuMemsetD8Async),
    VERSION_2(cuMemcpyHtoDAsync),
    VERSION_2(cuMemcpyDtoHAsync),
    AS_NAMED(cuStreamCreate),
    VERSION_2(cuStreamDestroy),
    AS_NAMED(cuStreamSynchronize),
    AS_NAMED(cuLaunchKernel),
    AS_NAMED(cuLaunchCooperativeKernel),
};
enum { SYMBOL_COUNT = sizeof SYMBOLS / sizeof SYMBOLS[0] };

static_assert(sizeof(lh_cuda_driver) == SYMBOL_COUNT * sizeof(void (*)(void)), "every member has its symbol");

static const char *choose_library(void) {
    const char *requested = getenv("LONGHAND_CUDA_DRIVER");
    return requested && requested[0] ? requested : "libcuda.so.1";
}

static lh_status fail_no_library(const char *file, lh_error *error) {
    const char *reason = dlerror(); /* contains the library's name; NULL in a static program */
    return lh_fail(
        error, LH_ERR_ENVIRONMENT,
        "no CUDA driver on this machine: %s%s\n"
        "the library comes with NVIDIA's driver for GPUs: run where the driver is installed, or name the library in "
        "LONGHAND_CUDA_DRIVER",
        reason ? "" : file, reason ? reason : ": this program is linked statically and cannot load libraries");
}

static lh_status find_functions(void *library, const char *file, lh_cuda_driver *driver, lh_error *error) {
    for (int i = 0; i < SYMBOL_COUNT; i++) {
        void *function = dlsym(library, SYMBOLS[i].symbol);
        if (!function)
            return lh_fail(error, LH_ERR_ENVIRONMENT,
                           "the CUDA driver %s has no function %s: it is too old, or not a driver\n"
                           "install a newer driver (450 or later), or name another library in LONGHAND_CUDA_DRIVER",
                           file, SYMBOLS[i].symbol);
        memcpy((char *)driver + SYMBOLS[i].offset, &function, sizeof function);
    }
    return LH_OK;
}

static lh_status fail_no_device(lh_error *error) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    return lh_fail(
        error, LH_ERR_ENVIRONMENT,
        "the CUDA driver finds no device on this machine%s%s%s\n"
        "run on a machine with a device (nvidia-smi lists devices); in a container or a batch job, request a GPU",
        visible ? " (CUDA_VISIBLE_DEVICES=\"" : "", visible ? visible : "", visible ? "\" may hide them)" : "");
}

static lh_status fail_start(const lh_cuda_driver *driver, CUresult result, lh_error *error) {
    lh_error reason = {""};
    lh_cuda_check(driver, result, "cuInit", &reason);
    return lh_fail(error, LH_ERR_ENVIRONMENT,
                   "the CUDA driver cannot start: %s\n"
                   "nvidia-smi shows details; after an update of the driver, the machine must be restarted",
                   reason.text);
}

static lh_status start_driver(const lh_cuda_driver *driver, const char *file, lh_error *error) {
    int count = 0;
    CUresult result = driver->cuInit(0);
    if (result == LH_CUDA_STUB_LIBRARY)
        return lh_fail(error, LH_ERR_ENVIRONMENT,
                       "%s is the CUDA toolkit's stub library, which is for linking only, not the driver\n"
                       "take the toolkit's folder stubs out of LD_LIBRARY_PATH and LONGHAND_CUDA_DRIVER; the real "
                       "library comes with NVIDIA's kernel driver",
                       file);
    if (result == LH_CUDA_NO_DEVICE) return fail_no_device(error);
    if (result != 0) return fail_start(driver, result, error);
    lh_status status = lh_cuda_check(driver, driver->cuDeviceGetCount(&count), "cuDeviceGetCount", error);
    if (status == LH_OK && count == 0) status = fail_no_device(error);
    return status;
}

/* Opens the library, which stays loaded even if it cannot be used: it may have started threads. */
static lh_status open_library(lh_cuda_driver *driver, lh_error *error) {
    const char *file = choose_library();
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) return fail_no_library(file, error);
    lh_status status = find_functions(library, file, driver, error);
    return status == LH_OK ? start_driver(driver, file, error) : status;
}

lh_status lh_cuda_driver_open(const lh_cuda_driver **driver, lh_error *error) {
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static lh_cuda_driver opened;
    static bool is_open;
    lh_status status = LH_OK;
    pthread_mutex_lock(&guard);
    if (!is_open) status = open_library(&opened, error);
    is_open = status == LH_OK;
    pthread_mutex_unlock(&guard);
    *driver = status == LH_OK ? &opened : NULL;
    return status;
}

lh_status lh_cuda_check(const lh_cuda_driver *driver, CUresult result, const char *call, lh_error *error) {
    const char *name = NULL, *text = NULL;
    if (result == 0) return LH_OK;
    if (driver->cuGetErrorName(result, &name) != 0 || !name) name = "an unnamed error";
    if (driver->cuGetErrorString(result, &text) != 0 || !text) text = "no description";
    return lh_fail(error, LH_ERR_ENVIRONMENT, "the CUDA driver failed in %s: %s (%d), %s", call, name, result, text);
}
