/* The generator's output for GPUs: device code and its memory needs, one lh_cuda_program per experiment.
 *
 * The device code is one text, compiled ahead of time (images) or where the program runs (source). cuda_interface.h
 * describes the kernels and their arguments. The CUDA engine (runtime/cuda) owns memory, launches and order.
 */
#ifndef LONGHAND_CUDA_H
#define LONGHAND_CUDA_H

#include <stdbool.h>
#include <stddef.h>

#include "longhand/cpu.h"

/* Device code for one architecture: machine code ("sm_90"), or an intermediate form that the driver compiles for this
 * or any later architecture ("compute_90"). */
typedef struct lh_cuda_image {
    const char *architecture;
    const unsigned char *first, *end;
} lh_cuda_image;

/* A division of a training step into shards. The bits of a result depend on the variant, but not on the number of
 * blocks or of models that run at once. */
typedef struct lh_cuda_variant {
    const char *name; /* "chip": one model on all multiprocessors; "replicas": several models at once */
    int shards;       /* parts of a batch */
} lh_cuda_variant;

/* A matrix product in device memory: out = a b or, if `adds` is set, out += a b. out [rows][columns], a [rows][inner]
 * and b [inner][columns] are row-major and dense; transposed_a, transposed_b: the matrix is stored transposed. */
typedef struct lh_cuda_product {
    int rows, columns, inner;
    bool transposed_a, transposed_b, adds;
    const void *a, *b;
    void *out;
    const void *bias; /* [columns], added to every row of the product; NULL: none */
    bool rectified;   /* max(x, 0) is applied after the bias; only with a bias */
} lh_cuda_product;

enum { LH_CUDA_PRODUCT = -1 };

/* A launch of a phase of a kernel (cuda_place.h) or, if `phase` is LH_CUDA_PRODUCT, of a matrix product. */
typedef struct lh_cuda_launch {
    int phase;               /* LH_CUDA_PRODUCT, LH_CUDA_BEGIN, LH_CUDA_END, or a phase of the program */
    int layer;               /* index of the layer that the phase processes */
    lh_cuda_product product; /* the product of a launch of LH_CUDA_PRODUCT */
    int bias_phase; /* phase that adds the bias and applies max(x, 0) if the library computes only the product */
} lh_cuda_launch;

/* The passes of a step or an evaluation through the layers of a model with loops. On the device, lh_cuda_step.draws of
 * such a model begins with these two numbers. */
typedef struct lh_cuda_passes {
    int count;
    int free; /* training: number of first passes without gradient (lh_spec.progressive) */
} lh_cuda_passes;

typedef struct lh_cuda_program {
    const char *source_digest; /* digest of the device code, 16 hexadecimal digits */
    const char *precision;     /* "float32", "tf32", "bf16", "float64" */
    int real_bytes;
    const char *train_kernel, *evaluate_kernel;
    int least_architecture; /* least compute capability times 10: 75 for sm_75 */
    int threads;            /* threads per block */
    size_t block_memory;    /* dynamic shared memory of a block, bytes */
    lh_cuda_variant chip, replicas;
    /* The largest number of parts of a step; 0: lengths are not mixed within a batch. Each part has the sequences of
     * one length (data/train_lengths.h). lh_cuda_train.steps then has an element for each part, [replicas][count]
     * [parts], the longest sequences first; the last parts of a step may have no sequences. Each part is cut into
     * separate shards. No shard has more sequences than a shard of a batch of one length; lh_cuda_train.shards is the
     * number of shards of such a batch. lh_cuda_step.loss_scale then leaves out labels that do not count, so the
     * gradient is not scaled afterwards. */
    int parts;
    /* Decay rates of Adam, from which the host computes the bias corrections of each step; 0 for other optimisers. */
    double beta1, beta2;

    const char *source; /* the device code as text, for compilation where the program runs; ends with 0; NULL: none */
    const lh_cuda_image *images; /* the last one has architecture NULL; NULL: no images */
    const char *toolkit;         /* version of the toolkit that compiled the images, "13.0"; NULL: no images */

    /* Bytes and contents of position tables, as in lh_cpu_program; made on the host. NULL: there are no tables. */
    size_t (*tables_bytes)(const int max_length[LH_MAX_STREAMS]);
    void (*make_tables)(void *tables, const int max_length[LH_MAX_STREAMS]);

    /* Random positions and distances of one step or evaluation, drawn on the host. draw_count returns how many integers
     * a shape needs (the sum over all sequences if each sequence has its own positions), and draw writes them to out.
     * scratch: [draw_scratch]. positions, distances: as in lh_cpu_step. draw_count NULL: nothing is drawn. In memory at
     * lh_cuda_step.draws, positions that depend on tokens (lh_format.positions) come before the random numbers:
     * [sequences][length] of each stream. */
    size_t (*draw_count)(const lh_shape *shape);
    int draw_scratch;
    void (*draw)(const lh_draw *draw, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
                 const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out);

    /* shared_bytes: size of lh_cuda_replica.shared, or of one model's share of lh_cuda_evaluate.shared; if lengths are
     * mixed, lh_cuda_replica.shared has this size for each part of a step. shared_bytes and evaluation_group depend
     * only on the lengths of a shape. The returned bytes are enough for all shorter shapes. */
    size_t (*shared_bytes)(const lh_shape *max_shape);
    size_t (*partial_bytes)(const lh_shape *shard);                 /* size of one shard's lh_cuda_replica.partials */
    int (*evaluation_group)(const lh_shape *shape);                 /* maximum number of sequences of a forward pass */
    size_t (*workspace_bytes)(const lh_shape *shape, lh_mode mode); /* activations of one shard or group */
    /* Activations, and cached keys and values, of a group that is decoded. NULL: the program does not decode. */
    size_t (*decode_bytes)(const lh_shape *group);

    /* For wide models, whose matrix products a library computes: writes the launches of one training step, or of the
     * evaluation of one group, in the order in which they must run, and returns their number. This number is at most
     * most_launches + launches_of_pass * (number of passes above that of training). memory: the activations of all
     * sequences of `shape`; pointers are device addresses; gradient is zero before a step. In evaluation only the first
     * group runs LH_CUDA_BEGIN. NULL: one launch of train_kernel runs whole steps, and one launch of evaluate_kernel
     * runs a whole evaluation. */
    int most_launches, launches_of_pass;
    int (*launches)(const lh_shape *shape, lh_cuda_passes passes, lh_mode mode, void *memory, const void *parameters,
                    void *gradient, lh_cuda_launch *launch);
} lh_cuda_program;

#endif
