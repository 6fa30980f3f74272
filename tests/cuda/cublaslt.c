/* Comparison of the runtime's declarations of cuBLASLt (runtime/cuda/cublaslt.h) with the headers of a toolkit;
 * tests/cuda/check.sh compiles it, nothing runs it. */
#include <cublasLt.h>

#include "runtime/cuda/cublaslt.h"

#define CHECK_EQUAL(our_value, cuda_value) \
    _Static_assert((long)(our_value) == (long)(cuda_value), #our_value " is not " #cuda_value)

CHECK_EQUAL(LH_LT_COMPUTE_32F, CUBLAS_COMPUTE_32F);
CHECK_EQUAL(LH_LT_COMPUTE_64F, CUBLAS_COMPUTE_64F);
CHECK_EQUAL(LH_LT_COMPUTE_32F_FAST_16BF, CUBLAS_COMPUTE_32F_FAST_16BF);
CHECK_EQUAL(LH_LT_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
CHECK_EQUAL(LH_LT_REAL_32F, CUDA_R_32F);
CHECK_EQUAL(LH_LT_REAL_64F, CUDA_R_64F);
CHECK_EQUAL(LH_LT_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
CHECK_EQUAL(LH_LT_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
CHECK_EQUAL(LH_LT_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
CHECK_EQUAL(LH_LT_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
CHECK_EQUAL(LH_LT_PLAIN, CUBLASLT_EPILOGUE_DEFAULT);
CHECK_EQUAL(LH_LT_BIAS, CUBLASLT_EPILOGUE_BIAS);
CHECK_EQUAL(LH_LT_BIAS_RELU, CUBLASLT_EPILOGUE_RELU_BIAS);
CHECK_EQUAL(LH_LT_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
CHECK_EQUAL(sizeof(cublasLtEpilogue_t), sizeof(uint32_t));
CHECK_EQUAL(LH_LT_NOT_TRANSPOSED, CUBLAS_OP_N);
CHECK_EQUAL(LH_LT_TRANSPOSED, CUBLAS_OP_T);
CHECK_EQUAL(LH_LT_WORKSPACE_BYTES, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
CHECK_EQUAL(LH_LT_ALIGNMENT_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
CHECK_EQUAL(LH_LT_ALIGNMENT_A + 1, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
CHECK_EQUAL(LH_LT_ALIGNMENT_A + 2, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
CHECK_EQUAL(LH_LT_ALIGNMENT_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
CHECK_EQUAL(sizeof(lh_lt_algorithm), sizeof(cublasLtMatmulAlgo_t));
CHECK_EQUAL(sizeof(lh_lt_heuristic), sizeof(cublasLtMatmulHeuristicResult_t));
CHECK_EQUAL(offsetof(lh_lt_heuristic, workspace_bytes), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
CHECK_EQUAL(offsetof(lh_lt_heuristic, state), offsetof(cublasLtMatmulHeuristicResult_t, state));

/* Calls the functions of the headers as the runtime does; a wrong number or kind of argument does not compile. */
extern cublasLtHandle_t handle;
extern cublasLtMatmulDesc_t operation;
extern cublasLtMatrixLayout_t layout;
extern cublasLtMatmulPreference_t preference;
extern cublasLtMatmulHeuristicResult_t result;
extern cudaStream_t stream;
int calls(const void *from, void *to, int *count, size_t bytes);
int calls(const void *from, void *to, int *count, size_t bytes) {
    int status = (int)cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    status += (int)cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, (uint64_t)bytes, (uint64_t)bytes, (int64_t)bytes);
    status += (int)cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, from, bytes);
    status +=
        (int)cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, from, bytes);
    status += (int)cublasLtMatmulAlgoGetHeuristic(handle, operation, layout, layout, layout, layout, preference, 1,
                                                  &result, count);
    status += (int)cublasLtMatmul(handle, operation, from, from, layout, from, layout, from, from, layout, to, layout,
                                  &result.algo, to, bytes, stream);
    return status + (int)cublasLtGetVersion();
}
