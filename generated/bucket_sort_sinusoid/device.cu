#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(type, name) extern __shared__ type name[]
#endif
#define INLINE static __device__ __forceinline__
#define NOINLINE static __device__ __noinline__

typedef float real;

/* What the host hands to the kernels of an experiment, and what comes back. C11 and CUDA C++, no includes: the runtime
 * includes this file, the generator puts its text at the head of every device.cu.
 *
 * A replica is one model with its own seed and learning rate; a team is the blocks that work on it; a shard is a part
 * of its batch, done by one block from the first layer to the gradient. The gradient is a left fold over shards, so the
 * bits depend on the number of shards alone, not on the size of the team or on what runs beside it.
 *
 * `real` is float, or double in a float64 build. Pointers are addresses of device memory.
 */
#ifndef LH_CUDA_INTERFACE_H
#define LH_CUDA_INTERFACE_H

enum { LH_CUDA_PIECE = 1024 /* elements of a vector that a block folds or updates at a time */ };

/* One model's state and the room that its team shares. Vectors have parameter_storage elements. */
typedef struct lh_cuda_replica {
    void *parameters, *moment1, *moment2; /* [storage] real, updated in place */
    void *gradient;                       /* [storage] real: the folded gradient of the last step */
    char *partials;     /* [shards] gradients of one shard each, partial_stride bytes apart; zero at first */
    char *shared;       /* tables of the running step, and the folded gradients of tables */
    double *piece_sums; /* [3][storage / LH_CUDA_PIECE]: squares of gradient, parameters, change */
    struct lh_cuda_sums *shard_sums; /* [shards] */
    unsigned int *arrivals;          /* of the team's blocks at barriers; zero before a launch */
} lh_cuda_replica;

typedef struct lh_cuda_sums {
    double loss;                            /* summed cross-entropy in nats over all label positions */
    long long counted, correct, exact_ones; /* see lh_sums; exact_ones: sequences with every counted position correct */
} lh_cuda_sums;

/* One step of one replica. */
typedef struct lh_cuda_step {
    const unsigned short *tokens; /* [sequences][T] */
    const unsigned short *labels; /* [sequences][label_count] */
    const unsigned char *mask;    /* [sequences][label_count] */
    const int *draws;             /* lh_cuda_program.draw_count(T) numbers, or so many for each sequence */
    int sequences, T, label_count;
    unsigned int step, key[2]; /* dropout's counter and key */
    unsigned int draw;         /* evaluation: the index of its draw */
    double rate;               /* learning rate / (1 - beta1^t) */
    double correct2;           /* 1 / (1 - beta2^t) */
    double loss_scale;         /* 1 / label positions of the batch */
} lh_cuda_step;

enum { LH_CUDA_NOT_RUN = 0, LH_CUDA_DONE = 1, LH_CUDA_NOT_FINITE = 2 /* loss or gradient; no update was made */ };

/* What a step came to; the gradient's numbers are those before clipping. */
typedef struct lh_cuda_result {
    lh_cuda_sums sums;
    double gradient_squares, parameter_squares, update_squares, heavy_squares; /* heavy: of the heaviest chunk */
    int heavy_chunk, state;                                                    /* state: LH_CUDA_... */
} lh_cuda_result;

/* <id>_train_kernel: replicas * team blocks, all resident at once. A replica stops at a step that is not finite. */
typedef struct lh_cuda_train {
    const lh_cuda_replica *replicas; /* [replicas] */
    const lh_cuda_step *steps;       /* [replicas][count] */
    lh_cuda_result *results;         /* [replicas][count]; state NOT_RUN before the launch */
    const void *tables;              /* made by lh_cuda_program.make_tables */
    char *workspace;                 /* [blocks] activations of one shard each, workspace_stride bytes apart */
    long long workspace_stride, partial_stride;
    int count, team, shards;
} lh_cuda_train;

/* One sequence's answers. */
typedef struct lh_cuda_answer {
    double loss;
    int counted, correct;
} lh_cuda_answer;

/* <id>_evaluate_kernel: one replica's parameters over step->sequences examples. Blocks take groups of sequences in
 * turn, all resident at once. */
typedef struct lh_cuda_evaluate {
    const void *parameters;
    const lh_cuda_step *step;
    const void *tables;
    char *shared;            /* tables of this evaluation */
    unsigned int *arrivals;  /* zero before the launch */
    lh_cuda_answer *answers; /* [sequences] written */
    void *logits;            /* [sequences][label_count][classes] real, written; or NULL */
    char *workspace;         /* [blocks] activations of one group each, workspace_stride bytes apart */
    long long workspace_stride;
    int group; /* sequences that go through the layers together */
} lh_cuda_evaluate;

#endif

enum {
    THREADS = 256, /* of a block */
    DROPOUT_SITES = 11, /* masks of one sequence */
    PARAMETER_STORAGE = 253952, /* elements of the vector of parameters */
    LAYERS = 5,
    WIDTH = 64,
    HEADS = 8,
    HEAD_WIDTH = 8,
    FEEDFORWARD = 256,
    TOKENS = 7, /* rows of the embedding: input symbols, one that is never used, the empty output */
    CLASSES = 5,
    CLASS_COLUMNS = 16, /* classes, rounded up to a whole vector */
    QUERY_STRIDE = 3 * WIDTH,
    BLOCK_STATE = 1024 /* bytes of shared memory behind what products stage */
};

/* Parameters, and in the same places their gradients and moments. Weights are [in][out]. */
typedef struct layer_parameters {
    real query_key_value[WIDTH * 3 * WIDTH]; /* [WIDTH][query WIDTH | key WIDTH | value WIDTH] */
    real attention_output[WIDTH * WIDTH];
    real norm1_scale[WIDTH], norm1_offset[WIDTH];
    real up[WIDTH * FEEDFORWARD], up_bias[FEEDFORWARD];
    real down[FEEDFORWARD * WIDTH], down_bias[WIDTH];
    real norm2_scale[WIDTH], norm2_offset[WIDTH];
} layer_parameters;

typedef struct parameters {
    real token[TOKENS * WIDTH];
    layer_parameters layer[LAYERS];
    real output[WIDTH * CLASS_COLUMNS], output_bias[CLASS_COLUMNS];
} parameters;
#define EMBEDDING_SCALE 8.0f /* sqrt(WIDTH) */
#define LOGIT_SCALE 0.353553391f /* 1 / sqrt(HEAD_WIDTH) */
#define BRANCH_KEEP_SCALE 1.11111111f /* 1 / (1 - p), p = 0.1 */
enum { BRANCH_DROP_BELOW = 6554 }; /* of 65536 */
#define EMBEDDING_KEEP_SCALE 1.11111111f /* 1 / (1 - p), p = 0.1 */
enum { EMBEDDING_DROP_BELOW = 6554 }; /* of 65536 */
enum { DROPOUT_DOMAIN = 3u }; /* LH_DOMAIN_DROPOUT: the head of a site in the counter */
#define BETA1 0.9f
#define BETA2 0.999f
#define EPSILON 1e-08f
#define MAX_NORM 1.0 /* of the gradient */
/* Elementary functions of scalars in float32, for softmax and score expressions: those of kernels/cpu/functions.h and
 * math.h, with their algorithms, special cases and bounds of error. No library function but square root, absolute value
 * and floor, which are exact or correctly rounded, and none of the processor's approximations.
 *
 * NaN in any argument gives NaN; maximum_real is the exception.
 */

INLINE real infinity_real(void) { return __int_as_float(0x7f800000); }
INLINE real nan_real(void) { return __int_as_float(0x7fc00000); }

/* exp(x) for x <= 0; 0 below the smallest normal number's logarithm, so that no product with it is subnormal. */
INLINE real exp_negative(real x) {
    if (x < -87) return 0;
    real shifted = x * 0x1.715476p0f + 0x1.8p23f, k = shifted - 0x1.8p23f;
    real f = x - k * 0x1.62e4p-1f - k * 0x1.7f7d1cp-20f;
    real p = 0x1.a0d6cep-13f;
    p = p * f + 0x1.6e879cp-10f;
    p = p * f + 0x1.11111cp-7f;
    p = p * f + 0x1.55542cp-5f;
    p = p * f + 0x1.555556p-3f;
    p = p * f + 0x1.fffffep-2f;
    p = p * f * f + f + 1;
    return p * __uint_as_float((__float_as_uint(shifted) + 127) << 23);
}

/* x = 2^k (1 + f), 1 + f in [2/3, 4/3). */
INLINE real log_real(real x) {
    if (!(x > 0 && x < infinity_real())) return x == 0 ? -infinity_real() : x < 0 ? nan_real() : x;
    bool subnormal = x < 0x1p-126f;
    int word = __float_as_int(subnormal ? x * 0x1p23f : x) - 0x3f2aaaab;
    real k = (real)((word >> 23) - (subnormal ? 23 : 0)), f = __int_as_float((word & 0x7fffff) + 0x3f2aaaab) - 1;
    real p = -0x1.08055cp-3f;
    p = p * f + 0x1.1e66b0p-3f;
    p = p * f - 0x1.f31152p-4f;
    p = p * f + 0x1.1ed71ap-3f;
    p = p * f - 0x1.559dcap-3f;
    p = p * f + 0x1.99d028p-3f;
    p = p * f - 0x1.fffef0p-3f;
    p = p * f + 0x1.555506p-2f;
    real tail = f * f * (p * f - 0.5f);
    return f + (tail + k * 0x1.7f7d1cp-20f) + k * 0x1.62e4p-1f;
}

/* Sums over a warp and a block, and the meeting of a team's blocks. */

enum { WARP = 32, WARPS = THREADS / WARP };

/* Addresses that were read from shared memory could lie anywhere, for all the compiler knows: told that one is of global
 * memory, it takes the shorter instructions, and a store through it cannot change what lies in shared memory. */
INLINE void is_global(const void *address) {
#ifndef LH_EMULATION
    __builtin_assume(__isGlobal(address));
#else
    (void)address;
#endif
}

/* Four neighbours in memory, moved together. */
typedef struct __align__(4 * sizeof(real)) quad {
    real v[4];
}
quad;

/* Several such sums in place, side by side. */
INLINE void warp_sums(real *x, const int count) {
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
#pragma unroll
        for (int i = 0; i < count; i++) x[i] += __shfl_xor_sync(0xffffffffu, x[i], distance);
    }
}

INLINE double warp_sum_double(double x) {
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(0xffffffffu, x, distance);
    return x;
}

/* Shared memory that an operation may use until it returns. */
INLINE real *staging(void) {
    DYNAMIC_SHARED(real, memory);
    return memory;
}

/* The sum over a block's threads, in the order of warps, for all of them. */
INLINE double block_sum(double x) {
    double *room = (double *)staging(), sum = 0;
    x = warp_sum_double(x);
    __syncthreads();
    if (threadIdx.x % WARP == 0) room[threadIdx.x / WARP] = x;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < WARPS; i++) sum += room[i];
    return sum;
}

/* The blocks that work on one model, as each of them has it in shared memory. */
typedef struct team {
    int rank, blocks;
    unsigned int *arrivals; /* at all barriers so far */
    unsigned int expected;  /* of them at the last barrier; the first thread's */
} team;

INLINE team join_team(int blocks, unsigned int *arrivals) {
    team t = {(int)blockIdx.x % blocks, blocks, arrivals, 0};
    return t;
}

/* Every block of the team has arrived, and what each wrote before is seen by all. */
INLINE void team_barrier(team *t) {
    __syncthreads();
    if (t->blocks == 1) return;
    if (threadIdx.x == 0) {
        t->expected += (unsigned int)t->blocks;
        __threadfence();
        atomicAdd(t->arrivals, 1u);
        while ((int)(*(volatile unsigned int *)t->arrivals - t->expected) < 0) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
}
/* Slabs: the pieces of two matrices that a block has in shared memory while it multiplies them. Slab rows are k, the
 * index that is summed over. In a row, fours of neighbours change places, so that a warp that writes columns or reads
 * fragments uses all banks. */

enum { TILE = 64 /* columns of a slab */, SLAB = 32 /* of k at a time */ };
/* The inner loop of a product in the precision of `real`: of every 32 x 16 results of a warp a thread has 4 x 4. */

typedef real staged; /* an element of a slab in shared memory */
enum { TALLEST = sizeof(real) == 4 ? 2 : 1 /* slabs of rows in a tile at most, as registers allow */ };

/* Where column m of row k lies: four k of a column that a warp writes are in banks of their own. */
INLINE int in_slab(int k, int m) { return k * TILE + (m ^ (k & 28)); }

/* From a quad of neighbours along m at k, which is even, and the one at k + 1. */
INLINE void stage_rows(staged *slab, int k, int m, quad first, quad second) {
    staged *to = slab + in_slab(k, m);
    *(quad *)to = first;
    *(quad *)(to + TILE) = second;
}

/* From a quad of neighbours along k, a multiple of 4, at m. */
INLINE void stage_column(staged *slab, int k, int m, quad part) {
    staged *to = slab + in_slab(k, m);
#pragma unroll
    for (int i = 0; i < 4; i++) to[i * TILE] = part.v[i];
}

/* The first of a thread's rows and columns. Lanes that read the same quad of an operand are neighbours in pairs. */
INLINE int lane_row(void) {
    const unsigned int lane = threadIdx.x % WARP;
    return (int)(lane / 8 * 2 + lane / 2 % 2) * 4;
}
INLINE int lane_column(void) {
    const unsigned int lane = threadIdx.x % WARP;
    return (int)(lane / 4 % 2 * 2 + lane % 2) * 4;
}

INLINE int pair_row(const int i) { return i; }
INLINE int pair_column(const int j) { return 2 * j; }
INLINE int pair_sum(const int i, const int j) { return 4 * i + 2 * j; }

/* Adds to the sums of a warp's 32 rows, which begin at a in the slabs, and 16 `units` columns, which begin at b, the
 * products over the slabs' k up to `depth`, beyond which they are 0. */
INLINE void multiply(const int units, int depth, const staged *slabs, int a, int b, real *sum) {
    const int step = 8 / units;
    a += lane_row();
    b += lane_column();
#pragma unroll 1
    for (int first = 0; first < SLAB && first < depth; first += step) {
#pragma unroll
        for (int k = first; k < first + step; k++) {
            const quad x = *(const quad *)(slabs + in_slab(k, a));
#pragma unroll
            for (int u = 0; u < units; u++) {
                const quad y = *(const quad *)(slabs + in_slab(k, b + 16 * u));
#pragma unroll
                for (int e = 0; e < 16; e++) sum[16 * u + e] += x.v[e / 4] * y.v[e % 4];
            }
        }
    }
}
/* Products of matrices in global memory by one block, tile by tile; the next slabs are on their way while those of a
 * tile are multiplied. Tiles are tall where there are many rows, as a warp then reads less for each product; warps whose
 * rows are all beyond the last stage what the others need. The order of sums is that of k, whatever the number of rows.
 * Reference: lh_ref_matmul. */

enum {
    STAGE = SLAB * TILE,
    BUFFER = (TALLEST + 1) * STAGE, /* slabs of a, and one of b */
    STAGING = 2 * BUFFER,           /* reals of shared memory */
    SHORT_ROWS = TILE + TILE / 2    /* so many are quicker in tiles of one slab */
};

/* An operand of a product over k, element (k, m). Rows: k is the row in memory, m runs along it. Columns: m is the row,
 * k runs along it. Strides in elements, multiples of 4. */
typedef enum order { ROWS, COLUMNS } order;

/* What becomes of a result before it is written. */
typedef enum finish {
    FINISH_STORE,
    FINISH_BIAS,      /* + extra[column], or nothing */
    FINISH_BIAS_RELU, /* largest of 0 and that */
    FINISH_ADD,       /* + extra[row][column], or nothing */
    FINISH_RELU_GRAD, /* 0 where extra[row][column] is not above 0 */
    FINISH_BY_HEAD    /* written as [head][row][channel] */
} finish;

/* A thread's part of a slab, on the way from global memory; what lies beyond K or M is 0. A warp reads whole lines. */
INLINE void fetch(const order along, const real *x, int stride, int k, int m, int K, int M, quad part[2]) {
#pragma unroll
    for (int u = 0; u < 2; u++) {
        const int row = k + (along == ROWS ? (int)(threadIdx.x / 16) * 2 + u : (int)(threadIdx.x % 8) * 4);
        const int column = m + (along == ROWS ? (int)(threadIdx.x % 16) * 4 : (int)(threadIdx.x / 8) + u * 32);
        const quad none = {{0, 0, 0, 0}};
        part[u] = none;
        if (row < K && column < M)
            part[u] = *(const quad *)(x + (along == ROWS ? row * stride + column : column * stride + row));
    }
}

INLINE void stage(const order along, const quad part[2], staged *slab) {
    if (along == ROWS) {
        stage_rows(slab, (int)(threadIdx.x / 16) * 2, (int)(threadIdx.x % 16) * 4, part[0], part[1]);
    } else {
#pragma unroll
        for (int u = 0; u < 2; u++)
            stage_column(slab, (int)(threadIdx.x % 8) * 4, (int)(threadIdx.x / 8) + u * 32, part[u]);
    }
}

/* Two neighbours in a row. */
typedef struct __align__(2 * sizeof(real)) pair {
    real v[2];
}
pair;

INLINE pair pair_at(const real *x) {
    is_global(x);
    return *(const pair *)x;
}

/* Writes a thread's part, four rows of two pairs, of the 32 x 16 results that begin at row and column. What is added is
 * all on its way before the first is written. */
INLINE void write_results(const finish how, int row, int column, int rows, int columns, const real sum[16],
                          const real *extra, real *out, int stride) {
    const bool bias = how == FINISH_BIAS || how == FINISH_BIAS_RELU,
               each = how == FINISH_ADD || how == FINISH_RELU_GRAD;
    pair add[8];
    row += lane_row();
    column += lane_column();
#pragma unroll
    for (int p = 0; p < 8; p++) {
        const int r = row + pair_row(p / 2), c = column + pair_column(p % 2);
        const pair none = {{0, 0}};
        add[p] = bias && p >= 2 ? add[p % 2] : none;
        if (bias && p < 2 && extra && c < columns) add[p] = pair_at(extra + c);
        if (each && extra && r < rows && c < columns) add[p] = pair_at(extra + (r * stride + c));
    }
#pragma unroll
    for (int p = 0; p < 8; p++) {
        const int r = row + pair_row(p / 2), c = column + pair_column(p % 2);
        real *to =
            out + (how == FINISH_BY_HEAD ? (c / HEAD_WIDTH * rows + r) * HEAD_WIDTH + c % HEAD_WIDTH : r * stride + c);
        pair z;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const real x = sum[pair_sum(p / 2, p % 2) + i];
            if (how == FINISH_RELU_GRAD) z.v[i] = add[p].v[i] > 0 ? x : 0;
            else z.v[i] = bias || each ? x + add[p].v[i] : x;
            if (how == FINISH_BIAS_RELU) z.v[i] = z.v[i] > 0 ? z.v[i] : 0;
        }
        if (r < rows && c < columns) *(pair *)to = z;
    }
}

/* A product in tiles of `height` slabs of rows by one of columns. A warp has 32 rows, and 16 `height` columns. */
INLINE void product_tiles(const int height, int rows, int columns, int K, const order along_a, const real *a,
                          int stride_a, const order along_b, const real *b, int stride_b, const finish how,
                          const real *extra, real *out, int stride) {
    const int warp = threadIdx.x / WARP, across = 4 / height;
    const int warp_row = warp / across * 32, warp_column = warp % across * 16 * height;
    const int in_a = warp_row / TILE * STAGE + warp_row % TILE, in_b = TALLEST * STAGE + warp_column;
    staged *slabs = (staged *)staging();
    quad part_a[TALLEST][2], part_b[2];
    int at = 0, row = 0, column = 0;
#pragma unroll
    for (int u = 0; u < height; u++) fetch(along_a, a, stride_a, 0, u * TILE, K, rows, part_a[u]);
    fetch(along_b, b, stride_b, 0, 0, K, columns, part_b);
    while (row < rows) {
        int next_row = row, next_column = column + TILE;
        if (next_column >= columns) next_column = 0, next_row += height * TILE;
        const bool busy = row + warp_row < rows;
        real sum[16 * TALLEST];
#pragma unroll
        for (int i = 0; i < 16 * height; i++) sum[i] = 0;
        for (int k = 0; k < K; k += SLAB) {
#pragma unroll
            for (int u = 0; u < height; u++) stage(along_a, part_a[u], slabs + at + u * STAGE);
            stage(along_b, part_b, slabs + at + TALLEST * STAGE);
            __syncthreads();
            const bool same = k + SLAB < K;
            if (same || next_row < rows) {
                const int next_k = same ? k + SLAB : 0, r = same ? row : next_row, c = same ? column : next_column;
#pragma unroll
                for (int u = 0; u < height; u++) fetch(along_a, a, stride_a, next_k, r + u * TILE, K, rows, part_a[u]);
                fetch(along_b, b, stride_b, next_k, c, K, columns, part_b);
            }
            if (busy) multiply(height, K - k, slabs, at + in_a, at + in_b, sum);
            at = BUFFER - at;
        }
#pragma unroll
        for (int u = 0; u < height; u++)
            write_results(how, row + warp_row, column + warp_column + 16 * u, rows, columns, sum + 16 * u, extra, out,
                          stride);
        row = next_row;
        column = next_column;
    }
    __syncthreads();
}

/* out[rows][columns], `stride` apart, = the finished sums over K. All threads of the block call it; on return all may
 * read what it wrote. */
INLINE void product(int rows, int columns, int K, const order along_a, const real *a, int stride_a, const order along_b,
                    const real *b, int stride_b, const finish how, const real *extra, real *out, int stride) {
    is_global(a);
    is_global(b);
    is_global(out);
    if (TALLEST > 1 && rows > SHORT_ROWS)
        product_tiles(TALLEST, rows, columns, K, along_a, a, stride_a, along_b, b, stride_b, how, extra, out, stride);
    else product_tiles(1, rows, columns, K, along_a, a, stride_a, along_b, b, stride_b, how, extra, out, stride);
}
/* Sums over rows by a block. Neighbours in it have a column each, `columns` of them side by side; threads with the same
 * column share its rows out among them, and what they come to is added up in their order. */

enum {
    SPAN = WIDTH < THREADS ? WIDTH : THREADS, /* columns side by side, where there is one for each channel */
    SUMMANDS = 8                              /* that a thread has on their way */
};

/* The rows of a thread: first_row, and every row_step from there on. columns <= THREADS */
INLINE int first_row(const int columns) { return (int)threadIdx.x / columns; }
INLINE int row_step(const int columns) { return (THREADS - 1 - (int)threadIdx.x % columns) / columns + 1; }

/* Rows row, row + step, ... of a column, `stride` elements apart; 0 from `rows` on. */
INLINE void fetch_rows(const real *a, int row, int step, int rows, int stride, real part[SUMMANDS]) {
    is_global(a);
#pragma unroll
    for (int u = 0; u < SUMMANDS; u++) part[u] = row + u * step < rows ? a[(row + u * step) * stride] : 0;
}

/* The sum of the parts of all threads that have a column; for the first of them. All threads of the block call it. */
INLINE real add_parts(real part, const int columns) {
    real *room = staging();
    __syncthreads();
    room[threadIdx.x] = part;
    __syncthreads();
    if ((int)threadIdx.x >= columns) return 0;
#pragma unroll 8
    for (int first = columns; first < THREADS; first += columns)
        if (first + (int)threadIdx.x < THREADS) part += room[first + (int)threadIdx.x];
    return part;
}

/* Over rows, the sum of a, or of a times b, each with its stride: a thread's part, where it has the column. */
INLINE real sum_rows(int rows, const int columns, const real *a, int stride) {
    const int step = row_step(columns);
    real sum = 0;
    for (int row = first_row(columns); row < rows; row += SUMMANDS * step) {
        real x[SUMMANDS];
        fetch_rows(a, row, step, rows, stride, x);
#pragma unroll
        for (int u = 0; u < SUMMANDS; u++) sum += x[u];
    }
    return sum;
}

/* sum[c] = the sum over rows of a[row][c], rows `stride` apart. */
INLINE void strided_sums(int rows, const int columns, int stride, const real *a, real *sum) {
    const int span = columns < THREADS ? columns : THREADS;
    is_global(sum);
    for (int first = 0; first < columns; first += span) {
        const int c = first + (int)threadIdx.x % span;
        const real part = c < columns ? sum_rows(rows, span, a + c, stride) : 0, total = add_parts(part, span);
        if ((int)threadIdx.x < span && c < columns) sum[c] = total;
    }
    __syncthreads();
}

INLINE void column_sums(int rows, const int columns, const real *a, real *sum) {
    strided_sums(rows, columns, columns, a, sum);
}
/* Layer norm of rows of WIDTH channels: a warp takes a few rows at a time, whose numbers are on their way together.
 * Reference: lh_ref_layernorm; epsilon as on the CPU. */

enum {
    ROW_PART = (WIDTH + WARP - 1) / WARP, /* channels of a lane: lane, lane + 32, ... */
    NORM_ROWS = ROW_PART <= 4 ? 4 : 1     /* rows at a time: first, first + WARPS, ... */
};

/* The lane's channels of a row; 0 where there is none. */
INLINE void load_row(const real *x, int row, int rows, real part[ROW_PART]) {
    is_global(x);
#pragma unroll
    for (int u = 0; u < ROW_PART; u++) {
        const int c = (int)threadIdx.x % WARP + u * WARP;
        part[u] = row < rows && c < WIDTH ? x[row * WIDTH + c] : 0;
    }
}

INLINE void store_row(const real part[ROW_PART], int row, int rows, real *x) {
    is_global(x);
#pragma unroll
    for (int u = 0; u < ROW_PART; u++) {
        const int c = (int)threadIdx.x % WARP + u * WARP;
        if (row < rows && c < WIDTH) x[row * WIDTH + c] = part[u];
    }
}

/* Norms the rows in place, and gives what they were divided by, inverted. */
INLINE void norm_rows(real z[NORM_ROWS][ROW_PART], real rstd[NORM_ROWS]) {
    real sum[NORM_ROWS];
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        sum[r] = 0;
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) sum[r] += z[r][u];
    }
    warp_sums(sum, NORM_ROWS);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        const real mean = sum[r] / WIDTH;
        sum[r] = 0;
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            z[r][u] = (int)threadIdx.x % WARP + u * WARP < WIDTH ? z[r][u] - mean : 0;
            sum[r] += z[r][u] * z[r][u];
        }
    }
    warp_sums(sum, NORM_ROWS);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        rstd[r] = 1 / sqrt(sum[r] / WIDTH + (real)1e-5);
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) z[r][u] *= rstd[r];
    }
}

/* The gradients of rows in place: g those of the norm's output, then of its input. */
INLINE void norm_rows_grad(real g[NORM_ROWS][ROW_PART], const real xhat[NORM_ROWS][ROW_PART],
                           const real rstd[NORM_ROWS], const real scale[ROW_PART]) {
    real sum[2 * NORM_ROWS]; /* of gradients; of their products with xhat */
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        sum[r] = sum[NORM_ROWS + r] = 0;
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            g[r][u] *= scale[u];
            sum[r] += g[r][u];
            sum[NORM_ROWS + r] += g[r][u] * xhat[r][u];
        }
    }
    warp_sums(sum, 2 * NORM_ROWS);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        const real mean = sum[r] / WIDTH, slope = sum[NORM_ROWS + r] / WIDTH;
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) g[r][u] = rstd[r] * (g[r][u] - mean - xhat[r][u] * slope);
    }
}

/* A warp's part of the gradients of scale and offset: sums over its rows of g xhat and of g. */
typedef struct norm_sums {
    real slope[ROW_PART], total[ROW_PART];
} norm_sums;

INLINE void take_rows(const real g[NORM_ROWS][ROW_PART], const real xhat[NORM_ROWS][ROW_PART], norm_sums *sums) {
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            sums->slope[u] += g[r][u] * xhat[r][u];
            sums->total[u] += g[r][u];
        }
    }
}

/* Those of all warps, in their order. */
INLINE void store_norm_sums(const norm_sums *sums, real *dscale, real *doffset) {
#pragma unroll
    for (int u = 0; u < ROW_PART; u++) {
        const real slope = add_parts(sums->slope[u], WARP), total = add_parts(sums->total[u], WARP);
        const int c = (int)threadIdx.x + u * WARP;
        if ((int)threadIdx.x < WARP && c < WIDTH) {
            dscale[c] = slope;
            doffset[c] = total;
        }
    }
    __syncthreads();
}
/* Dropout masks from Philox4x32-10, the same bits as on the CPU (longhand/rng.h, cpu/dropout.h): element
 * e = t * C + c of example b at a site takes piece e % 8 of block e / 8 of the stream at counter
 * (block, site, b, step), low half of each word first, and is kept where the piece >= round(65536 p). A mask is a bit
 * per element. */

/* The mask of elements 8 block .. 8 block + 7. */
INLINE unsigned char keep_byte(const unsigned int key[2], unsigned int step, unsigned int example, unsigned int site,
                               unsigned int block, unsigned int drop_below) {
    unsigned int x0 = block, x1 = site, x2 = example, x3 = step, k0 = key[0], k1 = key[1];
#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned int high0 = __umulhi(0xd2511f53u, x0), high1 = __umulhi(0xcd9e8d57u, x2);
        unsigned int low0 = 0xd2511f53u * x0, low1 = 0xcd9e8d57u * x2;
        x0 = high1 ^ x1 ^ k0;
        x1 = low1;
        x2 = high0 ^ x3 ^ k1;
        x3 = low0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    const unsigned int word[4] = {x0, x1, x2, x3};
    unsigned int keep = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        keep |= ((word[i] & 0xffffu) >= drop_below ? 1u : 0u) << (2 * i);
        keep |= ((word[i] >> 16) >= drop_below ? 1u : 0u) << (2 * i + 1);
    }
    return (unsigned char)keep;
}

/* Whether the element of a mask is kept. */
INLINE bool kept(const unsigned char *keep, int element) { return keep[element / 8] >> element % 8 & 1; }
/* The fold of the shards' gradients, their norm, clipping and Adam, over pieces of the parameter vector. A piece is
 * what a block does at a time; its sums of squares have a fixed order, whichever block does it.
 *
 *   g' = g clip;  m = b1 m + (1 - b1) g';  v = b2 v + (1 - b2) g'^2;  p -= rate m / (sqrt(correct2 v) + epsilon)
 *
 * Source: Kingma and Ba 2015, algorithm 1; epsilon outside the root, as in optax. Reference: lh_ref_adam_update. */

static_assert(LH_CUDA_PIECE == 4 * THREADS, "a thread has a quad of a piece");
enum { PIECE = LH_CUDA_PIECE, PIECES = PARAMETER_STORAGE / PIECE, CHUNK_PIECES = 4096 / PIECE };

/* total[count] = the sum over parts, `stride` bytes apart, in order; elements first, first + step, ... in quads. */
INLINE void fold(int shards, const char *parts, long long stride, int first, int step, int count, real *total) {
    is_global(parts);
    is_global(total);
    for (int e = 4 * first; e < count; e += 4 * step) {
        quad sum = *(const quad *)((const real *)parts + e);
#pragma unroll 8
        for (int s = 1; s < shards; s++) {
            const quad part = *(const quad *)((const real *)(parts + s * stride) + e);
#pragma unroll
            for (int i = 0; i < 4; i++) sum.v[i] += part.v[i];
        }
        *(quad *)(total + e) = sum;
    }
}

/* The sum of squares of a piece, for all threads of the block. */
INLINE double piece_squares(const real *x) {
    const quad part = *(const quad *)(x + 4 * threadIdx.x);
    double sum = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) sum += (double)part.v[i] * part.v[i];
    return block_sum(sum);
}

/* The sum of count numbers, for all threads, the same bits in every block. */
INLINE double total_of(const double *x, int count, int stride) {
    double sum = 0;
    for (int i = threadIdx.x; i < count; i += THREADS) sum += x[i * stride];
    return block_sum(sum);
}

typedef struct adam {
    real clip, rate, correct2;
} adam;

/* Updates a piece; the sums of squares of its parameters and of their change. */
INLINE void adam_piece(const adam a, const real *gradient, real *moment1, real *moment2, real *parameter,
                       double *parameters, double *changes) {
    const int e = 4 * threadIdx.x;
    const quad g = *(const quad *)(gradient + e);
    quad m = *(const quad *)(moment1 + e), v = *(const quad *)(moment2 + e), p = *(const quad *)(parameter + e);
    double square = 0, moved = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const real clipped = g.v[i] * a.clip;
        m.v[i] = m.v[i] * BETA1 + clipped * (1 - BETA1);
        v.v[i] = v.v[i] * BETA2 + clipped * clipped * (1 - BETA2);
        const real change = m.v[i] * a.rate / (sqrt(v.v[i] * a.correct2) + EPSILON);
        p.v[i] -= change;
        square += (double)p.v[i] * p.v[i];
        moved += (double)change * change;
    }
    *(quad *)(moment1 + e) = m;
    *(quad *)(moment2 + e) = v;
    *(quad *)(parameter + e) = p;
    *parameters = block_sum(square);
    *changes = block_sum(moved);
}
/* What a position contributes, made once for every position that can occur. */
typedef struct position_row {
    real sinusoid[WIDTH]; /* sines, then cosines */
} position_row;
/* Hands out the next `bytes`, on cache-line boundaries; memory NULL only counts. */
INLINE void *take(char *memory, size_t *used, size_t bytes) {
    size_t start = *used;
    *used += (bytes + 63) / 64 * 64;
    return memory ? memory + start : (void *)0;
}

INLINE real *take_reals(char *memory, size_t *used, size_t count) {
    return (real *)take(memory, used, count * sizeof(real));
}

/* What a layer keeps of a shard; rows are tokens, sequence after sequence. In evaluation the layers share one. */
typedef struct layer_state {
    real *query_key_value; /* [rows][3 WIDTH] */
    real *largest, *inverse_sum; /* [sequences][HEADS][T] of a query's softmax */
    real *attended; /* [rows][WIDTH] heads side by side */
    real *xhat1, *rstd1; /* [rows][WIDTH], [rows] */
    real *norm1; /* [rows][WIDTH] input of the feed-forward network */
    real *hidden; /* [rows][FEEDFORWARD] */
    real *xhat2, *rstd2;
    real *output; /* [rows][WIDTH] input of the next layer */
} layer_state;

/* The rest of a block's room. */
typedef struct workspace {
    real *input; /* [rows][WIDTH] of the first layer */
    real *branch; /* [rows][WIDTH] what a residual connection adds */
    real *logits; /* [sequences][label_count][CLASS_COLUMNS] */
    real *losses; /* [sequences][label_count] */
    unsigned char *correct; /* [sequences][label_count] */
    unsigned char *keep; /* [sites][rows][WIDTH / 8] a bit for each element */
    real *gradient, *dbranch, *dattended; /* [rows][WIDTH] */
    real *dhidden; /* [rows][FEEDFORWARD] */
    real *dquery_key_value; /* [rows][3 WIDTH] */
    real *delta; /* [sequences][HEADS][T] output times its gradient */
    char *layers;
} workspace;

/* Places what layer l of a shard keeps into memory. */
INLINE void lay_out_layer(layer_state *s, char *memory, size_t *used, int sequences, int T) {
    size_t rows = (size_t)sequences * (size_t)T;
    s->query_key_value = take_reals(memory, used, rows * 3 * WIDTH);
    s->largest = take_reals(memory, used, rows * HEADS);
    s->inverse_sum = take_reals(memory, used, rows * HEADS);
    s->attended = take_reals(memory, used, rows * WIDTH);
    s->xhat1 = take_reals(memory, used, rows * WIDTH);
    s->rstd1 = take_reals(memory, used, rows);
    s->norm1 = take_reals(memory, used, rows * WIDTH);
    s->hidden = take_reals(memory, used, rows * FEEDFORWARD);
    s->xhat2 = take_reals(memory, used, rows * WIDTH);
    s->rstd2 = take_reals(memory, used, rows);
    s->output = take_reals(memory, used, rows * WIDTH);
}

INLINE size_t layer_bytes(int sequences, int T) {
    layer_state s;
    size_t bytes = 0;
    lay_out_layer(&s, (char *)0, &bytes, sequences, T);
    return bytes;
}

/* Places a block's room for a shard into memory and returns the bytes used, layers included. */
INLINE size_t lay_out(workspace *w, char *memory, int sequences, int T, int label_count, const bool training) {
    size_t used = 0, rows = (size_t)sequences * (size_t)T, labels = (size_t)sequences * (size_t)label_count;
    w->input = take_reals(memory, &used, rows * WIDTH);
    w->branch = take_reals(memory, &used, rows * WIDTH);
    w->logits = take_reals(memory, &used, labels * CLASS_COLUMNS);
    w->losses = take_reals(memory, &used, labels);
    w->correct = (unsigned char *)take(memory, &used, labels);
    if (training) {
        w->keep = (unsigned char *)take(memory, &used, DROPOUT_SITES * rows * (WIDTH / 8));
        w->gradient = take_reals(memory, &used, rows * WIDTH);
        w->dbranch = take_reals(memory, &used, rows * WIDTH);
        w->dattended = take_reals(memory, &used, rows * WIDTH);
        w->dhidden = take_reals(memory, &used, rows * FEEDFORWARD);
        w->dquery_key_value = take_reals(memory, &used, rows * 3 * WIDTH);
        w->delta = take_reals(memory, &used, rows * HEADS);
    }
    w->layers = memory ? memory + used : (char *)0;
    return used + (training ? LAYERS : 1) * layer_bytes(sequences, T);
}

/* One step or evaluation, as a block sees it. */
typedef struct step_view {
    const parameters *p;
    const position_row *tables;
    int T, label_count;
} step_view;

/* What all threads of a block know of what they work on. It lies in shared memory, behind what operations stage there:
 * in registers it would leave no room for numbers. One thread writes it, between barriers. */
typedef struct block_state {
    step_view view;
    workspace work;
    layer_state layer;
    int l;             /* the layer */
    const real *input; /* of the layer */
    int sequences;     /* the shard's, or the group's */
    int first;         /* of them in the batch */
    const unsigned short *tokens, *labels;
    const unsigned char *mask;
    lh_cuda_step step;
    lh_cuda_train train;
    lh_cuda_replica replica;
    team members;
} block_state;
static_assert(sizeof(block_state) <= BLOCK_STATE, "plan.cuda.block_state is too small");

INLINE block_state *block(void) { return (block_state *)(staging() + STAGING); }
/* Self-attention of a shard. A thread has one query of one head (backward, then a key) and
 * walks over the pairs that belong to it, so nothing is added by two threads and every sum has its order. Weights are
 * not kept: the backward pass makes each again from the largest score of its query and the inverse of the sum. */

enum { KEYS = 4 }; /* whose logits are made side by side */

typedef struct head {
    const real *query, *key, *value; /* token 0; HEAD_WIDTH channels, tokens QUERY_STRIDE apart */
    int T;
} head;

INLINE head head_at(const step_view *v, const layer_state *s, int sequence, int h) {
    head a;
    a.T = v->T;
    a.query = s->query_key_value + (size_t)sequence * v->T * QUERY_STRIDE + h * HEAD_WIDTH;
    a.key = a.query + WIDTH;
    a.value = a.query + 2 * WIDTH;
    return a;
}

INLINE void load_head(real x[HEAD_WIDTH], const real *from) {
    is_global(from);
#pragma unroll
    for (int d = 0; d < HEAD_WIDTH; d += 4) {
        const quad part = *(const quad *)(from + d);
#pragma unroll
        for (int i = 0; i < 4; i++) x[d + i] = part.v[i];
    }
}

INLINE void store_head(const real x[HEAD_WIDTH], real scale, real *to) {
    is_global(to);
#pragma unroll
    for (int d = 0; d < HEAD_WIDTH; d += 4) {
        quad part;
#pragma unroll
        for (int i = 0; i < 4; i++) part.v[i] = x[d + i] * scale;
        *(quad *)(to + d) = part;
    }
}

INLINE void clear_head(real x[HEAD_WIDTH]) {
#pragma unroll
    for (int d = 0; d < HEAD_WIDTH; d++) x[d] = 0;
}

INLINE real dot_head(const real x[HEAD_WIDTH], const real y[HEAD_WIDTH]) {
    real sum = 0;
#pragma unroll
    for (int d = 0; d < HEAD_WIDTH; d++) sum += x[d] * y[d];
    return sum;
}

/* x += factor * y */
INLINE void add_head(real x[HEAD_WIDTH], real factor, const real y[HEAD_WIDTH]) {
#pragma unroll
    for (int d = 0; d < HEAD_WIDTH; d++) x[d] += factor * y[d];
}

/* The scaled logit of a pair. */
INLINE real pair_logit(const real query[HEAD_WIDTH], const real key[HEAD_WIDTH]) {
    return dot_head(query, key) * LOGIT_SCALE;
}

/* A query's softmax so far: exponentials relative to the largest score. */
typedef struct softmax {
    real largest, sum, out[HEAD_WIDTH];
} softmax;

/* Takes in `count` keys from j on, side by side; the sums go from key to key. */
INLINE void take_keys(const int count, const head *a, const real query[HEAD_WIDTH], int j, softmax *m) {
    real score[KEYS], highest = m->largest;
#pragma unroll
    for (int u = 0; u < count; u++) {
        real key[HEAD_WIDTH];
        load_head(key, a->key + (j + u) * QUERY_STRIDE);
        score[u] = pair_logit(query, key);
        highest = score[u] > highest ? score[u] : highest;
    }
    const real shrink = exp_negative(m->largest - highest);
    m->largest = highest;
    m->sum *= shrink;
#pragma unroll
    for (int d = 0; d < HEAD_WIDTH; d++) m->out[d] *= shrink;
#pragma unroll
    for (int u = 0; u < count; u++) {
        real value[HEAD_WIDTH];
        load_head(value, a->value + (j + u) * QUERY_STRIDE);
        const real weight = exp_negative(score[u] - highest);
        m->sum += weight;
        add_head(m->out, weight, value);
    }
}

/* The layer's attended values, and what the backward pass needs of the softmax. */
NOINLINE void attend(void) {
    const step_view *v = &block()->view;
    const layer_state *s = &block()->layer;
    const int sequences = block()->sequences, T = v->T;
    for (int task = threadIdx.x; task < sequences * HEADS * T; task += THREADS) {
        const int i = task % T, h = task / T % HEADS, sequence = task / T / HEADS;
        const head a = head_at(v, s, sequence, h);
        const int end = T;
        int j = 0;
        real query[HEAD_WIDTH];
        softmax m;
        load_head(query, a.query + i * QUERY_STRIDE);
        m.largest = (real)-1e30;
        m.sum = 0;
        clear_head(m.out);
        for (; j + KEYS <= end; j += KEYS) take_keys(KEYS, &a, query, j, &m);
        for (; j < end; j++) take_keys(1, &a, query, j, &m);
        store_head(m.out, 1 / m.sum, s->attended + ((size_t)sequence * T + i) * WIDTH + h * HEAD_WIDTH);
        s->largest[task] = m.largest;
        s->inverse_sum[task] = 1 / m.sum;
    }
    __syncthreads();
}

/* Gradients of the queries. */
NOINLINE void attend_queries(void) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const layer_state *s = &block()->layer;
    const int sequences = block()->sequences;
    for (int task = threadIdx.x; task < sequences * HEADS * v->T; task += THREADS) {
        const int i = task % v->T, h = task / v->T % HEADS, sequence = task / v->T / HEADS;
        const head a = head_at(v, s, sequence, h);
        const size_t row = (size_t)sequence * v->T + i, at = row * WIDTH + h * HEAD_WIDTH;
        const real largest = s->largest[task], inverse = s->inverse_sum[task];
        real query[HEAD_WIDTH], dquery[HEAD_WIDTH], dout[HEAD_WIDTH], out[HEAD_WIDTH];
        load_head(query, a.query + i * QUERY_STRIDE);
        load_head(dout, w->dattended + at);
        load_head(out, s->attended + at);
        const real delta = dot_head(dout, out);
        w->delta[task] = delta;
        clear_head(dquery);
#pragma unroll 4
        for (int j = 0; j < a.T; j++) {
            real key[HEAD_WIDTH], value[HEAD_WIDTH];
            load_head(key, a.key + j * QUERY_STRIDE);
            load_head(value, a.value + j * QUERY_STRIDE);
            const real logit = pair_logit(query, key);
            const real weight = exp_negative(logit - largest) * inverse;
            const real dlogit = weight * (dot_head(dout, value) - delta);
            add_head(dquery, dlogit, key);
        }
        store_head(dquery, LOGIT_SCALE, w->dquery_key_value + row * QUERY_STRIDE + h * HEAD_WIDTH);
    }
    __syncthreads();
}

/* Gradients of the keys and values. */
NOINLINE void attend_keys(void) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const layer_state *s = &block()->layer;
    const int first = 0, count = block()->sequences;
    for (int task = first * HEADS * v->T + threadIdx.x; task < (first + count) * HEADS * v->T; task += THREADS) {
        const int j = task % v->T, h = task / v->T % HEADS, sequence = task / v->T / HEADS;
        const head a = head_at(v, s, sequence, h);
        const real *dattended = w->dattended + (size_t)sequence * v->T * WIDTH + h * HEAD_WIDTH;
        real key[HEAD_WIDTH], value[HEAD_WIDTH], dkey[HEAD_WIDTH], dvalue[HEAD_WIDTH];
        load_head(key, a.key + j * QUERY_STRIDE);
        load_head(value, a.value + j * QUERY_STRIDE);
        clear_head(dkey);
        clear_head(dvalue);
#pragma unroll 4
        for (int i = 0; i < a.T; i++) {
            const int of_query = task - j + i;
            const real largest = s->largest[of_query], inverse = s->inverse_sum[of_query], delta = w->delta[of_query];
            real query[HEAD_WIDTH], dout[HEAD_WIDTH];
            load_head(query, a.query + i * QUERY_STRIDE);
            load_head(dout, dattended + i * WIDTH);
            const real logit = pair_logit(query, key);
            const real weight = exp_negative(logit - largest) * inverse;
            const real dlogit = weight * (dot_head(dout, value) - delta);
            add_head(dkey, dlogit, query);
            add_head(dvalue, weight, dout);
        }
        real *to = w->dquery_key_value + (size_t)(sequence * v->T + j) * QUERY_STRIDE + WIDTH + h * HEAD_WIDTH;
        store_head(dkey, LOGIT_SCALE, to);
        store_head(dvalue, 1, to + WIDTH);
    }
    __syncthreads();
}

/* The gradients of queries, keys and values, in the workspace. */
INLINE void attend_backward(void) {
    attend_queries();
    attend_keys();
}
/* The masks of the shard's dropout sites. */
INLINE void draw_masks(void) {
    const lh_cuda_step *in = &block()->step;
    const int bytes = in->T * (WIDTH / 8), sequences = block()->sequences;
    for (int e = threadIdx.x; e < DROPOUT_SITES * sequences * bytes; e += THREADS) {
        const int site = e / (sequences * bytes), row = e % (sequences * bytes);
        const unsigned int layer = (site + 1) / 2, place = site > 0 ? (site - 1) % 2 : 0;
        const unsigned int below = site > 0 ? (unsigned int)BRANCH_DROP_BELOW : (unsigned int)EMBEDDING_DROP_BELOW;
        block()->work.keep[e] = keep_byte(in->key, in->step, block()->first + row / bytes,
                DROPOUT_DOMAIN << 24 | layer << 8 | place, row % bytes, below);
    }
    __syncthreads();
}

/* The mask of a place within the layer: 0 behind attention, 1 behind the feed-forward network. */
INLINE const unsigned char *mask_at(int place) {
    const int site = 1 + 2 * block()->l + place;
    return block()->work.keep + (size_t)site * block()->sequences * block()->view.T * (WIDTH / 8);
}

/* The first layer's input = scaled token embedding + sinusoid of its position. */
NOINLINE void embed(const bool training) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const int rows = block()->sequences * v->T;
    for (int e = 4 * threadIdx.x; e < rows * WIDTH; e += 4 * THREADS) {
        const int row = e / WIDTH, c = e % WIDTH;
        quad x = *(const quad *)(v->p->token + block()->tokens[row] * WIDTH + c);
        const quad place = *(const quad *)(v->tables[row % v->T].sinusoid + c);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            x.v[i] = x.v[i] * EMBEDDING_SCALE + place.v[i];
            if (training) x.v[i] = kept(w->keep, e + i) ? x.v[i] * EMBEDDING_KEEP_SCALE : 0;
        }
        *(quad *)(w->input + e) = x;
    }
    __syncthreads();
}

/* Gradients of a shard's embeddings: a thread owns an element and adds up its rows in order. */
NOINLINE void embed_backward(parameters *g) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const unsigned short *tokens = block()->tokens;
    const int sequences = block()->sequences, rows = sequences * v->T;
    for (int e = threadIdx.x; e < rows * WIDTH; e += THREADS)
        w->gradient[e] = kept(w->keep, e) ? w->gradient[e] * EMBEDDING_KEEP_SCALE : 0;
    __syncthreads();
    for (int e = threadIdx.x; e < TOKENS * WIDTH; e += THREADS) {
        const int token = e / WIDTH, c = e % WIDTH;
        real sum = 0;
        for (int first = 0; first < rows; first += SUMMANDS) {
            bool has[SUMMANDS];
            real part[SUMMANDS];
#pragma unroll
            for (int u = 0; u < SUMMANDS; u++) has[u] = first + u < rows && tokens[first + u] == token;
#pragma unroll
            for (int u = 0; u < SUMMANDS; u++) part[u] = has[u] ? w->gradient[(first + u) * WIDTH + c] : 0;
#pragma unroll
            for (int u = 0; u < SUMMANDS; u++) sum += part[u];
        }
        g->token[e] = sum * EMBEDDING_SCALE;
    }
    __syncthreads();
}

/* Drops out rows of a branch, as norms have them. */
INLINE void drop_rows(const unsigned char *keep, int first, int rows, real x[NORM_ROWS][ROW_PART]) {
    bool there[NORM_ROWS][ROW_PART];
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            const int row = first + r * WARPS, c = threadIdx.x % WARP + u * WARP;
            there[r][u] = row < rows && c < WIDTH && kept(keep, row * WIDTH + c);
        }
    }
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) x[r][u] = there[r][u] ? x[r][u] * BRANCH_KEEP_SCALE : 0;
    }
}

/* out = norm(residual + branch), the branch dropped out where there is a mask. */
NOINLINE void residual_norm(int rows, const real *residual, const real *branch, const unsigned char *keep,
        const real *scale, const real *offset, real *xhat, real *rstd, real *out) {
    real by[ROW_PART], add[ROW_PART];
    load_row(scale, 0, 1, by);
    load_row(offset, 0, 1, add);
    for (int first = threadIdx.x / WARP; first < rows; first += NORM_ROWS * WARPS) {
        real z[NORM_ROWS][ROW_PART], y[NORM_ROWS][ROW_PART], inverse[NORM_ROWS];
#pragma unroll
        for (int r = 0; r < NORM_ROWS; r++) {
            load_row(residual, first + r * WARPS, rows, z[r]);
            load_row(branch, first + r * WARPS, rows, y[r]);
        }
        if (keep) drop_rows(keep, first, rows, y);
#pragma unroll
        for (int r = 0; r < NORM_ROWS; r++) {
#pragma unroll
            for (int u = 0; u < ROW_PART; u++) z[r][u] += y[r][u];
        }
        norm_rows(z, inverse);
#pragma unroll
        for (int r = 0; r < NORM_ROWS; r++) {
            const int row = first + r * WARPS;
            if (threadIdx.x % WARP == 0 && row < rows) rstd[row] = inverse[r];
            store_row(z[r], row, rows, xhat);
#pragma unroll
            for (int u = 0; u < ROW_PART; u++) y[r][u] = z[r][u] * by[u] + add[u];
            store_row(y[r], row, rows, out);
        }
    }
    __syncthreads();
}

/* In place: w->gradient of the norm's output becomes that of its sum, w->dbranch that of the branch. */
NOINLINE void residual_norm_grad(int rows, const unsigned char *keep, const real *xhat, const real *rstd,
        const real *scale, real *dscale, real *doffset) {
    real *gradient = block()->work.gradient, *dbranch = block()->work.dbranch;
    norm_sums sums = {{0}, {0}};
    real by[ROW_PART];
    load_row(scale, 0, 1, by);
    for (int first = threadIdx.x / WARP; first < rows; first += NORM_ROWS * WARPS) {
        real g[NORM_ROWS][ROW_PART], x[NORM_ROWS][ROW_PART], inverse[NORM_ROWS];
#pragma unroll
        for (int r = 0; r < NORM_ROWS; r++) {
            const int row = first + r * WARPS;
            load_row(gradient, row, rows, g[r]);
            load_row(xhat, row, rows, x[r]);
            inverse[r] = row < rows ? rstd[row] : 0;
        }
        take_rows(g, x, &sums);
        norm_rows_grad(g, x, inverse, by);
#pragma unroll
        for (int r = 0; r < NORM_ROWS; r++) store_row(g[r], first + r * WARPS, rows, gradient);
        drop_rows(keep, first, rows, g);
#pragma unroll
        for (int r = 0; r < NORM_ROWS; r++) store_row(g[r], first + r * WARPS, rows, dbranch);
    }
    store_norm_sums(&sums, dscale, doffset);
}
/* The products of a layer, each compiled once: code has to come from a cache, too. */
NOINLINE void product_forward(int rows, int columns, int K, const real *x, const real *weight, const real *bias,
        bool rectified, real *y) {
    product(rows, columns, K, COLUMNS, x, K, ROWS, weight, columns, rectified ? FINISH_BIAS_RELU : FINISH_BIAS, bias, y,
            columns);
}
NOINLINE void product_backward(int rows, int columns, int K, const real *dy, const real *weight, const real *extra,
        bool rectified, real *dx) {
    product(rows, columns, K, COLUMNS, dy, K, COLUMNS, weight, K, rectified ? FINISH_RELU_GRAD : FINISH_ADD, extra, dx,
            columns);
}
NOINLINE void product_gradient(int rows, int columns, int K, const real *x, const real *dy, real *dw) {
    product(rows, columns, K, ROWS, x, rows, ROWS, dy, columns, FINISH_STORE, (const real *)0, dw, columns);
}

/* One post-norm encoder block: Ruoss et al. 2023, section 3; Vaswani et al. 2017. In evaluation out may be input. */
INLINE void layer_forward(real *out, const bool training) {
    const layer_parameters *p = &block()->view.p->layer[block()->l];
    const workspace *w = &block()->work;
    const layer_state *s = &block()->layer;
    const int rows = block()->sequences * block()->view.T;
    product_forward(rows, 3 * WIDTH, WIDTH, block()->input, p->query_key_value, (const real *)0, false,
            s->query_key_value);
    attend();
    product_forward(rows, WIDTH, WIDTH, s->attended, p->attention_output, (const real *)0, false, w->branch);
    residual_norm(rows, block()->input, w->branch, training ? mask_at(0) : (const unsigned char *)0, p->norm1_scale,
            p->norm1_offset, s->xhat1, s->rstd1, s->norm1);
    product_forward(rows, FEEDFORWARD, WIDTH, s->norm1, p->up, p->up_bias, true, s->hidden);
    product_forward(rows, WIDTH, FEEDFORWARD, s->hidden, p->down, p->down_bias, false, w->branch);
    residual_norm(rows, s->norm1, w->branch, training ? mask_at(1) : (const unsigned char *)0, p->norm2_scale,
            p->norm2_offset, s->xhat2, s->rstd2, out);
}

/* The workspace's gradient: of the block's output on entry, of its input on return. Every gradient of the layer's
 * parameters is written to g. */
INLINE void layer_backward(layer_parameters *g) {
    const layer_parameters *p = &block()->view.p->layer[block()->l];
    const workspace *w = &block()->work;
    const layer_state *s = &block()->layer;
    const int rows = block()->sequences * block()->view.T;
    residual_norm_grad(rows, mask_at(1), s->xhat2, s->rstd2, p->norm2_scale, g->norm2_scale, g->norm2_offset);
    product_gradient(FEEDFORWARD, WIDTH, rows, s->hidden, w->dbranch, g->down);
    column_sums(rows, WIDTH, w->dbranch, g->down_bias);
    product_backward(rows, FEEDFORWARD, WIDTH, w->dbranch, p->down, s->hidden, true, w->dhidden);
    product_gradient(WIDTH, FEEDFORWARD, rows, s->norm1, w->dhidden, g->up);
    column_sums(rows, FEEDFORWARD, w->dhidden, g->up_bias);
    product_backward(rows, WIDTH, FEEDFORWARD, w->dhidden, p->up, w->gradient, false, w->gradient);
    residual_norm_grad(rows, mask_at(0), s->xhat1, s->rstd1, p->norm1_scale, g->norm1_scale, g->norm1_offset);
    product_gradient(WIDTH, WIDTH, rows, s->attended, w->dbranch, g->attention_output);
    product_backward(rows, WIDTH, WIDTH, w->dbranch, p->attention_output, (const real *)0, false, w->dattended);
    attend_backward();
    product_gradient(WIDTH, 3 * WIDTH, rows, block()->input, w->dquery_key_value, g->query_key_value);
    product_backward(rows, WIDTH, 3 * WIDTH, w->dquery_key_value, p->query_key_value, w->gradient, false, w->gradient);
}
/* The row of labelled token n: the last label_count of every sequence are labelled. */
INLINE int labelled_row(const step_view *v, int n) {
    return n / v->label_count * v->T + v->T - v->label_count + n % v->label_count;
}

/* The output layer at the labelled tokens, into w->logits: a thread per token and class. */
INLINE void make_logits(const real *x, int count) {
    const step_view *v = &block()->view;
    for (int e = threadIdx.x; e < count * CLASSES; e += THREADS) {
        const int n = e / CLASSES, c = e % CLASSES;
        const real *row = x + labelled_row(v, n) * WIDTH, *weight = v->p->output + c;
        real logit = v->p->output_bias[c];
#pragma unroll 4
        for (int k = 0; k < WIDTH; k += 4) {
            const quad part = *(const quad *)(row + k);
#pragma unroll
            for (int i = 0; i < 4; i++) logit += part.v[i] * weight[(k + i) * CLASS_COLUMNS];
        }
        block()->work.logits[n * CLASS_COLUMNS + c] = logit;
    }
    __syncthreads();
}

/* Logits and softmax cross-entropy: a thread per labelled token. Writes the workspace: logits, losses, correct; in
 * training logits become gradients. */
NOINLINE void classify(const real *x, const bool training) {
    const workspace *w = &block()->work;
    const int count = block()->sequences * block()->view.label_count;
    make_logits(x, count);
    for (int n = threadIdx.x; n < count; n += THREADS) {
        real *logits = w->logits + n * CLASS_COLUMNS, largest = logits[0], sum = 0;
        const int label = block()->labels[n];
        const real chosen = logits[label];
        int best = 0;
        for (int c = 1; c < CLASSES; c++) {
            if (logits[c] > largest) {
                largest = logits[c];
                best = c;
            }
        }
        for (int c = 0; c < CLASSES; c++) sum += exp_negative(logits[c] - largest);
        w->losses[n] = log_real(sum) + (largest - chosen);
        w->correct[n] = best == label;
        if (training) {
            const real scale = (real)block()->step.loss_scale;
            for (int c = 0; c < CLASSES; c++)
                logits[c] = (exp_negative(logits[c] - largest) / sum - (c == label ? 1 : 0)) * scale;
        }
    }
    __syncthreads();
}

/* Sums over a shard's answers, in a fixed order. Written by one thread. */
INLINE void add_up(lh_cuda_sums *to) {
    const workspace *w = &block()->work;
    const unsigned char *mask = block()->mask;
    const int label_count = block()->view.label_count;
    double loss = 0, counted = 0, correct = 0, exact = 0;
    for (int sequence = threadIdx.x; sequence < block()->sequences; sequence += THREADS) {
        int asked = 0, right = 0;
        for (int n = sequence * label_count; n < (sequence + 1) * label_count; n++) {
            loss += w->losses[n];
            asked += mask[n];
            right += mask[n] & w->correct[n];
        }
        counted += asked;
        correct += right;
        exact += asked == right;
    }
    loss = block_sum(loss);
    counted = block_sum(counted);
    correct = block_sum(correct);
    exact = block_sum(exact);
    if (threadIdx.x == 0) {
        to->loss = loss;
        to->counted = (long long)counted;
        to->correct = (long long)correct;
        to->exact_ones = (long long)exact;
    }
}

/* A thread's part of the gradient of the output layer's weight from channel k to class c. */
INLINE real weight_grad(const real *x, int count, int k, int c) {
    const step_view *v = &block()->view;
    const int step = row_step(SPAN);
    real sum = 0;
    for (int first = first_row(SPAN); first < count; first += SUMMANDS * step) {
        real part[SUMMANDS], dlogit[SUMMANDS];
        fetch_rows(block()->work.logits + c, first, step, count, CLASS_COLUMNS, dlogit);
#pragma unroll
        for (int u = 0; u < SUMMANDS; u++) {
            const int n = first + u * step;
            part[u] = n < count ? x[labelled_row(v, n) * WIDTH + k] : 0;
        }
#pragma unroll
        for (int u = 0; u < SUMMANDS; u++) sum += part[u] * dlogit[u];
    }
    return sum;
}

/* From the gradients of the logits, in w->logits, those of the output layer, and w->gradient [rows][WIDTH]. */
NOINLINE void classify_backward(const real *x, parameters *g) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const int sequences = block()->sequences;
    const int count = sequences * v->label_count, unlabelled = v->T - v->label_count;
    for (int c = 0; c < CLASSES; c++) {
        for (int first = 0; first < WIDTH; first += SPAN) {
            const int k = first + threadIdx.x % SPAN;
            const real sum = add_parts(k < WIDTH ? weight_grad(x, count, k, c) : 0, SPAN);
            if (threadIdx.x < SPAN && k < WIDTH) g->output[k * CLASS_COLUMNS + c] = sum;
        }
    }
    strided_sums(count, CLASSES, CLASS_COLUMNS, w->logits, g->output_bias);
    for (int e = threadIdx.x; e < sequences * v->T * (WIDTH / 4); e += THREADS) {
        const int k = e % (WIDTH / 4) * 4, t = e / (WIDTH / 4) % v->T, sequence = e / (WIDTH / 4) / v->T;
        quad sum = {{0, 0, 0, 0}};
        if (t >= unlabelled) {
            const real *dlogits = w->logits + (sequence * v->label_count + t - unlabelled) * CLASS_COLUMNS;
            for (int c = 0; c < CLASSES; c++) {
#pragma unroll
                for (int i = 0; i < 4; i++) sum.v[i] += dlogits[c] * v->p->output[(k + i) * CLASS_COLUMNS + c];
            }
        }
        *(quad *)(w->gradient + 4 * e) = sum;
    }
    __syncthreads();
}
/* What a step or evaluation reads. By one thread. */
INLINE void view_step(block_state *b, const lh_cuda_step *in, const void *p, const void *tables) {
    step_view *v = &b->view;
    b->step = *in;
    v->p = (const parameters *)p;
    v->tables = (const position_row *)tables;
    v->T = in->T;
    v->label_count = in->label_count;
}

/* Makes `sequences` examples from `first` on the block's. By one thread. */
INLINE void take_examples(block_state *b, int first, int sequences, char *memory, const bool training) {
    b->first = first;
    b->sequences = sequences;
    b->tokens = b->step.tokens + (size_t)first * b->view.T;
    b->labels = b->step.labels + (size_t)first * b->view.label_count;
    b->mask = b->step.mask + (size_t)first * b->view.label_count;
    lay_out(&b->work, memory, sequences, b->view.T, b->view.label_count, training);
}

/* Makes layer l of a shard in training the block's. */
INLINE void enter_layer(int l) {
    block_state *b = block();
    __syncthreads();
    if (threadIdx.x == 0) {
        const size_t step = layer_bytes(b->sequences, b->view.T);
        size_t used = l * step;
        b->l = l;
        lay_out_layer(&b->layer, b->work.layers, &used, b->sequences, b->view.T);
        b->input = l > 0 ? b->layer.output - step / sizeof(real) : b->work.input;
    }
    __syncthreads();
}

/* Shards have equal sizes; the first ones take what is left over, one each. */
INLINE int shard_start(int sequences, int shards, int shard) {
    const int rest = sequences % shards;
    return shard * (sequences / shards) + (shard < rest ? shard : rest);
}

/* One shard, forward and back: writes all of its gradient and its sums. */
INLINE void train_shard(int shard) {
    block_state *b = block();
    char *partial = b->replica.partials + shard * b->train.partial_stride;
    parameters *g = (parameters *)partial;
    __syncthreads();
    if (threadIdx.x == 0) {
        const int first = shard_start(b->step.sequences, b->train.shards, shard);
        const int sequences = shard_start(b->step.sequences, b->train.shards, shard + 1) - first;
        take_examples(b, first, sequences, b->train.workspace + blockIdx.x * b->train.workspace_stride, true);
    }
    __syncthreads();
    draw_masks();
    embed(true);
#pragma unroll 1
    for (int l = 0; l < LAYERS; l++) {
        enter_layer(l);
        layer_forward(b->layer.output, true);
    }
    classify(b->layer.output, true);
    add_up(b->replica.shard_sums + shard);
    classify_backward(b->layer.output, g);
#pragma unroll 1
    for (int l = LAYERS - 1; l >= 0; l--) {
        if (l + 1 < LAYERS) enter_layer(l);
        layer_backward(&g->layer[l]);
    }
    embed_backward(g);
}

/* The step's gradient, and the squares of its pieces. */
INLINE void fold_gradients(void) {
    const block_state *b = block();
    team *t = &block()->members;
    real *gradient = (real *)b->replica.gradient;
    for (int piece = t->rank; piece < PIECES; piece += t->blocks) {
        fold(b->train.shards, b->replica.partials + piece * PIECE * sizeof(real), b->train.partial_stride, threadIdx.x,
                THREADS, PIECE, gradient + piece * PIECE);
        const double squares = piece_squares(gradient + piece * PIECE);
        if (threadIdx.x == 0) b->replica.piece_sums[piece] = squares;
    }
    team_barrier(t);
}

INLINE double gradient_squares(void) { return total_of(block()->replica.piece_sums, PIECES, 1); }

INLINE double total_loss(void) {
    return total_of(&block()->replica.shard_sums->loss, block()->train.shards, sizeof(lh_cuda_sums) / sizeof(double));
}

/* Clips and updates; false, and nothing is updated, where the loss or the gradient is not finite. */
INLINE bool update(double squares, double loss) {
    const lh_cuda_replica *r = &block()->replica;
    if (!(squares - squares == 0) || !(loss - loss == 0)) return false;
    const double norm = sqrt(squares), clip = norm < MAX_NORM ? 1 : MAX_NORM / norm;
    const adam constants = {(real)clip, (real)block()->step.rate, (real)block()->step.correct2};
    for (int piece = block()->members.rank; piece < PIECES; piece += block()->members.blocks) {
        const size_t e = (size_t)piece * PIECE;
        double parameters, changes;
        adam_piece(constants, (const real *)r->gradient + e, (real *)r->moment1 + e, (real *)r->moment2 + e,
                (real *)r->parameters + e, &parameters, &changes);
        if (threadIdx.x == 0) {
            r->piece_sums[PIECES + piece] = parameters;
            r->piece_sums[2 * PIECES + piece] = changes;
        }
    }
    return true;
}

/* A chunk of the gradient, by its sum of squares; of two chunks the heavier one, of equals the first. */
typedef struct weighed {
    double squares;
    int chunk;
} weighed;

INLINE weighed heavier(const weighed a, const weighed b) {
    return b.squares > a.squares || (b.squares == a.squares && b.chunk < a.chunk) ? b : a;
}

/* The heaviest chunk, for all threads. */
INLINE weighed heaviest(const double *piece_sums) {
    weighed most = {0, 0}, *room = (weighed *)staging();
    for (int chunk = threadIdx.x; chunk < PIECES / CHUNK_PIECES; chunk += THREADS) {
        weighed next = {0, chunk};
        for (int piece = 0; piece < CHUNK_PIECES; piece++) next.squares += piece_sums[chunk * CHUNK_PIECES + piece];
        most = heavier(most, next);
    }
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        const weighed other = {__shfl_xor_sync(0xffffffffu, most.squares, distance),
                __shfl_xor_sync(0xffffffffu, most.chunk, distance)};
        most = heavier(most, other);
    }
    __syncthreads();
    if (threadIdx.x % WARP == 0) room[threadIdx.x / WARP] = most;
    __syncthreads();
    for (int warp = 0; warp < WARPS; warp++) most = heavier(most, room[warp]);
    return most;
}

/* What the step came to, but for the update. By one block, before the others go on to the next step. */
INLINE void report(bool finite, double squares, double loss, lh_cuda_result *to) {
    const lh_cuda_replica *r = &block()->replica;
    double counted = 0, correct = 0, exact = 0;
    for (int shard = threadIdx.x; shard < block()->train.shards; shard += THREADS) {
        counted += r->shard_sums[shard].counted;
        correct += r->shard_sums[shard].correct;
        exact += r->shard_sums[shard].exact_ones;
    }
    counted = block_sum(counted);
    correct = block_sum(correct);
    exact = block_sum(exact);
    const weighed heavy = heaviest(r->piece_sums);
    if (threadIdx.x != 0) return;
    const lh_cuda_sums sums = {loss, (long long)counted, (long long)correct, (long long)exact};
    const lh_cuda_result result = {sums, squares, 0, 0, heavy.squares, heavy.chunk,
            finite ? LH_CUDA_DONE : LH_CUDA_NOT_FINITE};
    *to = result;
}

/* The rest of it, when all have made their updates. */
INLINE void report_update(lh_cuda_result *to) {
    const double *sums = block()->replica.piece_sums;
    const double parameters = total_of(sums + PIECES, PIECES, 1), changes = total_of(sums + 2 * PIECES, PIECES, 1);
    if (threadIdx.x != 0) return;
    to->parameter_squares = parameters;
    to->update_squares = changes;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
bucket_sort_sinusoid_train_kernel(const lh_cuda_train a) {
    block_state *b = block();
    team *t = &b->members;
    if (threadIdx.x == 0) {
        const int replica = blockIdx.x / a.team;
        b->train = a;
        b->train.steps += replica * a.count;
        b->train.results += replica * a.count;
        b->replica = a.replicas[replica];
        *t = join_team(a.team, b->replica.arrivals);
    }
    for (int n = 0; n < a.count; n++) {
        __syncthreads();
        if (threadIdx.x == 0)
            view_step(b, b->train.steps + n, b->replica.parameters, a.tables);
        __syncthreads();
        for (int shard = t->rank; shard < a.shards; shard += a.team) train_shard(shard);
        team_barrier(t);
        fold_gradients();
        const double squares = gradient_squares(), loss = total_loss();
        const bool finite = update(squares, loss);
        lh_cuda_result *result = b->train.results + n;
        const bool reports = t->rank == t->blocks - 1; /* it has the fewest pieces to update */
        if (reports) report(finite, squares, loss, result);
        team_barrier(t);
        if (!finite) return;
        if (reports) report_update(result);
    }
}

/* The answers of a group, and its logits where they are asked for. */
INLINE void give_answers(lh_cuda_answer *answers, real *logits) {
    const block_state *b = block();
    const workspace *w = &b->work;
    const int label_count = b->view.label_count;
    for (int sequence = threadIdx.x; sequence < b->sequences; sequence += THREADS) {
        lh_cuda_answer answer = {0, 0, 0};
        for (int n = sequence * label_count; n < (sequence + 1) * label_count; n++) {
            answer.loss += w->losses[n];
            answer.counted += b->mask[n];
            answer.correct += b->mask[n] & w->correct[n];
        }
        answers[b->first + sequence] = answer;
    }
    if (!logits) return;
    for (int e = threadIdx.x; e < b->sequences * label_count * CLASSES; e += THREADS)
        logits[(size_t)b->first * label_count * CLASSES + e] = w->logits[e / CLASSES * CLASS_COLUMNS + e % CLASSES];
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
bucket_sort_sinusoid_evaluate_kernel(const lh_cuda_evaluate a) {
    block_state *b = block();
    if (threadIdx.x == 0) {
        view_step(b, a.step, a.parameters, a.tables);
        b->members = join_team(gridDim.x, a.arrivals);
    }
    __syncthreads();
    for (int first = blockIdx.x * a.group; first < b->step.sequences; first = b->first + gridDim.x * a.group) {
        __syncthreads();
        if (threadIdx.x == 0) {
            const int left = b->step.sequences - first;
            size_t used = 0;
            take_examples(b, first, left < a.group ? left : a.group, a.workspace + blockIdx.x * a.workspace_stride, false);
            lay_out_layer(&b->layer, b->work.layers, &used, b->sequences, b->view.T);
            b->input = b->work.input;
        }
        __syncthreads();
        embed(false);
#pragma unroll 1
        for (int l = 0; l < LAYERS; l++) {
            if (threadIdx.x == 0) b->l = l;
            __syncthreads();
            layer_forward(b->work.input, false);
        }
        classify(b->work.input, false);
        give_answers(a.answers, (real *)a.logits);
    }
}
