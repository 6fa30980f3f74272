/* The steps of a wide model, whose matrix products a library computes: each step is a sequence of launches on one
 * stream, and each launch runs one phase or one matrix product. C11 and CUDA C++, no includes. Kernels take the
 * arguments of cuda_interface.h and, after them, an lh_cuda_place. A phase processes all shards of a step, or one
 * group of examples of an evaluation. Activations of all sequences lie in one workspace, sequence after sequence. A
 * block sums gradients of a shard and adds the sums to the shard's partial gradient; gradients of weights are matrix
 * products.
 */
#ifndef LH_CUDA_PLACE_H
#define LH_CUDA_PLACE_H

/* Phases that the runtime knows. All blocks of the grid synchronise in them. A generated program numbers its own phases
 * from LH_CUDA_FIRST. */
enum {
    LH_CUDA_BEGIN, /* tables of the step */
    LH_CUDA_END,   /* folds the gradients of shards, clips, updates, writes results */
    LH_CUDA_FIRST  /* first phase of a generated program */
};

typedef struct lh_cuda_place {
    int phase, layer;
    int first; /* evaluation: index of the group's first example; the last group may have fewer examples */
    /* Training: result of the replica's preceding step; if that step failed, this step is skipped. NULL: there is no
     * such step, or the host has already read its result. */
    const struct lh_cuda_result *before;
} lh_cuda_place;

#endif
