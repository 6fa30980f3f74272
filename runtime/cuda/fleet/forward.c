/* Forward passes on a CUDA device: one launch for all models of a pass, or several launches if a watchdog ends long
 * launches, a signal may stop the pass, the models outnumber the resident blocks, or the models are wide. */
#include <string.h>

#include "base/clock.h"
#include "base/real.h"
#include "runtime/cuda/fleet/fleet_parts.h"
#include "runtime/cuda/device_memory.h"

/* MAX_MODEL_BYTES: limit for the tables and answers of the models that one pass evaluates; MAX_BATCH_BYTES: limit for
 * the batches of models that decode side by side. A pass has one model even if these limits are smaller. */
static const size_t MAX_MODEL_BYTES = (size_t)256 << 20, MAX_BATCH_BYTES = (size_t)64 << 20;

/* Limit for the sequences of a group that is decoded: a warp multiplies this number of rows at a time. Groups are
 * smaller if all groups that run at once would need more than MAX_DECODED_BYTES. */
enum { DECODED_GROUP = 32 };
static const size_t MAX_DECODED_BYTES = (size_t)1 << 30;

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

/* Groups of sequences that pass through the layers together, and the blocks that process them in turn. */
typedef struct grouping {
    int group;         /* sequences of a group */
    int at_once, team; /* at_once: models of one launch; team: blocks of each model */
    size_t workspace;  /* bytes of a workspace; each block has a workspace, a wide model has only one in total */
} grouping;

/* The number of sequences divided by `divisor`, rounded up. This is the number of groups with `divisor` sequences
 * each, and also the number of sequences in each of `divisor` groups. */
static int divide_sequences(const lh_shape *shape, int divisor) { return (shape->sequences + divisor - 1) / divisor; }

/* The number of sequences that the program processes as a group, at most all sequences. */
static int get_group(const lh_cuda_fleet *fleet, const lh_shape *shape) {
    int group = fleet->program->evaluation_group(shape);
    return group < shape->sequences ? group : shape->sequences;
}

static size_t compute_workspace_bytes(const lh_cuda_fleet *fleet, const lh_shape *shape, int group, bool decodes) {
    lh_shape group_shape = *shape;
    group_shape.sequences = group;
    return lh_cuda_align(decodes ? fleet->program->decode_bytes(&group_shape)
                                 : fleet->program->workspace_bytes(&group_shape, LH_MODE_EVALUATE));
}

/* The greatest number of sequences of a group that is decoded, if `groups` groups run at once. */
static int get_decoded_group(const lh_cuda_fleet *fleet, const lh_shape *shape, size_t groups) {
    int group = shape->sequences < DECODED_GROUP ? shape->sequences : DECODED_GROUP;
    while (group > 1 && groups * compute_workspace_bytes(fleet, shape, group, true) > MAX_DECODED_BYTES) group--;
    return group;
}

/* Chooses groups of equal size. Groups are smaller than those of the program if blocks would be idle otherwise; the
 * bits of a sequence do not depend on its group. The groups of a wide model do not depend on other models, because
 * the bits of its products may depend on the groups. */
static grouping choose_grouping(const lh_cuda_fleet *fleet, const lh_shape *shape, int models, bool decodes) {
    int resident = fleet->device->evaluate_blocks;
    int group = decodes ? get_decoded_group(fleet, shape, (size_t)resident) : get_group(fleet, shape);
    if (fleet->library != NULL)
        return (grouping){group, 1, group < resident ? group : resident,
                          compute_workspace_bytes(fleet, shape, group, false)};
    int at_once = models < resident ? models : resident, blocks = resident / at_once;
    int rounds = (divide_sequences(shape, group) + blocks - 1) / blocks;
    group = divide_sequences(shape, blocks * rounds);
    int busy_blocks = divide_sequences(shape, group);
    return (grouping){group, at_once, busy_blocks < blocks ? busy_blocks : blocks,
                      compute_workspace_bytes(fleet, shape, group, decodes)};
}

/* An upper bound for the bytes of a launch's workspaces, for any number of the fleet's replicas. It assumes the
 * largest groups that choose_grouping can choose, and one group for each block. */
static size_t compute_workspaces_bytes(const lh_cuda_fleet *fleet, const lh_shape *shape) {
    int resident = fleet->device->evaluate_blocks, at_once = fleet->count < resident ? fleet->count : resident;
    int group = get_group(fleet, shape), max_group = divide_sequences(shape, resident / at_once);
    if (fleet->library != NULL) return compute_workspace_bytes(fleet, shape, group, false);
    size_t blocks = min_size((size_t)fleet->count * (size_t)shape->sequences, (size_t)resident);
    size_t bytes = blocks * compute_workspace_bytes(fleet, shape, group < max_group ? group : max_group, false);
    if (fleet->program->decode_bytes == NULL) return bytes;
    int decoded_group = get_decoded_group(fleet, shape, (size_t)resident);
    return max_size(bytes, blocks * compute_workspace_bytes(
                                        fleet, shape, decoded_group < max_group ? decoded_group : max_group, true));
}

static size_t compute_shared_bytes(const lh_cuda_fleet *fleet, const lh_shape *shape) {
    return lh_cuda_align(fleet->program->shared_bytes(shape));
}

static void raise_need(size_t *need, size_t value) { *need = max_size(*need, value); }

/* Raises memory_needs and max_length so that they suffice for a condition. */
static void raise_needs(const lh_cuda_fleet *fleet, int n, int examples, size_t *memory_needs, int *max_length) {
    const lh_spec *spec = fleet->spec;
    lh_shape shape = lh_make_shape(spec, n, examples);
    size_t labels = (size_t)shape.labels;
    raise_need(&memory_needs[LH_CUDA_NEED_BATCH], lh_cuda_make_layout(fleet, &shape).bytes);
    raise_need(&memory_needs[LH_CUDA_NEED_WORKSPACES], compute_workspaces_bytes(fleet, &shape));
    raise_need(&memory_needs[LH_CUDA_NEED_SHARED], compute_shared_bytes(fleet, &shape));
    raise_need(&memory_needs[LH_CUDA_NEED_LOGITS], labels * (size_t)spec->classes * (size_t)fleet->program->real_bytes);
    raise_need(&memory_needs[LH_CUDA_NEED_CLASSES], (size_t)examples * labels * sizeof(int));
    raise_need(&memory_needs[LH_CUDA_NEED_ANSWERS], (size_t)examples * lh_cuda_get_answer_bytes(spec));
    raise_need(&memory_needs[LH_CUDA_NEED_WORDS], lh_count_batch_words(spec, n));
    raise_need(&memory_needs[LH_CUDA_NEED_LENGTH], (size_t)n);
    lh_raise_lengths(max_length, shape.length);
}

void lh_cuda_forward_close(lh_cuda_fleet *fleet) {
    lh_cuda_forward *forward = &fleet->forward;
    CUdeviceptr *memory[] = {&forward->device_batch,  &forward->device_workspaces, &forward->device_shared,
                             &forward->device_logits, &forward->device_answers,    &forward->device_models,
                             &forward->device_classes};
    void **pinned[] = {&forward->host_batch, &forward->host_answers, &forward->host_logits, &forward->host_models,
                       &forward->host_classes};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) lh_cuda_release(fleet->device, memory[i]);
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) lh_cuda_unpin(fleet->device, pinned[i]);
    lh_cuda_lanes_close(&forward->lanes);
    memset(forward, 0, sizeof *forward);
}

/* Offsets in device_models: steps of models, then pointers to their parameters, then counters of arrivals, which are 0
 * in host_models. */
static size_t get_parameters_offset(const lh_cuda_fleet *fleet) {
    return lh_cuda_align((size_t)fleet->count * sizeof(lh_cuda_step));
}

static size_t get_arrivals_offset(const lh_cuda_fleet *fleet) {
    return get_parameters_offset(fleet) + lh_cuda_align((size_t)fleet->count * sizeof(CUdeviceptr));
}

static size_t get_models_bytes(const lh_cuda_fleet *fleet) {
    return get_arrivals_offset(fleet) + (size_t)fleet->count * sizeof(unsigned int);
}

/* The number of replicas that one pass may evaluate. Wide models run one after another and share one set of tables. */
static size_t count_replicas_per_pass(const lh_cuda_fleet *fleet, const size_t *memory_needs) {
    size_t bytes_per_model = memory_needs[LH_CUDA_NEED_CLASSES] + memory_needs[LH_CUDA_NEED_ANSWERS];
    if (fleet->library == NULL) bytes_per_model += memory_needs[LH_CUDA_NEED_SHARED];
    return min_size((size_t)fleet->count, max_size(1, MAX_MODEL_BYTES / max_size(1, bytes_per_model)));
}

static lh_status open_forward(lh_cuda_fleet *fleet, const size_t *memory_needs, lh_error *error) {
    lh_cuda_forward *forward = &fleet->forward;
    size_t replicas = count_replicas_per_pass(fleet, memory_needs), batch_bytes = memory_needs[LH_CUDA_NEED_BATCH],
           all_batch_bytes = batch_bytes;
    if (fleet->spec->format->teacher_forced)
        all_batch_bytes = max_size(batch_bytes, min_size(replicas * batch_bytes, MAX_BATCH_BYTES));
    size_t shared_bytes = (fleet->library != NULL ? 1 : replicas) * memory_needs[LH_CUDA_NEED_SHARED];
    const struct {
        CUdeviceptr *device;
        void **host;
        size_t bytes;
        const char *purpose;
    } memory[] = {
        {&forward->device_workspaces, NULL, memory_needs[LH_CUDA_NEED_WORKSPACES], "the activations of an evaluation"},
        {&forward->device_shared, NULL, shared_bytes, "the shared values of an evaluation"},
        {&forward->device_batch, &forward->host_batch, all_batch_bytes, "the examples of an evaluation"},
        {&forward->device_answers, &forward->host_answers, replicas * memory_needs[LH_CUDA_NEED_ANSWERS],
         "the answers of an evaluation"},
        {&forward->device_logits, &forward->host_logits, memory_needs[LH_CUDA_NEED_LOGITS], "logits"},
        {&forward->device_classes, &forward->host_classes, replicas * memory_needs[LH_CUDA_NEED_CLASSES],
         "the classes of the answers"},
        {&forward->device_models, &forward->host_models, get_models_bytes(fleet), "an evaluation"},
    };
    lh_status status = LH_OK;
    for (size_t i = 0; status == LH_OK && i < sizeof memory / sizeof *memory; i++) {
        status = lh_cuda_allocate(fleet->device, memory[i].bytes, memory[i].purpose, memory[i].device, error);
        if (status == LH_OK && memory[i].host != NULL)
            status = lh_cuda_pin(fleet->device, memory[i].bytes, memory[i].purpose, memory[i].host, error);
    }
    if (status != LH_OK) return status;
    memset(forward->host_models, 0, get_models_bytes(fleet));
    memcpy(forward->reserved, memory_needs, sizeof forward->reserved);
    forward->replicas_per_pass = (int)replicas;
    forward->batch_bytes = all_batch_bytes;
    return lh_cuda_lanes_open(&forward->lanes, fleet, (int)memory_needs[LH_CUDA_NEED_LENGTH], LH_CUDA_ROWS, error);
}

lh_status lh_cuda_reserve(lh_engine *engine, const lh_lengths *lengths, int examples, lh_error *error) {
    lh_cuda_fleet *fleet = ((lh_cuda_engine *)engine)->fleet;
    lh_status status = lh_cuda_begin_call(fleet, error);
    if (status == LH_OK) status = lh_check_limit(fleet->spec, lengths, error);
    if (status != LH_OK) return status;
    size_t memory_needs[LH_CUDA_NEEDS];
    int max_length[LH_MAX_STREAMS] = {0};
    memcpy(memory_needs, fleet->forward.reserved, sizeof memory_needs);
    for (int i = 0; i < lh_lengths_count(lengths); i++)
        raise_needs(fleet, lh_lengths_get(lengths, i), examples, memory_needs, max_length);
    status = lh_cuda_grow_tables(fleet, max_length, error);
    if (status != LH_OK || memcmp(memory_needs, fleet->forward.reserved, sizeof memory_needs) == 0) return status;
    lh_cuda_forward_close(fleet);
    status = open_forward(fleet, memory_needs, error);
    if (status != LH_OK) lh_cuda_forward_close(fleet);
    return status;
}

/* ---- a pass ---- */

static lh_status check(const lh_cuda_fleet *fleet, CUresult result, const char *call, lh_error *error) {
    return lh_cuda_check(fleet->driver, result, call, error);
}

static lh_cuda_step *get_steps(const lh_cuda_fleet *fleet) { return fleet->forward.host_models; }

static CUdeviceptr *get_parameters(const lh_cuda_fleet *fleet) {
    return (CUdeviceptr *)(void *)((char *)fleet->forward.host_models + get_parameters_offset(fleet));
}

void lh_cuda_add_model(lh_cuda_models *models, const lh_cuda_engine *model, const lh_shape *shape, size_t offset,
                       const lh_draw *draw, double noise) {
    lh_cuda_fleet *fleet = model->fleet;
    lh_cuda_layout layout = lh_cuda_make_layout(fleet, shape);
    lh_cuda_step *step = &get_steps(fleet)[models->count];
    *step = lh_cuda_make_step(&layout, shape, fleet->forward.device_batch + offset, draw);
    step->rate = noise;
    get_parameters(fleet)[models->count++] = lh_cuda_get_vector(model, LH_CUDA_PARAMETERS);
    if (models->count == 1 || shape->sequences > models->shape.sequences) models->shape = *shape;
    models->bytes = max_size(models->bytes, offset + layout.bytes);
}

static lh_status copy_batch_to_device(const lh_cuda_fleet *fleet, const lh_cuda_models *models, lh_error *error) {
    const lh_cuda_forward *forward = &fleet->forward;
    CUresult result =
        fleet->driver->cuMemcpyHtoDAsync(forward->device_batch, forward->host_batch, models->bytes, fleet->stream);
    if (result == 0)
        result = fleet->driver->cuMemcpyHtoDAsync(forward->device_models, forward->host_models, get_models_bytes(fleet),
                                                  fleet->stream);
    return check(fleet, result, "cuMemcpyHtoDAsync", error);
}

static lh_status wait_for_stream(const lh_cuda_fleet *fleet, lh_error *error) {
    return check(fleet, fleet->driver->cuStreamSynchronize(fleet->stream), "the evaluation", error);
}

/* Starts the groups of the wide model `index`, one after the other. If the engine has a stop flag, waits until they
 * have run. */
static lh_status start_groups(const lh_cuda_engine *engine, const lh_cuda_models *models, int index,
                              lh_cuda_evaluate *evaluate, lh_error *error) {
    lh_cuda_fleet *fleet = engine->fleet;
    lh_shape shape = models->shape;
    shape.sequences = get_steps(fleet)[index].sequences;
    grouping groups = choose_grouping(fleet, &shape, 1, false);
    lh_cuda_pass pass = {
        .kernel = fleet->device->evaluate,
        .blocks = groups.team,
        .mode = LH_MODE_EVALUATE,
        .shape = shape,
        .passes = models->passes,
        .workspace = fleet->forward.device_workspaces,
        .parameters = get_parameters(fleet)[index],
        .arrivals = fleet->forward.device_models + get_arrivals_offset(fleet),
        .arguments = evaluate,
    };
    lh_status status = LH_OK;
    evaluate->team = groups.team;
    evaluate->group = groups.group;
    evaluate->workspace_stride = (long long)groups.workspace;
    evaluate->end = shape.sequences;
    for (; status == LH_OK && pass.first < shape.sequences; pass.first += groups.group) {
        if (lh_is_stopped(&engine->engine)) return LH_STOPPED;
        int remaining = shape.sequences - pass.first;
        pass.shape.sequences = remaining < groups.group ? remaining : groups.group;
        status = lh_cuda_run_phases(fleet, &pass, error);
    }
    return status == LH_OK && engine->engine.stop != NULL ? wait_for_stream(fleet, error) : status;
}

static lh_status start_launch(const lh_cuda_fleet *fleet, int models, lh_cuda_evaluate *evaluate, lh_error *error) {
    const lh_cuda_driver *driver = fleet->driver;
    void *arguments[] = {evaluate};
    CUresult result = driver->cuMemsetD8Async(fleet->forward.device_models + get_arrivals_offset(fleet), 0,
                                              (size_t)models * sizeof(unsigned int), fleet->stream);
    if (result != 0) return check(fleet, result, "cuMemsetD8Async", error);
    result = driver->cuLaunchCooperativeKernel(fleet->device->evaluate, (unsigned)(models * evaluate->team), 1, 1,
                                               (unsigned)fleet->program->threads, 1, 1,
                                               (unsigned)fleet->program->block_memory, fleet->stream, arguments);
    return check(fleet, result, "cuLaunchCooperativeKernel of the evaluation", error);
}

static const double SHORT_LAUNCH = 0.25; /* seconds; after a shorter launch the next launch has twice as many groups */

/* Starts one launch. With a watchdog, starts several launches, each with one group for each block. With a stop flag
 * but no watchdog, waits for each launch except the last; then the first launch has one group for each block, and
 * later launches have more groups until a launch takes SHORT_LAUNCH. */
static lh_status start_launches(const lh_cuda_engine *engine, const lh_shape *shape, int models,
                                lh_cuda_evaluate *evaluate, lh_error *error) {
    const lh_cuda_fleet *fleet = engine->fleet;
    bool has_growing_launches = engine->engine.stop != NULL && !fleet->device->watchdog;
    int at_once = has_growing_launches || fleet->device->watchdog ? evaluate->team * evaluate->group : shape->sequences;
    lh_status status = LH_OK;
    evaluate->first = evaluate->end = 0;
    for (; status == LH_OK && evaluate->end < shape->sequences; evaluate->first = evaluate->end) {
        int remaining = shape->sequences - evaluate->end;
        double start = lh_read_clock();
        if (lh_is_stopped(&engine->engine)) return LH_STOPPED;
        evaluate->end += remaining < at_once ? remaining : at_once;
        status = start_launch(fleet, models, evaluate, error);
        if (!has_growing_launches || status != LH_OK || remaining <= at_once) continue;
        status = wait_for_stream(fleet, error);
        if (lh_read_clock() - start < SHORT_LAUNCH && at_once <= shape->sequences / 2) at_once *= 2;
    }
    return status;
}

/* Starts the launches of a pass. Each takes the next models, as many as the resident blocks allow. */
static lh_status start_pass(const lh_cuda_engine *engine, const lh_cuda_models *models, lh_cuda_output requested,
                            lh_error *error) {
    const lh_cuda_fleet *fleet = engine->fleet;
    const lh_cuda_forward *forward = &fleet->forward;
    const lh_shape *shape = &models->shape;
    const uint16_t *ending = fleet->spec->task->end;
    bool decodes = requested == LH_CUDA_DECODED;
    grouping groups = choose_grouping(fleet, shape, models->count, decodes);
    lh_status status = LH_OK;
    lh_cuda_evaluate evaluate = {
        .parameters = (const void *const *)(uintptr_t)(forward->device_models + get_parameters_offset(fleet)),
        .steps = (const lh_cuda_step *)(uintptr_t)forward->device_models,
        .tables = (const void *)(uintptr_t)fleet->tables,
        .shared = (char *)(uintptr_t)forward->device_shared,
        .shared_stride = (long long)compute_shared_bytes(fleet, shape),
        .arrivals = (unsigned int *)(uintptr_t)(forward->device_models + get_arrivals_offset(fleet)),
        .answers = (lh_cuda_answer *)(uintptr_t)forward->device_answers,
        .logits = requested == LH_CUDA_LOGITS ? (void *)(uintptr_t)forward->device_logits : NULL,
        .classes = requested == LH_CUDA_CLASSES || decodes ? (int *)(uintptr_t)forward->device_classes : NULL,
        .workspace = (char *)(uintptr_t)forward->device_workspaces,
        .workspace_stride = (long long)groups.workspace,
        .team = groups.team,
        .group = groups.group,
        .sequences = shape->sequences,
        .decodes = decodes,
        .ending = ending != NULL ? *ending : -1,
    };
    for (int first = 0; status == LH_OK && first < models->count; first += groups.at_once) {
        int remaining = models->count - first, rows = groups.at_once * shape->sequences;
        if (fleet->library != NULL) status = start_groups(engine, models, first, &evaluate, error);
        else
            status = start_launches(engine, shape, remaining < groups.at_once ? remaining : groups.at_once, &evaluate,
                                    error);
        evaluate.parameters += groups.at_once;
        evaluate.steps += groups.at_once;
        evaluate.answers =
            (lh_cuda_answer *)(void *)((char *)evaluate.answers + (size_t)rows * lh_cuda_get_answer_bytes(fleet->spec));
        if (evaluate.classes != NULL) evaluate.classes += rows * shape->labels;
    }
    return status;
}

static lh_status fetch_answers(const lh_cuda_fleet *fleet, const lh_cuda_models *models, lh_cuda_output requested,
                               lh_error *error) {
    const lh_cuda_driver *driver = fleet->driver;
    const lh_cuda_forward *forward = &fleet->forward;
    size_t sequences = (size_t)models->count * (size_t)models->shape.sequences;
    size_t labels = sequences * (size_t)models->shape.labels;
    CUresult result = 0;
    if (requested != LH_CUDA_DECODED) /* decoding writes classes alone */
        result = driver->cuMemcpyDtoHAsync(forward->host_answers, forward->device_answers,
                                           sequences * lh_cuda_get_answer_bytes(fleet->spec), fleet->stream);
    if (result == 0 && requested == LH_CUDA_LOGITS)
        result = driver->cuMemcpyDtoHAsync(forward->host_logits, forward->device_logits,
                                           labels * (size_t)fleet->spec->classes * (size_t)fleet->program->real_bytes,
                                           fleet->stream);
    if (result == 0 && (requested == LH_CUDA_CLASSES || requested == LH_CUDA_DECODED))
        result = driver->cuMemcpyDtoHAsync(forward->host_classes, forward->device_classes, labels * sizeof(int),
                                           fleet->stream);
    lh_status status = check(fleet, result, "cuMemcpyDtoHAsync", error);
    return status == LH_OK ? wait_for_stream(fleet, error) : status;
}

lh_status lh_cuda_run_pass(lh_cuda_engine *engine, const lh_cuda_models *models, lh_cuda_output requested,
                           lh_error *error) {
    lh_cuda_fleet *fleet = engine->fleet;
    lh_status status = copy_batch_to_device(fleet, models, error);
    if (status == LH_OK) status = start_pass(engine, models, requested, error);
    if (status == LH_OK) status = fetch_answers(fleet, models, requested, error);
    bool is_stopped = status == LH_STOPPED;
    if (is_stopped)
        status = wait_for_stream(fleet, error); /* the launches and copies in the stream still use the host's memory */
    if (is_stopped && status == LH_OK) return LH_STOPPED;
    return lh_cuda_record_failure(fleet, status, error);
}

void lh_cuda_make_forward_draws(const lh_cuda_fleet *fleet, const lh_cuda_models *models, const lh_shape *shape,
                                size_t offset, const lh_draw *draw, const int32_t *const positions[LH_MAX_STREAMS],
                                const int32_t *const distances[LH_MAX_STREAMS]) {
    char *memory = (char *)fleet->forward.host_batch + offset + lh_cuda_make_layout(fleet, shape).draws;
    lh_cuda_make_draws(fleet, models->passes, draw, shape, positions, distances, fleet->forward.lanes.lane[0].scratch,
                       (int *)(void *)memory);
}

void lh_cuda_convert_classes(const int *classes, const lh_shape *shape, uint16_t *to) {
    for (size_t i = 0; i < (size_t)shape->sequences * (size_t)shape->labels; i++) to[i] = (uint16_t)classes[i];
}

/* ---- sequences of a user ---- */

/* Writes the query's sequences to host_batch. */
static void put_queries(lh_cuda_fleet *fleet, const lh_cuda_models *models, const lh_query *query,
                        const lh_shape *shape, const lh_draw *draw) {
    lh_cuda_layout layout = lh_cuda_make_layout(fleet, shape);
    lh_batch *batch = &fleet->forward.lanes.lane[0].batch;
    for (int first = 0; first < shape->sequences; first += LH_CUDA_ROWS) {
        int remaining = shape->sequences - first;
        lh_put_queries(batch, fleet->spec, query, first, remaining < LH_CUDA_ROWS ? remaining : LH_CUDA_ROWS);
        lh_cuda_put_rows(&layout, fleet->forward.host_batch, first, batch);
    }
    lh_cuda_make_forward_draws(fleet, models, shape, 0, draw, query->positions, query->distances);
}

/* Runs the query's sequences through the model. */
static lh_status run_query(lh_cuda_engine *engine, const lh_query *query, const lh_shape *shape,
                           lh_cuda_output requested, lh_error *error) {
    lh_cuda_models models = {.passes.count = lh_count_passes(engine->fleet->spec, query->n)};
    lh_draw draw = query->draw;
    draw.first = query->example;
    lh_status status = lh_cuda_begin_call(engine->fleet, error);
    if (status != LH_OK) return status;
    put_queries(engine->fleet, &models, query, shape, &draw);
    lh_cuda_add_model(&models, engine, shape, 0, &draw, query->noise);
    return lh_cuda_run_pass(engine, &models, requested, error);
}

lh_status lh_cuda_answer_queries(lh_engine *handle, const lh_query *query, int count, uint16_t *answers,
                                 lh_error *error) {
    lh_cuda_engine *engine = (lh_cuda_engine *)handle;
    lh_shape shape = lh_make_shape(engine->fleet->spec, query->n, count);
    lh_status status = run_query(engine, query, &shape, LH_CUDA_CLASSES, error);
    if (status == LH_OK) lh_cuda_convert_classes(engine->fleet->forward.host_classes, &shape, answers);
    return status;
}

lh_status lh_cuda_predict(lh_engine *handle, const lh_query *query, double *logits, lh_error *error) {
    lh_cuda_engine *engine = (lh_cuda_engine *)handle;
    lh_cuda_fleet *fleet = engine->fleet;
    lh_shape shape = lh_make_shape(fleet->spec, query->n, 1);
    lh_status status = run_query(engine, query, &shape, LH_CUDA_LOGITS, error);
    int64_t count = (int64_t)shape.labels * fleet->spec->classes;
    for (int64_t i = 0; status == LH_OK && i < count; i++)
        logits[i] = lh_real_read(fleet->forward.host_logits, fleet->program->real_bytes, i);
    return status;
}
