/* Compiles device code on this machine with NVRTC (cuda/nvrtc.h describes the search for NVRTC).
 *
 * Machine code is cached in LONGHAND_CACHE, else $XDG_CACHE_HOME/longhand, else ~/.cache/longhand. A file is named
 * <source digest>-sm_90-nvrtc-13.0.cubin and has digests of the compiler's inputs and of the code. A damaged or
 * outdated file is replaced by newly compiled code. Any number of processes may use the cache at once. Without a usable
 * cache every start compiles.
 */
#ifndef LONGHAND_CUDA_JIT_H
#define LONGHAND_CUDA_JIT_H

#include <stdbool.h>
#include <stddef.h>

#include "longhand/status.h"

typedef struct lh_cuda_code {
    char *data; /* machine code, malloc'ed */
    size_t bytes;
    char target[16];         /* "sm_90" */
    char compiler[384];      /* "NVRTC 13.0 (/usr/local/cuda/lib64/libnvrtc.so.13)" */
    bool is_cached;          /* the code comes from the cache and was not compiled now */
    char cache_failure[512]; /* reason why the code was not cached; empty: cached, or there is no cache */
} lh_cuda_code;

/* Compiles source to machine code for a device of this architecture (90: compute capability 9.0) and a driver of CUDA
 * version driver_version (13000: 13.0). digest, of letters and digits, names the source in the cache.
 * LH_ERR_ENVIRONMENT: no suitable NVRTC, or NVRTC failed; LH_ERR_INPUT: the source does not compile, with the
 * compiler's log. */
lh_status lh_cuda_compile(const char *source, const char *digest, int architecture, int driver_version,
                          lh_cuda_code *code, lh_error *error);

void lh_cuda_code_free(lh_cuda_code *code);

#endif
