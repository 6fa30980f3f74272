/* Working memory of CPU engines: what holds nothing from one call to the next. Engines that are opened together share
 * it, so that there are as many workspaces as engines that work at the same time, not as there are engines. */
#ifndef LONGHAND_CPU_WORKSPACE_H
#define LONGHAND_CPU_WORKSPACE_H

#include <pthread.h>

#include "data/batch.h"
#include "longhand/cpu.h"
#include "longhand/spec.h"
#include "longhand/status.h"

/* The first failure in a thread's share of a batch: with a user's own task a batch may fail. The share that is
 * reported is the first of all, whoever had it. */
typedef struct lh_cpu_failure {
    lh_status status; /* LH_OK: nothing */
    int at;           /* index of the shard or part */
    lh_error error;
} lh_cpu_failure;

/* first becomes the earlier one of both; `one` is taken out of its lane. */
void lh_cpu_take_failure(lh_cpu_failure *first, lh_cpu_failure *one);

/* Memory of a thread while it trains: one shard at a time. */
typedef struct lh_cpu_lane {
    void *workspace;
    void *gradient; /* of its shard; zero between shards */
    lh_batch batch; /* its shard's examples */
    lh_cpu_failure failure;
} lh_cpu_lane;

/* Memory of a thread while it evaluates: one part of a condition at a time. */
typedef struct lh_cpu_forward_lane {
    void *workspace;
    void *logits;
    lh_batch batch;
    lh_cpu_failure failure;
} lh_cpu_forward_lane;

/* The most that training takes at any of its lengths. */
typedef struct lh_cpu_train_needs {
    size_t workspace, shared; /* bytes */
    int longest_n, shard;     /* shard: sequences of the largest */
} lh_cpu_train_needs;

/* The most that evaluation takes of what was reserved. */
typedef struct lh_cpu_forward_needs {
    size_t workspace, shared, logits; /* bytes */
    size_t words;                     /* lh_batch_words */
    int longest_n, part, examples;
} lh_cpu_forward_needs;

typedef struct lh_cpu_workspace {
    struct lh_cpu_workspace *next; /* of those that nobody is in */

    lh_cpu_lane *lanes; /* [threads], as all of these six; NULL: not for training */
    void *shared;
    lh_sums *shard_sums;           /* [shards] */
    double *chunk_norms;           /* [chunks] */
    lh_update_sums *chunk_updates; /* [chunks] */

    lh_cpu_forward_needs forward; /* what there is room for */
    lh_cpu_forward_lane *forward_lanes;
    void *forward_shared;
    lh_sums *block_sums; /* [examples]: a block has at least one */
} lh_cpu_workspace;

/* The workspaces of engines of one spec and number of threads. */
typedef struct lh_cpu_workspaces {
    const lh_spec *spec;
    int threads, real_bytes;
    lh_cpu_train_needs train; /* workspace 0: no training */
    int engines;              /* that have not been closed */
    lh_cpu_workspace *free;
    pthread_mutex_t mutex;
} lh_cpu_workspaces;

/* The larger of both, each by itself. */
lh_cpu_forward_needs lh_cpu_more_forward(const lh_cpu_forward_needs *a, const lh_cpu_forward_needs *b);

/* Rooms for no engine so far; train: NULL where none of them trains. LH_ERR_ENVIRONMENT without memory. */
lh_status lh_cpu_workspaces_open(const lh_spec *spec, int threads, int real_bytes, const lh_cpu_train_needs *train,
                                 lh_cpu_workspaces **workspaces, lh_error *error);
void lh_cpu_workspaces_join(lh_cpu_workspaces *workspaces);
/* The last engine that leaves closes the workspaces; nobody may be in one of its own. */
void lh_cpu_workspaces_leave(lh_cpu_workspaces *workspaces);

/* Takes a workspace, a new one where none is free, with at least this for evaluation (NULL: any). Any thread may call.
 * LH_ERR_ENVIRONMENT without memory: none was taken. */
lh_status lh_cpu_workspace_take(lh_cpu_workspaces *workspaces, const lh_cpu_forward_needs *needs,
                                lh_cpu_workspace **workspace, lh_error *error);
/* clean: what was computed in it is finite, for which the loss stands. Otherwise it is closed: what lies behind a short
 * sequence, multiplied by 0, would be NaN to the next engine. */
void lh_cpu_workspace_give_back(lh_cpu_workspaces *workspaces, lh_cpu_workspace *workspace, bool clean);

#endif
