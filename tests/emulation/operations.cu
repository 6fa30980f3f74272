/* Kernels, each of which calls one hand-written operation of kernels/cuda. */
#include "kernels/cuda/sums.cu"
#include "kernels/cuda/philox.cu"
#include "kernels/cuda/dropout.cu"
#include "kernels/cuda/pieces.cu"
#include "kernels/cuda/adam.cu"
#include "kernels/cuda/adamw.cu"
#include "kernels/cuda/sgd.cu"

static_assert(LH_ROWS == (int)ROWS && LH_COLUMNS == (int)COLUMNS, "orders of operations.h");
static_assert(LH_STORE == (int)FINISH_STORE && LH_BIAS == (int)FINISH_BIAS && LH_BIAS_RELU == (int)FINISH_BIAS_RELU &&
                  LH_ADD == (int)FINISH_ADD && LH_RELU_GRAD == (int)FINISH_RELU_GRAD &&
                  LH_BY_HEAD == (int)FINISH_BY_HEAD,
              "finishes of operations.h");
static_assert(LH_OPERATIONS_SHARED >= (int)STAGING, "shared memory of operations.h");

static __global__ void product_kernel(const lh_product p, const real *a, const real *b, const real *extra, real *out) {
    product(p.rows, p.columns, p.K, (order)p.along_a, a, p.stride_a, (order)p.along_b, b, p.stride_b, (finish)p.finish,
            extra, out, p.stride);
}

static __global__ void columns_kernel(int rows, int columns, const real *a, real *sum) {
    column_sums(rows, columns, columns, a, sum);
}

static __global__ void placed_kernel(int T, const int *place, const real *dy, real *table) {
    add_placed_rows(T, place, dy, table);
}

/* bytes [count] of one example's mask; kept_elements [8 count] of 0 or 1. */
static __global__ void keep_kernel(const lh_masks m, int count, unsigned char *bytes, unsigned char *kept_elements) {
    for (int i = (int)threadIdx.x; i < count; i += THREADS)
        bytes[i] = keep_byte(m.key, m.step, m.example, m.site, (unsigned int)i, m.drop_below);
    __syncthreads();
    for (int e = (int)threadIdx.x; e < 8 * count; e += THREADS) kept_elements[e] = mask_bits(bytes, e) & 1;
}

/* total [count] = the sum of the shards; the grid's blocks share the work. */
static __global__ void fold_kernel(int shards, const char *parts, long long stride, int count, real *total) {
    fold(shards, parts, stride, (int)(blockIdx.x * THREADS + threadIdx.x), (int)gridDim.x * THREADS, count, total);
}

/* squares [pieces] = the sums of squares of the pieces of x. */
static __global__ void squares_kernel(int pieces, const real *x, double *squares) {
    for (int i = 0; i < pieces; i++) {
        double sum = piece_squares(x + i * PIECE);
        if (threadIdx.x == 0) squares[i] = sum;
    }
}

/* total [256]: the sum of count numbers, computed by each thread. */
static __global__ void total_kernel(int count, int stride, const double *x, double *total) {
    total[threadIdx.x] = sum_list(x, count, stride);
}

/* The first thread writes the sums of squares that an update returns: of the parameters and of their change. */
static void write_squares(const double squares[2], double *sums) {
    for (int i = 0; i < 2 && threadIdx.x == 0; i++) sums[i] = squares[i];
}

/* Updates one piece with Adam. */
static __global__ void adam_kernel(double clip, double rate, double correct2, const real *gradient, real *moment1,
                                   real *moment2, real *parameter, double *sums) {
    const adam a = {(real)clip, (real)rate, (real)correct2};
    double squares[2];
    adam_piece(a, gradient, moment1, moment2, parameter, squares);
    write_squares(squares, sums);
}

/* Updates one piece with AdamW; every third element does not decay. */
static __global__ void adamw_kernel(double clip, double rate, double correct2, double decay, const real *gradient,
                                    real *moment1, real *moment2, real *parameter, double *sums) {
    const adam a = {(real)clip, (real)rate, (real)correct2};
    real shares[PIECE_PART];
    double squares[2];
    for (int i = 0; i < PIECE_PART; i++) shares[i] = piece_element(i) % 3 == 0 ? 0 : (real)decay;
    adamw_piece(a, shares, gradient, moment1, moment2, parameter, squares);
    write_squares(squares, sums);
}

static __global__ void sgd_kernel(double clip, double rate, const real *gradient, real *parameter, double *sums) {
    const sgd a = {(real)clip, (real)rate};
    double squares[2];
    sgd_piece(a, gradient, parameter, squares);
    write_squares(squares, sums);
}

static __global__ void momentum_kernel(double clip, double rate, const real *gradient, real *running, real *parameter,
                                       double *sums) {
    const sgd a = {(real)clip, (real)rate};
    double squares[2];
    momentum_piece(a, gradient, running, parameter, squares);
    write_squares(squares, sums);
}

/* out [threads] = base^n, where n is the number of the thread. */
static __global__ void power_kernel(double base, double *out) { out[threadIdx.x] = integer_power(base, threadIdx.x); }

#define OPERATION(name, precision) \
    static const lh_emulated_kernel name##_emulated(#name "_" precision, [](void **arguments) { \
        return lh_fibre_grid(#name "_" precision, lh_bind(name##_kernel, arguments)); \
    });
#define OPERATIONS(precision) \
    OPERATION(product, precision) \
    OPERATION(columns, precision) \
    OPERATION(placed, precision) \
    OPERATION(keep, precision) \
    OPERATION(fold, precision) \
    OPERATION(squares, precision) \
    OPERATION(total, precision) \
    OPERATION(adam, precision) \
    OPERATION(adamw, precision) \
    OPERATION(sgd, precision) \
    OPERATION(momentum, precision) \
    OPERATION(power, precision)
