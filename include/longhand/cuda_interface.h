/* Arguments of an experiment's kernels, and their results, in C11 and CUDA C++. A device.cu contains this text.
 *
 * A replica is one model with its own seed and learning rate. A team is the set of thread blocks that work on one
 * replica. A shard is a part of a batch, which one block processes through all layers (wide models: cuda_place.h). The
 * gradient is a left fold over shards; its bits depend on the number of shards, not on the team or on other replicas.
 *
 * `real` is float, or double in a float64 build. Pointers are addresses of device memory.
 */
#ifndef LH_CUDA_INTERFACE_H
#define LH_CUDA_INTERFACE_H

enum {
    LH_CUDA_PIECE = 2048, /* elements of a vector that a block folds or updates at a time */
    LH_CUDA_STREAMS = 2   /* LH_MAX_STREAMS */
};

/* The state of one model and the memory that its team shares. Vectors have `storage` = parameter_storage elements. With
 * mixed lengths, a step may have more shards than lh_cuda_train.shards (lh_cuda_program.parts). */
typedef struct lh_cuda_replica {
    void *parameters, *moment1, *moment2; /* [storage] real, updated in place; NULL: the optimiser has no such state */
    void *gradient;                       /* [storage] real: the folded gradient of the last step */
    char *partials; /* [shards] partial_stride bytes each: gradient, sums for gradients of tables, operands of products;
                     * zero at first. In training, rounded weights of products may replace gradients in shard 0. */
    char *shared;   /* tables of the current step, and the folded gradients of tables; mixed lengths: part after part */
    double *piece_sums; /* [3][storage / LH_CUDA_PIECE] sums of squares of gradient, parameters and change by piece */
    struct lh_cuda_sums *shard_sums; /* [shards] */
    unsigned int *arrivals;          /* counter of the team's barriers; zero before a launch */
} lh_cuda_replica;

typedef struct lh_cuda_sums {
    double loss;                            /* as in lh_sums (longhand/cpu.h) */
    long long counted, correct, exact_ones; /* exact_ones: sequences that have counted labels, all of them correct */
} lh_cuda_sums;

/* One step of one replica, or an evaluation of one model. */
typedef struct lh_cuda_step {
    const unsigned short *tokens[LH_CUDA_STREAMS]; /* [sequences][T] for each stream of the model */
    const unsigned short *labels;                  /* [sequences][label_count] */
    const unsigned char *mask;                     /* [sequences][label_count] */
    const int *draws; /* [lh_cuda_program.draw_count(shape)] random positions and distances */
    int sequences, T[LH_CUDA_STREAMS], label_count; /* sequences of the batch; tokens and labels of each */
    unsigned int step, key[2];                      /* counter and key of dropout and noise */
    unsigned int draw, first; /* draw: index of an evaluation's draw; first: batch index of sequence 0 of the step */
    double rate;     /* learning rate / (1 - beta1^t); evaluation: standard deviation of noise on embeddings, 0: none */
    double correct2; /* 1 / (1 - beta2^t) */
    double loss_scale;           /* training: factor of a label's gradient, or of a sequence's mean over its labels */
    const unsigned short *place; /* [sequences][label_count] as in lh_cpu_block; NULL: the last tokens */
} lh_cuda_step;

/* The state of a step. NOT_FINITE: the loss or the gradient is not finite, and no update was made. */
enum { LH_CUDA_NOT_RUN, LH_CUDA_DONE, LH_CUDA_NOT_FINITE };

/* The result of a step. Sums of squares of the gradient are taken before clipping. */
typedef struct lh_cuda_result {
    lh_cuda_sums sums;
    double gradient_squares, parameter_squares, update_squares;
    double heavy_squares; /* largest sum of squares that the gradient of a chunk (4096 elements, LH_CHUNK) has */
    int heavy_chunk;      /* index of that chunk */
    int state;            /* LH_CUDA_NOT_RUN, LH_CUDA_DONE or LH_CUDA_NOT_FINITE */
} lh_cuda_result;

/* Arguments of longhand_train_<id>: replicas * team blocks, all resident. A replica stops at a non-finite step. */
typedef struct lh_cuda_train {
    const lh_cuda_replica *replicas; /* [replicas] */
    const lh_cuda_step *steps;       /* [replicas][count]; mixed lengths: see lh_cuda_program.parts */
    lh_cuda_result *results;         /* [replicas][count]; state NOT_RUN before the launch */
    const void *tables;              /* made by lh_cuda_program.make_tables */
    char *workspace;                 /* [blocks] activations of one shard each, workspace_stride bytes apart */
    long long workspace_stride, partial_stride;
    int count, team, shards; /* steps of the launch, blocks of a replica, shards of a step of one length */
} lh_cuda_train;

/* Sums of one evaluated sequence over its label positions. */
typedef struct lh_cuda_answer {
    double loss;
    int counted, correct;
} lh_cuda_answer;

/* Arguments of the kernel longhand_evaluate_<id>, which runs one or more models, each over examples [first, end) of its
 * step. The blocks of a model's team take groups of sequences in turn. The blocks of all teams are resident at once. */
typedef struct lh_cuda_evaluate {
    const void *const *parameters; /* [models], with `team` blocks each; a launch of a wide model has one model */
    const lh_cuda_step *steps;     /* [models], of equal lengths; a model may have fewer than `sequences` sequences */
    const void *tables;
    char *shared; /* [models] tables of this evaluation, shared_stride bytes apart */
    long long shared_stride;
    unsigned int *arrivals;  /* [models] zero before the launch */
    lh_cuda_answer *answers; /* [models][sequences] written */
    void *logits;            /* [models][sequences][label_count][classes] real, written; or NULL */
    int *classes;            /* [models][sequences][label_count] with the greatest logit, written; or NULL */
    char *workspace;         /* [blocks] activations of one group each, workspace_stride bytes apart */
    long long workspace_stride;
    int team, group; /* blocks per model, sequences per forward pass */
    int sequences;   /* largest number of sequences of a model, and the number of rows of `answers` for each model */
    int first, end;  /* sequences of this launch; wide model: 0 and the number of all sequences (longhand/cuda.h) */
    /* Decoding with cached keys and values, for a program with decode_bytes. The masks of the steps are 1 for labels
     * whose answers are requested; tokens of other labels are known. The kernel writes classes and logits of requested
     * labels only, up to the end of each sequence, and writes nothing to `answers`. */
    int decodes; /* 0: the pass evaluates the batch */
    int ending;  /* class that ends a sequence when the model answers it at a label of another class; -1: none */
} lh_cuda_evaluate;

#endif
