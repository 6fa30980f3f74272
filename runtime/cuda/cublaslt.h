/* Declarations of cuBLASLt that the runtime needs. No header of the toolkit is included. Values of constants and
 * layouts of structs are equal in versions 11 to 13; tests/cuda/cublaslt.c compares them with a toolkit's headers. */
#ifndef LONGHAND_CUDA_CUBLASLT_H
#define LONGHAND_CUDA_CUBLASLT_H

#include <stddef.h>
#include <stdint.h>

enum {
    LH_LT_COMPUTE_32F = 68, /* precisions of products: CUBLAS_COMPUTE_... */
    LH_LT_COMPUTE_64F = 70,
    LH_LT_COMPUTE_32F_FAST_16BF = 75,
    LH_LT_COMPUTE_32F_FAST_TF32 = 77,
    LH_LT_REAL_32F = 0, /* types of elements: CUDA_R_... */
    LH_LT_REAL_64F = 1,
    LH_LT_TRANSA = 3, /* attributes of a product: CUBLASLT_MATMUL_DESC_... */
    LH_LT_TRANSB = 4,
    LH_LT_EPILOGUE = 7,
    LH_LT_BIAS_POINTER = 8,
    LH_LT_PLAIN = 1, /* epilogues, the operations after a product: CUBLASLT_EPILOGUE_... */
    LH_LT_BIAS = 4,
    LH_LT_BIAS_RELU = 6,
    LH_LT_NOT_SUPPORTED = 15, /* a result of functions: CUBLAS_STATUS_NOT_SUPPORTED */
    LH_LT_NOT_TRANSPOSED = 0, /* values of LH_LT_TRANSA and LH_LT_TRANSB: CUBLAS_OP_N, CUBLAS_OP_T */
    LH_LT_TRANSPOSED = 1,
    LH_LT_WORKSPACE_BYTES = 1, /* attributes of a search for algorithms: CUBLASLT_MATMUL_PREF_... */
    LH_LT_ALIGNMENT_A = 5,     /* B, C, D: 6, 7, 8 */
    LH_LT_ALIGNMENT_D = 8
};

typedef struct lh_lt_algorithm { /* cublasLtMatmulAlgo_t */
    uint64_t data[8];
} lh_lt_algorithm;

typedef struct lh_lt_heuristic { /* cublasLtMatmulHeuristicResult_t */
    lh_lt_algorithm algorithm;
    size_t workspace_bytes;
    int state; /* 0: the algorithm can be used */
    float waves;
    int reserved[4];
} lh_lt_heuristic;

#endif
