/* Workspaces of CPU engines: memory that holds no state between calls. Engines that are opened together share
 * workspaces, so the number of workspaces is the number of engines that run at the same time. */
#ifndef LONGHAND_CPU_WORKSPACE_H
#define LONGHAND_CPU_WORKSPACE_H

#include <pthread.h>

#include "data/batch.h"
#include "longhand/cpu.h"
#include "longhand/spec.h"
#include "longhand/status.h"

/* The first failure to make the examples of a batch or condition. The shard or part with the lowest index is reported,
 * independent of the threads that processed them. */
typedef struct lh_cpu_failure {
    lh_status status; /* LH_OK: no failure */
    int index;        /* index of the shard or part */
    lh_error error;
} lh_cpu_failure;

/* Copies *failure to *first if it has the lower index, and clears *failure. */
void lh_cpu_keep_first_failure(lh_cpu_failure *first, lh_cpu_failure *failure);

/* Buffers of a thread in training, for one shard at a time. */
typedef struct lh_cpu_lane {
    void *workspace;
    void *gradient; /* gradient of the shard; zero between shards */
    void *shared;   /* lh_cpu_step.shared of the current length; NULL: lh_cpu_workspace.shared serves all lengths */
    int shared_n;   /* task length for which `shared` has the values of the current step; 0: none */
    lh_batch batch; /* examples of one length of the shard */
    lh_cpu_failure failure;
} lh_cpu_lane;

/* Buffers of a thread in evaluation, for one part of a condition at a time. */
typedef struct lh_cpu_forward_lane {
    void *workspace;
    void *logits; /* [labels][classes] logits of one sequence */
    lh_batch batch;
    lh_cpu_failure failure;
} lh_cpu_forward_lane;

/* The greatest memory needs of training over all its lengths. */
typedef struct lh_cpu_train_needs {
    size_t workspace, shared; /* bytes */
    int max_n;                /* greatest task length */
    int shard_sequences;      /* greatest number of sequences of one length in a shard */
} lh_cpu_train_needs;

/* The greatest memory needs of the reserved evaluations. */
typedef struct lh_cpu_forward_needs {
    size_t workspace, shared, logits; /* bytes; logits: bytes for one sequence */
    size_t words;                     /* greatest lh_count_batch_words */
    int max_n;                        /* greatest task length */
    int part_sequences;               /* sequences of the largest part of a condition */
    int examples;                     /* sequences of the largest condition */
} lh_cpu_forward_needs;

typedef struct lh_cpu_workspace {
    struct lh_cpu_workspace *next; /* next free workspace */
    void *panels;                  /* lh_cpu_step.panels */

    /* Training; all are NULL without training. */
    lh_cpu_lane *lanes;            /* [threads] */
    void *shared;                  /* lh_cpu_step.shared; NULL: every lane has its own */
    lh_sums *shard_sums;           /* [shards] */
    double *chunk_squares;         /* [chunks] squared norms of the gradient's chunks */
    lh_update_sums *chunk_updates; /* [chunks] */

    /* Evaluation: */
    lh_cpu_forward_needs forward;       /* sizes of the buffers */
    lh_cpu_forward_lane *forward_lanes; /* [threads] */
    void *forward_shared;
    lh_sums *block_sums; /* [examples], enough for blocks of one example */
} lh_cpu_workspace;

/* The workspaces of engines with one spec and one number of threads. */
typedef struct lh_cpu_workspaces {
    const lh_spec *spec;
    const lh_cpu_program *program;
    int threads;
    lh_cpu_train_needs train; /* train.workspace 0: no engine trains */
    int engines;              /* number of engines that are not closed */
    lh_cpu_workspace *free;   /* list of workspaces that no engine uses */
    pthread_mutex_t mutex;    /* protects engines and free */
} lh_cpu_workspaces;

static inline size_t lh_max_size(size_t a, size_t b) { return a > b ? a : b; }

static inline int lh_max_int(int a, int b) { return a > b ? a : b; }

/* The memory needs that have the larger value of each field of a and b. */
lh_cpu_forward_needs lh_cpu_combine_needs(const lh_cpu_forward_needs *a, const lh_cpu_forward_needs *b);

/* Creates an empty list of workspaces with engines = 0; train: NULL or zeros if no engine trains. LH_ERR_ENVIRONMENT:
 * out of memory. */
lh_status lh_cpu_workspaces_open(const lh_spec *spec, const lh_cpu_program *program, int threads,
                                 const lh_cpu_train_needs *train, lh_cpu_workspaces **workspaces, lh_error *error);

/* Adds an engine to the engines that share the workspaces. */
void lh_cpu_workspaces_join(lh_cpu_workspaces *workspaces);

/* Removes an engine, which must not use a workspace; the last one closes all workspaces. */
void lh_cpu_workspaces_leave(lh_cpu_workspaces *workspaces);

/* Takes a free or new workspace for at least memory_needs of evaluation (NULL: any). Any thread may call.
 * LH_ERR_ENVIRONMENT: out of memory; no workspace is taken. */
lh_status lh_cpu_workspace_take(lh_cpu_workspaces *workspaces, const lh_cpu_forward_needs *memory_needs,
                                lh_cpu_workspace **workspace, lh_error *error);

/* Returns a workspace to the list. is_clean: all values in it are finite, as a finite loss shows. A workspace that is
 * not clean is freed: the next engine multiplies by 0 the old values behind the end of a short sequence, and 0 times
 * NaN or infinity is NaN. */
void lh_cpu_workspace_give_back(lh_cpu_workspaces *workspaces, lh_cpu_workspace *workspace, bool is_clean);

#endif
