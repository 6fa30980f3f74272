/* See crew.h. A replica is an engine of one thread: inside a worker of the team its own team is that one worker. */
#include "bench/crew.h"

#include <stdlib.h>

#include "train/group.h"

static lh_status open_replica(const lh_crew *crew, int index, lh_replica *replica, lh_error *error) {
    const lh_bench_request *request = crew->request;
    const lh_spec *spec = request->spec;
    lh_engine_config config = {.spec = spec,
                               .seed = (uint64_t)index,
                               .learning_rate = spec->train.learning_rate,
                               .threads = request->replicas > 0 ? 1 : request->threads,
                               .trains = request->mode == LH_MODE_TRAIN,
                               .fixed_length = request->length};
    lh_lengths lengths = {NULL, 0, request->length, request->length, 1};
    lh_status status = lh_cpu_engine_open(&config, request->program, &replica->engine, error);
    if (status == LH_OK && request->mode == LH_MODE_EVALUATE)
        status = replica->engine->ops->reserve(replica->engine, &lengths, spec->train.batch, error);
    return status;
}

lh_status lh_crew_open(lh_crew *crew, const lh_bench_request *request, lh_error *error) {
    *crew = (lh_crew){.request = request, .count = request->replicas > 0 ? request->replicas : 1};
    crew->replicas = lh_engine_memory((size_t)crew->count * sizeof *crew->replicas, "the replicas", error);
    crew->jobs = lh_engine_memory((size_t)crew->count * sizeof *crew->jobs, "the replicas", error);
    if (crew->replicas == NULL || crew->jobs == NULL) return LH_ERR_ENVIRONMENT;
    lh_status status = LH_OK;
    for (int i = 0; i < crew->count; i++) {
        crew->replicas[i].request = request;
        crew->jobs[i] = &crew->replicas[i];
    }
    for (int i = 0; status == LH_OK && i < crew->count; i++) status = open_replica(crew, i, &crew->replicas[i], error);
    if (status != LH_OK) return status;
    if (request->replicas == 0) crew->workers = crew->replicas[0].engine->threads;
    else crew->workers = crew->count < request->threads ? crew->count : request->threads;
    return LH_OK;
}

void lh_crew_close(lh_crew *crew) {
    for (int i = 0; crew->replicas != NULL && i < crew->count; i++)
        if (crew->replicas[i].engine != NULL) crew->replicas[i].engine->ops->close(crew->replicas[i].engine);
    free(crew->replicas);
    free(crew->jobs);
}

/* An lh_group_advance: all steps of a round at once. */
static bool step_replica(void *job) {
    lh_replica *replica = job;
    const lh_bench_request *request = replica->request;
    lh_condition condition = lh_condition_at(request->length, request->spec->train.batch, 1, 0);
    const lh_engine_ops *ops = replica->engine->ops;
    lh_step_metrics metrics;
    lh_sums sums;
    int done;
    replica->status = LH_OK;
    for (int64_t i = 0; replica->status == LH_OK && i < replica->steps; i++) {
        if (request->mode == LH_MODE_TRAIN)
            replica->status = ops->step(replica->engine, 1, &metrics, &done, &replica->error);
        else replica->status = ops->evaluate(replica->engine, &condition, &sums, NULL, &replica->error);
    }
    return false;
}

lh_status lh_crew_step(lh_crew *crew, int64_t steps, lh_error *error) {
    lh_status status = LH_OK;
    for (int i = 0; i < crew->count; i++) crew->replicas[i].steps = steps;
    if (crew->request->replicas > 0) status = lh_group_run(crew->workers, crew->jobs, crew->count, step_replica, error);
    else step_replica(&crew->replicas[0]);
    for (int i = 0; status == LH_OK && i < crew->count; i++)
        if (crew->replicas[i].status != LH_OK) {
            *error = crew->replicas[i].error;
            status = crew->replicas[i].status;
        }
    return status;
}
