/* Fleets: memory and state. Calls to the device are in calls.c, steps in launch.c, batches of future steps in ring.c,
 * forward passes in forward.c.
 *
 * A fleet allocates the device memory of training when it is opened, for the longest training length and the largest
 * possible grid of its replicas. `reserve` allocates the memory of evaluation. A step allocates nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/initialise.h"
#include "runtime/cuda/fleet/fleet_parts.h"
#include "runtime/cuda/device_memory.h"

enum { ARRIVALS_BYTES = 128 /* bytes for a team's barrier counter, so that teams do not share a cache line */ };

/* ---- memory of steps ---- */

static int max_int(int a, int b) { return a > b ? a : b; }

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

static lh_cuda_grid choose_grid(const lh_cuda_fleet *fleet, int replicas) {
    bool is_serial = fleet->variant == &fleet->program->chip || fleet->library != NULL;
    return lh_cuda_choose_grid(is_serial, replicas, fleet->variant->shards, fleet->device->train_blocks);
}

/* The largest number of shards of a step. Each part of a batch of mixed lengths is cut into shards of its own, which
 * have as many sequences as the shards of a batch of one length. */
static int find_max_shards(const lh_cuda_fleet *fleet) {
    int batch = fleet->spec->train.batch, shards = fleet->arena.shards;
    if (!fleet->spec->train.mixes_lengths) return shards;
    int largest_shard = (batch + shards - 1) / shards, max_shards = batch / largest_shard + lh_cuda_count_parts(fleet);
    return max_shards < batch ? max_shards : batch;
}

/* Computes the largest sizes over all training lengths, and makes position tables for these lengths. A step of mixed
 * lengths has tables for each of its parts. */
static lh_status measure_lengths(lh_cuda_fleet *fleet, lh_error *error) {
    const lh_spec *spec = fleet->spec;
    lh_cuda_arena *arena = &fleet->arena;
    const lh_lengths lengths = lh_cuda_get_training_lengths(fleet);
    lh_status status = lh_check_training_lengths(spec, &lengths, error);
    if (status != LH_OK) return status;
    int max_length[LH_MAX_STREAMS] = {0};
    size_t max_shared_bytes = 0, all_shared_bytes = 0;
    for (int i = 0; i < lh_lengths_count(&lengths); i++) {
        lh_shape shard_shape = lh_make_shape(spec, lh_lengths_get(&lengths, i), spec->train.batch);
        if (fleet->library == NULL) shard_shape.sequences = (spec->train.batch + arena->shards - 1) / arena->shards;
        lh_raise_lengths(max_length, shard_shape.length);
        arena->partial_stride =
            max_size(arena->partial_stride, lh_cuda_align(fleet->program->partial_bytes(&shard_shape)));
        size_t shared_bytes = lh_cuda_align(fleet->program->shared_bytes(&shard_shape));
        max_shared_bytes = max_size(max_shared_bytes, shared_bytes);
        all_shared_bytes += shared_bytes;
        arena->workspace_stride = max_size(arena->workspace_stride,
                                           lh_cuda_align(fleet->program->workspace_bytes(&shard_shape, LH_MODE_TRAIN)));
    }
    /* The parts of a step have different lengths, so the sum over all lengths is an upper bound, and so is the number
     * of parts times the maximum. */
    arena->shared_stride = min_size(all_shared_bytes, (size_t)lh_cuda_count_parts(fleet) * max_shared_bytes);
    return lh_cuda_grow_tables(fleet, max_length, error);
}

static size_t get_piece_sums_bytes(const lh_cuda_fleet *fleet) {
    return lh_cuda_align(3 * (size_t)(fleet->spec->parameter_storage / LH_CUDA_PIECE) * sizeof(double));
}

static size_t get_shard_sums_bytes(const lh_cuda_fleet *fleet) {
    return lh_cuda_align((size_t)fleet->arena.max_shards * sizeof(lh_cuda_sums));
}

/* Allocates replicas, steps and results, on the device and on the host. */
static lh_status open_arrays(lh_cuda_fleet *fleet, lh_error *error) {
    lh_cuda_arena *arena = &fleet->arena;
    const lh_cuda_device *device = fleet->device;
    size_t replicas = (size_t)fleet->count, results = replicas * LH_CUDA_MAX_STEPS;
    size_t steps = results * (size_t)lh_cuda_count_parts(fleet);
    void *memory = NULL;
    lh_status status = lh_cuda_pin(device, replicas * sizeof *arena->host_replicas, "replicas", &memory, error);
    arena->host_replicas = memory;
    if (status == LH_OK) {
        status = lh_cuda_pin(device, steps * sizeof *arena->host_steps, "steps", &memory, error);
        arena->host_steps = memory;
    }
    if (status == LH_OK) {
        status = lh_cuda_pin(device, results * sizeof *arena->host_results, "results", &memory, error);
        arena->host_results = memory;
    }
    if (status == LH_OK)
        status = lh_cuda_allocate(device, replicas * sizeof *arena->host_replicas, "replicas", &arena->replicas, error);
    if (status == LH_OK)
        status = lh_cuda_allocate(device, steps * sizeof *arena->host_steps, "steps", &arena->steps, error);
    if (status == LH_OK)
        status = lh_cuda_allocate(device, results * sizeof *arena->host_results, "results", &arena->results, error);
    return status;
}

/* Allocates memory of steps for the largest grid over all numbers of active replicas from fleet->count down to 1. */
static lh_status open_arena(lh_cuda_fleet *fleet, lh_error *error) {
    lh_cuda_arena *arena = &fleet->arena;
    arena->shards = fleet->variant->shards;
    arena->max_shards = find_max_shards(fleet);
    lh_status status = measure_lengths(fleet, error);
    if (status != LH_OK) return status;
    int at_once = 0;
    for (int replicas = 1; replicas <= fleet->count; replicas++) {
        lh_cuda_grid grid = choose_grid(fleet, replicas);
        at_once = max_int(at_once, grid.at_once);
        arena->blocks = max_int(arena->blocks, grid.at_once * grid.team);
    }
    if (fleet->library != NULL) arena->blocks = 1;
    size_t teams = (size_t)at_once;
    arena->arrivals_bytes = teams * ARRIVALS_BYTES;
    arena->partials_bytes = teams * (size_t)arena->max_shards * arena->partial_stride;
    status = lh_cuda_allocate_zeroed(fleet, arena->partials_bytes, "the gradients of shards", &arena->partials, error);
    if (status == LH_OK)
        status = lh_cuda_allocate_zeroed(fleet, teams * arena->shared_stride, "the shared values of a step",
                                         &arena->shared_values, error);
    if (status == LH_OK)
        status = lh_cuda_allocate_zeroed(fleet, teams * get_piece_sums_bytes(fleet), "sums", &arena->piece_sums, error);
    if (status == LH_OK)
        status = lh_cuda_allocate_zeroed(fleet, teams * get_shard_sums_bytes(fleet), "sums", &arena->shard_sums, error);
    if (status == LH_OK)
        status = lh_cuda_allocate_zeroed(fleet, arena->arrivals_bytes, "barriers", &arena->arrivals, error);
    if (status == LH_OK)
        status = lh_cuda_allocate_zeroed(fleet, (size_t)arena->blocks * arena->workspace_stride,
                                         "the activations of blocks", &arena->workspaces, error);
    return status == LH_OK ? open_arrays(fleet, error) : status;
}

static void close_arena(lh_cuda_fleet *fleet) {
    lh_cuda_arena *arena = &fleet->arena;
    CUdeviceptr *memory[] = {&arena->partials,   &arena->shared_values, &arena->piece_sums,
                             &arena->shard_sums, &arena->arrivals,      &arena->workspaces,
                             &arena->replicas,   &arena->steps,         &arena->results};
    void *pinned[] = {arena->host_replicas, arena->host_steps, arena->host_results};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) lh_cuda_release(fleet->device, memory[i]);
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) lh_cuda_unpin(fleet->device, &pinned[i]);
    memset(arena, 0, sizeof *arena);
}

/* A vector of optimiser state on the device; NULL if the optimiser has fewer vectors. */
static void *get_optimizer_vector(const lh_cuda_engine *engine, int i) {
    if (i >= engine->fleet->spec->optimizer.states) return NULL;
    return (void *)(uintptr_t)lh_cuda_get_vector(engine, LH_CUDA_STATE + i);
}

/* Pointers of active replica `index`: its vectors, and the memory of its position in a launch. */
static lh_cuda_replica make_replica(const lh_cuda_fleet *fleet, int index) {
    const lh_cuda_arena *arena = &fleet->arena;
    const lh_cuda_engine *engine = fleet->active[index];
    size_t position = (size_t)(index % fleet->grid.at_once);
    return (lh_cuda_replica){
        .parameters = (void *)(uintptr_t)lh_cuda_get_vector(engine, LH_CUDA_PARAMETERS),
        .moment1 = get_optimizer_vector(engine, 0),
        .moment2 = get_optimizer_vector(engine, 1),
        .gradient = (void *)(uintptr_t)lh_cuda_get_vector(engine, LH_CUDA_GRADIENT),
        .partials = (char *)(uintptr_t)(arena->partials + position * (size_t)arena->max_shards * arena->partial_stride),
        .shared = (char *)(uintptr_t)(arena->shared_values + position * arena->shared_stride),
        .piece_sums = (double *)(uintptr_t)(arena->piece_sums + position * get_piece_sums_bytes(fleet)),
        .shard_sums = (lh_cuda_sums *)(uintptr_t)(arena->shard_sums + position * get_shard_sums_bytes(fleet)),
        .arrivals = (unsigned int *)(uintptr_t)(arena->arrivals + position * ARRIVALS_BYTES),
    };
}

lh_status lh_cuda_divide_device(lh_cuda_fleet *fleet, lh_error *error) {
    lh_cuda_arena *arena = &fleet->arena;
    if (fleet->is_grid_current || fleet->active_count == 0) return LH_OK;
    fleet->grid = choose_grid(fleet, fleet->active_count);
    for (int i = 0; i < fleet->active_count; i++) arena->host_replicas[i] = make_replica(fleet, i);
    lh_status status = lh_cuda_clear(fleet, arena->partials, arena->partials_bytes, error);
    if (status == LH_OK)
        status = lh_cuda_copy_in(fleet, arena->replicas, arena->host_replicas,
                                 (size_t)fleet->active_count * sizeof *arena->host_replicas, error);
    fleet->is_grid_current = status == LH_OK;
    return status;
}

void lh_cuda_deactivate(lh_cuda_engine *engine) {
    lh_cuda_fleet *fleet = engine->fleet;
    int kept_count = 0;
    if (!engine->is_active) return;
    engine->is_active = false;
    for (int i = 0; i < fleet->active_count; i++)
        if (fleet->active[i]->is_active) fleet->active[kept_count++] = fleet->active[i];
    fleet->active_count = kept_count;
    fleet->is_grid_current = false;
    lh_cuda_ring_clear(fleet);
}

/* ---- state ---- */

static int count_vectors(const lh_cuda_fleet *fleet) {
    return fleet->config.trains ? LH_CUDA_STATE + fleet->spec->optimizer.states : 1;
}

/* Allocates the vectors of a replica and writes its initial parameters; host: a buffer for one vector. */
static lh_status open_vectors(lh_cuda_engine *engine, void *host, lh_error *error) {
    lh_cuda_fleet *fleet = engine->fleet;
    size_t vector_bytes = lh_cuda_get_vector_bytes(fleet);
    const char *purpose = fleet->config.trains ? "parameters, optimiser state and gradient" : "the parameters";
    lh_status status =
        lh_cuda_allocate_zeroed(fleet, (size_t)count_vectors(fleet) * vector_bytes, purpose, &engine->vectors, error);
    if (status != LH_OK) return status;
    lh_initialise(fleet->spec, lh_get_part_seed(engine->seed, &engine->separate_seeds, LH_SEED_INIT),
                  fleet->program->real_bytes, host);
    return lh_cuda_copy_in(fleet, engine->vectors, host, vector_bytes, error);
}

static lh_status engine_read_state(lh_engine *handle, lh_state *state, lh_error *error) {
    lh_cuda_engine *engine = (lh_cuda_engine *)handle;
    lh_cuda_fleet *fleet = engine->fleet;
    size_t bytes = lh_cuda_get_vector_bytes(fleet);
    lh_status status = lh_cuda_begin_call(fleet, error);
    if (status != LH_OK) return status;
    status = lh_cuda_copy_out(fleet, state->parameters, lh_cuda_get_vector(engine, LH_CUDA_PARAMETERS), bytes, error);
    for (int i = 0; status == LH_OK && fleet->config.trains && i < fleet->spec->optimizer.states; i++)
        if (state->optimizer[i] != NULL)
            status = lh_cuda_copy_out(fleet, state->optimizer[i], lh_cuda_get_vector(engine, LH_CUDA_STATE + i), bytes,
                                      error);
    return lh_cuda_record_failure(fleet, status, error);
}

static lh_status engine_write_state(lh_engine *handle, const lh_state *state, int64_t step, lh_error *error) {
    lh_cuda_engine *engine = (lh_cuda_engine *)handle;
    lh_cuda_fleet *fleet = engine->fleet;
    size_t bytes = lh_cuda_get_vector_bytes(fleet);
    lh_status status = lh_cuda_begin_call(fleet, error);
    if (status != LH_OK) return status;
    status = lh_cuda_copy_in(fleet, lh_cuda_get_vector(engine, LH_CUDA_PARAMETERS), state->parameters, bytes, error);
    for (int i = 0; status == LH_OK && fleet->config.trains && i < fleet->spec->optimizer.states; i++)
        if (state->optimizer[i] != NULL)
            status = lh_cuda_copy_in(fleet, lh_cuda_get_vector(engine, LH_CUDA_STATE + i), state->optimizer[i], bytes,
                                     error);
    if (engine->is_active && step != handle->step) lh_cuda_ring_clear(fleet);
    lh_cuda_drop_early_answers(engine);
    handle->step = step;
    return lh_cuda_record_failure(fleet, status, error);
}

static lh_status engine_read_gradient(lh_engine *handle, void *gradient, lh_error *error) {
    lh_cuda_engine *engine = (lh_cuda_engine *)handle;
    lh_cuda_fleet *fleet = engine->fleet;
    lh_status status = lh_cuda_begin_call(fleet, error);
    if (status != LH_OK) return status;
    status = lh_cuda_copy_out(fleet, gradient, lh_cuda_get_vector(engine, LH_CUDA_GRADIENT),
                              lh_cuda_get_vector_bytes(fleet), error);
    return lh_cuda_record_failure(fleet, status, error);
}

/* ---- opening and closing ---- */

static void fleet_close(lh_cuda_fleet *fleet) {
    lh_cuda_make_current(fleet->device, NULL);
    if (fleet->stream != NULL) fleet->driver->cuStreamSynchronize(fleet->stream);
    lh_cuda_ring_close(fleet);
    lh_cuda_forward_close(fleet);
    close_arena(fleet);
    for (int i = 0; fleet->engines != NULL && i < fleet->count; i++) {
        lh_cuda_release(fleet->device, &fleet->engines[i].vectors);
        lh_epoch_close(&fleet->engines[i].epoch);
    }
    lh_cuda_release(fleet->device, &fleet->tables);
    lh_cuda_library_close(fleet->library);
    if (fleet->stream != NULL) fleet->driver->cuStreamDestroy(fleet->stream);
    free(fleet->launches);
    free(fleet->engines);
    free(fleet->active);
    free(fleet->evaluated_engines);
    free(fleet->evaluated_answers);
    free(fleet);
}

static void engine_close(lh_engine *handle) {
    lh_cuda_engine *engine = (lh_cuda_engine *)handle;
    lh_cuda_fleet *fleet = engine->fleet;
    lh_cuda_make_current(fleet->device, NULL);
    lh_cuda_deactivate(engine);
    lh_cuda_drop_early_answers(engine);
    engine->is_closed = true;
    lh_cuda_release(fleet->device, &engine->vectors);
    lh_epoch_close(&engine->epoch);
    if (--fleet->open == 0) fleet_close(fleet);
}

static const lh_engine_ops cuda_ops = {
    .step = lh_cuda_engine_step,
    .reserve = lh_cuda_reserve,
    .evaluate = lh_cuda_evaluate_condition,
    .predict = lh_cuda_predict,
    .answer = lh_cuda_answer_queries,
    .read_state = engine_read_state,
    .write_state = engine_write_state,
    .read_gradient = engine_read_gradient,
    .close = engine_close,
};

static void initialise_engine(lh_cuda_fleet *fleet, const lh_engine_config *config, lh_cuda_engine *engine) {
    engine->engine = (lh_engine){
        .ops = &cuda_ops,
        .spec = fleet->spec,
        .level = fleet->level,
        .real_bytes = fleet->program->real_bytes,
        .threads = fleet->config.threads,
        .compiler = fleet->compiler,
        .variant = fleet->variant->name,
        .device = fleet->device->name,
        .answers_greedily = fleet->spec->format->teacher_forced,
    };
    engine->fleet = fleet;
    engine->seed = config->seed;
    engine->separate_seeds = config->separate_seeds;
    engine->learning_rate = config->learning_rate;
    engine->data_key = lh_get_part_key(config->seed, &config->separate_seeds, LH_SEED_DATA);
    engine->draws_key = lh_get_part_key(config->seed, &config->separate_seeds, LH_SEED_DRAWS);
    engine->is_active = config->trains;
}

static lh_status open_engines(lh_cuda_fleet *fleet, lh_error *error) {
    void *host = lh_engine_allocate(lh_cuda_get_vector_bytes(fleet), "a copy of the parameters", error);
    if (host == NULL) return LH_ERR_ENVIRONMENT;
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < fleet->count; i++) {
        status = open_vectors(&fleet->engines[i], host, error);
        if (status == LH_OK && fleet->config.trains && fleet->spec->corpus != NULL)
            status = lh_epoch_open(&fleet->engines[i].epoch, fleet->spec->corpus, fleet->spec->train.batch, error);
    }
    free(host);
    return status;
}

static lh_status open_device(lh_cuda_fleet *fleet, lh_error *error) {
    lh_status status = lh_cuda_make_current(fleet->device, error);
    if (status != LH_OK) return status;
    status = lh_cuda_check(fleet->driver, fleet->driver->cuStreamCreate(&fleet->stream, LH_CUDA_STREAM_NON_BLOCKING),
                           "cuStreamCreate", error);
    if (status == LH_OK) status = lh_cuda_phases_open(fleet, error);
    if (status == LH_OK) status = open_engines(fleet, error);
    if (status == LH_OK && fleet->config.trains) status = open_arena(fleet, error);
    if (status == LH_OK && fleet->config.trains) status = lh_cuda_describe_products(fleet, error);
    if (status == LH_OK && fleet->config.trains) status = lh_cuda_ring_open(fleet, error);
    return status;
}

lh_status lh_cuda_fleet_open(const lh_cuda_device *device, const lh_cuda_variant *variant,
                             const lh_engine_config *configs, int count, lh_engine **engines, lh_error *error) {
    lh_cuda_fleet *fleet = lh_engine_allocate(sizeof *fleet, "the engines", error);
    if (fleet == NULL) return LH_ERR_ENVIRONMENT;
    fleet->device = device;
    fleet->driver = device->driver;
    fleet->program = device->program;
    fleet->variant = variant != NULL ? variant : count == 1 ? &device->program->chip : &device->program->replicas;
    fleet->spec = configs[0].spec;
    fleet->config = configs[0];
    fleet->count = fleet->open = count;
    snprintf(fleet->level, sizeof fleet->level, "sm_%d %s", device->architecture, fleet->variant->name);
    snprintf(fleet->compiler, sizeof fleet->compiler, "%s", device->compiler);
    fleet->engines = lh_engine_allocate((size_t)count * sizeof *fleet->engines, "the engines", error);
    fleet->active = lh_engine_allocate((size_t)count * sizeof *fleet->active, "the engines", error);
    fleet->evaluated_engines =
        lh_engine_allocate((size_t)count * sizeof *fleet->evaluated_engines, "the engines", error);
    fleet->evaluated_answers =
        lh_engine_allocate((size_t)count * sizeof *fleet->evaluated_answers, "the engines", error);
    bool is_allocated = fleet->engines != NULL && fleet->active != NULL && fleet->evaluated_engines != NULL &&
                        fleet->evaluated_answers != NULL;
    lh_status status = is_allocated ? LH_OK : LH_ERR_ENVIRONMENT;
    for (int i = 0; status == LH_OK && i < count; i++) {
        initialise_engine(fleet, &configs[i], &fleet->engines[i]);
        if (configs[i].trains) fleet->active[fleet->active_count++] = &fleet->engines[i];
    }
    if (status == LH_OK) status = open_device(fleet, error);
    if (status != LH_OK) {
        fleet_close(fleet);
        return status;
    }
    for (int i = 0; i < count; i++) engines[i] = &fleet->engines[i].engine;
    return LH_OK;
}

void lh_cuda_fleet_describe(const lh_engine *engine, char *text, size_t size) {
    const lh_cuda_fleet *fleet = ((const lh_cuda_engine *)engine)->fleet;
    lh_cuda_grid grid = choose_grid(fleet, fleet->count);
    int resident = fleet->device->train_blocks;
    const char *library = fleet->library != NULL ? lh_cuda_library_name(fleet->library) : NULL;
    if (library != NULL && fleet->count == 1)
        snprintf(text, size, "one model on %d of %d resident blocks, products by %s", grid.team, resident, library);
    else if (library != NULL)
        snprintf(text, size, "%d replicas, one after the other, on %d of %d resident blocks, products by %s",
                 fleet->count, grid.team, resident, library);
    else if (fleet->variant == &fleet->program->chip)
        snprintf(text, size, "one model on %d of %d resident blocks", grid.team, resident);
    else if (grid.rounds == 1)
        snprintf(text, size, "%d replica%s x %d block%s, %d are resident", fleet->count, fleet->count > 1 ? "s" : "",
                 grid.team, grid.team > 1 ? "s" : "", resident);
    else
        snprintf(text, size, "%d replicas in %d rounds of %d, each on one of %d resident blocks", fleet->count,
                 grid.rounds, grid.at_once, resident);
}
