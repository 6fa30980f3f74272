/* Models that a bench steps: one on all threads, or replicas side by side. */
#ifndef LONGHAND_CREW_H
#define LONGHAND_CREW_H

#include "bench/bench.h"

enum { LH_CREW_STEPS = 64 /* asked of an engine at once */ };

typedef struct lh_replica {
    const lh_bench_request *request;
    lh_engine *engine;
    int64_t steps; /* still to make in this round */
    lh_step_metrics metrics[LH_CREW_STEPS];
    lh_status status; /* of its last step */
    lh_error error;
} lh_replica;

typedef struct lh_crew {
    const lh_bench_request *request;
    lh_replica *replicas;
    void **jobs; /* the same, for the group (training/group.h) */
    int count;   /* of replicas */
    int workers; /* threads that work */
} lh_crew;

/* Opens the engines, with seeds 0, 1, ...; close also after a failure. */
lh_status lh_crew_open(lh_crew *crew, const lh_bench_request *request, lh_error *error);
void lh_crew_close(lh_crew *crew);

/* Every model makes `steps` steps, or evaluates as many batches. Returns when all are done. */
lh_status lh_crew_step(lh_crew *crew, int64_t steps, lh_error *error);

#endif
