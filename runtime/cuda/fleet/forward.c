/* Forward passes on a CUDA device: one launch for a batch and its replicas, or several launches if a watchdog ends long
 * ones or a signal may stop the pass. */
#include <string.h>

#include "base/clock.h"
#include "base/real.h"
#include "runtime/cuda/fleet/fleet_parts.h"
#include "runtime/cuda/device_memory.h"

static const size_t MOST_SHARED = (size_t)256 << 20; /* most bytes of tables of replicas that are evaluated together */

/* Memory needs of a set of lengths. */
typedef struct needs {
    size_t batch, workspaces, shared, logits, classes; /* bytes */
    size_t words;                                      /* lh_batch_words */
    int longest_n, longest[LH_MAX_STREAMS];
} needs;

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static int more(int a, int b) { return a > b ? a : b; }

/* Groups of sequences that pass through the layers together, and the blocks that process them in turn. */
typedef struct cut {
    int group;
    int at_once, team; /* replicas of one launch; blocks of each replica */
    size_t workspace;  /* bytes of a workspace; each block has a workspace, a wide model has only one in total */
} cut;

/* The number of groups of `group` sequences; also the sequences per group for `group` groups. */
static int groups_of(const lh_shape *shape, int group) { return (shape->sequences + group - 1) / group; }

/* Chooses equal groups, smaller ones if blocks would be idle; the bits of a sequence do not depend on its group. */
static cut cut_of(const lh_cuda_fleet *fleet, const lh_shape *shape, int replicas) {
    int group = fleet->program->evaluation_group(shape), most = fleet->device->evaluate_blocks;
    int at_once = replicas < most ? replicas : most, blocks = most / at_once;
    if (group > shape->sequences) group = shape->sequences;
    int rounds = (groups_of(shape, group) + blocks - 1) / blocks;
    if (fleet->library == NULL) group = groups_of(shape, blocks * rounds);
    lh_shape part = *shape;
    part.sequences = group;
    int busy = fleet->library != NULL ? group : groups_of(shape, group);
    return (cut){group, at_once, busy < blocks ? busy : blocks,
                 lh_cuda_aligned(fleet->program->workspace_bytes(&part, LH_MODE_EVALUATE))};
}

/* Bytes of a launch's workspaces, for any replicas. */
static size_t workspaces_of(const lh_cuda_fleet *fleet, const lh_shape *shape) {
    size_t most = 0;
    for (int replicas = 1; replicas <= fleet->count; replicas++) {
        cut c = cut_of(fleet, shape, replicas);
        size_t blocks = fleet->library != NULL ? 1 : (size_t)c.at_once * (size_t)c.team;
        most = larger(most, blocks * c.workspace);
    }
    return most;
}

static size_t shared_of(const lh_cuda_fleet *fleet, const lh_shape *shape) {
    return lh_cuda_aligned(fleet->program->shared_bytes(shape));
}

static void need_length(const lh_cuda_fleet *fleet, int n, int examples, needs *most) {
    const lh_spec *spec = fleet->spec;
    lh_shape shape = lh_shape_at(spec, n, examples);
    size_t logits = (size_t)shape.labels * (size_t)spec->classes * (size_t)fleet->program->real_bytes;
    most->batch = larger(most->batch, lh_cuda_layout_of(fleet, &shape).bytes);
    most->workspaces = larger(most->workspaces, workspaces_of(fleet, &shape));
    most->shared = larger(most->shared, shared_of(fleet, &shape));
    most->logits = larger(most->logits, logits);
    most->classes = larger(most->classes, (size_t)examples * (size_t)shape.labels * sizeof(int));
    most->words = larger(most->words, lh_batch_words(spec, n));
    lh_longer_streams(most->longest, shape.length);
    most->longest_n = more(most->longest_n, n);
}

void lh_cuda_forward_close(lh_cuda_fleet *fleet) {
    lh_cuda_forward *forward = &fleet->forward;
    CUdeviceptr *memory[] = {&forward->device_batch,  &forward->device_workspaces, &forward->device_shared,
                             &forward->device_logits, &forward->device_answers,    &forward->device_step,
                             &forward->device_classes};
    void **pinned[] = {&forward->host_batch, &forward->host_answers, &forward->host_logits, &forward->host_step,
                       &forward->host_classes};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) lh_cuda_release(fleet->device, memory[i]);
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) lh_cuda_unpin(fleet->device, pinned[i]);
    lh_cuda_lanes_close(&forward->lanes);
    memset(forward, 0, sizeof *forward);
}

/* Offsets in device_step: the step's description, then counters of arrivals, then pointers to the replicas'
 * parameters. */
enum { ARRIVALS_AT = 256 };

static size_t parameters_at(const lh_cuda_fleet *fleet) {
    return lh_cuda_aligned(ARRIVALS_AT + (size_t)fleet->count * sizeof(unsigned int));
}

static size_t step_bytes(const lh_cuda_fleet *fleet) {
    return parameters_at(fleet) + (size_t)fleet->count * sizeof(CUdeviceptr);
}

/* The number of replicas that one pass may evaluate. */
static int most_together(const lh_cuda_fleet *fleet, const needs *most) {
    size_t fit = most->shared > 0 ? MOST_SHARED / most->shared : (size_t)fleet->count;
    if (fleet->library != NULL || fit < 1) return 1;
    return fit < (size_t)fleet->count ? (int)fit : fleet->count;
}

static lh_status open_forward(lh_cuda_fleet *fleet, const needs *most, int examples, lh_error *error) {
    lh_cuda_forward *forward = &fleet->forward;
    int together = most_together(fleet, most);
    size_t replicas = (size_t)together, answers = replicas * (size_t)examples * sizeof(lh_cuda_answer);
    const struct {
        CUdeviceptr *device;
        void **host;
        size_t bytes;
        const char *what;
    } memory[] = {
        {&forward->device_workspaces, NULL, most->workspaces, "the activations of an evaluation"},
        {&forward->device_shared, NULL, replicas * most->shared, "the shared values of an evaluation"},
        {&forward->device_batch, &forward->host_batch, most->batch, "the examples of an evaluation"},
        {&forward->device_answers, &forward->host_answers, answers, "the answers of an evaluation"},
        {&forward->device_logits, &forward->host_logits, most->logits, "logits"},
        {&forward->device_classes, &forward->host_classes, replicas * most->classes, "the classes that are answered"},
        {&forward->device_step, &forward->host_step, step_bytes(fleet), "an evaluation"},
    };
    lh_status status = LH_OK;
    for (size_t i = 0; status == LH_OK && i < sizeof memory / sizeof *memory; i++) {
        status = lh_cuda_allocate(fleet->device, memory[i].bytes, memory[i].what, memory[i].device, error);
        if (status == LH_OK && memory[i].host != NULL)
            status = lh_cuda_pin(fleet->device, memory[i].bytes, memory[i].what, memory[i].host, error);
    }
    if (status != LH_OK) return status;
    forward->together = together;
    forward->batch = most->batch;
    forward->workspaces = most->workspaces;
    forward->shared = most->shared;
    forward->logits = most->logits;
    forward->classes = most->classes;
    forward->words = most->words;
    forward->longest_n = most->longest_n;
    forward->examples = examples;
    return lh_cuda_lanes_open(&forward->lanes, fleet, most->longest_n, LH_CUDA_ROWS, error);
}

lh_status lh_cuda_reserve(lh_engine *engine, const lh_lengths *lengths, int examples, lh_error *error) {
    lh_cuda_fleet *fleet = ((lh_cuda_engine *)engine)->fleet;
    lh_cuda_forward *have = &fleet->forward;
    lh_status status = lh_cuda_enter(fleet, error);
    if (status == LH_OK) status = lh_check_limit(fleet->spec, lengths, error);
    if (status != LH_OK) return status;
    needs most = {0};
    for (int i = 0; i < lh_lengths_count(lengths); i++) need_length(fleet, lh_lengths_at(lengths, i), examples, &most);
    status = lh_cuda_need_tables(fleet, most.longest, error);
    bool enough = have->examples >= examples && have->longest_n >= most.longest_n && have->batch >= most.batch &&
                  have->workspaces >= most.workspaces && have->shared >= most.shared && have->logits >= most.logits &&
                  have->classes >= most.classes && have->words >= most.words;
    if (status != LH_OK || enough) return status;
    most.batch = larger(most.batch, have->batch);
    most.workspaces = larger(most.workspaces, have->workspaces);
    most.shared = larger(most.shared, have->shared);
    most.logits = larger(most.logits, have->logits);
    most.classes = larger(most.classes, have->classes);
    most.words = larger(most.words, have->words);
    most.longest_n = more(most.longest_n, have->longest_n);
    examples = more(examples, have->examples);
    lh_cuda_forward_close(fleet);
    status = open_forward(fleet, &most, examples, error);
    if (status != LH_OK) lh_cuda_forward_close(fleet);
    return status;
}

/* --- a pass ----------------------------------------------------------------------------------------------------- */

static lh_status check(const lh_cuda_fleet *fleet, CUresult result, const char *call, lh_error *error) {
    return lh_cuda_check(fleet->driver, result, call, error);
}

static lh_status send_batch(const lh_cuda_fleet *fleet, int replicas, const lh_shape *shape, const lh_draw *draw,
                            double noise, lh_error *error) {
    const lh_cuda_forward *forward = &fleet->forward;
    lh_cuda_layout layout = lh_cuda_layout_of(fleet, shape);
    memset(forward->host_step, 0, step_bytes(fleet));
    lh_cuda_step *step = (lh_cuda_step *)forward->host_step;
    *step = lh_cuda_step_of(&layout, shape, forward->device_batch, draw);
    step->rate = noise;
    CUdeviceptr *parameters = (CUdeviceptr *)(void *)((char *)forward->host_step + parameters_at(fleet));
    for (int i = 0; i < replicas; i++) parameters[i] = lh_cuda_vector_at(fleet->together[i], LH_CUDA_PARAMETERS);
    CUresult result =
        fleet->driver->cuMemcpyHtoDAsync(forward->device_batch, forward->host_batch, layout.bytes, fleet->stream);
    if (result == 0)
        result = fleet->driver->cuMemcpyHtoDAsync(forward->device_step, forward->host_step, step_bytes(fleet),
                                                  fleet->stream);
    return check(fleet, result, "cuMemcpyHtoDAsync", error);
}

/* Starts the groups of a wide model, one after another. */
static lh_status start_groups(const lh_cuda_engine *engine, const lh_shape *shape, const cut *c,
                              lh_cuda_evaluate *evaluate, lh_error *error) {
    lh_cuda_fleet *fleet = engine->fleet;
    lh_cuda_pass pass = {
        .kernel = fleet->device->evaluate,
        .blocks = c->team,
        .mode = LH_MODE_EVALUATE,
        .shape = *shape,
        .workspace = fleet->forward.device_workspaces,
        .parameters = lh_cuda_vector_at(engine, LH_CUDA_PARAMETERS),
        .arrivals = fleet->forward.device_step + ARRIVALS_AT,
        .arguments = evaluate,
    };
    lh_status status = LH_OK;
    evaluate->end = shape->sequences;
    for (; status == LH_OK && pass.first < shape->sequences; pass.first += c->group) {
        if (lh_is_stopped(&engine->engine)) return LH_STOPPED;
        int left = shape->sequences - pass.first;
        pass.shape.sequences = left < c->group ? left : c->group;
        status = lh_cuda_run_phases(fleet, &pass, error);
    }
    return status;
}

static lh_status start_launch(const lh_cuda_fleet *fleet, int replicas, lh_cuda_evaluate *evaluate, lh_error *error) {
    const lh_cuda_driver *driver = fleet->driver;
    void *arguments[] = {evaluate};
    CUresult result = driver->cuMemsetD8Async(fleet->forward.device_step + ARRIVALS_AT, 0,
                                              (size_t)replicas * sizeof(unsigned int), fleet->stream);
    if (result != 0) return check(fleet, result, "cuMemsetD8Async", error);
    result = driver->cuLaunchCooperativeKernel(fleet->device->evaluate, (unsigned)(replicas * evaluate->team), 1, 1,
                                               (unsigned)fleet->program->threads, 1, 1,
                                               (unsigned)fleet->program->block_memory, fleet->stream, arguments);
    return check(fleet, result, "cuLaunchCooperativeKernel of the evaluation", error);
}

static lh_status wait(const lh_cuda_fleet *fleet, lh_error *error) {
    return check(fleet, fleet->driver->cuStreamSynchronize(fleet->stream), "the evaluation", error);
}

static const double SHORT_LAUNCH = 0.25; /* seconds; after a shorter launch the next one has twice as many groups */

/* Starts one launch. With a watchdog, starts a launch for each group of every block. With a stop flag, waits for each
 * launch to end: the first has one group per block, and later ones have more until a launch takes SHORT_LAUNCH. */
static lh_status start_launches(const lh_cuda_engine *engine, const lh_shape *shape, int replicas,
                                lh_cuda_evaluate *evaluate, lh_error *error) {
    const lh_cuda_fleet *fleet = engine->fleet;
    bool grows = engine->engine.stop != NULL && !fleet->device->watchdog;
    int at_once = grows || fleet->device->watchdog ? evaluate->team * evaluate->group : shape->sequences;
    lh_status status = LH_OK;
    evaluate->first = evaluate->end = 0;
    for (; status == LH_OK && evaluate->end < shape->sequences; evaluate->first = evaluate->end) {
        int left = shape->sequences - evaluate->end;
        double start = lh_clock();
        if (lh_is_stopped(&engine->engine)) return LH_STOPPED;
        evaluate->end += left < at_once ? left : at_once;
        status = start_launch(fleet, replicas, evaluate, error);
        if (!grows || status != LH_OK || left <= at_once) continue;
        status = wait(fleet, error);
        if (lh_clock() - start < SHORT_LAUNCH && at_once <= shape->sequences / 2) at_once *= 2;
    }
    return status;
}

/* Runs the sequences through `replicas` models of fleet->together, as many models at once as blocks allow; the first
 * one is the requesting engine. */
static lh_status launch(const lh_cuda_engine *engine, const lh_shape *shape, int replicas, lh_cuda_output wanted,
                        lh_error *error) {
    const lh_cuda_fleet *fleet = engine->fleet;
    const lh_cuda_forward *forward = &fleet->forward;
    cut c = cut_of(fleet, shape, replicas);
    int labels = shape->sequences * shape->labels;
    lh_status status = LH_OK;
    lh_cuda_evaluate evaluate = {
        .parameters = (const void *const *)(uintptr_t)(forward->device_step + parameters_at(fleet)),
        .step = (const lh_cuda_step *)(uintptr_t)forward->device_step,
        .tables = (const void *)(uintptr_t)fleet->tables,
        .shared = (char *)(uintptr_t)forward->device_shared,
        .shared_stride = (long long)shared_of(fleet, shape),
        .arrivals = (unsigned int *)(uintptr_t)(forward->device_step + ARRIVALS_AT),
        .answers = (lh_cuda_answer *)(uintptr_t)forward->device_answers,
        .logits = wanted == LH_CUDA_LOGITS ? (void *)(uintptr_t)forward->device_logits : NULL,
        .classes = wanted == LH_CUDA_CLASSES ? (int *)(uintptr_t)forward->device_classes : NULL,
        .workspace = (char *)(uintptr_t)forward->device_workspaces,
        .workspace_stride = (long long)c.workspace,
        .team = c.team,
        .group = c.group,
    };
    if (fleet->library != NULL) return start_groups(engine, shape, &c, &evaluate, error);
    for (int first = 0; status == LH_OK && first < replicas; first += c.at_once) {
        int left = replicas - first;
        status = start_launches(engine, shape, left < c.at_once ? left : c.at_once, &evaluate, error);
        evaluate.parameters += c.at_once;
        evaluate.answers += c.at_once * shape->sequences;
        if (evaluate.classes != NULL) evaluate.classes += c.at_once * labels;
    }
    return status;
}

static lh_status fetch_answers(const lh_cuda_fleet *fleet, const lh_shape *shape, int replicas, lh_cuda_output wanted,
                               lh_error *error) {
    const lh_cuda_driver *driver = fleet->driver;
    const lh_cuda_forward *forward = &fleet->forward;
    size_t sequences = (size_t)replicas * (size_t)shape->sequences, labels = sequences * (size_t)shape->labels;
    CUresult result = driver->cuMemcpyDtoHAsync(forward->host_answers, forward->device_answers,
                                                sequences * sizeof(lh_cuda_answer), fleet->stream);
    if (result == 0 && wanted == LH_CUDA_LOGITS)
        result = driver->cuMemcpyDtoHAsync(forward->host_logits, forward->device_logits,
                                           labels * (size_t)fleet->spec->classes * (size_t)fleet->program->real_bytes,
                                           fleet->stream);
    if (result == 0 && wanted == LH_CUDA_CLASSES)
        result = driver->cuMemcpyDtoHAsync(forward->host_classes, forward->device_classes, labels * sizeof(int),
                                           fleet->stream);
    lh_status status = check(fleet, result, "cuMemcpyDtoHAsync", error);
    return status == LH_OK ? wait(fleet, error) : status;
}

lh_status lh_cuda_run(lh_cuda_engine *engine, int replicas, const lh_shape *shape, const lh_draw *draw, double noise,
                      lh_cuda_output wanted, lh_error *error) {
    lh_cuda_fleet *fleet = engine->fleet;
    lh_status status = send_batch(fleet, replicas, shape, draw, noise, error);
    if (status == LH_OK) status = launch(engine, shape, replicas, wanted, error);
    if (status == LH_OK) status = fetch_answers(fleet, shape, replicas, wanted, error);
    bool stopped = status == LH_STOPPED;
    if (stopped) status = wait(fleet, error); /* until the running launches end, they use the host's memory */
    if (stopped && status == LH_OK) return LH_STOPPED;
    return lh_cuda_lose(fleet, status, error);
}

void lh_cuda_forward_draws(const lh_cuda_fleet *fleet, const lh_cuda_layout *layout, const lh_shape *shape,
                           const lh_draw *draw, const int32_t *const positions[LH_MAX_STREAMS],
                           const int32_t *const distances[LH_MAX_STREAMS]) {
    lh_cuda_make_draws(fleet->program, draw, shape, positions, distances, fleet->forward.lanes.lane[0].scratch,
                       (int *)(void *)((char *)fleet->forward.host_batch + layout->draws));
}

void lh_cuda_take_classes(const int *classes, const lh_shape *shape, uint16_t *to) {
    for (size_t i = 0; i < (size_t)shape->sequences * (size_t)shape->labels; i++) to[i] = (uint16_t)classes[i];
}

/* --- sequences of a user ------------------------------------------------------------------------------------------ */

/* Writes the query's sequences to host_batch. */
static void put_queries(lh_cuda_fleet *fleet, const lh_query *query, const lh_shape *shape, const lh_draw *draw) {
    lh_cuda_layout layout = lh_cuda_layout_of(fleet, shape);
    lh_batch *batch = &fleet->forward.lanes.lane[0].batch;
    for (int first = 0; first < shape->sequences; first += LH_CUDA_ROWS) {
        int left = shape->sequences - first;
        lh_put_queries(batch, fleet->spec, query, first, left < LH_CUDA_ROWS ? left : LH_CUDA_ROWS);
        lh_cuda_put_rows(&layout, fleet->forward.host_batch, first, batch);
    }
    lh_cuda_forward_draws(fleet, &layout, shape, draw, query->positions, query->distances);
}

/* Runs the query's sequences through the model. */
static lh_status run_query(lh_cuda_engine *engine, const lh_query *query, const lh_shape *shape, lh_cuda_output wanted,
                           lh_error *error) {
    lh_draw draw = query->draw;
    draw.first = query->example;
    lh_status status = lh_cuda_enter(engine->fleet, error);
    if (status != LH_OK) return status;
    put_queries(engine->fleet, query, shape, &draw);
    return lh_cuda_run(engine, lh_cuda_gather(engine, 1), shape, &draw, query->noise, wanted, error);
}

lh_status lh_cuda_answer_queries(lh_engine *handle, const lh_query *query, int count, uint16_t *answers,
                                 lh_error *error) {
    lh_cuda_engine *engine = (lh_cuda_engine *)handle;
    lh_shape shape = lh_shape_at(engine->fleet->spec, query->n, count);
    lh_status status = run_query(engine, query, &shape, LH_CUDA_CLASSES, error);
    if (status == LH_OK) lh_cuda_take_classes(engine->fleet->forward.host_classes, &shape, answers);
    return status;
}

lh_status lh_cuda_predict(lh_engine *handle, const lh_query *query, double *logits, lh_error *error) {
    lh_cuda_engine *engine = (lh_cuda_engine *)handle;
    lh_cuda_fleet *fleet = engine->fleet;
    lh_shape shape = lh_shape_at(fleet->spec, query->n, 1);
    lh_status status = run_query(engine, query, &shape, LH_CUDA_LOGITS, error);
    int64_t count = (int64_t)shape.labels * fleet->spec->classes;
    for (int64_t i = 0; status == LH_OK && i < count; i++)
        logits[i] = lh_real_at(fleet->forward.host_logits, fleet->program->real_bytes, i);
    return status;
}
