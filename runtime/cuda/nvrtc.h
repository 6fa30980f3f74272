/* NVRTC, the CUDA toolkit's compiler as a library, found at run time. The build needs no toolkit. Trainers compile with
 * NVRTC on the machine where they run (jit.h); a build compiles with it if nvcc is missing (device_compiler.c). */
#ifndef LONGHAND_CUDA_NVRTC_H
#define LONGHAND_CUDA_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

#include "longhand/status.h"

typedef struct lh_nvrtc_program lh_nvrtc_program; /* NVRTC's nvrtcProgram is a pointer to it */

enum { LH_NVRTC_COMPILATION_FAILED = 6 /* NVRTC_ERROR_COMPILATION */ };

/* Functions behave as NVRTC documents them; a result of 0 is success. */
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

    int major, minor; /* version of NVRTC */
    char target[16];  /* target of compilation: "sm_90", the best that NVRTC supports for the device */
    char name[384];   /* "NVRTC 13.0 (/usr/local/cuda/lib64/libnvrtc.so.13)" */
} lh_nvrtc;

/* Reads the functions, version and name of a loaded library; the target stays empty. LH_ERR_ENVIRONMENT: the library
 * lacks a function, or does not report its version. */
lh_status lh_nvrtc_load_functions(void *library, const char *file, lh_nvrtc *nvrtc, lh_error *error);

/* Finds the first NVRTC that compiles machine code for a device of this architecture (90: compute capability 9.0).
 * Its major version must not be above the major version of driver_version (13000: 13.0). File names are
 * libnvrtc.so.13, .12, .11.2 and libnvrtc.so; lh_cuda_find_library (find.h) describes the searched folders. The
 * library stays loaded. LH_ERR_ENVIRONMENT: no suitable library; the message lists the searched places and the
 * reasons of refusal. */
lh_status lh_nvrtc_open(int architecture, int driver_version, lh_nvrtc *nvrtc, lh_error *error);

/* Compiler options of every program except the target. They name the language and state nvcc's defaults: subnormal
 * numbers are kept, division and square root are rounded by IEEE 754, products and sums are fused. */
enum { LH_NVRTC_OPTIONS = 5 };
extern const char *const lh_nvrtc_options[LH_NVRTC_OPTIONS];

typedef struct lh_nvrtc_job {
    const char *target; /* "sm_90": machine code; "compute_90": the intermediate form, as text */
    const char *name;   /* name of the source in compiler messages */
    const char *source;
    bool reports_resources; /* machine code: the log reports the resources of each kernel */
    /* Outputs, malloc'ed, for the caller to free: */
    char *code;   /* NULL: none */
    size_t bytes; /* size of code */
    char *log;    /* the compiler's messages without final newlines, also after an error; NULL: none */
} lh_nvrtc_job;

/* Compiles a job. LH_ERR_INPUT: the source does not compile, with the log in the message; LH_ERR_ENVIRONMENT: the
 * compiler itself failed, or out of memory. */
lh_status lh_nvrtc_compile(const lh_nvrtc *nvrtc, lh_nvrtc_job *job, lh_error *error);

#endif
