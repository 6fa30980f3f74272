/* Compiling device code on this machine with NVRTC (cuda/nvrtc.h says where that is looked for).
 *
 * What was compiled is kept in LONGHAND_CACHE, else $XDG_CACHE_HOME/longhand, else ~/.cache/longhand, as
 * <source digest>-sm_90-nvrtc-13.0.cubin, with digests of what it was made from and of itself. A file that is damaged
 * or made from something else is compiled again and replaced. Any number of processes may do this at once. Where
 * nothing can be kept, every start compiles.
 */
#ifndef LONGHAND_CUDA_JIT_H
#define LONGHAND_CUDA_JIT_H

#include <stdbool.h>
#include <stddef.h>

#include "longhand/status.h"

typedef struct lh_cuda_code {
    char *data; /* machine code, malloc'ed */
    size_t bytes;
    char target[16];    /* "sm_90" */
    char compiler[384]; /* "NVRTC 13.0 (/usr/local/cuda/lib64/libnvrtc.so.13)" */
    bool found;         /* in the cache; not compiled now */
    char unkept[512];   /* why it was not kept; empty: it was, or there is no cache */
} lh_cuda_code;

/* Machine code of source for a device of this architecture (90: compute capability 9.0), whose driver knows CUDA up to
 * driver_version (13000: 13.0). digest names the source in the cache: letters and digits. LH_ERR_ENVIRONMENT: there is
 * no NVRTC that can; LH_ERR_INPUT: the source does not compile, with the compiler's log. */
lh_status lh_cuda_compile(const char *source, const char *digest, int architecture, int driver_version,
                          lh_cuda_code *code, lh_error *error);

void lh_cuda_code_free(lh_cuda_code *code);

#endif
