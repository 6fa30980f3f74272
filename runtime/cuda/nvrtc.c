/* Finds NVRTC and compiles with it; see nvrtc.h. */
#include "runtime/cuda/nvrtc.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/find.h"
#include "runtime/cuda/image.h"

const char *const lh_nvrtc_options[LH_NVRTC_OPTIONS] = {"--std=c++17", "--fmad=true", "--ftz=false", "--prec-div=true",
                                                        "--prec-sqrt=true"};

#define SYMBOL(member) \
    { #member, offsetof(lh_nvrtc, member) }

static const struct {
    const char *symbol;
    size_t offset; /* offset of the member that receives the function's address */
} SYMBOLS[] = {
    SYMBOL(nvrtcVersion),
    SYMBOL(nvrtcGetNumSupportedArchs),
    SYMBOL(nvrtcGetSupportedArchs),
    SYMBOL(nvrtcGetErrorString),
    SYMBOL(nvrtcCreateProgram),
    SYMBOL(nvrtcDestroyProgram),
    SYMBOL(nvrtcCompileProgram),
    SYMBOL(nvrtcGetProgramLogSize),
    SYMBOL(nvrtcGetProgramLog),
    SYMBOL(nvrtcGetCUBINSize),
    SYMBOL(nvrtcGetCUBIN),
    SYMBOL(nvrtcGetPTXSize),
    SYMBOL(nvrtcGetPTX),
};

/* The argument of examine_library: the requirements of a library, and the struct that receives its functions. */
typedef struct requirements {
    int architecture, driver_version;
    lh_nvrtc *nvrtc;
} requirements;

lh_status lh_nvrtc_load_functions(void *library, const char *file, lh_nvrtc *nvrtc, lh_error *error) {
    memset(nvrtc, 0, sizeof *nvrtc);
    for (size_t i = 0; i < sizeof SYMBOLS / sizeof SYMBOLS[0]; i++) {
        void *function = dlsym(library, SYMBOLS[i].symbol);
        if (!function) return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: has no function %s", file, SYMBOLS[i].symbol);
        memcpy((char *)nvrtc + SYMBOLS[i].offset, &function, sizeof function);
    }
    if (nvrtc->nvrtcVersion(&nvrtc->major, &nvrtc->minor) != 0)
        return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: does not report its version", file);
    snprintf(nvrtc->name, sizeof nvrtc->name, "NVRTC %d.%d (%s)", nvrtc->major, nvrtc->minor, file);
    return LH_OK;
}

/* Sets nvrtc->target to the latest machine code that the library compiles and the device runs; false: none. */
static bool choose_target(lh_nvrtc *nvrtc, int architecture) {
    int count = 0, best = 0, supported[256];
    if (nvrtc->nvrtcGetNumSupportedArchs(&count) != 0 || count > (int)(sizeof supported / sizeof supported[0]))
        return false;
    if (nvrtc->nvrtcGetSupportedArchs(supported) != 0) return false;
    for (int i = 0; i < count; i++) {
        const lh_cuda_kind kind = {.is_machine_code = true, .architecture = supported[i]};
        if (supported[i] > best && lh_cuda_runs_image(&kind, architecture)) best = supported[i];
    }
    snprintf(nvrtc->target, sizeof nvrtc->target, "sm_%d", best);
    return best > 0;
}

static bool examine_library(lh_cuda_search *search, void *library, const char *file) {
    const requirements *required = search->argument;
    lh_nvrtc *nvrtc = required->nvrtc;
    char driver_text[LH_CUDA_VERSION_TEXT];
    lh_error reason;
    if (lh_nvrtc_load_functions(library, file, nvrtc, &reason) != LH_OK) {
        lh_cuda_note_refusal(search, "\n%s", reason.text);
        return false;
    }
    if (nvrtc->major > required->driver_version / 1000) {
        lh_cuda_note_refusal(search, "\n%s: its machine code is not for this driver, which knows CUDA up to %s",
                             nvrtc->name, lh_cuda_write_version(required->driver_version, driver_text));
        return false;
    }
    if (!choose_target(nvrtc, required->architecture)) {
        lh_cuda_note_refusal(search, "\n%s: does not know sm_%d", nvrtc->name, required->architecture);
        return false;
    }
    return true;
}

lh_status lh_nvrtc_open(int architecture, int driver_version, lh_nvrtc *nvrtc, lh_error *error) {
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", NULL};
    requirements required = {.architecture = architecture, .driver_version = driver_version, .nvrtc = nvrtc};
    lh_cuda_search search = {.names = names, .examine = examine_library, .argument = &required};
    if (lh_cuda_find_library(&search)) return LH_OK;
    return lh_fail(
        error, LH_ERR_ENVIRONMENT,
        "no NVRTC on this machine that compiles the device code for sm_%d; looked in: %s%s\n"
        "name the folder of a CUDA toolkit in LONGHAND_CUDA_ROOT, or build for sm_%d ahead of time with --arch",
        architecture, search.folders, search.refused, architecture);
}

static lh_status fail_call(const lh_nvrtc *nvrtc, const char *call, int result, lh_error *error) {
    return lh_fail(error, LH_ERR_ENVIRONMENT, "%s failed in %s: %s (%d)", nvrtc->name, call,
                   nvrtc->nvrtcGetErrorString(result), result);
}

static char *copy_log(const lh_nvrtc *nvrtc, lh_nvrtc_program *program) {
    size_t bytes = 0;
    char *log = NULL;
    if (nvrtc->nvrtcGetProgramLogSize(program, &bytes) == 0 && bytes > 0) log = calloc(1, bytes + 1);
    if (log && nvrtc->nvrtcGetProgramLog(program, log) != 0) log[0] = 0;
    for (size_t end = log ? strlen(log) : 0; end > 0 && log[end - 1] == '\n'; end--) log[end - 1] = 0;
    return log;
}

/* Reports that nvrtcCompileProgram returned `result`. */
static lh_status fail_compilation(const lh_nvrtc *nvrtc, const lh_nvrtc_job *job, int result, lh_error *error) {
    lh_status status = result == LH_NVRTC_COMPILATION_FAILED ? LH_ERR_INPUT : LH_ERR_ENVIRONMENT;
    bool has_log = job->log && job->log[0];
    return lh_fail(error, status, "the device code does not compile for %s: %s: %s%s%s", job->target, nvrtc->name,
                   nvrtc->nvrtcGetErrorString(result), has_log ? "\n" : "", has_log ? job->log : "");
}

static bool is_machine_code(const lh_nvrtc_job *job) { return strncmp(job->target, "sm_", 3) == 0; }

static lh_status copy_code(const lh_nvrtc *nvrtc, lh_nvrtc_program *program, lh_nvrtc_job *job, lh_error *error) {
    bool is_cubin = is_machine_code(job);
    int result = (is_cubin ? nvrtc->nvrtcGetCUBINSize : nvrtc->nvrtcGetPTXSize)(program, &job->bytes);
    if (result != 0) return fail_call(nvrtc, is_cubin ? "nvrtcGetCUBINSize" : "nvrtcGetPTXSize", result, error);
    if (job->bytes == 0)
        return lh_fail(error, LH_ERR_ENVIRONMENT, "%s has compiled no code for %s", nvrtc->name, job->target);
    job->code = malloc(job->bytes);
    if (!job->code)
        return lh_fail(error, LH_ERR_ENVIRONMENT, "device code of %zu bytes: not enough memory", job->bytes);
    result = (is_cubin ? nvrtc->nvrtcGetCUBIN : nvrtc->nvrtcGetPTX)(program, job->code);
    if (result != 0) return fail_call(nvrtc, is_cubin ? "nvrtcGetCUBIN" : "nvrtcGetPTX", result, error);
    if (!is_cubin && job->code[job->bytes - 1] == 0) job->bytes--; /* a text ends with 0 */
    return LH_OK;
}

static int compile(const lh_nvrtc *nvrtc, lh_nvrtc_program *program, const lh_nvrtc_job *job) {
    const char *options[1 + LH_NVRTC_OPTIONS + 1];
    char target[64];
    int count = 1 + LH_NVRTC_OPTIONS;
    snprintf(target, sizeof target, "--gpu-architecture=%s", job->target);
    options[0] = target;
    memcpy(options + 1, lh_nvrtc_options, sizeof lh_nvrtc_options);
    if (job->reports_resources && is_machine_code(job)) options[count++] = "--ptxas-options=-v";
    return nvrtc->nvrtcCompileProgram(program, count, options);
}

lh_status lh_nvrtc_compile(const lh_nvrtc *nvrtc, lh_nvrtc_job *job, lh_error *error) {
    lh_nvrtc_program *program = NULL;
    job->code = job->log = NULL;
    int result = nvrtc->nvrtcCreateProgram(&program, job->source, job->name, 0, NULL, NULL);
    if (result != 0) return fail_call(nvrtc, "nvrtcCreateProgram", result, error);
    result = compile(nvrtc, program, job);
    job->log = copy_log(nvrtc, program);
    lh_status status =
        result == 0 ? copy_code(nvrtc, program, job, error) : fail_compilation(nvrtc, job, result, error);
    nvrtc->nvrtcDestroyProgram(&program);
    if (status != LH_OK) free(job->code), job->code = NULL;
    return status;
}
