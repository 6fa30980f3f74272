/* The training step on the CPU: one parallel region with three barriers.
 *
 * A batch is cut into spec->train.shards shards. Threads take whole shards in order; the gradient is a left fold over
 * shards 0, 1, 2, ..., independent of their threads: before a thread adds a piece of its shard's gradient to the total,
 * it waits until the previous shard has added the same piece. Shards are taken in order, so the shard that others wait
 * for is always in progress. Every other sum is taken over shards or chunks in index order. So the bits do not depend
 * on the number or the speed of threads.
 */
#include <math.h>
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/team.h"
#include "engine/cpu_engine.h"
#include "engine/diagnose.h"
#include "engine/schedule.h"
#include "longhand/timings.h"

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Spins until *turn equals shard; yields the processor after a while, which matters with more threads than
 * processors. */
static void wait_turn(atomic_int *turn, int shard) {
    if (atomic_load_explicit(turn, memory_order_acquire) == shard) return;
    LH_TIMED(LH_PART_WAITING);
    for (int spins = 0; atomic_load_explicit(turn, memory_order_acquire) != shard; spins++) {
        if (spins < 2000) relax();
        else sched_yield();
    }
}

/* Adds the gradient of a shard to the total, piece by piece, each piece after that of the previous shard. */
static void fold_shard(lh_cpu_engine *cpu, void *gradient, int shard) {
    int64_t chunks = lh_cpu_count_chunks(cpu);
    size_t real = (size_t)cpu->engine.real_bytes;
    for (int piece = 0; piece < LH_FOLD_PIECES; piece++) {
        size_t first = (size_t)(chunks * piece / LH_FOLD_PIECES) * LH_CHUNK;
        size_t end = (size_t)(chunks * (piece + 1) / LH_FOLD_PIECES) * LH_CHUNK;
        wait_turn(&cpu->turn[piece], shard);
        if (end > first)
            cpu->program->fold((char *)cpu->total + first * real, (char *)gradient + first * real, end - first);
        atomic_store_explicit(&cpu->turn[piece], shard + 1, memory_order_release);
    }
}

/* The first example of a shard. Sizes of shards differ by at most one; the larger shards come first. In a short batch
 * some shards may be empty. */
static int get_shard_start(const lh_cpu_engine *cpu, int shard) {
    int shards = cpu->engine.spec->train.shards, sequences = cpu->job.shape.sequences;
    int size = sequences / shards, rest = sequences % shards;
    return shard * size + (shard < rest ? shard : rest);
}

static lh_source make_source(const lh_cpu_engine *cpu) {
    lh_source source = {cpu->data_key, cpu->job.step, LH_DOMAIN_DATA, (uint32_t)cpu->config.distinct, cpu->pick, NULL};
    if (cpu->config.distinct > 0) source.step = 0;
    return source;
}

/* The index of an example of the batch. With `distinct` examples a batch begins where the previous one ended. */
static uint32_t find_example(const lh_cpu_engine *cpu, int row) {
    uint64_t distinct = (uint64_t)cpu->config.distinct;
    uint64_t before = (uint64_t)cpu->job.step * (uint64_t)cpu->engine.spec->train.batch;
    return distinct > 0 ? (uint32_t)((before + (uint64_t)row) % distinct) : (uint32_t)row;
}

/* Makes the shard's examples; false: an error, which the lane stores. */
static bool fill_shard(const lh_cpu_engine *cpu, lh_cpu_lane *lane, int shard, int first, int count) {
    lh_source source = make_source(cpu);
    lh_error error;
    lh_status status =
        lh_batch_fill(&lane->batch, cpu->engine.spec, &source, cpu->length, find_example(cpu, first), count, &error);
    if (status != LH_OK && lane->failure.status == LH_OK) lane->failure = (lh_cpu_failure){status, shard, error};
    return status == LH_OK;
}

static void train_shard(lh_cpu_engine *cpu, lh_cpu_lane *lane, int shard) {
    const lh_shape *shape = &cpu->job.shape;
    int first = get_shard_start(cpu, shard), count = get_shard_start(cpu, shard + 1) - first;
    lh_sums sums = {0};
    if (!fill_shard(cpu, lane, shard, first, count)) {
        count = 0;
        sums.loss = NAN; /* the NaN prevents updates by all threads */
    }
    int most = cpu->program->block_sequences(shape->length);
    if (cpu->program->begin_shard != NULL) cpu->program->begin_shard(&cpu->job, lane->workspace);
    for (int start = 0; start < count; start += most) {
        lh_cpu_block block = lh_batch_make_block(&lane->batch, start, count - start < most ? count - start : most);
        block.first_example = (uint32_t)(first + start);
        block.loss_scale = 1.0 / ((double)shape->sequences * shape->labels);
        cpu->program->train_block(&cpu->job, &block, lane->workspace, lane->gradient, &sums);
    }
    if (cpu->program->end_shard != NULL) cpu->program->end_shard(&cpu->job, lane->workspace, lane->gradient);
    cpu->workspace->shard_sums[shard] = sums;
    fold_shard(cpu, lane->gradient, shard);
}

/* Sums over shards and chunks in their order; all threads compute the same bits. */
static void sum_step(const lh_cpu_engine *cpu, lh_sums *sums, double *gradient_norm) {
    double squares = 0;
    memset(sums, 0, sizeof *sums);
    int shards = cpu->engine.spec->train.shards;
    for (int shard = 0; shard < shards; shard++) lh_sums_add(sums, &cpu->workspace->shard_sums[shard]);
    for (int64_t chunk = 0; chunk < lh_cpu_count_chunks(cpu); chunk++) squares += cpu->workspace->chunk_squares[chunk];
    *gradient_norm = sqrt(squares);
}

/* Sets the gradient to 0 in elements first .. end - 1 of tensors that are not learned, so that it affects neither
 * the norm nor the optimiser. */
static void clear_constants(lh_cpu_engine *cpu, int64_t first, int64_t end) {
    const lh_spec *spec = cpu->engine.spec;
    size_t real = (size_t)cpu->engine.real_bytes;
    for (int t = 0; t < spec->tensor_count; t++) {
        const lh_tensor *tensor = &spec->tensors[t];
        for (int64_t row = 0; !tensor->learned && row < lh_count_tensor_rows(tensor); row++) {
            int64_t from = tensor->offset + row * tensor->stride, to = from + lh_count_tensor_columns(tensor);
            if (from < first) from = first;
            if (to > end) to = end;
            if (from < to) memset((char *)cpu->total + (size_t)from * real, 0, (size_t)(to - from) * real);
        }
    }
}

/* The factor from the folded gradient, for which shards divide by the number of all labels, to the gradient of the mean
 * over the labels in the loss. Exactly 1 if all labels are in the loss, and 1 if none is: the gradient is then 0. */
static double compute_mask_factor(const lh_cpu_engine *cpu) {
    int64_t counted = 0;
    if (cpu->program->scale == NULL) return 1;
    for (int shard = 0; shard < cpu->engine.spec->train.shards; shard++)
        counted += cpu->workspace->shard_sums[shard].counted;
    return counted > 0 ? (double)cpu->job.shape.sequences * cpu->job.shape.labels / (double)counted : 1;
}

/* Finishes the gradient of chunks first .. end - 1 and computes their squared norms. */
static void measure_chunks(lh_cpu_engine *cpu, int64_t first, int64_t end) {
    LH_TIMED(LH_PART_OPTIMISER);
    size_t bytes = LH_CHUNK * (size_t)cpu->engine.real_bytes;
    double factor = compute_mask_factor(cpu);
    clear_constants(cpu, first * LH_CHUNK, end * LH_CHUNK);
    for (int64_t chunk = first; chunk < end; chunk++) {
        char *gradient = (char *)cpu->total + (size_t)chunk * bytes;
        if (factor != 1) cpu->program->scale(gradient, factor, LH_CHUNK);
        cpu->workspace->chunk_squares[chunk] = cpu->program->squared_norm(gradient, LH_CHUNK);
        if (cpu->last_gradient != NULL) memcpy((char *)cpu->last_gradient + (size_t)chunk * bytes, gradient, bytes);
    }
}

/* Measures the parameters after a step without labels in the loss, which changes neither them nor the optimiser's
 * state. */
static void keep_chunks(lh_cpu_engine *cpu, int64_t first, int64_t end) {
    size_t bytes = LH_CHUNK * (size_t)cpu->engine.real_bytes;
    for (int64_t chunk = first; chunk < end; chunk++)
        cpu->workspace->chunk_updates[chunk].parameters =
            cpu->program->squared_norm((char *)cpu->parameters + (size_t)chunk * bytes, LH_CHUNK);
}

static void update_chunks(lh_cpu_engine *cpu, int64_t first, int64_t end) {
    LH_TIMED(LH_PART_OPTIMISER);
    lh_sums sums;
    lh_update update = {
        .parameters = cpu->parameters,
        .gradient = cpu->total,
        .learning_rate =
            lh_compute_learning_rate(&cpu->engine.spec->train, cpu->config.learning_rate, cpu->engine.step + 1),
        .step = cpu->engine.step + 1,
    };
    memcpy(update.state, cpu->state, sizeof update.state);
    sum_step(cpu, &sums, &update.gradient_norm);
    lh_update_sums *out = cpu->workspace->chunk_updates;
    memset(&out[first], 0, (size_t)(end - first) * sizeof *out);
    if (!isfinite(sums.loss) || !isfinite(update.gradient_norm)) return;
    if (sums.positions == 0) return keep_chunks(cpu, first, end);
    for (int64_t chunk = first; chunk < end; chunk++)
        cpu->program->update(&update, (size_t)chunk * LH_CHUNK, LH_CHUNK, &out[chunk]);
}

/* The work of thread `index` of `count` in a step. */
static void step_work(void *argument, int index, int count) {
    lh_cpu_engine *cpu = argument;
    int64_t chunks = lh_cpu_count_chunks(cpu);
    int64_t first = chunks * index / count, end = chunks * (index + 1) / count;
    cpu->program->begin_step(&cpu->job, index, count);
    lh_team_barrier();
    int shard;
    while ((shard = atomic_fetch_add(&cpu->next_shard, 1)) < cpu->engine.spec->train.shards)
        train_shard(cpu, &cpu->workspace->lanes[index], shard);
    lh_team_barrier();
    measure_chunks(cpu, first, end);
    lh_team_barrier();
    update_chunks(cpu, first, end);
}

/* Chooses task length and examples of the step's batch; returns its number of sequences. */
static int choose_batch(lh_cpu_engine *cpu, uint32_t step) {
    const lh_spec *spec = cpu->engine.spec;
    if (cpu->config.fixed_length > 0 || spec->corpus == NULL) {
        cpu->length =
            cpu->config.fixed_length > 0 ? cpu->config.fixed_length : lh_draw_train_length(spec, cpu->data_key, step);
        return spec->train.batch;
    }
    const lh_epoch_batch *batch = lh_epoch_find_batch(&cpu->epoch, cpu->data_key, step);
    cpu->length = batch->n;
    cpu->pick = cpu->epoch.pick + batch->first;
    return batch->sequences;
}

static void start_step(lh_cpu_engine *cpu) {
    const lh_spec *spec = cpu->engine.spec;
    uint32_t step = (uint32_t)cpu->engine.step;
    int sequences = choose_batch(cpu, step);
    cpu->job = (lh_cpu_step){
        .mode = LH_MODE_TRAIN,
        .shape = lh_make_shape(spec, cpu->length, sequences),
        .key = cpu->draws_key,
        .step = step,
        .draw = {cpu->draws_key, step, LH_SHARED, LH_DOMAIN_POSITIONS, 0},
        .parameters = cpu->parameters,
        .tables = cpu->tables,
        .shared = cpu->workspace->shared,
    };
    atomic_store(&cpu->next_shard, 0);
    for (int piece = 0; piece < LH_FOLD_PIECES; piece++) atomic_store(&cpu->turn[piece], 0);
}

static void measure_step(const lh_cpu_engine *cpu, lh_step_metrics *metrics) {
    const lh_cpu_workspace *workspace = cpu->workspace;
    double clip_norm = cpu->engine.spec->optimizer.clip_norm, parameters = 0, update = 0, heaviest = 0;
    memset(metrics, 0, sizeof *metrics);
    sum_step(cpu, &metrics->sums, &metrics->gradient_norm);
    for (int64_t chunk = 0; chunk < lh_cpu_count_chunks(cpu); chunk++) {
        parameters += workspace->chunk_updates[chunk].parameters;
        update += workspace->chunk_updates[chunk].update;
        if (workspace->chunk_squares[chunk] > heaviest) {
            heaviest = workspace->chunk_squares[chunk];
            metrics->heavy_chunk = chunk;
        }
    }
    metrics->heavy_share = heaviest > 0 ? heaviest / (metrics->gradient_norm * metrics->gradient_norm) : 0;
    metrics->parameter_norm = sqrt(parameters);
    metrics->update_norm = sqrt(update);
    metrics->clipped = clip_norm > 0 && metrics->gradient_norm >= clip_norm;
    metrics->length = lh_get_reported_length(cpu->engine.spec, cpu->length);
}

/* Takes the failure of the first shard whose examples could not be made. */
static lh_status take_failure(const lh_cpu_engine *cpu, lh_error *error) {
    lh_cpu_failure first = {.status = LH_OK};
    for (int i = 0; i < cpu->engine.threads; i++) lh_cpu_take_failure(&first, &cpu->workspace->lanes[i].failure);
    if (first.status != LH_OK) *error = first.error;
    return first.status;
}

/* Refuses a step whose loss, gradient or new parameters are not finite. If no update was made, `total` still has the
 * gradient. */
static lh_status check_step(const lh_cpu_engine *cpu, const lh_step_metrics *now, lh_error *error) {
    bool updated = isfinite(now->sums.loss) && isfinite(now->gradient_norm);
    lh_status status = lh_check_step(now, cpu->engine.step + 1, updated, error);
    if (status != LH_OK)
        lh_diagnose_step(error, cpu->engine.spec, cpu->engine.real_bytes, cpu->parameters, updated ? NULL : cpu->total,
                         lh_get_reported_length(cpu->engine.spec, cpu->length));
    return status;
}

static lh_status run_step(lh_cpu_engine *cpu, lh_step_metrics *metrics, lh_error *error) {
    start_step(cpu);
    lh_team_run(cpu->engine.threads, step_work, cpu);
    *metrics = (lh_step_metrics){.length = lh_get_reported_length(cpu->engine.spec, cpu->length)};
    lh_status status = take_failure(cpu, error);
    if (status != LH_OK) return status;
    measure_step(cpu, metrics);
    return check_step(cpu, metrics, error);
}

lh_status lh_cpu_engine_step(lh_engine *engine, int count, lh_step_metrics *metrics, int *done, lh_error *error) {
    lh_cpu_engine *cpu = (lh_cpu_engine *)engine;
    *done = 0;
    lh_status status = lh_cpu_enter(cpu, error);
    if (status != LH_OK) return status;
    double start = lh_read_clock();
    for (; *done < count; ++*done) {
        status = run_step(cpu, &metrics[*done], error);
        if (status != LH_OK) break;
        engine->step++;
    }
    engine->seconds += lh_read_clock() - start;
    lh_cpu_leave(cpu, status == LH_OK);
    return status;
}
