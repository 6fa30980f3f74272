/* Arguments of an experiment's kernels, and their results. C11 and CUDA C++, no includes: the runtime
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

enum {
    LH_CUDA_PIECE = 1024, /* elements of a vector that a block folds or updates at a time */
    LH_CUDA_STREAMS = 2   /* LH_MAX_STREAMS */
};

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
    const unsigned short *tokens[LH_CUDA_STREAMS]; /* [sequences][T] of each stream that the model has */
    const unsigned short *labels;                  /* [sequences][label_count] */
    const unsigned char *mask;                     /* [sequences][label_count] */
    const int *draws; /* as many as lh_cuda_program.draw_count says for these sequences and lengths */
    int sequences, T[LH_CUDA_STREAMS], label_count;
    unsigned int step, key[2];   /* dropout's counter and key */
    unsigned int draw, first;    /* evaluation: the index of its draw; of the first sequence, in its batch */
    double rate;                 /* learning rate / (1 - beta1^t); evaluation: noise on embeddings, 0: none */
    double correct2;             /* 1 / (1 - beta2^t) */
    double loss_scale;           /* 1 / label positions of the batch */
    const unsigned short *place; /* [sequences][label_count] as in lh_cpu_block; NULL: the last tokens */
} lh_cuda_step;

enum { LH_CUDA_NOT_RUN = 0, LH_CUDA_DONE = 1, LH_CUDA_NOT_FINITE = 2 /* loss or gradient; no update was made */ };

/* The result of a step; the gradient's numbers are those before clipping. */
typedef struct lh_cuda_result {
    lh_cuda_sums sums;
    double gradient_squares, parameter_squares, update_squares, heavy_squares; /* heavy: of the heaviest chunk */
    int heavy_chunk, state;                                                    /* state: LH_CUDA_... */
} lh_cuda_result;

/* longhand_train_<id>: replicas * team blocks, all resident at once. A replica stops at a step that is not finite. */
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

/* longhand_evaluate_<id>: the parameters of one replica or several over some of step->sequences examples. The blocks of
 * a replica, its team, take groups of sequences in turn; all teams are resident at once. */
typedef struct lh_cuda_evaluate {
    const void *const *parameters; /* [models] the launch has `team` blocks for each; a wide model is alone */
    const lh_cuda_step *step;
    const void *tables;
    char *shared; /* [models] tables of this evaluation, shared_stride bytes apart */
    long long shared_stride;
    unsigned int *arrivals;  /* [models] zero before the launch */
    lh_cuda_answer *answers; /* [models][sequences] written */
    void *logits;            /* [models][sequences][label_count][classes] real, written; or NULL */
    int *classes;            /* [models][sequences][label_count] those with the greatest logit, written; or NULL */
    char *workspace;         /* [blocks] activations of one group each, workspace_stride bytes apart */
    long long workspace_stride;
    int team;       /* blocks of a model */
    int group;      /* sequences that go through the layers together */
    int first, end; /* the launch's sequences; of a wide model all, and each phase takes a group */
} lh_cuda_evaluate;

#endif
