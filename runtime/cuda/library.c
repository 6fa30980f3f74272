/* Finds cuBLASLt and multiplies with it; see library.h. */
#include "runtime/cuda/library.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "runtime/cuda/cublaslt.h"
#include "runtime/cuda/find.h"
#include "runtime/cuda/image.h"
#include "runtime/cuda/device_memory.h"

enum {
    WORKSPACE_BYTES = 32 << 20, /* device memory for partial sums of a product that the library divides */
    ALIGNMENT = 16,             /* bytes; every operand has at least this alignment, by the layouts in generated code */
    TABLE_SIZE = 1024           /* maximum number of shapes in the table of methods, a power of two */
};

typedef struct functions {
    size_t (*cublasLtGetVersion)(void); /* 130100: 13.1.0 */
    const char *(*cublasLtGetStatusString)(int status);
    int (*cublasLtCreate)(void **handle);
    int (*cublasLtDestroy)(void *handle);
    int (*cublasLtMatmulDescCreate)(void **operation, int compute, int scale);
    int (*cublasLtMatmulDescSetAttribute)(void *operation, int attribute, const void *value, size_t bytes);
    int (*cublasLtMatmulDescDestroy)(void *operation);
    int (*cublasLtMatrixLayoutCreate)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t stride);
    int (*cublasLtMatrixLayoutDestroy)(void *layout);
    int (*cublasLtMatmulPreferenceCreate)(void **preference);
    int (*cublasLtMatmulPreferenceSetAttribute)(void *preference, int attribute, const void *value, size_t bytes);
    int (*cublasLtMatmulPreferenceDestroy)(void *preference);
    int (*cublasLtMatmulAlgoGetHeuristic)(void *handle, void *operation, void *a, void *b, void *c, void *d,
                                          void *preference, int requested, lh_lt_heuristic *results, int *count);
    int (*cublasLtMatmul)(void *handle, void *operation, const void *alpha, const void *a, void *a_layout,
                          const void *b, void *b_layout, const void *beta, const void *c, void *c_layout, void *d,
                          void *d_layout, const lh_lt_algorithm *algorithm, void *workspace, size_t workspace_bytes,
                          CUstream stream);
} functions;

#define SYMBOL(member) \
    { #member, offsetof(functions, member) }

static const struct {
    const char *symbol;
    size_t offset; /* offset of the member that receives the function's address */
} SYMBOLS[] = {
    SYMBOL(cublasLtGetVersion),
    SYMBOL(cublasLtGetStatusString),
    SYMBOL(cublasLtCreate),
    SYMBOL(cublasLtDestroy),
    SYMBOL(cublasLtMatmulDescCreate),
    SYMBOL(cublasLtMatmulDescSetAttribute),
    SYMBOL(cublasLtMatmulDescDestroy),
    SYMBOL(cublasLtMatrixLayoutCreate),
    SYMBOL(cublasLtMatrixLayoutDestroy),
    SYMBOL(cublasLtMatmulPreferenceCreate),
    SYMBOL(cublasLtMatmulPreferenceSetAttribute),
    SYMBOL(cublasLtMatmulPreferenceDestroy),
    SYMBOL(cublasLtMatmulAlgoGetHeuristic),
    SYMBOL(cublasLtMatmul),
};

/* The method for products of one shape. The library expects matrices stored by columns and thus reads a row-major
 * matrix as its transpose, so the product out = a b is requested as out' = b' a'. */
typedef struct method {
    int rows, columns, inner; /* rows 0: the entry is free */
    bool transposed_a, transposed_b;
    uint32_t requested_epilogue; /* operation after the product: the bias, max(x, 0), or none */
    uint32_t epilogue;           /* the part of requested_epilogue that the library does */
    void *operation;
    void *first, *second, *out; /* layouts of b, a and out */
    lh_lt_algorithm algorithm;
} method;

struct lh_cuda_library {
    const lh_cuda_device *device;
    functions call;
    char name[64], file[384];
    void *handle;
    CUdeviceptr workspace;
    int compute, type; /* compute: precision of products; type: type of elements (cublaslt.h) */
    method methods[TABLE_SIZE];
};

static lh_status check(const lh_cuda_library *library, int result, const char *call, lh_error *error) {
    if (result == 0) return LH_OK;
    return lh_fail(error, LH_ERR_ENVIRONMENT, "%s (%s) failed in %s: %s (%d)", library->name, library->file, call,
                   library->call.cublasLtGetStatusString(result), result);
}

/* ---- opening ---- */

static bool examine_library(lh_cuda_search *search, void *handle, const char *file) {
    lh_cuda_library *library = search->argument;
    char driver[LH_CUDA_VERSION_TEXT];
    for (size_t i = 0; i < sizeof SYMBOLS / sizeof SYMBOLS[0]; i++) {
        void *function = dlsym(handle, SYMBOLS[i].symbol);
        if (function == NULL) {
            lh_cuda_note_refusal(search, "\n%s: has no function %s", file, SYMBOLS[i].symbol);
            return false;
        }
        memcpy((char *)&library->call + SYMBOLS[i].offset, &function, sizeof function);
    }
    unsigned version = (unsigned)library->call.cublasLtGetVersion();
    unsigned major = version / 10000; /* 130100: 13.1.0 */
    snprintf(library->name, sizeof library->name, "cuBLASLt %u.%u.%u", major, version / 100 % 100, version % 100);
    snprintf(library->file, sizeof library->file, "%s", file);
    if (major <= (unsigned)library->device->driver_version / 1000) return true;
    lh_cuda_note_refusal(search, "\n%s (%s): is not for this driver, which knows CUDA up to %s", library->name, file,
                         lh_cuda_write_version(library->device->driver_version, driver));
    return false;
}

static lh_status find_library(lh_cuda_library *library, lh_error *error) {
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so",
                                        NULL};
    lh_cuda_search search = {.names = names, .examine = examine_library, .argument = library};
    const char *requested_file = getenv("LONGHAND_CUBLASLT");
    bool is_requested = requested_file != NULL && requested_file[0] != 0;
    if (is_requested ? lh_cuda_try_library_file(&search, requested_file) : lh_cuda_find_library(&search)) return LH_OK;
    return lh_fail(
        error, LH_ERR_ENVIRONMENT,
        "no cuBLASLt for the products of a model as wide as this one; looked in: %s%s\n"
        "it comes with the CUDA toolkit: name the toolkit's folder in LONGHAND_CUDA_ROOT, or the library itself "
        "in LONGHAND_CUBLASLT",
        is_requested ? requested_file : search.folders, search.refused);
}

static void choose_precision(lh_cuda_library *library) {
    const char *precision = library->device->program->precision;
    library->type = LH_LT_REAL_32F;
    library->compute = LH_LT_COMPUTE_32F;
    if (strcmp(precision, "tf32") == 0) library->compute = LH_LT_COMPUTE_32F_FAST_TF32;
    if (strcmp(precision, "bf16") == 0) library->compute = LH_LT_COMPUTE_32F_FAST_16BF;
    if (strcmp(precision, "float64") != 0) return;
    library->type = LH_LT_REAL_64F;
    library->compute = LH_LT_COMPUTE_64F;
}

lh_status lh_cuda_library_open(const lh_cuda_device *device, lh_cuda_library **opened, lh_error *error) {
    lh_cuda_library *library = lh_engine_allocate(sizeof *library, "the shapes of products", error);
    *opened = NULL;
    if (library == NULL) return LH_ERR_ENVIRONMENT;
    library->device = device;
    choose_precision(library);
    lh_status status = find_library(library, error);
    if (status == LH_OK)
        status = check(library, library->call.cublasLtCreate(&library->handle), "cublasLtCreate", error);
    if (status == LH_OK)
        status = lh_cuda_allocate(device, WORKSPACE_BYTES, "parts of products", &library->workspace, error);
    if (status != LH_OK) lh_cuda_library_close(library);
    else *opened = library;
    return status;
}

const char *lh_cuda_library_name(const lh_cuda_library *library) { return library->name; }

/* ---- products ---- */

static void free_method(lh_cuda_library *library, method *m) {
    if (m->operation != NULL) library->call.cublasLtMatmulDescDestroy(m->operation);
    void *layouts[] = {m->first, m->second, m->out};
    for (int i = 0; i < 3; i++)
        if (layouts[i] != NULL) library->call.cublasLtMatrixLayoutDestroy(layouts[i]);
    *m = (method){0};
}

void lh_cuda_library_close(lh_cuda_library *library) {
    if (library == NULL) return;
    for (int i = 0; i < TABLE_SIZE; i++) free_method(library, &library->methods[i]);
    if (library->handle != NULL) library->call.cublasLtDestroy(library->handle);
    lh_cuda_release(library->device, &library->workspace);
    free(library);
}

/* Makes the layout of a row-major matrix: the layout of its transpose, stored by columns. */
static lh_status make_layout(lh_cuda_library *library, int rows, int columns, void **layout, lh_error *error) {
    int result = library->call.cublasLtMatrixLayoutCreate(layout, library->type, (uint64_t)columns, (uint64_t)rows,
                                                          (int64_t)columns);
    return check(library, result, "cublasLtMatrixLayoutCreate", error);
}

static uint32_t choose_epilogue(const lh_cuda_product *p) {
    if (p->bias == NULL) return LH_LT_PLAIN;
    return p->rectified ? LH_LT_BIAS_RELU : LH_LT_BIAS;
}

static lh_status describe_product(lh_cuda_library *library, const lh_cuda_product *p, method *m, lh_error *error) {
    const functions *call = &library->call;
    int first = p->transposed_b ? LH_LT_TRANSPOSED : LH_LT_NOT_TRANSPOSED,
        second = p->transposed_a ? LH_LT_TRANSPOSED : LH_LT_NOT_TRANSPOSED;
    lh_status status = check(library, call->cublasLtMatmulDescCreate(&m->operation, library->compute, library->type),
                             "cublasLtMatmulDescCreate", error);
    if (status != LH_OK) return status;
    int result = call->cublasLtMatmulDescSetAttribute(m->operation, LH_LT_TRANSA, &first, sizeof first);
    if (result == 0) result = call->cublasLtMatmulDescSetAttribute(m->operation, LH_LT_TRANSB, &second, sizeof second);
    status = check(library, result, "cublasLtMatmulDescSetAttribute", error);
    if (status == LH_OK)
        status = make_layout(library, p->transposed_b ? p->columns : p->inner, p->transposed_b ? p->inner : p->columns,
                             &m->first, error);
    if (status == LH_OK)
        status = make_layout(library, p->transposed_a ? p->inner : p->rows, p->transposed_a ? p->rows : p->inner,
                             &m->second, error);
    return status == LH_OK ? make_layout(library, p->rows, p->columns, &m->out, error) : status;
}

static lh_status make_preference(lh_cuda_library *library, void **preference, lh_error *error) {
    const functions *call = &library->call;
    const size_t workspace = WORKSPACE_BYTES;
    const uint32_t alignment = ALIGNMENT;
    int result = call->cublasLtMatmulPreferenceCreate(preference);
    if (result != 0) return check(library, result, "cublasLtMatmulPreferenceCreate", error);
    result =
        call->cublasLtMatmulPreferenceSetAttribute(*preference, LH_LT_WORKSPACE_BYTES, &workspace, sizeof workspace);
    for (int i = LH_LT_ALIGNMENT_A; result == 0 && i <= LH_LT_ALIGNMENT_D; i++)
        result = call->cublasLtMatmulPreferenceSetAttribute(*preference, i, &alignment, sizeof alignment);
    return check(library, result, "cublasLtMatmulPreferenceSetAttribute", error);
}

static lh_status set_bias(lh_cuda_library *library, const method *m, const void *bias, lh_error *error) {
    int result = library->call.cublasLtMatmulDescSetAttribute(m->operation, LH_LT_BIAS_POINTER, &bias, sizeof(void *));
    return check(library, result, "cublasLtMatmulDescSetAttribute", error);
}

/* Requests the library's best algorithm with this epilogue; *is_found: whether there is one. The library reads the
 * alignment of a bias from its address. This call passes a dummy address that is aligned to ALIGNMENT only, so the
 * choice does not depend on the real address. */
static lh_status request_algorithm(lh_cuda_library *library, method *m, uint32_t epilogue, void *preference,
                                   bool *is_found, lh_error *error) {
    const functions *call = &library->call;
    lh_lt_heuristic best = {.state = 0};
    int count = 0;
    int result = call->cublasLtMatmulDescSetAttribute(m->operation, LH_LT_EPILOGUE, &epilogue, sizeof epilogue);
    lh_status status = check(library, result, "cublasLtMatmulDescSetAttribute", error);
    if (status == LH_OK && epilogue != LH_LT_PLAIN)
        status = set_bias(library, m, (const void *)(uintptr_t)ALIGNMENT, error);
    if (status != LH_OK) return status;
    result = call->cublasLtMatmulAlgoGetHeuristic(library->handle, m->operation, m->first, m->second, m->out, m->out,
                                                  preference, 1, &best, &count);
    if (result == 0 && count > 0) result = best.state;
    m->algorithm = best.algorithm;
    m->epilogue = epilogue;
    *is_found = result == 0 && count > 0;
    return result == LH_LT_NOT_SUPPORTED ? LH_OK : check(library, result, "cublasLtMatmulAlgoGetHeuristic", error);
}

/* Chooses an algorithm with the requested epilogue or, if the library has none, an algorithm without epilogue. */
static lh_status choose_algorithm(lh_cuda_library *library, method *m, lh_error *error) {
    void *preference = NULL;
    bool is_found = false;
    lh_status status = make_preference(library, &preference, error);
    if (status == LH_OK) status = request_algorithm(library, m, m->requested_epilogue, preference, &is_found, error);
    if (status == LH_OK && !is_found && m->requested_epilogue != LH_LT_PLAIN)
        status = request_algorithm(library, m, LH_LT_PLAIN, preference, &is_found, error);
    if (preference != NULL) library->call.cublasLtMatmulPreferenceDestroy(preference);
    if (status == LH_OK && !is_found)
        return lh_fail(error, LH_ERR_ENVIRONMENT, "%s (%s) has no algorithm to multiply [%d][%d] by [%d][%d] in %s",
                       library->name, library->file, m->rows, m->inner, m->inner, m->columns,
                       library->device->program->precision);
    return status;
}

static unsigned compute_slot(const lh_cuda_product *p) {
    const unsigned numbers[] = {(unsigned)p->rows, (unsigned)p->columns, (unsigned)p->inner,
                                (unsigned)p->transposed_a * 2 + p->transposed_b + 4 * choose_epilogue(p)};
    unsigned hash = 0;
    for (int i = 0; i < 4; i++) hash = (hash ^ numbers[i]) * 0x9e3779b1u; /* a prime near 2^32 / golden ratio */
    return (hash >> 16) % TABLE_SIZE;
}

/* Finds or chooses the method for this shape; replaces another shape with the same index in the table. */
static lh_status find_method(lh_cuda_library *library, const lh_cuda_product *p, const method **found_method,
                             lh_error *error) {
    method *m = &library->methods[compute_slot(p)];
    *found_method = m;
    if (m->rows == p->rows && m->columns == p->columns && m->inner == p->inner && m->transposed_a == p->transposed_a &&
        m->transposed_b == p->transposed_b && m->requested_epilogue == choose_epilogue(p))
        return LH_OK;
    free_method(library, m);
    lh_status status = describe_product(library, p, m, error);
    *m = (method){.rows = p->rows,
                  .columns = p->columns,
                  .inner = p->inner,
                  .transposed_a = p->transposed_a,
                  .transposed_b = p->transposed_b,
                  .requested_epilogue = choose_epilogue(p),
                  .operation = m->operation,
                  .first = m->first,
                  .second = m->second,
                  .out = m->out};
    if (status == LH_OK) status = choose_algorithm(library, m, error);
    if (status != LH_OK) free_method(library, m);
    return status;
}

lh_status lh_cuda_library_digest(lh_cuda_library *library, const lh_cuda_product *p, uint32_t *digest,
                                 lh_error *error) {
    const method *m;
    lh_status status = find_method(library, p, &m, error);
    const unsigned char *bytes = (const unsigned char *)m->algorithm.data;
    for (size_t i = 0; status == LH_OK && i < sizeof m->algorithm.data; i++) *digest = (*digest ^ bytes[i]) * 16777619u;
    if (status == LH_OK) *digest = (*digest ^ m->epilogue) * 16777619u;
    return status;
}

lh_status lh_cuda_library_multiply(lh_cuda_library *library, const lh_cuda_product *p, CUstream stream,
                                   bool *is_complete, lh_error *error) {
    const method *m;
    lh_status status = find_method(library, p, &m, error);
    *is_complete = status == LH_OK && m->epilogue == m->requested_epilogue;
    if (status == LH_OK && m->epilogue != LH_LT_PLAIN) status = set_bias(library, m, p->bias, error);
    if (status != LH_OK) return status;
    const float alpha = 1, beta = p->adds;
    const double alpha_double = 1, beta_double = p->adds;
    const bool is_double = library->type == LH_LT_REAL_64F;
    int result = library->call.cublasLtMatmul(
        library->handle, m->operation, is_double ? (const void *)&alpha_double : &alpha, p->b, m->first, p->a,
        m->second, is_double ? (const void *)&beta_double : &beta, p->out, m->out, p->out, m->out, &m->algorithm,
        (void *)(uintptr_t)library->workspace, WORKSPACE_BYTES, stream);
    return check(library, result, "cublasLtMatmul", error);
}
