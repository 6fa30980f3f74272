/* The emulated driver does what the engine requires of a real one, and refuses what a real one refuses. */
#include "lh_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emulation.h"
#include "found.h"

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_CONTEXT = 201 };
enum { NO_BINARY = 209, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, LAUNCH_FAILED = 719 };
enum { TOO_LARGE = 720, THREADS = 64 };

/* A device with a context, a module and a stream. */
typedef struct fixture {
    const lh_cuda_driver *driver;
    CUmodule module;
    CUstream stream;
} fixture;

static fixture open_device(const lh_emulation *emulation) {
    fixture f = {lh_emulated_driver(), NULL, NULL};
    CUcontext context;
    CUdevice device;
    lh_emulation_set(emulation);
    assert_int_equal(f.driver->cuInit(0), 0);
    assert_int_equal(f.driver->cuDeviceGet(&device, 0), 0);
    assert_int_equal(f.driver->cuDevicePrimaryCtxRetain(&context, device), 0);
    assert_int_equal(f.driver->cuCtxSetCurrent(context), 0);
    assert_int_equal(f.driver->cuModuleLoadDataEx(&f.module, "sm_90", 0, NULL, NULL), 0);
    assert_int_equal(f.driver->cuStreamCreate(&f.stream, 0), 0);
    return f;
}

/* Releases everything that the fixture has opened, also after a failed kernel, and checks that no object is open. */
static void close_device(const fixture *f) {
    f->driver->cuStreamDestroy(f->stream);
    f->driver->cuModuleUnload(f->module);
    assert_int_equal(f->driver->cuDevicePrimaryCtxRelease(0), 0);
    assert_int_equal(lh_emulation_held(), 0);
}

static CUresult launch(const fixture *f, const char *kernel, unsigned blocks, unsigned memory, void *a, void *b) {
    CUfunction function;
    void *arguments[] = {a, b};
    assert_int_equal(f->driver->cuModuleGetFunction(&function, f->module, kernel), 0);
    return f->driver->cuLaunchCooperativeKernel(function, blocks, 1, 1, THREADS, 1, 1, memory, f->stream, arguments);
}

static void test_configuration_is_read_from_the_environment(void **state) {
    const lh_cuda_driver *driver = lh_emulated_driver();
    const char *text = NULL;
    int value = 0;
    assert_int_equal(driver->cuDeviceGetCount(&value), NOT_INITIALIZED);
    setenv("LONGHAND_EMULATION", "order=3,multiprocessors=7,architecture=86", 1);
    assert_int_equal(driver->cuInit(0), 0);
    assert_int_equal(driver->cuDeviceGetAttribute(&value, LH_CUDA_MULTIPROCESSORS, 0), 0);
    assert_int_equal(value, 7);
    assert_int_equal(driver->cuDeviceGetAttribute(&value, LH_CUDA_MINOR, 0), 0);
    assert_int_equal(value, 6);
    const char *invalid_texts[] = {"order=",  "order",     "order=1x",        "order=-1",
                                   "ordre=1", "order=1,,", "order=5000000000"};
    for (size_t i = 0; i < sizeof invalid_texts / sizeof invalid_texts[0]; i++) {
        setenv("LONGHAND_EMULATION", invalid_texts[i], 1);
        assert_int_equal(driver->cuInit(0), INVALID_VALUE);
        assert_int_equal(driver->cuGetErrorString(INVALID_VALUE, &text), 0);
        assert_non_null(strstr(text, "LONGHAND_EMULATION"));
        setenv("LONGHAND_EMULATION", "", 1);
        assert_int_equal(driver->cuInit(0), 0);
    }
    unsetenv("LONGHAND_EMULATION");
}

/* Two sums of pinned numbers; operations in a stream run when the host waits. */
static void test_work_runs_when_the_host_waits(void **state) {
    enum { BLOCKS = 2, BYTES = BLOCKS * THREADS * sizeof(float) };
    fixture f = open_device(NULL);
    const lh_cuda_driver *driver = f.driver;
    CUdeviceptr in, out;
    float *numbers, *sums, expected[BLOCKS * THREADS];
    assert_int_equal(driver->cuMemAlloc(&in, BYTES), 0);
    assert_int_equal(driver->cuMemAlloc(&out, sizeof(float[BLOCKS])), 0);
    assert_int_equal(driver->cuMemAllocHost((void **)&numbers, BYTES), 0);
    assert_int_equal(driver->cuMemAllocHost((void **)&sums, sizeof(float[BLOCKS])), 0);
    assert_true(isnan(sums[0]));

    assert_int_equal(driver->cuMemcpyHtoDAsync(in, numbers, BYTES, f.stream), 0);
    assert_int_equal(launch(&f, "sum_kernel", BLOCKS, THREADS / 32 * sizeof(float), &in, &out), 0);
    assert_int_equal(driver->cuMemcpyDtoHAsync(sums, out, sizeof(float[BLOCKS]), f.stream), 0);
    for (int i = 0; i < BLOCKS * THREADS; i++)
        numbers[i] = (float)(i / THREADS + 1); /* on most machines this would come too late */
    assert_true(isnan(sums[0]));
    assert_int_equal(driver->cuStreamSynchronize(f.stream), 0);
    for (int b = 0; b < BLOCKS; b++) assert_true(sums[b] == (float)(THREADS * (b + 1)));
    assert_int_equal(driver->cuMemsetD8Async(in, 0, BYTES, f.stream), 0);
    assert_true(*(const float *)in == 1); /* not cleared yet */
    assert_int_equal(driver->cuStreamSynchronize(f.stream), 0);
    assert_true(*(const float *)in == 0);

    for (int i = 0; i < BLOCKS * THREADS; i++) expected[i] = 1;
    assert_int_equal(driver->cuMemcpyHtoDAsync(in, expected, BYTES, f.stream), 0);
    memset(expected, 0, sizeof expected); /* not pinned, so it was copied */
    assert_int_equal(driver->cuMemcpyDtoHAsync(expected, in, BYTES, f.stream), 0);
    assert_true(expected[0] == 1 && expected[BLOCKS * THREADS - 1] == 1);

    assert_int_equal(driver->cuMemcpyDtoHAsync(expected, in + 4, BYTES, f.stream), INVALID_VALUE);
    assert_int_equal(driver->cuMemsetD8Async(out, 0, BYTES, f.stream), INVALID_VALUE);
    assert_int_equal(lh_emulation_held(), 7);
    assert_int_equal(driver->cuMemFree(in), 0);
    assert_int_equal(driver->cuMemFree(in), INVALID_VALUE);
    assert_int_equal(driver->cuMemFree(out), 0);
    assert_int_equal(driver->cuMemFreeHost(numbers), 0);
    assert_int_equal(driver->cuMemFreeHost(sums), 0);
    close_device(&f);
}

static void test_grid_that_is_not_resident_is_refused(void **state) {
    lh_emulation emulation = {.multiprocessors = 3, .blocks_per_multiprocessor = 2};
    fixture f = open_device(&emulation);
    CUfunction function;
    int blocks = 0;
    assert_int_equal(f.driver->cuModuleGetFunction(&function, f.module, "divergent_kernel"), 0);
    assert_int_equal(f.driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 1024), 0);
    assert_int_equal(blocks, 2);
    assert_int_equal(launch(&f, "divergent_kernel", 7, 0, NULL, NULL), TOO_LARGE);
    assert_int_equal(launch(&f, "divergent_kernel", 0, 0, NULL, NULL), INVALID_VALUE);

    /* Blocks with more shared memory than a kernel's default, and with so much that one block fills a
     * multiprocessor. */
    assert_int_equal(launch(&f, "divergent_kernel", 1, (48 << 10) + 1, NULL, NULL), INVALID_VALUE);
    assert_int_equal(f.driver->cuFuncSetAttribute(function, LH_CUDA_FUNCTION_BLOCK_MEMORY, 100 << 10), INVALID_VALUE);
    assert_int_equal(f.driver->cuFuncSetAttribute(function, LH_CUDA_FUNCTION_BLOCK_MEMORY, 90 << 10), 0);
    assert_int_equal(f.driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 90 << 10), 0);
    assert_int_equal(blocks, 1);
    assert_int_equal(launch(&f, "divergent_kernel", 4, 90 << 10, NULL, NULL), TOO_LARGE);
    assert_int_equal(launch(&f, "divergent_kernel", 3, 90 << 10, NULL, NULL), 0);
    assert_int_equal(f.driver->cuStreamSynchronize(f.stream), 0);
    close_device(&f);
}

static void test_failed_kernel_breaks_the_device(void **state) {
    fixture f = open_device(NULL);
    CUdeviceptr memory, second_memory;
    const char *text = NULL;
    assert_int_equal(f.driver->cuMemAlloc(&memory, 64), 0);
    assert_int_equal(launch(&f, "divergent_kernel", 4, 0, NULL, NULL), 0);
    assert_int_equal(f.driver->cuStreamSynchronize(f.stream), LAUNCH_FAILED);
    assert_int_equal(f.driver->cuMemAlloc(&second_memory, 64), LAUNCH_FAILED);
    assert_int_equal(f.driver->cuGetErrorName(LAUNCH_FAILED, &text), 0);
    assert_string_equal(text, "CUDA_ERROR_LAUNCH_FAILED");
    assert_int_equal(f.driver->cuGetErrorString(LAUNCH_FAILED, &text), 0);
    assert_non_null(strstr(text, "reached by 40 of 64 threads of block 3"));
    assert_int_equal(f.driver->cuMemFree(memory), LAUNCH_FAILED);
    close_device(&f);
}

/* Returns 0 if the kernel ran, else its error: LAUNCH_FAILED, ILLEGAL_ADDRESS. */
static int try_write(int index) {
    fixture f = open_device(NULL);
    CUdeviceptr memory;
    assert_int_equal(f.driver->cuMemAlloc(&memory, 8 * sizeof(float)), 0);
    assert_int_equal(launch(&f, "outside_global_kernel", 1, 0, &memory, &index), 0);
    int result = f.driver->cuStreamSynchronize(f.stream);
    assert_int_equal(f.driver->cuMemFree(memory), result);
    close_device(&f);
    return result;
}

static void test_write_outside_of_an_allocation_breaks_the_device(void **state) {
    const char *text = NULL;
    assert_int_equal(try_write(7), 0);
    assert_int_not_equal(lh_find_error(try_write, 8), 0);
    assert_int_not_equal(lh_find_error(try_write, -1), 0);
    assert_int_equal(lh_emulated_driver()->cuGetErrorString(ILLEGAL_ADDRESS, &text), 0);
    assert_string_equal(text, "an illegal memory access was encountered");
}

static void test_calls_fail_on_request(void **state) {
    lh_emulation emulation = {.failing_call = "cuMemAlloc", .failing_after = 2, .failing_result = OUT_OF_MEMORY};
    fixture f = open_device(&emulation);
    CUdeviceptr memory[3];
    assert_int_equal(f.driver->cuMemAlloc(&memory[0], 1), 0);
    assert_int_equal(f.driver->cuMemAlloc(&memory[1], 1), 0);
    assert_int_equal(f.driver->cuMemAlloc(&memory[2], 1), OUT_OF_MEMORY);
    assert_int_equal(f.driver->cuMemFree(memory[0]), 0);
    assert_int_equal(f.driver->cuMemFree(memory[1]), 0);
    close_device(&f);
}

static void test_memory_of_the_device_is_counted(void **state) {
    lh_emulation emulation = {.memory = 1000};
    fixture f = open_device(&emulation);
    CUdeviceptr memory, second_memory;
    size_t free_bytes, total;
    assert_int_equal(f.driver->cuMemAlloc(&memory, 600), 0);
    assert_int_equal(f.driver->cuMemAlloc(&second_memory, 401), OUT_OF_MEMORY);
    assert_int_equal(f.driver->cuMemGetInfo(&free_bytes, &total), 0);
    assert_true(free_bytes == 400 && total == 1000);
    assert_int_equal(f.driver->cuMemFree(memory), 0);
    assert_int_equal(f.driver->cuMemGetInfo(&free_bytes, &total), 0);
    assert_int_equal(free_bytes, 1000);
    close_device(&f);
}

static void test_devices_contexts_and_modules_are_checked(void **state) {
    const lh_cuda_driver *driver = lh_emulated_driver();
    lh_emulation emulation = {.devices = -1};
    CUdeviceptr memory;
    CUdevice device;
    CUmodule module;
    CUfunction function;
    lh_emulation_set(&emulation);
    assert_int_equal(driver->cuInit(0), NO_DEVICE);
    lh_emulation_set(NULL);
    assert_int_equal(driver->cuInit(0), 0);
    assert_int_equal(driver->cuDeviceGet(&device, 1), 101);
    assert_int_equal(driver->cuMemAlloc(&memory, 1), INVALID_CONTEXT);

    emulation = (lh_emulation){.architecture = 86};
    const struct {
        const char *image;
        CUresult result;
    } cases[] = {{"sm_86", 0},         {"sm_80", 0},      {"sm_89", NO_BINARY}, {"sm_75", NO_BINARY},
                 {"sm_90", NO_BINARY}, {"compute_75", 0}, {"compute_86", 0},    {"compute_90", NO_BINARY}};
    emulation.failing_call = NULL;
    lh_emulation_set(&emulation);
    CUcontext context;
    assert_int_equal(driver->cuInit(0), 0);
    assert_int_equal(driver->cuDevicePrimaryCtxRetain(&context, 0), 0);
    assert_int_equal(driver->cuCtxSetCurrent(context), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(driver->cuModuleLoadDataEx(&module, cases[i].image, 0, NULL, NULL), cases[i].result);
        if (cases[i].result) continue;
        assert_int_equal(driver->cuModuleGetFunction(&function, module, "no_such_kernel"), NOT_FOUND);
        assert_int_equal(driver->cuModuleUnload(module), 0);
    }
    assert_int_equal(driver->cuDevicePrimaryCtxRelease(0), 0);
    assert_int_equal(lh_emulation_held(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_configuration_is_read_from_the_environment), /* first, before any call of lh_emulation_set */
        cmocka_unit_test(test_work_runs_when_the_host_waits),
        cmocka_unit_test(test_grid_that_is_not_resident_is_refused),
        cmocka_unit_test(test_failed_kernel_breaks_the_device),
        cmocka_unit_test(test_write_outside_of_an_allocation_breaks_the_device),
        cmocka_unit_test(test_calls_fail_on_request),
        cmocka_unit_test(test_memory_of_the_device_is_counted),
        cmocka_unit_test(test_devices_contexts_and_modules_are_checked),
    };
    return cmocka_run_group_tests_name("driver", tests, NULL, NULL);
}
