/* Models that a bench steps: one on all threads, or replicas side by side. */
#ifndef LONGHAND_REPLICA_SET_H
#define LONGHAND_REPLICA_SET_H

#include "bench/bench.h"

enum { LH_REPLICA_STEPS = 64 /* asked of an engine at once */ };

typedef struct lh_replica {
    const lh_bench_request *request;
    lh_engine *engine;
    int64_t steps; /* still to make in this round */
    lh_step_metrics metrics[LH_REPLICA_STEPS];
    lh_status status; /* of its last step */
    lh_error error;
} lh_replica;

typedef struct lh_replica_set {
    const lh_bench_request *request;
    lh_replica *replicas;
    void **jobs; /* the same, for the group (training/group.h) */
    int count;   /* of replicas */
    int workers; /* threads that work */
} lh_replica_set;

/* Opens the engines, with seeds 0, 1, ...; close also after a failure. */
lh_status lh_replica_set_open(lh_replica_set *set, const lh_bench_request *request, lh_error *error);
void lh_replica_set_close(lh_replica_set *set);

/* Every model makes `steps` steps, or evaluates as many batches. Returns when all are done. */
lh_status lh_replica_set_step(lh_replica_set *set, int64_t steps, lh_error *error);

#endif
