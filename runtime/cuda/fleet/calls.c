/* Calls of a fleet to its device: a check for a lost device, copies, memory, and tables of positions. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/fleet/fleet_parts.h"
#include "runtime/cuda/device_memory.h"

lh_status lh_cuda_record_failure(lh_cuda_fleet *fleet, lh_status status, lh_error *error) {
    if (status == LH_OK || fleet->device_failure != LH_OK) return status;
    fleet->device_failure = LH_ERR_ENVIRONMENT;
    lh_fail(&fleet->device_message, LH_ERR_ENVIRONMENT,
            "%.1500s\n  %s is lost to this process\n  hint: --resume continues a training from its last checkpoint",
            error != NULL ? error->text : "a call to the driver failed", fleet->device->name);
    if (error != NULL) *error = fleet->device_message;
    return LH_ERR_ENVIRONMENT;
}

lh_status lh_cuda_begin_call(lh_cuda_fleet *fleet, lh_error *error) {
    if (fleet->device_failure == LH_OK) return lh_cuda_make_current(fleet->device, error);
    if (error != NULL) *error = fleet->device_message;
    return fleet->device_failure;
}

static lh_status synchronise(lh_cuda_fleet *fleet, lh_error *error) {
    return lh_cuda_check(fleet->driver, fleet->driver->cuStreamSynchronize(fleet->stream), "cuStreamSynchronize",
                         error);
}

lh_status lh_cuda_copy_in(lh_cuda_fleet *fleet, CUdeviceptr to, const void *from, size_t bytes, lh_error *error) {
    CUresult result = fleet->driver->cuMemcpyHtoDAsync(to, from, bytes, fleet->stream);
    lh_status status = lh_cuda_check(fleet->driver, result, "cuMemcpyHtoDAsync", error);
    return status == LH_OK ? synchronise(fleet, error) : status;
}

lh_status lh_cuda_copy_out(lh_cuda_fleet *fleet, void *to, CUdeviceptr from, size_t bytes, lh_error *error) {
    CUresult result = fleet->driver->cuMemcpyDtoHAsync(to, from, bytes, fleet->stream);
    lh_status status = lh_cuda_check(fleet->driver, result, "cuMemcpyDtoHAsync", error);
    return status == LH_OK ? synchronise(fleet, error) : status;
}

lh_status lh_cuda_clear(lh_cuda_fleet *fleet, CUdeviceptr memory, size_t bytes, lh_error *error) {
    if (bytes == 0) return LH_OK;
    CUresult result = fleet->driver->cuMemsetD8Async(memory, 0, bytes, fleet->stream);
    return lh_cuda_check(fleet->driver, result, "cuMemsetD8Async", error);
}

lh_status lh_cuda_allocate_zeroed(lh_cuda_fleet *fleet, size_t bytes, const char *purpose, CUdeviceptr *memory,
                                  lh_error *error) {
    lh_status status = lh_cuda_allocate(fleet->device, bytes, purpose, memory, error);
    return status == LH_OK ? lh_cuda_clear(fleet, *memory, bytes, error) : status;
}

lh_status lh_cuda_grow_tables(lh_cuda_fleet *fleet, const int length[LH_MAX_STREAMS], lh_error *error) {
    const lh_cuda_program *program = fleet->program;
    int max_length[LH_MAX_STREAMS];
    memcpy(max_length, fleet->tables_length, sizeof max_length);
    if (program->tables_bytes == NULL || !lh_raise_lengths(max_length, length)) return LH_OK;
    size_t bytes = program->tables_bytes(max_length);
    CUdeviceptr memory;
    void *tables = lh_engine_allocate(bytes, "position tables", error);
    if (tables == NULL) return LH_ERR_ENVIRONMENT;
    program->make_tables(tables, max_length);
    lh_status status = lh_cuda_allocate(fleet->device, bytes, "position tables", &memory, error);
    if (status == LH_OK) status = lh_cuda_copy_in(fleet, memory, tables, bytes, error);
    free(tables);
    if (status != LH_OK) {
        lh_cuda_release(fleet->device, &memory);
        return status;
    }
    lh_cuda_release(fleet->device, &fleet->tables);
    fleet->tables = memory;
    memcpy(fleet->tables_length, max_length, sizeof max_length);
    return LH_OK;
}
