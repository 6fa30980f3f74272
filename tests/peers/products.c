/* Times the products of a training block alone, by Longhand, OpenBLAS and libxsmm, on one thread, with operands in
 * cache.
 *
 *     products SECONDS [OPENBLAS]      SECONDS of a window; OPENBLAS: a shared library
 *
 * Prints a line of JSON for each product: rows x K x N, and the GFLOP/s of each contender, the median of windows of
 * processor time in alternation; null if a library is missing or has no such product. All start from row-major
 * matrices. Longhand reads weights as panels, which a step packs once for all its blocks; the others read weights that
 * are transposed beforehand if needed. Results are compared before they are timed. This file is compiled with the
 * sources of a trainer, so that it has the trainer's tiles, and with WITH_XSMM if libxsmm is installed.
 */
#include "config.h"
#if __has_include("tuned.h")
#include "tuned.h"
#endif

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/peak.h"
#include "kernels/cpu/matmul.h"
#ifdef WITH_XSMM
#include <libxsmm.h>
#endif

enum { ROWS = 84, MAX_WIDTH = 256, WINDOWS = 9 };
enum { FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT, KINDS };
enum { LONGHAND, OPENBLAS, XSMM, CONTENDERS };
static const char *const kind_names[KINDS] = {"forward", "input gradient", "weight gradient"};
static const char *const names[CONTENDERS] = {"ours", "openblas", "libxsmm"};

/* There are 16 more rows, since tiles may read beyond the last one. */
static _Alignas(64) real x[(ROWS + 16) * MAX_WIDTH], dy[(ROWS + 16) * MAX_WIDTH], y[(ROWS + 16) * MAX_WIDTH];
static _Alignas(64) real w[MAX_WIDTH * MAX_WIDTH],
    transposed[MAX_WIDTH * MAX_WIDTH], panels[MAX_WIDTH * MAX_WIDTH], dw[MAX_WIDTH * MAX_WIDTH];

typedef struct product {
    int K, N, kind;
    void (*pack)(void), (*run_ours)(void);
} product;

#define PRODUCT(K, N) \
    static void pack_##K##_##N(void) { pack_weights(K, N, w, panels); } \
    static void forward_##K##_##N(void) { matmul(ROWS, K, N, x, panels, y, FINISH_STORE, NULL); } \
    static void pack_transposed_##K##_##N(void) { pack_transposed(K, N, w, panels); } \
    static void gradient_##K##_##N(void) { matmul(ROWS, N, K, dy, panels, y, FINISH_STORE, NULL); } \
    static void weight_##K##_##N(void) { matmul_weight_grad(ROWS, K, N, x, dy, dw); }
PRODUCT(64, 192)
PRODUCT(64, 64)
PRODUCT(64, 256)
PRODUCT(256, 64)
#define ROWS_OF(K, N) \
    {K, N, FORWARD, pack_##K##_##N, forward_##K##_##N}, \
        {K, N, INPUT_GRADIENT, pack_transposed_##K##_##N, gradient_##K##_##N}, { \
        K, N, WEIGHT_GRADIENT, pack_##K##_##N, weight_##K##_##N \
    }
static const product products[] = {ROWS_OF(64, 192), ROWS_OF(64, 64), ROWS_OF(64, 256), ROWS_OF(256, 64)};

/* Returns the processor time of this thread in seconds, on which other processes have little effect. */
static double read_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- OpenBLAS: with indices of 32 or 64 bits ---- */

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
typedef void gemm_narrow(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                         const float *b, int ldb, float beta, float *c, int ldc);
typedef void gemm_wide(int order, int ta, int tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                       int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
static gemm_narrow *narrow;
static gemm_wide *wide;

static void open_blas(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "products: %s\n", dlerror());
        return;
    }
    narrow = (gemm_narrow *)dlsym(library, "cblas_sgemm");
    if (narrow == NULL) narrow = (gemm_narrow *)dlsym(library, "scipy_cblas_sgemm");
    if (narrow == NULL) wide = (gemm_wide *)dlsym(library, "scipy_cblas_sgemm64_");
    if (narrow == NULL && wide == NULL) wide = (gemm_wide *)dlsym(library, "cblas_sgemm64_");
    if (narrow == NULL && wide == NULL) fprintf(stderr, "products: %s has no cblas_sgemm\n", path);
}

static void gemm(int ta, int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c) {
    if (narrow != NULL) narrow(ROW_MAJOR, ta, PLAIN, m, n, k, 1, a, lda, b, ldb, beta, c, n);
    else wide(ROW_MAJOR, ta, PLAIN, m, n, k, 1, a, lda, b, ldb, beta, c, n);
}

static void run_blas(const product *p) {
    if (p->kind == FORWARD) gemm(PLAIN, ROWS, p->N, p->K, x, p->K, w, p->N, 0, y);
    else if (p->kind == INPUT_GRADIENT) gemm(PLAIN, ROWS, p->K, p->N, dy, p->N, transposed, p->K, 0, y);
    else gemm(TRANSPOSED, p->K, p->N, ROWS, x, p->K, dy, p->N, 1, dw);
}

/* ---- libxsmm, which is column-major: it computes the transposed product of the operands in the other order ---- */

#ifdef WITH_XSMM
static libxsmm_smmfunction kernel;

static void choose_kernel(const product *p) {
    const int is_forward = p->kind == FORWARD, is_weight = p->kind == WEIGHT_GRADIENT;
    const libxsmm_blasint n = is_weight ? p->K : ROWS, m = p->kind == INPUT_GRADIENT ? p->K : p->N;
    const libxsmm_blasint k = is_weight ? ROWS : is_forward ? p->K : p->N, ldb = is_weight ? p->K : k;
    const float alpha = 1, beta = is_weight ? 1 : 0;
    const int flags = is_weight ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_PREFETCH_NONE;
    kernel = libxsmm_smmdispatch(m, n, k, &m, &ldb, &m, &alpha, &beta, &flags, &prefetch);
}

static void run_xsmm(const product *p) {
    if (p->kind == FORWARD) kernel(w, x, y);
    else if (p->kind == INPUT_GRADIENT) kernel(transposed, dy, y);
    else kernel(dy, x, dw);
}

static int has_xsmm(void) { return kernel != NULL; }
#else
static void choose_kernel(const product *p) { (void)p; }
static void run_xsmm(const product *p) { (void)p; }
static int has_xsmm(void) { return 0; }
#endif

static int is_available(int contender) {
    return contender == LONGHAND || (contender == OPENBLAS ? narrow != NULL || wide != NULL : has_xsmm());
}

static void run(const product *p, int contender) {
    if (contender == LONGHAND) p->run_ours();
    else if (contender == OPENBLAS) run_blas(p);
    else run_xsmm(p);
}

/* ---- comparing and timing ---- */

static void fill(real *a, int count, uint32_t seed) {
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        a[i] = (real)(seed >> 8) / 8388608.0f - 1;
    }
}

/* Returns the largest difference from Longhand's result, divided by the largest element. */
static double measure_difference(const product *p, int contender) {
    static real expected[(ROWS + 16) * MAX_WIDTH];
    real *out = p->kind == WEIGHT_GRADIENT ? dw : y;
    int count = p->kind == WEIGHT_GRADIENT ? p->K * p->N : ROWS * (p->kind == FORWARD ? p->N : p->K);
    double max_value = 0, max_difference = 0;
    memset(out, 0, (size_t)count * sizeof *out);
    run(p, LONGHAND);
    memcpy(expected, out, (size_t)count * sizeof *out);
    memset(out, 0, (size_t)count * sizeof *out);
    run(p, contender);
    for (int i = 0; i < count; i++) {
        max_value = fmax(max_value, fabs((double)expected[i]));
        max_difference = fmax(max_difference, fabs((double)expected[i] - (double)out[i]));
    }
    return max_difference / max_value;
}

/* Returns GFLOP/s of *calls products, and sets *calls to the number that takes about `seconds`. */
static double measure_window(const product *p, int contender, double seconds, int64_t *calls) {
    double start = read_clock();
    for (int64_t i = 0; i < *calls; i++) run(p, contender);
    double seconds_taken = read_clock() - start, rate = (double)*calls / seconds_taken;
    *calls = (int64_t)(rate * seconds) + 1;
    return 2e-9 * ROWS * p->K * p->N * rate;
}

static double measure_peak(double seconds, int64_t *rounds) {
    double start = read_clock();
    double flops = lh_peak_find(LH_LEVEL_NAME, REAL_BYTES)(*rounds), seconds_taken = read_clock() - start;
    *rounds = (int64_t)((double)*rounds * seconds / seconds_taken) + 1;
    return 1e-9 * flops / seconds_taken;
}

static int compare(const void *a, const void *b) {
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static double find_median(double *values) {
    qsort(values, WINDOWS, sizeof *values, compare);
    return values[WINDOWS / 2];
}

static void measure(const product *p, double seconds) {
    double rates[CONTENDERS][WINDOWS], peaks[WINDOWS];
    int64_t calls[CONTENDERS] = {10, 10, 10}, rounds = 10000;
    memset(dw, 0, sizeof dw);
    for (int c = 0; c < CONTENDERS; c++)
        if (is_available(c)) measure_window(p, c, seconds, &calls[c]);
    measure_peak(seconds, &rounds);
    for (int i = 0; i < WINDOWS; i++) {
        for (int c = 0; c < CONTENDERS; c++)
            if (is_available(c)) rates[c][i] = measure_window(p, c, seconds, &calls[c]);
        peaks[i] = measure_peak(seconds, &rounds);
    }
    printf("{\"level\":\"%s\",\"product\":\"%s\",\"rows\":%d,\"K\":%d,\"N\":%d,\"peak\":%.4g", LH_LEVEL_NAME,
           kind_names[p->kind], ROWS, p->K, p->N, find_median(peaks));
    for (int c = 0; c < CONTENDERS; c++)
        if (is_available(c)) printf(",\"%s\":%.4g", names[c], find_median(rates[c]));
        else printf(",\"%s\":null", names[c]);
    printf("}\n");
}

int main(int argc, char **argv) {
    if (argc < 2 || lh_peak_find(LH_LEVEL_NAME, REAL_BYTES) == NULL) {
        fprintf(stderr, "usage: products SECONDS [OPENBLAS]\n");
        return 2;
    }
    if (argc > 2) open_blas(argv[2]);
    fill(x, ROWS * MAX_WIDTH, 1);
    fill(dy, ROWS * MAX_WIDTH, 2);
    fill(w, MAX_WIDTH * MAX_WIDTH, 3);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        const product *p = &products[i];
        p->pack();
        transpose(p->K, p->N, w, transposed);
        choose_kernel(p);
        for (int c = OPENBLAS; c < CONTENDERS; c++) {
            double difference = is_available(c) ? measure_difference(p, c) : 0;
            if (difference < 1e-5) continue;
            fprintf(stderr, "products: %s differs by %g in %s, %d x %d\n", names[c], difference, kind_names[p->kind],
                    p->K, p->N);
            return 1;
        }
        measure(p, atof(argv[1]));
    }
    return 0;
}
