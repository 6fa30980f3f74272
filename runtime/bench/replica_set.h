/* Runs the models of a benchmark: one on all threads, or several replicas at once. */
#ifndef LONGHAND_REPLICA_SET_H
#define LONGHAND_REPLICA_SET_H

#include "bench/bench.h"

enum { LH_REPLICA_STEPS = 64 /* maximum number of training steps that one call of an engine requests */ };

typedef struct lh_replica {
    const lh_bench_request *request;
    lh_engine *engine;
    int64_t steps; /* remaining steps of the current call of lh_replica_set_step */
    lh_step_metrics metrics[LH_REPLICA_STEPS];
    lh_status status; /* status of the last call of the engine */
    lh_error error;   /* message for that status */
} lh_replica;

typedef struct lh_replica_set {
    const lh_bench_request *request;
    lh_replica *replicas;
    void **jobs; /* pointers to the replicas, for training/group.h */
    int count;   /* number of replicas */
    int workers; /* number of threads that compute or, on a device, make batches */
} lh_replica_set;

/* Opens the engines, with seeds 0, 1, ...; call lh_replica_set_close also after an error. */
lh_status lh_replica_set_open(lh_replica_set *set, const lh_bench_request *request, lh_error *error);
void lh_replica_set_close(lh_replica_set *set);

/* Runs `steps` steps of every model, or evaluates as many batches. Returns when all are done. */
lh_status lh_replica_set_step(lh_replica_set *set, int64_t steps, lh_error *error);

#endif
