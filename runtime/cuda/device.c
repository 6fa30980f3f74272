/* Opens a device and loads a trainer's kernels; see device.h. */
#include "runtime/cuda/device.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/image.h"
#include "runtime/cuda/jit.h"

enum {
    LOG_BYTES = 4096, /* bytes for error messages of the driver's compiler */
    RESERVED = 1024   /* bytes of shared memory that the driver uses in each block */
};

lh_status lh_cuda_parse_ordinal(const char *text, int *ordinal, lh_error *error) {
    const char *digits = strncmp(text, "cuda:", 5) == 0 ? text + 5 : "";
    size_t count = strspn(digits, "0123456789");
    *ordinal = 0;
    if (strcmp(text, "cuda") == 0) return LH_OK;
    if (count == 0 || count > 4 || digits[count] != 0)
        return lh_fail(error, LH_ERR_USAGE, "device %s: expected cuda, or cuda:N with N from 0", text);
    *ordinal = atoi(digits);
    return LH_OK;
}

static lh_status fail_no_such_device(int ordinal, int count, lh_error *error) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    char last[32] = "";
    if (count > 1) snprintf(last, sizeof last, " to cuda:%d", count - 1);
    return lh_fail(error, LH_ERR_ENVIRONMENT,
                   "no device cuda:%d here: the CUDA driver finds %d device%s, cuda:0%s%s%s%s", ordinal, count,
                   count > 1 ? "s" : "", last, visible ? " (CUDA_VISIBLE_DEVICES=" : "", visible ? visible : "",
                   visible ? ")" : "");
}

static lh_status check(const lh_cuda_device *device, CUresult result, const char *call, lh_error *error) {
    return lh_cuda_check(device->driver, result, call, error);
}

static lh_status find_device(lh_cuda_device *device, lh_error *error) {
    const lh_cuda_driver *driver = device->driver;
    int count = 0;
    lh_status status = check(device, driver->cuDriverGetVersion(&device->driver_version), "cuDriverGetVersion", error);
    if (status == LH_OK) status = check(device, driver->cuDeviceGetCount(&count), "cuDeviceGetCount", error);
    if (status == LH_OK && device->ordinal >= count) status = fail_no_such_device(device->ordinal, count, error);
    if (status == LH_OK)
        status = check(device, driver->cuDeviceGet(&device->handle, device->ordinal), "cuDeviceGet", error);
    return status;
}

/* Reads the device's properties from the driver; needs no context. */
static lh_status read_properties(lh_cuda_device *device, lh_error *error) {
    const lh_cuda_driver *driver = device->driver;
    CUdevice handle = device->handle;
    int major = 0, minor = 0, block_memory = 0;
    const struct {
        int *value, attribute;
    } queries[] = {{&major, LH_CUDA_MAJOR},
                   {&minor, LH_CUDA_MINOR},
                   {&device->multiprocessors, LH_CUDA_MULTIPROCESSORS},
                   {&block_memory, LH_CUDA_BLOCK_MEMORY},
                   {&device->cooperative, LH_CUDA_COOPERATIVE},
                   {&device->watchdog, LH_CUDA_WATCHDOG}};
    CUresult result = 0;
    for (size_t i = 0; result == 0 && i < sizeof queries / sizeof queries[0]; i++)
        result = driver->cuDeviceGetAttribute(queries[i].value, queries[i].attribute, handle);
    lh_status status = check(device, result, "cuDeviceGetAttribute", error);
    if (status == LH_OK)
        status =
            check(device, driver->cuDeviceGetName(device->name, sizeof device->name, handle), "cuDeviceGetName", error);
    if (status == LH_OK)
        status = check(device, driver->cuDeviceTotalMem(&device->total_memory, handle), "cuDeviceTotalMem", error);
    device->architecture = major * 10 + minor;
    device->block_memory = (size_t)block_memory;
    return status;
}

static lh_status check_fit(const lh_cuda_device *device, lh_error *error) {
    const lh_cuda_program *program = device->program;
    if (device->architecture < program->least_architecture)
        return lh_fail(error, LH_ERR_ENVIRONMENT,
                       "cuda:%d (%s) is sm_%d, but this program (precision %s) needs sm_%d or later", device->ordinal,
                       device->name, device->architecture, program->precision, program->least_architecture);
    if (device->block_memory < program->block_memory)
        return lh_fail(error, LH_ERR_ENVIRONMENT,
                       "cuda:%d (%s) gives a block %zu bytes of shared memory, this program needs %zu", device->ordinal,
                       device->name, device->block_memory, program->block_memory);
    if (!device->cooperative)
        return lh_fail(error, LH_ERR_ENVIRONMENT,
                       "cuda:%d (%s) does not launch cooperative kernels, which this program needs", device->ordinal,
                       device->name);
    return LH_OK;
}

/* Loads code into the device's context: machine code (a cubin), or PTX, a text that ends with 0. */
static lh_status load_module(lh_cuda_device *device, const void *code, lh_error *error) {
    char log[LOG_BYTES] = "";
    lh_error reason = {""};
    int options[] = {LH_CUDA_ERROR_LOG, LH_CUDA_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUresult result = device->driver->cuModuleLoadDataEx(&device->module, code, 2, options, values);
    if (result == 0) return LH_OK;
    log[LOG_BYTES - 1] = 0;
    device->module = NULL;
    check(device, result, "cuModuleLoadDataEx", &reason);
    return lh_fail(error, LH_ERR_ENVIRONMENT, "cuda:%d (%s, sm_%d) does not load the device code (%s): %s%s%s",
                   device->ordinal, device->name, device->architecture, device->image, reason.text, log[0] ? "\n" : "",
                   log);
}

static lh_status load_image(lh_cuda_device *device, const lh_cuda_image *image, lh_error *error) {
    size_t bytes = (size_t)(image->end - image->first);
    lh_cuda_kind kind;
    lh_cuda_parse_kind(image->architecture, &kind);
    snprintf(device->image, sizeof device->image, "%s%s", image->architecture,
             kind.is_machine_code ? "" : ", compiled by the driver");
    char version[LH_CUDA_VERSION_TEXT];
    if (kind.is_machine_code)
        snprintf(device->compiler, sizeof device->compiler, "nvcc %s for %s",
                 device->program->toolkit ? device->program->toolkit : "of unknown version", image->architecture);
    else
        snprintf(device->compiler, sizeof device->compiler, "driver %s from %s",
                 lh_cuda_write_version(device->driver_version, version), image->architecture);
    if (kind.is_machine_code) return load_module(device, image->first, error);
    char *text = calloc(1, bytes + 1);
    if (!text) return lh_fail(error, LH_ERR_ENVIRONMENT, "device code of %zu bytes: not enough memory", bytes);
    memcpy(text, image->first, bytes);
    lh_status status = load_module(device, text, error);
    free(text);
    return status;
}

static lh_status compile_and_load(lh_cuda_device *device, lh_error *error) {
    const lh_cuda_program *program = device->program;
    lh_cuda_code code;
    lh_status status = lh_cuda_compile(program->source, program->source_digest, device->architecture,
                                       device->driver_version, &code, error);
    if (status != LH_OK) return status;
    snprintf(device->image, sizeof device->image, "%s, compiled on this machine by %s%s%s", code.target, code.compiler,
             code.is_cached          ? ", at an earlier start"
             : code.cache_failure[0] ? ", not kept for the next start: "
                                     : "",
             code.cache_failure);
    /* "NVRTC 13.0 for sm_90", without the path of the library, which follows in parentheses. */
    snprintf(device->compiler, sizeof device->compiler, "%.*sfor %s", (int)strcspn(code.compiler, "("), code.compiler,
             code.target);
    status = load_module(device, code.data, error);
    lh_cuda_code_free(&code);
    return status;
}

/* Sets *blocks to the number of blocks of a kernel that are resident on one multiprocessor at once. */
static lh_status count_resident_blocks(const lh_cuda_device *device, CUfunction kernel, int *blocks, lh_error *error) {
    CUresult result = device->driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks, kernel, device->program->threads, device->program->block_memory);
    return check(device, result, "cuOccupancyMaxActiveBlocksPerMultiprocessor", error);
}

static lh_status set_attribute(const lh_cuda_device *device, CUfunction kernel, int attribute, int value,
                               lh_error *error) {
    CUresult result = device->driver->cuFuncSetAttribute(kernel, attribute, value);
    return check(device, result, "cuFuncSetAttribute", error);
}

/* Requests only as much shared memory on each multiprocessor as its `blocks` resident blocks use. Shared memory and
 * the first-level cache are parts of one memory, and activations profit from a larger cache. The request is a hint
 * in percent; if fewer blocks are then resident, the function restores the default. */
static lh_status request_shared_memory(const lh_cuda_device *device, CUfunction kernel, int blocks, lh_error *error) {
    size_t total = device->block_memory + RESERVED, used = (size_t)blocks * (device->program->block_memory + RESERVED);
    int percent = (int)((100 * used + total - 1) / total), remaining_blocks = 0;
    lh_status status = set_attribute(device, kernel, LH_CUDA_FUNCTION_CARVE_OUT, percent < 100 ? percent : 100, error);
    if (status == LH_OK) status = count_resident_blocks(device, kernel, &remaining_blocks, error);
    if (status == LH_OK && remaining_blocks < blocks)
        status = set_attribute(device, kernel, LH_CUDA_FUNCTION_CARVE_OUT, LH_CUDA_CARVE_OUT_DEFAULT, error);
    return status;
}

/* Finds a kernel, allows it the shared memory that it needs, and counts its blocks that are resident at once on
 * the whole device. */
static lh_status prepare_kernel(lh_cuda_device *device, const char *name, CUfunction *kernel, int *blocks,
                                lh_error *error) {
    const lh_cuda_driver *driver = device->driver;
    int threads = device->program->threads, resident_blocks = 0;
    size_t bytes = device->program->block_memory;
    char call[256];
    snprintf(call, sizeof call, "cuModuleGetFunction of %s", name);
    lh_status status = check(device, driver->cuModuleGetFunction(kernel, device->module, name), call, error);
    if (status != LH_OK) return status;
    status = set_attribute(device, *kernel, LH_CUDA_FUNCTION_BLOCK_MEMORY, (int)bytes, error);
    if (status == LH_OK) status = count_resident_blocks(device, *kernel, &resident_blocks, error);
    if (status == LH_OK && resident_blocks < 1)
        status = lh_fail(error, LH_ERR_ENVIRONMENT,
                         "%s: a multiprocessor of cuda:%d (%s) cannot hold one block of %d threads with %zu bytes of "
                         "shared memory",
                         name, device->ordinal, device->name, threads, bytes);
    *blocks = resident_blocks * device->multiprocessors;
    return status == LH_OK ? request_shared_memory(device, *kernel, resident_blocks, error) : status;
}

static lh_status open_context(lh_cuda_device *device, lh_error *error) {
    CUcontext context = NULL;
    CUresult result = device->driver->cuDevicePrimaryCtxRetain(&context, device->handle);
    if (result == LH_CUDA_DEVICE_UNAVAILABLE)
        return lh_fail(error, LH_ERR_ENVIRONMENT,
                       "cuda:%d (%s) is not free: another process uses it exclusively, or its compute mode forbids all "
                       "use (nvidia-smi -q -d COMPUTE)\n"
                       "  hint: choose another device with --device cuda:N, or wait until it is free",
                       device->ordinal, device->name);
    if (result != 0) return check(device, result, "cuDevicePrimaryCtxRetain", error);
    device->context = context;
    return lh_cuda_make_current(device, error);
}

static lh_status load_kernels(lh_cuda_device *device, lh_error *error) {
    const lh_cuda_program *program = device->program;
    const lh_cuda_image *image;
    size_t total;
    lh_status status = lh_cuda_choose_image(program, device->architecture, device->driver_version, &image, error);
    if (status == LH_OK) status = open_context(device, error);
    if (status == LH_OK) status = image ? load_image(device, image, error) : compile_and_load(device, error);
    if (status == LH_OK)
        status = prepare_kernel(device, program->train_kernel, &device->train, &device->train_blocks, error);
    if (status == LH_OK)
        status = prepare_kernel(device, program->evaluate_kernel, &device->evaluate, &device->evaluate_blocks, error);
    if (status == LH_OK)
        status = check(device, device->driver->cuMemGetInfo(&device->free_memory, &total), "cuMemGetInfo", error);
    return status;
}

lh_status lh_cuda_device_open(lh_cuda_device *device, const lh_cuda_program *program, int ordinal, lh_error *error) {
    *device = (lh_cuda_device){.program = program, .ordinal = ordinal};
    lh_status status = lh_cuda_driver_open(&device->driver, error);
    if (status == LH_OK) status = find_device(device, error);
    if (status == LH_OK) status = read_properties(device, error);
    if (status == LH_OK) status = check_fit(device, error);
    if (status == LH_OK) status = load_kernels(device, error);
    if (status != LH_OK) lh_cuda_device_close(device);
    return status;
}

lh_status lh_cuda_make_current(const lh_cuda_device *device, lh_error *error) {
    return check(device, device->driver->cuCtxSetCurrent(device->context), "cuCtxSetCurrent", error);
}

void lh_cuda_device_close(lh_cuda_device *device) {
    const lh_cuda_driver *driver = device->driver;
    if (device->context && driver->cuCtxSetCurrent(device->context) == 0) {
        if (device->module) driver->cuModuleUnload(device->module);
        driver->cuCtxSetCurrent(NULL);
    }
    if (device->context) driver->cuDevicePrimaryCtxRelease(device->handle);
    *device = (lh_cuda_device){0};
}
