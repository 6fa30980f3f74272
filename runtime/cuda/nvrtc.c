/* Finds NVRTC and compiles with it; see nvrtc.h. */
#include "cuda/nvrtc.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/image.h"

enum { COMPILATION_FAILED = 6 }; /* NVRTC_ERROR_COMPILATION */

const char *const lh_nvrtc_options[LH_NVRTC_OPTIONS] = {"--std=c++17", "--fmad=true", "--ftz=false", "--prec-div=true",
                                                        "--prec-sqrt=true"};

#define SYMBOL(member) \
    { #member, offsetof(lh_nvrtc, member) }

static const struct {
    const char *symbol;
    size_t offset; /* of the member that takes its address */
} SYMBOLS[] = {
    SYMBOL(nvrtcVersion),           SYMBOL(nvrtcGetNumSupportedArchs),
    SYMBOL(nvrtcGetSupportedArchs), SYMBOL(nvrtcGetErrorString),
    SYMBOL(nvrtcCreateProgram),     SYMBOL(nvrtcDestroyProgram),
    SYMBOL(nvrtcCompileProgram),    SYMBOL(nvrtcGetProgramLogSize),
    SYMBOL(nvrtcGetProgramLog),     SYMBOL(nvrtcGetCUBINSize),
    SYMBOL(nvrtcGetCUBIN),
};

/* One look for a library, and what it met. */
typedef struct search {
    int architecture, driver_version;
    lh_nvrtc *nvrtc;
    char places[600];  /* where nothing was found, one after the other */
    char refused[900]; /* a line for each library that will not do */
    void *last;        /* the last of them: the same file has several names */
} search;

/* Adds to a text of `size` bytes; cut where it is full. */
static void add(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add(char *text, size_t size, const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* NULL, or the name of the function that is missing. */
static const char *find_functions(void *library, lh_nvrtc *nvrtc) {
    for (size_t i = 0; i < sizeof SYMBOLS / sizeof SYMBOLS[0]; i++) {
        void *found = dlsym(library, SYMBOLS[i].symbol);
        if (!found) return SYMBOLS[i].symbol;
        memcpy((char *)nvrtc + SYMBOLS[i].offset, &found, sizeof found);
    }
    return NULL;
}

/* The latest machine code that it makes and that runs on the device; false: none. */
static bool choose_target(lh_nvrtc *nvrtc, int architecture) {
    int count = 0, best = 0, known[256];
    if (nvrtc->nvrtcGetNumSupportedArchs(&count) != 0 || count > (int)(sizeof known / sizeof known[0])) return false;
    if (nvrtc->nvrtcGetSupportedArchs(known) != 0) return false;
    for (int i = 0; i < count; i++) {
        const lh_cuda_kind kind = {.machine = true, .architecture = known[i]};
        if (known[i] > best && lh_cuda_runs(&kind, architecture)) best = known[i];
    }
    snprintf(nvrtc->target, sizeof nvrtc->target, "sm_%d", best);
    return best > 0;
}

/* Whether this library will do; why not goes into refused. */
static bool examine(search *s, void *library, const char *file) {
    lh_nvrtc *nvrtc = s->nvrtc;
    char driver_text[LH_CUDA_VERSION_TEXT];
    const char *missing = find_functions(library, nvrtc);
    if (missing) {
        add(s->refused, sizeof s->refused, "\n%s: has no function %s", file, missing);
        return false;
    }
    if (nvrtc->nvrtcVersion(&nvrtc->major, &nvrtc->minor) != 0) {
        add(s->refused, sizeof s->refused, "\n%s: does not tell its version", file);
        return false;
    }
    snprintf(nvrtc->name, sizeof nvrtc->name, "NVRTC %d.%d (%s)", nvrtc->major, nvrtc->minor, file);
    if (nvrtc->major > s->driver_version / 1000) {
        add(s->refused, sizeof s->refused, "\n%s: its machine code is not for this driver, which knows CUDA up to %s",
            nvrtc->name, lh_cuda_version_text(s->driver_version, driver_text));
        return false;
    }
    if (!choose_target(nvrtc, s->architecture)) {
        add(s->refused, sizeof s->refused, "\n%s: does not know sm_%d", nvrtc->name, s->architecture);
        return false;
    }
    return true;
}

static bool try_file(search *s, const char *file) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        bool is_there = strchr(file, '/') && access(file, F_OK) == 0;
        if (is_there)
            add(s->refused, sizeof s->refused, "\n%s%s", why ? "" : file,
                why ? why : ": this program is linked statically and can load no library");
        return false;
    }
    if (library == s->last) return false;
    s->last = library;
    return examine(s, library, file);
}

/* folder "": wherever the loader looks. */
static bool try_folder(search *s, const char *folder) {
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};
    char file[320];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int length = snprintf(file, sizeof file, "%s%s%s", folder, folder[0] ? "/" : "", names[i]);
        if (length < (int)sizeof file && try_file(s, file)) return true;
    }
    add(s->places, sizeof s->places, "%s%s", s->places[0] ? ", " : "", folder[0] ? folder : "the loader's folders");
    return false;
}

static bool try_root(search *s, const char *root) {
    char folder[300];
    if (!root || !root[0]) return false;
    for (int wide = 1; wide >= 0; wide--) {
        int length = snprintf(folder, sizeof folder, "%s/lib%s", root, wide ? "64" : "");
        if (length < (int)sizeof folder && try_folder(s, folder)) return true;
    }
    return false;
}

/* Without a folder given: those that a toolkit is usually in, each once, then wherever the loader looks. */
static bool try_usual(search *s) {
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (int i = 0; i < 3; i++) {
        bool tried = false;
        for (int j = 0; j < i && !tried; j++) tried = roots[i] && roots[j] && strcmp(roots[i], roots[j]) == 0;
        if (!tried && try_root(s, roots[i])) return true;
    }
    return try_folder(s, "");
}

lh_status lh_nvrtc_open(int architecture, int driver_version, lh_nvrtc *nvrtc, lh_error *error) {
    search s = {.architecture = architecture, .driver_version = driver_version, .nvrtc = nvrtc};
    const char *given = getenv("LONGHAND_CUDA_ROOT");
    if (given && given[0] ? try_root(&s, given) : try_usual(&s)) return LH_OK;
    return lh_fail(
        error, LH_ERR_ENVIRONMENT,
        "no NVRTC on this machine that compiles the device code for sm_%d; looked in: %s%s\n"
        "name the folder of a CUDA toolkit in LONGHAND_CUDA_ROOT, or build for sm_%d ahead of time with --arch",
        architecture, s.places, s.refused, architecture);
}

static lh_status failed(const lh_nvrtc *nvrtc, const char *call, int result, lh_error *error) {
    return lh_fail(error, LH_ERR_ENVIRONMENT, "%s failed in %s: %s (%d)", nvrtc->name, call,
                   nvrtc->nvrtcGetErrorString(result), result);
}

/* result: what nvrtcCompileProgram said. */
static lh_status does_not_compile(const lh_nvrtc *nvrtc, lh_nvrtc_program *program, int result, lh_error *error) {
    size_t bytes = 0;
    char *log = NULL;
    if (nvrtc->nvrtcGetProgramLogSize(program, &bytes) == 0 && bytes > 0) log = calloc(1, bytes + 1);
    if (log && nvrtc->nvrtcGetProgramLog(program, log) != 0) log[0] = 0;
    for (size_t end = log ? strlen(log) : 0; end > 0 && log[end - 1] == '\n'; end--) log[end - 1] = 0;
    lh_status status = result == COMPILATION_FAILED ? LH_ERR_INPUT : LH_ERR_ENVIRONMENT;
    lh_fail(error, status, "the device code does not compile for %s: %s: %s%s%s", nvrtc->target, nvrtc->name,
            nvrtc->nvrtcGetErrorString(result), log && log[0] ? "\n" : "", log ? log : "");
    free(log);
    return status;
}

static lh_status take_code(const lh_nvrtc *nvrtc, lh_nvrtc_program *program, char **code, size_t *bytes,
                           lh_error *error) {
    int result = nvrtc->nvrtcGetCUBINSize(program, bytes);
    if (result != 0 || *bytes == 0) return failed(nvrtc, "nvrtcGetCUBINSize", result, error);
    *code = malloc(*bytes);
    if (!*code) return lh_fail(error, LH_ERR_ENVIRONMENT, "device code of %zu bytes: not enough memory", *bytes);
    result = nvrtc->nvrtcGetCUBIN(program, *code);
    return result == 0 ? LH_OK : failed(nvrtc, "nvrtcGetCUBIN", result, error);
}

lh_status lh_nvrtc_compile(const lh_nvrtc *nvrtc, const char *source, char **code, size_t *bytes, lh_error *error) {
    const char *options[1 + LH_NVRTC_OPTIONS];
    char target[64];
    lh_nvrtc_program *program = NULL;
    *code = NULL;
    snprintf(target, sizeof target, "--gpu-architecture=%s", nvrtc->target);
    options[0] = target;
    memcpy(options + 1, lh_nvrtc_options, sizeof lh_nvrtc_options);
    int result = nvrtc->nvrtcCreateProgram(&program, source, "device.cu", 0, NULL, NULL);
    if (result != 0) return failed(nvrtc, "nvrtcCreateProgram", result, error);
    result = nvrtc->nvrtcCompileProgram(program, 1 + LH_NVRTC_OPTIONS, options);
    lh_status status =
        result == 0 ? take_code(nvrtc, program, code, bytes, error) : does_not_compile(nvrtc, program, result, error);
    nvrtc->nvrtcDestroyProgram(&program);
    if (status != LH_OK) free(*code), *code = NULL;
    return status;
}
