/* The generator's output for GPUs: device code, and how much memory it needs. One lh_cuda_program per experiment.
 *
 * The device code is one text, compiled ahead of time (images) or on the node (source). Kernels and their arguments:
 * cuda_interface.h. The CUDA engine (runtime/cuda) owns memory, launches and order.
 */
#ifndef LONGHAND_CUDA_H
#define LONGHAND_CUDA_H

#include <stdbool.h>
#include <stddef.h>

#include "longhand/cpu.h"

/* Device code for one architecture: machine code ("sm_90"), or an intermediate form that the driver compiles for any
 * later one ("compute_90"). */
typedef struct lh_cuda_image {
    const char *architecture;
    const unsigned char *first, *end;
} lh_cuda_image;

/* A way of cutting a step's work; bits are the same within one variant. */
typedef struct lh_cuda_variant {
    const char *name; /* "chip": one model on all multiprocessors; "replicas": many models side by side */
    int shards;
} lh_cuda_variant;

/* out[rows][columns] = a b, or out += a b: row-major and dense, in the device's memory. a is [rows][inner], b is
 * [inner][columns]; one that is turned lies there transposed. */
typedef struct lh_cuda_product {
    int rows, columns, inner;
    bool turned_a, turned_b, adds;
    const void *a, *b;
    void *out;
    const void *bias; /* [columns], then added to every row; NULL: none */
    bool rectified;   /* and then max(x, 0) of each; with a bias alone */
} lh_cuda_product;

enum { LH_CUDA_PRODUCT = -1 };

/* A phase of a kernel (cuda_place.h), or LH_CUDA_PRODUCT. */
typedef struct lh_cuda_launch {
    int phase, layer;
    lh_cuda_product product;
    int bias_phase; /* of a product with a bias: what adds it, and rectifies, where the library makes the product alone */
} lh_cuda_launch;

typedef struct lh_cuda_program {
    const char *source_digest; /* of the device code, 16 hexadecimal digits */
    const char *precision;     /* "float32", "tf32", "bf16", "float64" */
    int real_bytes;
    const char *train_kernel, *evaluate_kernel;
    int least_architecture; /* 75: sm_75 */
    int threads;            /* of a block */
    size_t block_memory;    /* dynamic shared memory of a block, bytes */
    lh_cuda_variant chip, replicas;
    double beta1, beta2; /* of Adam: the host makes the corrections of a step; 0, which is none, of others */

    const char *source;          /* the device code as text for the compiler of the node, ends with 0; NULL: none */
    const lh_cuda_image *images; /* the last one has architecture NULL */
    const char *toolkit;         /* version that compiled the images, "13.0"; NULL: there are none */

    /* Position tables as in lh_cpu_program; written on the host, used on the device. NULL: no tables. */
    size_t (*tables_bytes)(const int longest[LH_MAX_STREAMS]);
    void (*make_tables)(void *tables, const int longest[LH_MAX_STREAMS]);

    /* Random positions and distances of one step or evaluation, made on the host: how many numbers for a shape, all its
     * sequences' where each has positions of its own, and the numbers. scratch: draw_scratch ints. positions, distances:
     * as in lh_cpu_step, given by the caller in place of every draw of a stream. draw_count NULL: nothing is drawn. */
    size_t (*draw_count)(const lh_shape *shape);
    int draw_scratch;
    void (*draw)(const lh_draw *draw, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
                 const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out);

    /* By the lengths of a shape, whatever its number of sequences; bytes are enough for all shorter ones, too. */
    size_t (*shared_bytes)(const lh_shape *longest);
    size_t (*partial_bytes)(const lh_shape *longest);              /* one shard's gradient */
    int (*evaluation_group)(const lh_shape *shape);                /* sequences that go through the layers together */
    size_t (*workspace_bytes)(const lh_shape *part, lh_mode mode); /* one shard's or group's activations */

    /* Wide models, whose products are a library's: what a step does, or the evaluation of a group, in order; how many
     * launches these are. The workspace is that of all sequences of `shape`, addresses are the device's; gradient: zero
     * before a step. In evaluation LH_CUDA_BEGIN is for the first group. NULL: a launch of train_kernel makes whole
     * steps, one of evaluate_kernel a whole evaluation. */
    int most_launches;
    int (*launches)(const lh_shape *shape, lh_mode mode, void *workspace, const void *parameters, void *gradient,
                    lh_cuda_launch *launch);
} lh_cuda_program;

#endif
