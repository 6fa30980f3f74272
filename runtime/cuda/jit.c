/* Compiles device code on this machine, once; see jit.h.
 *
 * A cached file has a header of three lines (the kind of file, the digest of its inputs, the digest of the code) and
 * the code. Both digests are checked at every read, so a truncated, damaged or outdated file is not used.
 */
#define _GNU_SOURCE
#include "runtime/cuda/jit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/sha256.h"
#include "runtime/cuda/nvrtc.h"

static const char FIRST_LINE[] = "longhand device code, version 1\n";
/* LH_SHA256_TEXT counts a final 0; in the header a newline takes its place. */
enum { HEAD_BYTES = sizeof FIRST_LINE - 1 + 2 * LH_SHA256_TEXT };

static void make_head(char head[HEAD_BYTES + 1], const char *key, const void *code, size_t bytes) {
    char digest[LH_SHA256_TEXT];
    lh_sha256(code, bytes, digest);
    snprintf(head, HEAD_BYTES + 1, "%s%s\n%s\n", FIRST_LINE, key, digest);
}

/* The folder of cached code; malloc'ed, NULL: none. */
static char *find_cache_folder(void) {
    const char *requested = getenv("LONGHAND_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *folder = NULL;
    if (requested && requested[0]) return strdup(requested);
    if (xdg && xdg[0] == '/') return asprintf(&folder, "%s/longhand", xdg) < 0 ? NULL : folder;
    if (home && home[0] == '/') return asprintf(&folder, "%s/.cache/longhand", home) < 0 ? NULL : folder;
    return NULL;
}

/* Sets key to a digest of everything that the code depends on: compiler, target, options, source. */
static bool make_key(const lh_nvrtc *nvrtc, const char *source, char key[LH_SHA256_TEXT]) {
    char options[256], *identity = NULL;
    size_t used = 0;
    for (int i = 0; i < LH_NVRTC_OPTIONS && used < sizeof options; i++)
        used += (size_t)snprintf(options + used, sizeof options - used, " %s", lh_nvrtc_options[i]);
    int length =
        asprintf(&identity, "NVRTC %d.%d %s%s\n%s", nvrtc->major, nvrtc->minor, nvrtc->target, options, source);
    if (length < 0) return false;
    lh_sha256(identity, (size_t)length, key);
    free(identity);
    return true;
}

/* Reads the code of a cached file, if the file is complete and has the same inputs. */
static bool read_cached(const char *path, const char *key, lh_cuda_code *code) {
    char head[HEAD_BYTES + 1], *file = NULL;
    size_t bytes = 0;
    if (lh_read_file(path, &file, &bytes, NULL) != LH_OK) return false;
    bool is_valid = bytes > HEAD_BYTES;
    if (is_valid) {
        make_head(head, key, file + HEAD_BYTES, bytes - HEAD_BYTES);
        is_valid = memcmp(file, head, HEAD_BYTES) == 0;
    }
    if (is_valid) {
        memmove(file, file + HEAD_BYTES, bytes - HEAD_BYTES);
        code->data = file;
        code->bytes = bytes - HEAD_BYTES;
    } else {
        free(file);
    }
    return is_valid;
}

static void write_cached(const char *folder, const char *path, const char *key, lh_cuda_code *code) {
    char head[HEAD_BYTES + 1];
    lh_error failure = {""};
    const lh_piece pieces[] = {{head, HEAD_BYTES}, {code->data, code->bytes}};
    make_head(head, key, code->data, code->bytes);
    lh_status status = lh_make_directories(folder, &failure);
    if (status == LH_OK) status = lh_replace_file_by_pieces(path, pieces, 2, &failure);
    if (status != LH_OK) snprintf(code->cache_failure, sizeof code->cache_failure, "%.500s", failure.text);
}

/* Reads the code from the cached file `path` in `folder`, or compiles and caches it. path NULL: there is no cache. */
static lh_status compile_or_read(const lh_nvrtc *nvrtc, const char *source, const char *folder, const char *path,
                                 lh_cuda_code *code, lh_error *error) {
    char key[LH_SHA256_TEXT];
    if (path && !make_key(nvrtc, source, key)) path = NULL;
    code->is_cached = path && read_cached(path, key, code);
    if (code->is_cached) return LH_OK;
    lh_nvrtc_job job = {.target = nvrtc->target, .name = "device.cu", .source = source};
    lh_status status = lh_nvrtc_compile(nvrtc, &job, error);
    free(job.log);
    code->data = job.code;
    code->bytes = job.bytes;
    if (status == LH_OK && path) write_cached(folder, path, key, code);
    return status;
}

lh_status lh_cuda_compile(const char *source, const char *digest, int architecture, int driver_version,
                          lh_cuda_code *code, lh_error *error) {
    lh_nvrtc nvrtc;
    memset(code, 0, sizeof *code);
    lh_status status = lh_nvrtc_open(architecture, driver_version, &nvrtc, error);
    if (status != LH_OK) return status;
    snprintf(code->target, sizeof code->target, "%s", nvrtc.target);
    snprintf(code->compiler, sizeof code->compiler, "%s", nvrtc.name);
    char *folder = find_cache_folder(), *path = NULL;
    if (folder &&
        asprintf(&path, "%s/%s-%s-nvrtc-%d.%d.cubin", folder, digest, nvrtc.target, nvrtc.major, nvrtc.minor) < 0)
        path = NULL;
    status = compile_or_read(&nvrtc, source, folder, path, code, error);
    if (status != LH_OK) lh_cuda_code_free(code);
    free(path);
    free(folder);
    return status;
}

void lh_cuda_code_free(lh_cuda_code *code) {
    free(code->data);
    memset(code, 0, sizeof *code);
}
