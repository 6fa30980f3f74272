/* A replacement for libnvrtc, for tests of the search for the library, of compilation and of the cache. "Compiling"
 * returns the options and the source as text, ended by a 0, after 20 ms. A source with the word `mistake` does not
 * compile; a source with the word `trouble` fails for another reason.
 *
 *     FAKE_NVRTC_LOG   environment variable: a file to which every compilation of every process adds a line
 *     -DVERSION=12     major version; the minor version is 4
 *     -DNEWEST=90      the newest architecture that it supports
 *     -DOLD            the library lacks nvrtcGetCUBIN
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct program {
    char *source, *code;
} program;

static const int ARCHITECTURES[] = {75, 80, 86, 89, 90, 100, 120};

int nvrtcVersion(int *major, int *minor) {
    *major = VERSION;
    *minor = 4;
    return 0;
}

int nvrtcGetNumSupportedArchs(int *count) {
    for (*count = 0; ARCHITECTURES[*count] < NEWEST;) ++*count;
    ++*count;
    return 0;
}

int nvrtcGetSupportedArchs(int *architectures) {
    int count;
    nvrtcGetNumSupportedArchs(&count);
    for (int i = 0; i < count; i++) architectures[i] = ARCHITECTURES[count - 1 - i]; /* their order is unspecified */
    return 0;
}

const char *nvrtcGetErrorString(int result) { return result == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_OTHER"; }

int nvrtcCreateProgram(program **program_, const char *source, const char *name, int headers, const char *const *texts,
                       const char *const *names) {
    if (headers != 0 || texts || names || strcmp(name, "device.cu") != 0) return 3;
    *program_ = calloc(1, sizeof **program_);
    (*program_)->source = strdup(source);
    return 0;
}

int nvrtcDestroyProgram(program **program_) {
    free((*program_)->source);
    free((*program_)->code);
    free(*program_);
    *program_ = NULL;
    return 0;
}

int nvrtcCompileProgram(program *program_, int count, const char *const *options) {
    const char *log = getenv("FAKE_NVRTC_LOG");
    int file = log ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    if (file >= 0 && (write(file, "compiled\n", 9) != 9 || close(file) != 0)) return 11;
    usleep(20000);
    if (strstr(program_->source, "trouble")) return 7;
    if (strstr(program_->source, "mistake")) return 6;
    program_->code = calloc(1, strlen(program_->source) + 1024);
    strcpy(program_->code, "code");
    for (int i = 0; i < count; i++) strcat(strcat(program_->code, " "), options[i]);
    strcat(strcat(program_->code, "\n"), program_->source);
    return 0;
}

int nvrtcGetProgramLogSize(program *program_, size_t *bytes) {
    *bytes = program_->code ? 1 : 64;
    return 0;
}

int nvrtcGetProgramLog(program *program_, char *log) {
    strcpy(log, program_->code ? "" : "device.cu(3): error: no such thing\n\n");
    return 0;
}

int nvrtcGetCUBINSize(program *program_, size_t *bytes) {
    *bytes = strlen(program_->code) + 1;
    return 0;
}

#ifndef OLD
int nvrtcGetCUBIN(program *program_, char *code) {
    strcpy(code, program_->code);
    return 0;
}
#endif

int nvrtcGetPTXSize(program *program_, size_t *bytes) { return nvrtcGetCUBINSize(program_, bytes); }

int nvrtcGetPTX(program *program_, char *code) {
    strcpy(code, program_->code);
    return 0;
}
