/* The state of the emulated device, for the files that implement its driver and cuBLASLt. */
#ifndef LH_TESTS_DEVICE_H
#define LH_TESTS_DEVICE_H

#include <string.h>

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "grid.h"

/* CUDA_ERROR_... */
enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    NO_BINARY_FOR_GPU = 209,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    ILLEGAL_ADDRESS = 700,
    LAUNCH_FAILED = 719,
    COOPERATIVE_LAUNCH_TOO_LARGE = 720
};

struct CUctx_st {
    int holders;
};

struct CUfunc_st {
    const lh_emulated_kernel *kernel;
    int block_memory;
};

struct CUmod_st {
    std::map<std::string, CUfunc_st> functions;
};

struct CUstream_st {
    std::deque<std::function<void()>> pending_operations;
};

struct lh_device_state {
    bool is_initialised;
    CUctx_st context;
    std::map<unsigned char *, size_t> device_memory, host_memory; /* allocations and their bytes; host: pinned */
    std::set<CUstream> streams;
    std::set<CUmodule> modules;
    int launches;
    int libraries;            /* number of open handles and descriptions of cuBLASLt */
    size_t used_bytes;        /* bytes of device memory in use */
    CUresult sticky_error;    /* status of all calls after a failed kernel */
    CUresult explained_error; /* the error that `reason` explains */
    lh_error reason;          /* text of cuGetErrorString for that error */
    int calls_before_failure; /* number of calls of lh_emulation.failing_call that still succeed */
};

extern lh_device_state lh_device;
extern std::recursive_mutex lh_device_mutex;
extern thread_local CUcontext lh_device_context; /* context of the calling thread */

/* A call of the driver: its lock, and the result of the checks at its beginning. need: what must exist before the
 * call. */
enum lh_need { NO_NEED, INITIALISED, CONTEXT };
struct lh_device_call {
    std::lock_guard<std::recursive_mutex> hold;
    CUresult failure;

    lh_device_call(const char *name, lh_need need) : hold(lh_device_mutex), failure(lh_device.sticky_error) {
        if (need >= CONTEXT && (lh_device_context == NULL || !lh_device.context.holders)) failure = INVALID_CONTEXT;
        if (need >= INITIALISED && !lh_device.is_initialised) failure = NOT_INITIALIZED;
        if (!lh_emulated.failing_call || strcmp(name, lh_emulated.failing_call) != 0) return;
        if (lh_device.calls_before_failure-- <= 0) failure = lh_emulated.failing_result;
    }

    /* Whether a call that releases an object must fail. After a failed kernel such calls still work. */
    bool must_not_release() const { return failure && failure != lh_device.sticky_error; }
};

/* Reads the configuration from LONGHAND_EMULATION (emulation.h). false: the text is wrong, for the reason in
 * problem. */
bool lh_emulation_read(std::string *problem);

/* Sets the text that cuGetErrorString returns for this error. */
void lh_device_explain(CUresult error, const std::string &reason);

/* Makes every later call fail with this error, for this reason. */
void lh_device_break(CUresult error, const std::string &reason);

/* Breaks the device if memory was written out of bounds; operation: the name of the last operation, for the message. */
void lh_device_check_memory(const char *operation);

/* Whether these bytes are in one allocation of the device. */
bool lh_device_holds(const void *first, size_t bytes);

/* Run the operations that wait in one stream, and in all streams. */
void lh_device_run_stream(CUstream stream);
void lh_device_run_everything(void);

/* Returns how many blocks of this kernel a multiprocessor holds at the same time. */
int lh_device_count_resident(CUfunction function, int threads, size_t block_memory);

/* Adds the functions of stream.cpp to the driver. */
void lh_device_add_streams(lh_cuda_driver *driver);

#endif
