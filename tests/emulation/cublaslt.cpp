/* The functions of cuBLASLt that the runtime calls, on the emulated device's memory: products of column-major matrices,
 * summed in double and computed when the stream reaches them. A bias has one number for each row of the result; it is
 * added to the rounded sums before the rectifier. LONGHAND_CUBLASLT may name the emulation's library. */
#include <math.h>

#include "device.h"

namespace {

enum {
    NOT_READY = 1,    /* CUBLAS_STATUS_NOT_INITIALIZED */
    INVALID = 7,      /* CUBLAS_STATUS_INVALID_VALUE */
    FAILED = 13,      /* CUBLAS_STATUS_EXECUTION_FAILED */
    UNSUPPORTED = 15, /* CUBLAS_STATUS_NOT_SUPPORTED */
    REAL_32F = 0,     /* CUDA_R_32F */
    REAL_64F = 1,     /* CUDA_R_64F */
    TRANSA = 3,       /* CUBLASLT_MATMUL_DESC_... */
    TRANSB = 4,
    EPILOGUE = 7,
    BIAS_POINTER = 8,
    NO_EPILOGUE = 1, /* CUBLASLT_EPILOGUE_... */
    RELU = 2,
    BIAS = 4,
    WORKSPACE = 1, /* CUBLASLT_MATMUL_PREF_... */
    ALIGNMENT_A = 5,
    ALIGNMENT_D = 8,
    COMPUTE_64F = 70,         /* CUBLAS_COMPUTE_64F */
    ALIGNMENT = 16,           /* bytes; least alignment of matrices according to the runtime */
    REQUIRED_WORKSPACE = 1024 /* bytes that the only algorithm requires */
};

struct operation {
    int compute, scale, is_transposed[2];
    unsigned epilogue;
    const char *bias;
};

struct layout {
    int type;
    unsigned long long rows, columns;
    long long stride;
};

struct preference {
    size_t workspace;
    unsigned alignment[4];
};

struct algorithm {
    unsigned long long data[8];
};

struct heuristic {
    algorithm selected_algorithm;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

struct handle {
    CUcontext context;
};

const unsigned long long MARK = 0x6c6f6e6768616e64ull; /* marks the only algorithm of a device; the shape follows */

struct matrix {
    const char *memory;
    layout l;
    bool is_transposed;

    double get(unsigned long long row, unsigned long long column) const {
        size_t i = is_transposed ? column + row * l.stride : row + column * l.stride;
        return l.type == REAL_64F ? reinterpret_cast<const double *>(memory)[i]
                                  : reinterpret_cast<const float *>(memory)[i];
    }
    unsigned long long rows() const { return is_transposed ? l.columns : l.rows; }
    unsigned long long columns() const { return is_transposed ? l.rows : l.columns; }
    bool is_on_device() const {
        if (reinterpret_cast<size_t>(memory) % ALIGNMENT != 0) return false;
        size_t elements = (size_t)(l.stride * (l.columns - 1) + l.rows);
        return lh_device_holds(memory, elements * (l.type == REAL_64F ? 8 : 4));
    }
};

bool is_supported(const operation *o, const layout *a, const layout *b, const layout *c) {
    matrix first = {NULL, *a, o->is_transposed[0] != 0}, second = {NULL, *b, o->is_transposed[1] != 0};
    bool has_equal_types = a->type == o->scale && b->type == o->scale && c->type == o->scale;
    bool computes_in_type = (o->scale == REAL_64F) == (o->compute == COMPUTE_64F);
    return has_equal_types && computes_in_type && first.rows() == c->rows && second.columns() == c->columns &&
           first.columns() == second.rows();
}

/* Returns the only algorithm for these shapes and this alignment of the bias in bytes, 0 without a bias. */
algorithm choose_algorithm(const layout *a, const layout *b, const layout *c, unsigned long long bias_alignment) {
    return {{MARK ^ (unsigned)lh_emulated.multiprocessors, a->rows, a->columns, b->rows, b->columns, c->rows,
             c->columns, (unsigned long long)c->type + 256 * bias_alignment}};
}

/* Returns the alignment of the bias in bytes; 0: there is no bias. */
unsigned long long get_bias_alignment(const operation *o) {
    unsigned long long address = reinterpret_cast<size_t>(o->bias);
    return o->epilogue & BIAS ? address & -address : 0;
}

/* Whether this library has such an epilogue. */
bool has_epilogue(unsigned epilogue) {
    return epilogue == NO_EPILOGUE || (!lh_emulated.plain_products && (epilogue == BIAS || epilogue == (RELU | BIAS)));
}

/* Converts a sum, already in its type, to the stored value. */
template <class T> T finish(T sum, unsigned epilogue, const char *bias, unsigned long long row) {
    if (epilogue & BIAS) sum += reinterpret_cast<const T *>(bias)[row];
    return epilogue & RELU && !(sum > 0) ? 0 : sum;
}

void multiply(double alpha, const matrix &a, const matrix &b, double beta, const matrix &c, unsigned epilogue,
              const char *bias) {
    char *to = const_cast<char *>(c.memory);
    for (unsigned long long column = 0; column < c.l.columns; column++)
        for (unsigned long long row = 0; row < c.l.rows; row++) {
            double sum = 0;
            for (unsigned long long k = 0; k < a.columns(); k++) sum += a.get(row, k) * b.get(k, column);
            sum = alpha * sum + (beta != 0 ? beta * c.get(row, column) : 0);
            size_t i = row + column * c.l.stride;
            if (c.l.type == REAL_64F) reinterpret_cast<double *>(to)[i] = finish(sum, epilogue, bias, row);
            else reinterpret_cast<float *>(to)[i] = finish((float)sum, epilogue, bias, row);
        }
}

} /* namespace */

extern "C" {

size_t cublasLtGetVersion(void) { return 130100; }

const char *cublasLtGetStatusString(int status) {
    return status == NOT_READY ? "not initialised" : status == INVALID ? "invalid value" : "something else";
}

int cublasLtCreate(handle **object) {
    lh_device_call c("cublasLtCreate", CONTEXT);
    if (c.failure) return NOT_READY;
    *object = new handle{lh_device_context};
    lh_device.libraries++;
    return 0;
}

int cublasLtDestroy(handle *object) {
    lh_device_call c("cublasLtDestroy", CONTEXT);
    lh_device.libraries--;
    delete object;
    return 0;
}

int cublasLtMatmulDescCreate(operation **object, int compute, int scale) {
    *object = new operation{compute, scale, {0, 0}, NO_EPILOGUE, NULL};
    lh_device.libraries++;
    return 0;
}

int cublasLtMatmulDescSetAttribute(operation *o, int attribute, const void *value, size_t bytes) {
    if ((attribute == TRANSA || attribute == TRANSB) && bytes == sizeof(int))
        memcpy(&o->is_transposed[attribute - TRANSA], value, bytes);
    else if (attribute == EPILOGUE && bytes == sizeof o->epilogue) memcpy(&o->epilogue, value, bytes);
    else if (attribute == BIAS_POINTER && bytes == sizeof o->bias) memcpy(&o->bias, value, bytes);
    else return INVALID;
    return 0;
}

int cublasLtMatmulDescDestroy(operation *o) {
    lh_device.libraries--;
    delete o;
    return 0;
}

int cublasLtMatrixLayoutCreate(layout **object, int type, unsigned long long rows, unsigned long long columns,
                               long long stride) {
    if (rows == 0 || columns == 0 || stride < (long long)rows) return INVALID;
    *object = new layout{type, rows, columns, stride};
    lh_device.libraries++;
    return 0;
}

int cublasLtMatrixLayoutDestroy(layout *l) {
    lh_device.libraries--;
    delete l;
    return 0;
}

int cublasLtMatmulPreferenceCreate(preference **object) {
    *object = new preference{0, {256, 256, 256, 256}};
    lh_device.libraries++;
    return 0;
}

int cublasLtMatmulPreferenceSetAttribute(preference *p, int attribute, const void *value, size_t bytes) {
    if (attribute == WORKSPACE && bytes == sizeof p->workspace) memcpy(&p->workspace, value, bytes);
    else if (attribute >= ALIGNMENT_A && attribute <= ALIGNMENT_D && bytes == sizeof(unsigned))
        memcpy(&p->alignment[attribute - ALIGNMENT_A], value, bytes);
    else return INVALID;
    return 0;
}

int cublasLtMatmulPreferenceDestroy(preference *p) {
    lh_device.libraries--;
    delete p;
    return 0;
}

int cublasLtMatmulAlgoGetHeuristic(handle *, operation *o, layout *a, layout *b, layout *c, layout *d, preference *p,
                                   int requested, heuristic *results, int *count) {
    lh_device_call call("cublasLtMatmulAlgoGetHeuristic", CONTEXT);
    *count = 0;
    if (call.failure) return NOT_READY;
    if (requested < 1 || !is_supported(o, a, b, c) || !is_supported(o, a, b, d)) return INVALID;
    if (!has_epilogue(o->epilogue)) return lh_emulated.plain_products == LH_EMULATION_EPILOGUES_FAIL ? UNSUPPORTED : 0;
    for (unsigned alignment : p->alignment)
        if (p->workspace < REQUIRED_WORKSPACE || alignment > ALIGNMENT)
            return 0; /* count 0: no algorithm works for certain */
    *count = 1;
    results[0] = {choose_algorithm(a, b, c, get_bias_alignment(o)), REQUIRED_WORKSPACE, 0, 1, {0}};
    return 0;
}

int cublasLtMatmul(handle *, operation *o, const void *alpha, const void *a, layout *a_layout, const void *b,
                   layout *b_layout, const void *beta, const void *c, layout *c_layout, void *d, layout *d_layout,
                   const algorithm *selected_algorithm, void *workspace, size_t workspace_bytes, CUstream stream) {
    lh_device_call call("cublasLtMatmul", CONTEXT);
    if (call.failure) return FAILED;
    unsigned long long bias_alignment = selected_algorithm->data[7] / 256;
    const algorithm expected = choose_algorithm(a_layout, b_layout, d_layout, bias_alignment);
    if (!is_supported(o, a_layout, b_layout, d_layout) || memcmp(selected_algorithm, &expected, sizeof expected) != 0)
        return INVALID;
    if (!has_epilogue(o->epilogue)) return UNSUPPORTED;
    if (bias_alignment > 0 && get_bias_alignment(o) < bias_alignment) return INVALID;
    if (c != d || memcmp(c_layout, d_layout, sizeof *d_layout) != 0) return UNSUPPORTED;
    matrix first = {static_cast<const char *>(a), *a_layout, o->is_transposed[0] != 0};
    matrix second = {static_cast<const char *>(b), *b_layout, o->is_transposed[1] != 0};
    matrix out = {static_cast<const char *>(d), *d_layout, false};
    bool has_workspace = workspace_bytes >= REQUIRED_WORKSPACE && lh_device_holds(workspace, workspace_bytes);
    if (!has_workspace || !first.is_on_device() || !second.is_on_device() || !out.is_on_device()) return INVALID;
    if (!lh_device.streams.count(stream)) return INVALID;
    bool is_double = o->scale == REAL_64F;
    const unsigned epilogue = o->epilogue;
    const char *bias = o->bias;
    if (epilogue & BIAS && !lh_device_holds(bias, d_layout->rows * (is_double ? 8 : 4))) return INVALID;
    double factor = is_double ? *static_cast<const double *>(alpha) : *static_cast<const float *>(alpha);
    double out_factor = is_double ? *static_cast<const double *>(beta) : *static_cast<const float *>(beta);
    stream->pending_operations.push_back([=] { multiply(factor, first, second, out_factor, out, epilogue, bias); });
    return 0;
}

} /* extern "C" */
