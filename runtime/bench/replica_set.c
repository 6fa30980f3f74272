/* See replica_set.h. On the CPU, each of several replicas is an engine that computes on one thread: the thread of the
 * benchmark's team that calls the engine. */
#include "bench/replica_set.h"

#include <stdlib.h>

#include "training/group.h"

static lh_engine_config make_config(const lh_bench_request *request, int index) {
    const lh_spec *spec = &request->target->spec;
    bool uses_all_threads = request->replicas == 0 || request->target->cpu == NULL;
    return (lh_engine_config){.spec = spec,
                              .seed = (uint64_t)index,
                              .learning_rate = spec->train.learning_rate,
                              .threads = uses_all_threads ? request->threads : 1,
                              .trains = request->mode == LH_MODE_TRAIN,
                              .fixed_length = request->length};
}

/* Opens the engines of all replicas. configs, engines: scratch of set->count elements, NULL if its
 * allocation failed. */
static lh_status open_replicas(lh_replica_set *set, lh_engine_config *configs, lh_engine **engines, lh_error *error) {
    const lh_bench_request *request = set->request;
    lh_lengths lengths = {.first = request->length, .last = request->length};
    if (configs == NULL || engines == NULL) return LH_ERR_ENVIRONMENT;
    for (int i = 0; i < set->count; i++) configs[i] = make_config(request, i);
    lh_status status =
        lh_target_open_engines(request->target, configs, set->count, request->replicas > 0, engines, error);
    for (int i = 0; status == LH_OK && i < set->count; i++) set->replicas[i].engine = engines[i];
    for (int i = 0; status == LH_OK && request->mode == LH_MODE_EVALUATE && i < set->count; i++)
        status = engines[i]->ops->reserve(engines[i], &lengths, request->target->spec.train.batch, error);
    return status;
}

lh_status lh_replica_set_open(lh_replica_set *set, const lh_bench_request *request, lh_error *error) {
    *set = (lh_replica_set){.request = request, .count = request->replicas > 0 ? request->replicas : 1};
    size_t count = (size_t)set->count;
    set->replicas = lh_engine_allocate(count * sizeof *set->replicas, "the replicas", error);
    set->jobs = lh_engine_allocate(count * sizeof *set->jobs, "the replicas", error);
    if (set->replicas == NULL || set->jobs == NULL) return LH_ERR_ENVIRONMENT;
    for (int i = 0; i < set->count; i++) {
        set->replicas[i].request = request;
        set->jobs[i] = &set->replicas[i];
    }
    lh_engine_config *configs = lh_engine_allocate(count * sizeof *configs, "the replicas", error);
    lh_engine **engines = lh_engine_allocate(count * sizeof(lh_engine *), "the replicas", error);
    lh_status status = open_replicas(set, configs, engines, error);
    free(configs);
    free(engines);
    if (status != LH_OK) return status;
    if (request->replicas == 0 || request->target->cpu == NULL) set->workers = set->replicas[0].engine->threads;
    else set->workers = set->count < request->threads ? set->count : request->threads;
    return LH_OK;
}

void lh_replica_set_close(lh_replica_set *set) {
    for (int i = 0; set->replicas != NULL && i < set->count; i++)
        if (set->replicas[i].engine != NULL) set->replicas[i].engine->ops->close(set->replicas[i].engine);
    free(set->replicas);
    free(set->jobs);
}

/* Makes up to LH_REPLICA_STEPS steps of training; *step_count: their number. */
static lh_status train(lh_replica *replica, int *step_count) {
    int count = replica->steps < LH_REPLICA_STEPS ? (int)replica->steps : LH_REPLICA_STEPS;
    return replica->engine->ops->step(replica->engine, count, replica->metrics, step_count, &replica->error);
}

/* Evaluates a batch, which counts as one step. */
static lh_status evaluate(lh_replica *replica, int *step_count) {
    const lh_bench_request *request = replica->request;
    const lh_spec *spec = &request->target->spec;
    lh_condition condition = lh_make_condition(request->length, spec->train.batch, 1, 0);
    lh_sums sums;
    /* With a dataset, request->length is the index of a shape of the training set. */
    if (spec->corpus != NULL) condition.source.set = &spec->corpus->train;
    *step_count = 1;
    return replica->engine->ops->evaluate(replica->engine, &condition, &sums, NULL, &replica->error);
}

/* An lh_group_advance (training/group.h): makes all remaining steps, or as many as the engine can make before other
 * engines must step; true: steps remain. */
static bool step_replica(void *job) {
    lh_replica *replica = job;
    int step_count = 1;
    replica->status = LH_OK;
    while (replica->status == LH_OK && replica->steps > 0 && step_count > 0) {
        replica->status =
            replica->request->mode == LH_MODE_TRAIN ? train(replica, &step_count) : evaluate(replica, &step_count);
        replica->steps -= step_count;
    }
    return replica->status == LH_OK && replica->steps > 0;
}

lh_status lh_replica_set_step(lh_replica_set *set, int64_t steps, lh_error *error) {
    for (int i = 0; i < set->count; i++) set->replicas[i].steps = steps;
    int threads = lh_target_count_workers(set->request->target, set->workers);
    lh_status status = LH_OK;
    if (set->request->replicas > 0) status = lh_group_run(threads, set->jobs, set->count, step_replica, error);
    else
        while (step_replica(&set->replicas[0])) continue;
    for (int i = 0; status == LH_OK && i < set->count; i++)
        if (set->replicas[i].status != LH_OK) {
            *error = set->replicas[i].error;
            status = set->replicas[i].status;
        }
    return status;
}
