/* The driver's API over host memory: streams and their operations. An operation runs as late as the API allows, when
 * the host waits for it, so that tests fail if a host reads or reuses a buffer too early. In all orders but the
 * ascending one, operations of other streams run first, since they do not wait for this stream. */
#include "device.h"

void lh_device_run_stream(CUstream stream) {
    for (; !stream->pending_operations.empty(); stream->pending_operations.pop_front())
        if (!lh_device.sticky_error) stream->pending_operations.front()();
}

static void run_all_streams_except(CUstream excepted) {
    for (CUstream stream : lh_device.streams)
        if (stream != excepted) lh_device_run_stream(stream);
}

void lh_device_run_everything(void) { run_all_streams_except(NULL); }

/* Returns the allocation that contains [first, first + bytes), or the map's end. */
static std::map<unsigned char *, size_t>::iterator find_allocation(std::map<unsigned char *, size_t> &kind,
                                                                   const void *first, size_t bytes) {
    unsigned char *start = static_cast<unsigned char *>(const_cast<void *>(first));
    auto next_range = kind.upper_bound(start);
    if (next_range == kind.begin()) return kind.end();
    auto range = std::prev(next_range);
    return start + bytes <= range->first + range->second ? range : kind.end();
}

bool lh_device_holds(const void *first, size_t bytes) {
    return find_allocation(lh_device.device_memory, first, bytes) != lh_device.device_memory.end();
}

static bool is_on_device(CUdeviceptr pointer, size_t bytes) {
    return lh_device_holds(reinterpret_cast<void *>(pointer), bytes);
}

static bool is_pinned(const void *pointer, size_t bytes) {
    return find_allocation(lh_device.host_memory, pointer, bytes) != lh_device.host_memory.end();
}

static void run_kernel(const char *name, const lh_emulated_kernel::grid &grid, int blocks, int threads,
                       size_t block_memory) {
    lh_error error = {};
    if (grid(blocks, threads, block_memory, &error)) lh_device_break(LAUNCH_FAILED, error.text);
    lh_device_check_memory(name);
}

extern "C" {

CUresult cuMemsetD8Async(CUdeviceptr pointer, unsigned char value, size_t bytes, CUstream stream) {
    lh_device_call c("cuMemsetD8Async", CONTEXT);
    if (c.failure) return c.failure;
    if (!lh_device.streams.count(stream)) return INVALID_HANDLE;
    if (!is_on_device(pointer, bytes)) return INVALID_VALUE;
    stream->pending_operations.push_back([=] { memset(reinterpret_cast<void *>(pointer), value, bytes); });
    return SUCCESS;
}

/* Pinned memory is read when the stream reaches the copy; other memory is copied before the call returns. */
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    lh_device_call c("cuMemcpyHtoDAsync", CONTEXT);
    if (c.failure) return c.failure;
    if (!lh_device.streams.count(stream)) return INVALID_HANDLE;
    if (!is_on_device(to, bytes)) return INVALID_VALUE;
    void *target = reinterpret_cast<void *>(to);
    if (is_pinned(from, bytes)) {
        stream->pending_operations.push_back([=] { memcpy(target, from, bytes); });
    } else {
        std::string copy(static_cast<const char *>(from), bytes);
        stream->pending_operations.push_back([=] { memcpy(target, copy.data(), bytes); });
    }
    return SUCCESS;
}

/* Pinned memory is written when the host waits; for other memory the call itself waits. */
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    lh_device_call c("cuMemcpyDtoHAsync", CONTEXT);
    if (c.failure) return c.failure;
    if (!lh_device.streams.count(stream)) return INVALID_HANDLE;
    if (!is_on_device(from, bytes)) return INVALID_VALUE;
    memset(to, 0xff, bytes);
    stream->pending_operations.push_back([=] { memcpy(to, reinterpret_cast<void *>(from), bytes); });
    if (!is_pinned(to, bytes)) lh_device_run_stream(stream);
    return lh_device.sticky_error;
}

CUresult cuStreamCreate(CUstream *stream, unsigned) {
    lh_device_call c("cuStreamCreate", CONTEXT);
    if (c.failure) return c.failure;
    lh_device.streams.insert(*stream = new CUstream_st());
    return SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
    lh_device_call c("cuStreamDestroy", CONTEXT);
    if (c.must_not_release()) return c.failure;
    if (lh_device.streams.count(stream) == 0) return INVALID_HANDLE;
    lh_device_run_stream(stream);
    lh_device.streams.erase(stream);
    delete stream;
    return c.failure;
}

CUresult cuStreamSynchronize(CUstream stream) {
    lh_device_call c("cuStreamSynchronize", CONTEXT);
    if (c.failure) return c.failure;
    if (!lh_device.streams.count(stream)) return INVALID_HANDLE;
    if (lh_emulated.order != LH_EMULATION_ASCENDING) run_all_streams_except(stream);
    lh_device_run_stream(stream);
    return lh_device.sticky_error;
}

/* Puts a launch into a stream. call: the name of the driver's function; needs_residence: whether all blocks of the grid
 * must be resident at the same time. */
static CUresult launch(const char *call, bool needs_residence, CUfunction function, unsigned grid, unsigned block,
                       unsigned block_memory, CUstream stream, void **arguments) {
    lh_device_call c(call, CONTEXT);
    if (c.failure) return c.failure;
    if (!lh_device.streams.count(stream)) return INVALID_HANDLE;
    if (grid < 1 || block < 1 || block > 1024 || block_memory > (unsigned)function->block_memory) return INVALID_VALUE;
    int max_blocks = lh_device_count_resident(function, (int)block, block_memory) * lh_emulated.multiprocessors;
    if (needs_residence && grid > (unsigned)max_blocks) return COOPERATIVE_LAUNCH_TOO_LARGE;
    lh_device.launches++;
    const char *name = function->kernel->name;
    lh_emulated_kernel::grid bound = function->kernel->bind(arguments);
    stream->pending_operations.push_back([=] { run_kernel(name, bound, (int)grid, (int)block, block_memory); });
    return SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned block_memory, CUstream stream, void **arguments,
                        void **extra) {
    if (grid_y * grid_z != 1 || block_y * block_z != 1 || extra) return INVALID_VALUE;
    return launch("cuLaunchKernel", false, function, grid_x, block_x, block_memory, stream, arguments);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned block_memory,
                                   CUstream stream, void **arguments) {
    if (grid_y * grid_z != 1 || block_y * block_z != 1) return INVALID_VALUE;
    return launch("cuLaunchCooperativeKernel", true, function, grid_x, block_x, block_memory, stream, arguments);
}

} /* extern "C" */

void lh_device_add_streams(lh_cuda_driver *driver) {
    driver->cuMemsetD8Async = cuMemsetD8Async;
    driver->cuMemcpyHtoDAsync = cuMemcpyHtoDAsync_v2;
    driver->cuMemcpyDtoHAsync = cuMemcpyDtoHAsync_v2;
    driver->cuStreamCreate = cuStreamCreate;
    driver->cuStreamDestroy = cuStreamDestroy_v2;
    driver->cuStreamSynchronize = cuStreamSynchronize;
    driver->cuLaunchKernel = cuLaunchKernel;
    driver->cuLaunchCooperativeKernel = cuLaunchCooperativeKernel;
}
