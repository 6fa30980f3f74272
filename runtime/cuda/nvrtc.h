/* NVRTC, the CUDA toolkit's compiler as a library, found at run time. Nothing here needs a toolkit to build. Trainers
 * compile with it where they run (jit.h), builds where there is no nvcc (device_compiler.c). */
#ifndef LONGHAND_CUDA_NVRTC_H
#define LONGHAND_CUDA_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

#include "longhand/status.h"

typedef struct lh_nvrtc_program lh_nvrtc_program; /* nvrtcProgram points to one */

enum { LH_NVRTC_COMPILATION_FAILED = 6 /* NVRTC_ERROR_COMPILATION */ };

/* Members behave as documented in NVRTC; a result of 0 is success. */
typedef struct lh_nvrtc {
    int (*nvrtcVersion)(int *major, int *minor);
    int (*nvrtcGetNumSupportedArchs)(int *count);
    int (*nvrtcGetSupportedArchs)(int *architectures);
    const char *(*nvrtcGetErrorString)(int result);
    int (*nvrtcCreateProgram)(lh_nvrtc_program **program, const char *source, const char *name, int headers,
                              const char *const *texts, const char *const *names);
    int (*nvrtcDestroyProgram)(lh_nvrtc_program **program);
    int (*nvrtcCompileProgram)(lh_nvrtc_program *program, int count, const char *const *options);
    int (*nvrtcGetProgramLogSize)(lh_nvrtc_program *program, size_t *bytes);
    int (*nvrtcGetProgramLog)(lh_nvrtc_program *program, char *log);
    int (*nvrtcGetCUBINSize)(lh_nvrtc_program *program, size_t *bytes);
    int (*nvrtcGetCUBIN)(lh_nvrtc_program *program, char *code);
    int (*nvrtcGetPTXSize)(lh_nvrtc_program *program, size_t *bytes);
    int (*nvrtcGetPTX)(lh_nvrtc_program *program, char *code);

    int major, minor;
    char target[16]; /* what it compiles for: "sm_90", the best that it knows for the device */
    char name[384];  /* "NVRTC 13.0 (/usr/local/cuda/lib64/libnvrtc.so.13)" */
} lh_nvrtc;

/* The functions, version and name of a loaded library; the target is left empty. LH_ERR_ENVIRONMENT: it lacks one of
 * them. */
lh_status lh_nvrtc_take(void *library, const char *file, lh_nvrtc *nvrtc, lh_error *error);

/* The first library that compiles machine code for a device of this architecture (90: compute capability 9.0) which a
 * driver takes that knows CUDA up to driver_version (13000: 13.0). Looked for: libnvrtc.so.13, .12, .11.2 and
 * libnvrtc.so, in lib64 and lib of LONGHAND_CUDA_ROOT, and nowhere else where that variable is set; otherwise in those
 * of CUDA_HOME, of CUDA_PATH and of /usr/local/cuda, then where the loader looks. It stays loaded.
 * LH_ERR_ENVIRONMENT: there is none; the message says where it was looked for, and why what was found will not do. */
lh_status lh_nvrtc_open(int architecture, int driver_version, lh_nvrtc *nvrtc, lh_error *error);

/* How every program is compiled, beside its target: the language, and what are the defaults of nvcc, too, written out:
 * subnormal numbers stay, division and square root are rounded as IEEE 754 says, products and sums are fused. */
enum { LH_NVRTC_OPTIONS = 5 };
extern const char *const lh_nvrtc_options[LH_NVRTC_OPTIONS];

typedef struct lh_nvrtc_job {
    const char *target; /* "sm_90": machine code; "compute_90": the intermediate form, as text */
    const char *name;   /* of the source, in the compiler's words */
    const char *source;
    bool reports; /* with machine code the log says what each kernel needs */
    char *code;   /* made: malloc'ed, NULL where there is none */
    size_t bytes;
    char *log; /* the compiler's words, without the last newlines; malloc'ed, may be NULL */
} lh_nvrtc_job;

/* LH_ERR_INPUT: the source does not compile, with the log; LH_ERR_ENVIRONMENT: the compiler itself failed. */
lh_status lh_nvrtc_compile(const lh_nvrtc *nvrtc, lh_nvrtc_job *job, lh_error *error);

#endif
