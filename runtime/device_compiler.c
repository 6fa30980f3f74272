/* A compiler of device code for the build, where the toolkit's nvcc is missing: calls NVRTC, its compiler as a library.
 *
 *     device_compiler LIBRARY                              prints NVRTC's version and the architectures it knows: 13.0 75 80
 *     device_compiler LIBRARY ARCHITECTURE                 succeeds when NVRTC compiles for it: sm_90a, compute_90
 *     device_compiler LIBRARY ARCHITECTURE INPUT OUTPUT    machine code for sm_..., the intermediate form for compute_...;
 *                                                          on standard output what the assembler says of each kernel
 *
 * Runs while a trainer is built and is no part of it. Exit status 1 with the compiler's words on standard error, for
 * warnings too; 4 where the library cannot be used.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct program *program;

typedef struct nvrtc {
    int (*nvrtcVersion)(int *major, int *minor);
    int (*nvrtcGetNumSupportedArchs)(int *count);
    int (*nvrtcGetSupportedArchs)(int *architectures);
    int (*nvrtcCreateProgram)(program *made, const char *text, const char *name, int headers, const char *const *header,
                              const char *const *header_name);
    int (*nvrtcCompileProgram)(program compiled, int options, const char *const *option);
    int (*nvrtcGetProgramLogSize)(program compiled, size_t *bytes);
    int (*nvrtcGetProgramLog)(program compiled, char *log);
    int (*nvrtcGetCUBINSize)(program compiled, size_t *bytes);
    int (*nvrtcGetCUBIN)(program compiled, char *code);
    int (*nvrtcGetPTXSize)(program compiled, size_t *bytes);
    int (*nvrtcGetPTX)(program compiled, char *code);
} nvrtc;

static const char *const NAMES[] = {
    "nvrtcVersion",
    "nvrtcGetNumSupportedArchs",
    "nvrtcGetSupportedArchs",
    "nvrtcCreateProgram",
    "nvrtcCompileProgram",
    "nvrtcGetProgramLogSize",
    "nvrtcGetProgramLog",
    "nvrtcGetCUBINSize",
    "nvrtcGetCUBIN",
    "nvrtcGetPTXSize",
    "nvrtcGetPTX",
};
_Static_assert(sizeof NAMES / sizeof NAMES[0] == sizeof(nvrtc) / sizeof(void (*)(void)), "one name per member");

static _Noreturn void fail(int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(status);
}

static void *memory(size_t bytes) {
    void *room = calloc(1, bytes + 1);
    if (!room) fail(4, "out of memory");
    return room;
}

static nvrtc open_library(const char *path) {
    nvrtc library;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) fail(4, "%s", dlerror());
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        void *function = dlsym(handle, NAMES[i]);
        if (!function) fail(4, "%s has no function %s", path, NAMES[i]);
        memcpy((char *)&library + i * sizeof function, &function, sizeof function);
    }
    return library;
}

static void print_abilities(const nvrtc *library) {
    int major, minor, count;
    if (library->nvrtcVersion(&major, &minor) != 0 || library->nvrtcGetNumSupportedArchs(&count) != 0)
        fail(4, "NVRTC does not say which version it is");
    int *architectures = memory((size_t)count * sizeof *architectures);
    if (library->nvrtcGetSupportedArchs(architectures) != 0) fail(4, "NVRTC does not say what it knows");
    printf("%d.%d", major, minor);
    for (int i = 0; i < count; i++) printf(" %d", architectures[i]);
    printf("\n");
    free(architectures);
}

/* The whole file, with a 0 behind it. */
static char *read_text(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) fail(4, "cannot read %s", path);
    long bytes = ftell(file);
    rewind(file);
    char *text = bytes < 0 ? NULL : memory((size_t)bytes);
    if (!text || fread(text, 1, (size_t)bytes, file) != (size_t)bytes) fail(4, "cannot read %s", path);
    fclose(file);
    return text;
}

static void write_code(const char *path, const char *code, size_t bytes) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(code, 1, bytes, file) != bytes || fclose(file) != 0) fail(4, "cannot write %s", path);
}

static char *log_of(const nvrtc *library, program compiled) {
    size_t bytes = 0;
    if (library->nvrtcGetProgramLogSize(compiled, &bytes) != 0) return NULL;
    char *log = memory(bytes);
    library->nvrtcGetProgramLog(compiled, log);
    return log;
}

static int makes_machine_code(const char *architecture) { return strncmp(architecture, "sm_", 3) == 0; }

/* Options as nvcc is given by cuda.mk; the last is for machine code alone. */
static program compile(const nvrtc *library, const char *architecture, const char *name, const char *text) {
    char target[64];
    program made = NULL;
    snprintf(target, sizeof target, "--gpu-architecture=%s", architecture);
    const char *const options[] = {target,
                                   "--std=c++17",
                                   "--fmad=true",
                                   "--ftz=false",
                                   "--prec-div=true",
                                   "--prec-sqrt=true",
                                   "--ptxas-options=-v"};
    int count = sizeof options / sizeof options[0];
    if (library->nvrtcCreateProgram(&made, text, name, 0, NULL, NULL) != 0) fail(4, "NVRTC takes no program");
    int status = library->nvrtcCompileProgram(made, makes_machine_code(architecture) ? count : count - 1, options);
    char *log = log_of(library, made);
    if (status != 0 || !log || strstr(log, "warning")) fail(1, "%s", log && log[0] ? log : "NVRTC gives no reason");
    fputs(log, stdout);
    free(log);
    return made;
}

static void save(const nvrtc *library, program compiled, int machine_code, const char *path) {
    size_t bytes = 0;
    int status =
        machine_code ? library->nvrtcGetCUBINSize(compiled, &bytes) : library->nvrtcGetPTXSize(compiled, &bytes);
    if (status != 0 || bytes == 0) fail(4, "NVRTC made no code");
    char *code = memory(bytes);
    status = machine_code ? library->nvrtcGetCUBIN(compiled, code) : library->nvrtcGetPTX(compiled, code);
    if (status != 0) fail(4, "NVRTC made no code");
    write_code(path, code, machine_code || code[bytes - 1] != '\0' ? bytes : bytes - 1);
    free(code);
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3 && argc != 5) fail(2, "usage: device_compiler LIBRARY [ARCHITECTURE [INPUT OUTPUT]]");
    nvrtc library = open_library(argv[1]);
    if (argc == 2) {
        print_abilities(&library);
    } else if (argc == 3) {
        compile(&library, argv[2], "nothing.cu", "extern \"C\" __global__ void nothing(void) {}\n");
    } else {
        char *text = read_text(argv[3]);
        save(&library, compile(&library, argv[2], argv[3], text), makes_machine_code(argv[2]), argv[4]);
        free(text);
    }
    return fflush(stdout) == 0 ? 0 : 4;
}
