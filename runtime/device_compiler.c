/* Compiles device code during a build if the toolkit's nvcc is missing. Calls NVRTC, the toolkit's compiler library.
 *
 *     device_compiler LIBRARY                              prints NVRTC's version and architectures: 13.0 75 80
 *     device_compiler LIBRARY ARCHITECTURE                 succeeds if NVRTC supports it: sm_90a, compute_90, ...
 *     device_compiler LIBRARY ARCHITECTURE INPUT OUTPUT    compiles to the intermediate form (compute_...), or to
 *                                                          machine code (sm_...) with a printed report on each kernel
 *
 * The program is not part of a trainer. Exit status: 1 if the source does not compile, or compiles with warnings (the
 * compiler's messages are on standard error); 2 if the arguments are wrong; 4 if the library or a file cannot be used,
 * or memory is short.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/nvrtc.h"

static _Noreturn void fail(int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(status);
}

static void *allocate(size_t bytes) {
    void *block = calloc(1, bytes + 1);
    if (!block) fail(4, "out of memory");
    return block;
}

static lh_nvrtc open_library(const char *path) {
    lh_nvrtc nvrtc;
    lh_error error;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(4, "%s", dlerror());
    if (lh_nvrtc_load_functions(library, path, &nvrtc, &error) != LH_OK) fail(4, "%s", error.text);
    return nvrtc;
}

static void print_abilities(const lh_nvrtc *nvrtc) {
    int count;
    if (nvrtc->nvrtcGetNumSupportedArchs(&count) != 0) fail(4, "NVRTC does not report its architectures");
    int *architectures = allocate((size_t)count * sizeof *architectures);
    if (nvrtc->nvrtcGetSupportedArchs(architectures) != 0) fail(4, "NVRTC does not report its architectures");
    printf("%d.%d", nvrtc->major, nvrtc->minor);
    for (int i = 0; i < count; i++) printf(" %d", architectures[i]);
    printf("\n");
    free(architectures);
}

/* Reads a whole file and appends a 0. */
static char *read_text(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) fail(4, "cannot read %s", path);
    long bytes = ftell(file);
    rewind(file);
    char *text = bytes < 0 ? NULL : allocate((size_t)bytes);
    if (!text || fread(text, 1, (size_t)bytes, file) != (size_t)bytes) fail(4, "cannot read %s", path);
    fclose(file);
    return text;
}

static void write_code(const char *path, const char *code, size_t bytes) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(code, 1, bytes, file) != bytes || fclose(file) != 0) fail(4, "cannot write %s", path);
}

/* Compiles the source and writes the result to path; path NULL: only tests whether the source compiles. */
static void compile(const lh_nvrtc *nvrtc, lh_nvrtc_job *job, const char *path) {
    lh_error error;
    lh_status status = lh_nvrtc_compile(nvrtc, job, &error);
    if (status != LH_OK && job->log && job->log[0]) fail(1, "%s", job->log);
    if (status != LH_OK) fail(4, "%s", error.text);
    if (!job->log || strstr(job->log, "warning")) fail(1, "%s", job->log ? job->log : "NVRTC gives no log");
    if (job->log[0]) puts(job->log);
    if (path) write_code(path, job->code, job->bytes);
    free(job->log);
    free(job->code);
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3 && argc != 5) fail(2, "usage: device_compiler LIBRARY [ARCHITECTURE [INPUT OUTPUT]]");
    lh_nvrtc nvrtc = open_library(argv[1]);
    if (argc == 2) {
        print_abilities(&nvrtc);
    } else if (argc == 3) {
        lh_nvrtc_job job = {
            .target = argv[2], .name = "nothing.cu", .source = "extern \"C\" __global__ void nothing(void) {}\n"};
        compile(&nvrtc, &job, NULL);
    } else {
        char *text = read_text(argv[3]);
        lh_nvrtc_job job = {.target = argv[2], .name = argv[3], .source = text, .reports_resources = true};
        compile(&nvrtc, &job, argv[4]);
        free(text);
    }
    return fflush(stdout) == 0 ? 0 : 4;
}
