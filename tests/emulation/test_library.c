/* The emulation as a shared library, LH_EMULATED_LIBRARY, which a program uses as its driver without knowing it. */
#include "lh_test.h"

#include <stdlib.h>

#include "runtime/cuda/driver.h"

static void test_runtime_finds_the_driver_and_runs_a_kernel(void **state) {
    enum { THREADS = 64 };
    const lh_cuda_driver *driver = NULL;
    lh_error error;
    char name[64];
    float in[THREADS], out = 0;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUstream stream;
    CUdeviceptr in_device, out_device;
    void *arguments[] = {&in_device, &out_device};
    setenv("LONGHAND_CUDA_DRIVER", LH_EMULATED_LIBRARY, 1);
    setenv("LONGHAND_EMULATION", "architecture=86,order=1", 1);
    lh_assert_ok(lh_cuda_driver_open(&driver, &error), &error);
    assert_int_equal(driver->cuDeviceGetName(name, sizeof name, 0), 0);
    assert_string_equal(name, "emulated sm_86");

    for (int i = 0; i < THREADS; i++) in[i] = (float)i;
    assert_int_equal(driver->cuDevicePrimaryCtxRetain(&context, 0), 0);
    assert_int_equal(driver->cuCtxSetCurrent(context), 0);
    assert_int_equal(driver->cuModuleLoadDataEx(&module, "sm_86", 0, NULL, NULL), 0);
    assert_int_equal(driver->cuModuleGetFunction(&function, module, "sum_kernel"), 0);
    assert_int_equal(driver->cuStreamCreate(&stream, 0), 0);
    assert_int_equal(driver->cuMemAlloc(&in_device, sizeof in), 0);
    assert_int_equal(driver->cuMemAlloc(&out_device, sizeof out), 0);
    assert_int_equal(driver->cuMemcpyHtoDAsync(in_device, in, sizeof in, stream), 0);
    assert_int_equal(
        driver->cuLaunchCooperativeKernel(function, 1, 1, 1, THREADS, 1, 1, sizeof(float[2]), stream, arguments), 0);
    assert_int_equal(driver->cuMemcpyDtoHAsync(&out, out_device, sizeof out, stream), 0);
    assert_int_equal(driver->cuStreamSynchronize(stream), 0);
    assert_true(out == THREADS * (THREADS - 1) / 2);
    assert_int_equal(driver->cuMemFree(in_device), 0);
    assert_int_equal(driver->cuMemFree(out_device), 0);
    assert_int_equal(driver->cuStreamDestroy(stream), 0);
    assert_int_equal(driver->cuModuleUnload(module), 0);
    assert_int_equal(driver->cuDevicePrimaryCtxRelease(0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_runtime_finds_the_driver_and_runs_a_kernel)};
    return cmocka_run_group_tests_name("library", tests, NULL, NULL);
}
