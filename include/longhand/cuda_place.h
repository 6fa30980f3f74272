/* The steps of a wide model: a sequence of launches on one stream, each of one phase, and of products by a library
 * between them. C11 and CUDA C++, no includes, as cuda_interface.h: the kernels of such an experiment take the same
 * arguments and, behind them, the place in the sequence. A phase goes through the shards of a step, or the examples of
 * an evaluation, wherever the launch before has left them: activations lie in one workspace, all sequences behind one
 * another. What a block adds up for its shard goes to the shard's partial; weights get their gradients from products.
 */
#ifndef LH_CUDA_PLACE_H
#define LH_CUDA_PLACE_H

/* Phases that the runtime knows: the blocks of a grid meet in them. A generated program numbers its others. */
enum {
    LH_CUDA_BEGIN, /* tables of the step */
    LH_CUDA_END,   /* folds what shards have added up, clips, updates, reports */
    LH_CUDA_FIRST  /* of a program's own */
};

typedef struct lh_cuda_place {
    int phase, layer;
    int first; /* evaluation: of the group's examples; they are as many as the group holds or as are left */
    const struct lh_cuda_result *before; /* training: of the step before, where both were put into the stream together:
                                          * unless that one was made, this one is not; NULL: there is none */
} lh_cuda_place;

#endif
