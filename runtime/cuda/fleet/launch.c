/* Steps of a fleet. One launch makes a number of steps of every replica in training. Several launches are necessary if
 * too few blocks are resident (grid.h), or if the model is wide. A wide model has a launch for each phase and each
 * product of a step.
 *
 * A training loop that reads parameters and metrics between steps must see the values of its own step. So a launch
 * makes only as many steps as every engine has requested. It starts after every engine has returned all steps of the
 * previous launch and was called again.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/diagnose.h"
#include "runtime/cuda/fleet/fleet_parts.h"

static const double LAUNCH_SECONDS = 0.2; /* approximate limit for the duration of a launch */

/* Wide models: the largest number of launches that wait in the stream at one time. At about this number, a driver would
 * block the calling thread, which makes batches while launches run. */
enum { MAX_LAUNCHES = 1024 };

/* ---- failures ---- */

/* Records that the first unfinished step has failed, and removes the engine from training. Its failed_metrics and
 * failure_message must be set. */
static void fail_engine(lh_cuda_engine *engine, lh_status status) {
    engine->failure = status;
    lh_cuda_deactivate(engine);
}

/* Adds facts of the parameters and the gradient of the failed step to the message. is_updated: the step has updated
 * the parameters; then the message gets no facts of the gradient. */
static lh_status add_diagnosis(lh_cuda_engine *engine, bool is_updated, lh_error *error) {
    lh_cuda_fleet *fleet = engine->fleet;
    size_t bytes = lh_cuda_get_vector_bytes(fleet);
    char *parameters = lh_engine_allocate(2 * bytes, "a copy of the parameters", NULL), *gradient;
    if (parameters == NULL) return LH_OK; /* the message is not extended */
    gradient = parameters + bytes;
    lh_status status =
        lh_cuda_copy_out(fleet, parameters, lh_cuda_get_vector(engine, LH_CUDA_PARAMETERS), bytes, error);
    if (status == LH_OK && !is_updated)
        status = lh_cuda_copy_out(fleet, gradient, lh_cuda_get_vector(engine, LH_CUDA_GRADIENT), bytes, error);
    if (status == LH_OK)
        lh_diagnose_step(&engine->failure_message, fleet->spec, fleet->program->real_bytes, parameters,
                         is_updated ? NULL : gradient, engine->failed_metrics.length);
    free(parameters);
    return status;
}

/* Finds the first column whose batch of the next step could not be made; -1: all columns have batches. Reduces *count
 * to the number of steps for which all columns have batches. */
static int find_failed_column(const lh_cuda_fleet *fleet, int *count) {
    const lh_cuda_ring *ring = &fleet->ring;
    for (int column = 0; column < ring->columns; column++)
        for (int i = 0; i < *count; i++) {
            if (lh_cuda_ring_get(ring, ring->first + i, column)->status == LH_OK) continue;
            if (i == 0) return column;
            *count = i;
        }
    return -1;
}

/* ---- a launch ---- */

static lh_status check(const lh_cuda_fleet *fleet, CUresult result, const char *call, lh_error *error) {
    return lh_cuda_check(fleet->driver, result, call, error);
}

/* Provides batches of *count steps on the device, or of fewer steps if later batches are missing. Replicas without a
 * batch of the next step fail and leave training; if all fail, *count is 0. */
static lh_status prepare_steps(lh_cuda_fleet *fleet, int *count, lh_error *error) {
    for (;;) {
        lh_status status = lh_cuda_divide_device(fleet, error);
        if (fleet->active_count == 0) *count = 0;
        if (status == LH_OK) status = lh_cuda_ring_fill(fleet, fleet->ring.first + *count, error);
        if (status != LH_OK) return status;
        int column = find_failed_column(fleet, count);
        if (column < 0)
            return check(fleet, fleet->driver->cuStreamSynchronize(fleet->ring.stream), "cuStreamSynchronize", error);
        lh_cuda_engine *engine = fleet->active[column];
        int n = lh_cuda_ring_get(&fleet->ring, fleet->ring.first, column)->n;
        engine->failed_metrics = (lh_step_metrics){.length = lh_get_reported_length(fleet->spec, n)};
        fail_engine(engine, lh_cuda_ring_get_failure(fleet, column, &engine->failure_message));
    }
}

/* Arguments of a launch that runs the active replicas from index `first` on side by side, for `count` steps each. */
static lh_cuda_train make_train_arguments(const lh_cuda_fleet *fleet, int first, int count) {
    const lh_cuda_arena *arena = &fleet->arena;
    size_t first_element = (size_t)first * (size_t)count,
           first_step = first_element * (size_t)lh_cuda_count_parts(fleet);
    return (lh_cuda_train){
        .replicas = (const lh_cuda_replica *)(uintptr_t)(arena->replicas + (size_t)first * sizeof(lh_cuda_replica)),
        .steps = (const lh_cuda_step *)(uintptr_t)(arena->steps + first_step * sizeof(lh_cuda_step)),
        .results = (lh_cuda_result *)(uintptr_t)(arena->results + first_element * sizeof(lh_cuda_result)),
        .tables = (const void *)(uintptr_t)fleet->tables,
        .workspace = (char *)(uintptr_t)arena->workspaces,
        .workspace_stride = (long long)arena->workspace_stride,
        .partial_stride = (long long)arena->partial_stride,
        .count = count,
        .team = fleet->grid.team,
        .shards = arena->shards,
    };
}

/* Starts step `index` of a launch of `count` steps of a wide model, for the active replica with index `replica`. */
static lh_status start_wide_step(lh_cuda_fleet *fleet, int replica, int count, int index, lh_error *error) {
    const lh_cuda_engine *engine = fleet->active[replica];
    const lh_cuda_step *step = &fleet->arena.host_steps[replica * count + index];
    lh_cuda_train train = make_train_arguments(fleet, replica, count);
    train.steps += index;
    train.results += index;
    train.count = 1;
    lh_cuda_pass pass = {
        .kernel = fleet->device->train,
        .blocks = train.team,
        .mode = LH_MODE_TRAIN,
        .shape = {.sequences = step->sequences, .length = {step->T[0], step->T[1]}, .labels = step->label_count},
        .passes = lh_cuda_ring_get(&fleet->ring, fleet->ring.first + index, replica)->passes,
        .workspace = fleet->arena.workspaces,
        .parameters = lh_cuda_get_vector(engine, LH_CUDA_PARAMETERS),
        .gradient = lh_cuda_get_vector(engine, LH_CUDA_GRADIENT),
        .arrivals = fleet->arena.arrivals,
        .arguments = &train,
        .preceding_result = index > 0 ? train.results - 1 : NULL,
    };
    CUresult result = fleet->driver->cuMemsetD8Async(pass.gradient, 0, lh_cuda_get_vector_bytes(fleet), fleet->stream);
    lh_status status = check(fleet, result, "cuMemsetD8Async", error);
    return status == LH_OK ? lh_cuda_run_phases(fleet, &pass, error) : status;
}

/* Starts all steps of a wide model's replica, one after another. */
static lh_status start_wide_steps(lh_cuda_fleet *fleet, int replica, int count, lh_error *error) {
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < count; i++) status = start_wide_step(fleet, replica, count, i, error);
    return status;
}

/* Starts the active replicas with the indices `first`, `first` + 1, ... side by side. */
static lh_status launch_round(lh_cuda_fleet *fleet, int first, int count, lh_error *error) {
    const lh_cuda_arena *arena = &fleet->arena;
    const lh_cuda_driver *driver = fleet->driver;
    int remaining = fleet->active_count - first;
    int replicas = remaining < fleet->grid.at_once ? remaining : fleet->grid.at_once;
    if (fleet->library != NULL) return start_wide_steps(fleet, first, count, error);
    lh_cuda_train train = make_train_arguments(fleet, first, count);
    void *arguments[] = {&train};
    CUresult result = driver->cuMemsetD8Async(arena->arrivals, 0, arena->arrivals_bytes, fleet->stream);
    lh_status status = check(fleet, result, "cuMemsetD8Async", error);
    if (status != LH_OK) return status;
    result = driver->cuLaunchCooperativeKernel(fleet->device->train, (unsigned)(replicas * fleet->grid.team), 1, 1,
                                               (unsigned)fleet->program->threads, 1, 1,
                                               (unsigned)fleet->program->block_memory, fleet->stream, arguments);
    return check(fleet, result, "cuLaunchCooperativeKernel of the training step", error);
}

/* Starts `count` steps of every active replica; returns while they run. */
static lh_status start_steps(lh_cuda_fleet *fleet, int count, lh_error *error) {
    lh_cuda_arena *arena = &fleet->arena;
    const lh_cuda_driver *driver = fleet->driver;
    size_t steps = (size_t)fleet->active_count * (size_t)count, results = steps * sizeof *arena->host_results;
    size_t parts = (size_t)lh_cuda_count_parts(fleet), step_bytes = parts * sizeof *arena->host_steps;
    for (size_t i = 0; i < steps; i++)
        memcpy(arena->host_steps + i * parts,
               lh_cuda_ring_get(&fleet->ring, fleet->ring.first + (int)i % count, (int)i / count)->steps, step_bytes);
    CUresult result = driver->cuMemcpyHtoDAsync(arena->steps, arena->host_steps, steps * step_bytes, fleet->stream);
    lh_status status = check(fleet, result, "cuMemcpyHtoDAsync", error);
    if (status == LH_OK)
        status = check(fleet, driver->cuMemsetD8Async(arena->results, LH_CUDA_NOT_RUN, results, fleet->stream),
                       "cuMemsetD8Async", error);
    for (int first = 0; status == LH_OK && first < fleet->active_count; first += fleet->grid.at_once)
        status = launch_round(fleet, first, count, error);
    if (status == LH_OK)
        status = check(fleet, driver->cuMemcpyDtoHAsync(arena->host_results, arena->results, results, fleet->stream),
                       "cuMemcpyDtoHAsync", error);
    return status;
}

/* ---- results ---- */

static lh_step_metrics read_metrics(const lh_cuda_fleet *fleet, const lh_cuda_prepared_step *prepared,
                                    const lh_cuda_result *result) {
    double clip_norm = fleet->spec->optimizer.clip_norm, norm = sqrt(result->gradient_squares);
    return (lh_step_metrics){
        .sums = {.loss = result->sums.loss,
                 .positions = fleet->spec->task->loss == LH_LOSS_COUNTED ? result->sums.counted : prepared->labels,
                 .counted = result->sums.counted,
                 .correct = result->sums.correct,
                 .sequences = prepared->counted_sequences,
                 .exact = result->sums.exact_ones},
        .gradient_norm = norm,
        .parameter_norm = sqrt(result->parameter_squares),
        .update_norm = sqrt(result->update_squares),
        .heavy_chunk = result->heavy_chunk,
        .heavy_share = result->heavy_squares > 0 ? result->heavy_squares / (norm * norm) : 0,
        .is_clipped = clip_norm > 0 && norm >= clip_norm,
        .length = lh_get_reported_length(fleet->spec, prepared->n),
    };
}

/* Recomputes the gradient of a wide model's failed step, because later steps have overwritten it. The parameters are
 * still the parameters of the failed step. */
static lh_status recompute_gradient(lh_cuda_fleet *fleet, int column, int count, int index, lh_error *error) {
    if (fleet->library == NULL || index + 1 == count) return LH_OK;
    return start_wide_step(fleet, column, count, index, error);
}

/* Takes the metrics of a replica's steps, up to a failed step. */
static lh_status take_results(lh_cuda_engine *engine, const lh_cuda_result *results, int column, int count,
                              lh_error *error) {
    const lh_cuda_ring *ring = &engine->fleet->ring;
    engine->reported_count = engine->engine.unreported_steps = 0;
    for (int i = 0; i < count; i++) {
        lh_step_metrics *metrics = &engine->metrics[i];
        long long step = (long long)engine->engine.step + i + 1;
        if (results[i].state == LH_CUDA_NOT_RUN)
            return lh_fail(error, LH_ERR_ENVIRONMENT, "the kernel did not reach step %lld of seed %llu", step,
                           (unsigned long long)engine->seed);
        *metrics = read_metrics(engine->fleet, lh_cuda_ring_get(ring, ring->first + i, column), &results[i]);
        bool is_updated = results[i].state == LH_CUDA_DONE;
        engine->failure = lh_check_step(metrics, step, is_updated, &engine->failure_message);
        if (engine->failure != LH_OK) {
            engine->failed_metrics = *metrics;
            lh_status status = is_updated ? LH_OK : recompute_gradient(engine->fleet, column, count, i, error);
            return status == LH_OK ? add_diagnosis(engine, is_updated, error) : status;
        }
        engine->engine.unreported_steps++;
    }
    return LH_OK;
}

static lh_status take_all_results(lh_cuda_fleet *fleet, int count, double seconds, lh_error *error) {
    lh_status status = LH_OK;
    for (int column = 0; status == LH_OK && column < fleet->active_count; column++) {
        lh_cuda_engine *engine = fleet->active[column];
        status = take_results(engine, fleet->arena.host_results + (size_t)column * (size_t)count, column, count, error);
        engine->launch_seconds = seconds;
        engine->requested_steps = 0;
    }
    if (status != LH_OK) return status;
    fleet->ring.first += count;
    for (int column = fleet->active_count - 1; column >= 0; column--)
        if (fleet->active[column]->failure != LH_OK) lh_cuda_deactivate(fleet->active[column]);
    return LH_OK;
}

/* ---- all engines together ---- */

static int min_int(int a, int b) { return a < b ? a : b; }

/* The number of steps of the next launch, limited by time, memory and, for wide models, MAX_LAUNCHES. With a
 * watchdog, the time of a step is that of the slowest step so far, because lengths differ; if the model is not wide,
 * the number of steps at most doubles from launch to launch. */
static int choose_step_count(const lh_cuda_fleet *fleet) {
    int max_steps = fleet->ring.capacity / 2;
    if (fleet->library != NULL)
        max_steps = min_int(max_steps, MAX_LAUNCHES / (fleet->active_count * fleet->program->most_launches));
    else if (fleet->device->watchdog)
        max_steps = min_int(max_steps, 2 * fleet->last_step_count + (fleet->last_step_count == 0));
    double steps_in_time = fleet->step_seconds > 0 ? LAUNCH_SECONDS / fleet->step_seconds : 1;
    int count = steps_in_time < max_steps ? (int)steps_in_time : max_steps;
    return count > 1 ? count : 1;
}

/* Runs a launch, makes the batches of the next launch meanwhile, and takes the results. */
static lh_status run_launch(lh_cuda_fleet *fleet, lh_error *error) {
    int count = choose_step_count(fleet);
    double start_time = lh_read_clock();
    for (int i = 0; i < fleet->active_count; i++)
        if (fleet->active[i]->requested_steps < count) count = fleet->active[i]->requested_steps;
    lh_status status = prepare_steps(fleet, &count, error);
    if (status != LH_OK || count == 0) return status;
    status = start_steps(fleet, count, error);
    if (status == LH_OK) status = lh_cuda_ring_fill(fleet, fleet->ring.first + count + choose_step_count(fleet), error);
    if (status == LH_OK)
        status = check(fleet, fleet->driver->cuStreamSynchronize(fleet->stream), "the training step", error);
    double seconds = lh_read_clock() - start_time;
    if (!fleet->device->watchdog || seconds / count > fleet->step_seconds) fleet->step_seconds = seconds / count;
    fleet->last_step_count = count;
    return status == LH_OK ? take_all_results(fleet, count, seconds, error) : status;
}

/* Whether all active engines wait for steps. Searches from the end: engines are called in turn, so the last one is
 * usually the one that does not wait yet. */
static bool are_all_waiting(const lh_cuda_fleet *fleet) {
    for (int i = fleet->active_count - 1; i >= 0; i--)
        if (fleet->active[i]->engine.unreported_steps > 0 || fleet->active[i]->requested_steps == 0) return false;
    return true;
}

static void return_metrics(lh_cuda_engine *engine, int count, lh_step_metrics *metrics, int *steps_done) {
    int available = engine->engine.unreported_steps;
    *steps_done = available < count ? available : count;
    if (*steps_done == 0) return;
    memcpy(metrics, engine->metrics + engine->reported_count, (size_t)*steps_done * sizeof *metrics);
    double seconds = engine->launch_seconds * *steps_done / available;
    engine->engine.seconds += seconds;
    engine->launch_seconds -= seconds;
    engine->reported_count += *steps_done;
    engine->engine.unreported_steps -= *steps_done;
    engine->engine.step += *steps_done;
}

lh_status lh_cuda_engine_step(lh_engine *handle, int count, lh_step_metrics *metrics, int *steps_done,
                              lh_error *error) {
    lh_cuda_engine *engine = (lh_cuda_engine *)handle;
    lh_cuda_fleet *fleet = engine->fleet;
    *steps_done = 0;
    lh_status status = lh_cuda_begin_call(fleet, error);
    if (status != LH_OK) return status;
    if (handle->unreported_steps == 0 && engine->failure == LH_OK) {
        engine->requested_steps = count;
        if (are_all_waiting(fleet)) status = lh_cuda_record_failure(fleet, run_launch(fleet, error), error);
        if (status != LH_OK) return status;
    }
    return_metrics(engine, count, metrics, steps_done);
    if (*steps_done == count || engine->failure == LH_OK || handle->unreported_steps > 0) return LH_OK;
    metrics[*steps_done] = engine->failed_metrics;
    if (error != NULL) *error = engine->failure_message;
    return engine->failure;
}
