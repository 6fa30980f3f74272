/* Comparison of the runtime's declarations of the CUDA driver (runtime/cuda/driver.h), and of the symbols that
 * driver.c looks up, with the headers of a toolkit; tests/cuda/check.sh compiles and runs it. The library itself is not
 * needed.
 *
 * cuda.h comes first, so that its macros rename the driver's members like its functions: cuMemAlloc is cuMemAlloc_v2
 * there, which is the symbol to look up. Our results are int, theirs an enumeration: as in all casts between function
 * types, -Wcast-function-type accepts this difference, but not another size or number of arguments.
 */
#include <cuda.h>

#define CUresult lh_cuda_result_number
#include "runtime/cuda/driver.c"
#undef CUresult

#include <stdio.h>

#define CHECK_EQUAL(our_value, cuda_value) \
    _Static_assert((long)(our_value) == (long)(cuda_value), #our_value " is not " #cuda_value)

CHECK_EQUAL(LH_CUDA_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
CHECK_EQUAL(LH_CUDA_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY);
CHECK_EQUAL(LH_CUDA_DEVICE_UNAVAILABLE, CUDA_ERROR_DEVICE_UNAVAILABLE);
CHECK_EQUAL(LH_CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
CHECK_EQUAL(LH_CUDA_ERROR_LOG, CU_JIT_ERROR_LOG_BUFFER);
CHECK_EQUAL(LH_CUDA_ERROR_LOG_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
CHECK_EQUAL(LH_CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
CHECK_EQUAL(LH_CUDA_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
CHECK_EQUAL(LH_CUDA_WATCHDOG, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT);
CHECK_EQUAL(LH_CUDA_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
CHECK_EQUAL(LH_CUDA_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
CHECK_EQUAL(LH_CUDA_COOPERATIVE, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
CHECK_EQUAL(LH_CUDA_BLOCK_MEMORY, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
CHECK_EQUAL(LH_CUDA_FUNCTION_BLOCK_MEMORY, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
CHECK_EQUAL(LH_CUDA_FUNCTION_CARVE_OUT, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
CHECK_EQUAL(LH_CUDA_CARVE_OUT_DEFAULT, CU_SHAREDMEM_CARVEOUT_DEFAULT);
CHECK_EQUAL(sizeof(CUjit_option), sizeof(int));
CHECK_EQUAL(sizeof(enum cudaError_enum), sizeof(int));

#define TEXT(...) #__VA_ARGS__
/* Checks that the function takes our arguments, and that its symbol is the one that is looked up for this member. */
#define FUNCTION(name) \
    { TEXT(name), offsetof(lh_cuda_driver, name), sizeof((__typeof__(((lh_cuda_driver *)0)->name))&name) }

static const struct {
    const char *symbol;
    size_t offset, bytes;
} FUNCTIONS[] = {
    FUNCTION(cuInit),
    FUNCTION(cuDriverGetVersion),
    FUNCTION(cuGetErrorName),
    FUNCTION(cuGetErrorString),
    FUNCTION(cuDeviceGetCount),
    FUNCTION(cuDeviceGet),
    FUNCTION(cuDeviceGetName),
    FUNCTION(cuDeviceGetAttribute),
    FUNCTION(cuDeviceTotalMem),
    FUNCTION(cuDevicePrimaryCtxRetain),
    FUNCTION(cuDevicePrimaryCtxRelease),
    FUNCTION(cuCtxSetCurrent),
    FUNCTION(cuMemGetInfo),
    FUNCTION(cuModuleLoadDataEx),
    FUNCTION(cuModuleUnload),
    FUNCTION(cuModuleGetFunction),
    FUNCTION(cuFuncSetAttribute),
    FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor),
    FUNCTION(cuMemAlloc),
    FUNCTION(cuMemFree),
    FUNCTION(cuMemAllocHost),
    FUNCTION(cuMemFreeHost),
    FUNCTION(cuMemsetD8Async),
    FUNCTION(cuMemcpyHtoDAsync),
    FUNCTION(cuMemcpyDtoHAsync),
    FUNCTION(cuStreamCreate),
    FUNCTION(cuStreamDestroy),
    FUNCTION(cuStreamSynchronize),
    FUNCTION(cuLaunchKernel),
    FUNCTION(cuLaunchCooperativeKernel),
};
_Static_assert(sizeof FUNCTIONS / sizeof *FUNCTIONS == SYMBOL_COUNT, "every function of the driver is compared");

int main(void) {
    int problems = 0;
    for (int i = 0; i < SYMBOL_COUNT; i++) {
        if (FUNCTIONS[i].offset == SYMBOLS[i].offset && strcmp(FUNCTIONS[i].symbol, SYMBOLS[i].symbol) == 0) continue;
        printf("%s is looked up, in the toolkit it is %s\n", SYMBOLS[i].symbol, FUNCTIONS[i].symbol);
        problems++;
    }
    return problems > 0;
}
