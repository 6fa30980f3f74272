/* The training step on the CPU: one parallel region with three barriers.
 *
 * A batch, which is sorted by length, is cut into spec->train.shards shards. A shard processes its sequences length by
 * length, so no sequence is padded. Threads take whole shards in order.
 *
 * The bits do not depend on the number or the speed of threads, since sums over shards and chunks have a fixed order.
 * The gradients of shards are added in the order of the shards, piece by piece: a thread waits until the previous
 * shard's piece is added. The previous shard is always finished or in progress, so the thread never waits forever.
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

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Spins until *turn equals shard. With more threads than processors, a long spin must yield the processor. */
static void wait_for_turn(atomic_int *turn, int shard) {
    if (atomic_load_explicit(turn, memory_order_acquire) == shard) return;
    LH_TIMED(LH_PART_WAITING);
    for (int spins = 0; atomic_load_explicit(turn, memory_order_acquire) != shard; spins++) {
        if (spins < 2000) pause_briefly(); /* some microseconds */
        else sched_yield();
    }
}

/* Adds the gradient of a shard to the total, piece by piece, each piece after the same piece of the previous shard. */
static void fold_shard(lh_cpu_engine *cpu, void *gradient, int shard) {
    int64_t chunks = lh_cpu_count_chunks(cpu);
    size_t real = (size_t)cpu->engine.real_bytes;
    for (int piece = 0; piece < LH_FOLD_PIECES; piece++) {
        size_t first = (size_t)(chunks * piece / LH_FOLD_PIECES) * LH_CHUNK;
        size_t end = (size_t)(chunks * (piece + 1) / LH_FOLD_PIECES) * LH_CHUNK;
        wait_for_turn(&cpu->turn[piece], shard);
        if (end > first)
            cpu->program->fold((char *)cpu->total + first * real, (char *)gradient + first * real, end - first);
        atomic_store_explicit(&cpu->turn[piece], shard + 1, memory_order_release);
    }
}

/* The source of the batch's examples. With config.distinct_examples, all steps use examples of step 0. */
static lh_source make_source(const lh_cpu_engine *cpu) {
    lh_source source = {.key = cpu->data_key,
                        .step = cpu->job.step,
                        .domain = LH_DOMAIN_DATA,
                        .distinct_examples = (uint32_t)cpu->config.distinct_examples,
                        .indices_in_shape = cpu->indices_in_shape};
    if (cpu->config.distinct_examples > 0) source.step = 0;
    return source;
}

/* The index of the source's example for a sequence of the batch. With config.distinct_examples, steps repeat this
 * number of examples in order. */
static uint32_t find_example(const lh_cpu_engine *cpu, int row) {
    uint64_t distinct = (uint64_t)cpu->config.distinct_examples;
    uint64_t first_index = (uint64_t)cpu->job.step * (uint64_t)cpu->engine.spec->train.batch;
    return distinct > 0 ? (uint32_t)((first_index + (uint64_t)row) % distinct) : (uint32_t)row;
}

/* Makes the examples of one length of a shard, in the thread's buffers; false: an error, stored in lane->failure. */
static bool fill_lane(const lh_cpu_engine *cpu, lh_cpu_lane *lane, int shard, const lh_batch_part *batch_part) {
    lh_source source = make_source(cpu);
    lh_error error;
    lh_status status = lh_batch_fill(&lane->batch, cpu->engine.spec, &source, batch_part->n,
                                     find_example(cpu, batch_part->first), batch_part->sequences, &error);
    if (status == LH_OK)
        lh_batch_shift_positions(&lane->batch, cpu->engine.spec, &cpu->job.draw, (uint32_t)batch_part->first);
    if (status != LH_OK && lane->failure.status == LH_OK) lane->failure = (lh_cpu_failure){status, shard, error};
    return status == LH_OK;
}

/* lh_cpu_block.loss_scale for sequences with `labels` labels. */
static double compute_loss_scale(const lh_cpu_engine *cpu, int labels) {
    double sequences = cpu->job.shape.sequences;
    bool may_mask = cpu->program->scale != NULL;
    if (!cpu->engine.spec->train.weighs_sequences) return 1.0 / (double)cpu->labels;
    /* If labels may be masked, the program itself divides by the counted labels of each sequence. */
    return may_mask ? 1.0 / sequences : 1.0 / (sequences * labels);
}

/* The greatest task length of the step's batch. */
static int get_max_length(const lh_cpu_engine *cpu) { return cpu->parts.parts[0].n; }

/* Whether the shared values for the batch's longest sequences also serve sequences of this shape. */
static bool can_slice(const lh_cpu_engine *cpu, const lh_shape *shape) {
    bool fits = cpu->program->slices;
    for (int i = 0; i < LH_MAX_STREAMS; i++) fits = fits && shape->length[i] <= cpu->job.shape.length[i];
    return fits;
}

/* Computes lane->shared for task length n, or for the batch's longest sequences, whose shape cpu->job has. Does nothing
 * if the lane has these values. */
static void begin_length(const lh_cpu_engine *cpu, lh_cpu_lane *lane, lh_cpu_step *step, int n) {
    bool uses_longest = can_slice(cpu, &step->shape);
    lh_cpu_step shared_step = uses_longest ? cpu->job : *step;
    shared_step.shared = step->shared = lane->shared;
    if (uses_longest) step->tables_shape = &cpu->job.shape;
    if (uses_longest) n = get_max_length(cpu);
    if (lane->shared_n != n) cpu->program->begin_length(&shared_step, 0, 1);
    lane->shared_n = n;
}

/* Adds the gradient of a shard's sequences of one length to lane->gradient, and their losses and counts to *sums. */
static void train_batch_part(lh_cpu_engine *cpu, lh_cpu_lane *lane, int shard, const lh_batch_part *batch_part,
                             lh_sums *sums) {
    lh_cpu_step step = cpu->job;
    if (!fill_lane(cpu, lane, shard, batch_part)) {
        sums->loss = NAN; /* the NaN prevents updates by all threads */
        return;
    }
    step.shape = lh_make_shape(cpu->engine.spec, batch_part->n, cpu->job.shape.sequences);
    if (cpu->engine.spec->passes_by_length) step.passes = lh_count_passes(cpu->engine.spec, batch_part->n);
    if (cpu->program->begin_length != NULL) begin_length(cpu, lane, &step, batch_part->n);
    int block_size = cpu->program->block_sequences(step.shape.length), count = batch_part->sequences;
    if (cpu->program->begin_shard != NULL) cpu->program->begin_shard(&step, lane->workspace);
    for (int start = 0; start < count; start += block_size) {
        lh_cpu_block block =
            lh_batch_make_block(&lane->batch, start, count - start < block_size ? count - start : block_size);
        block.first_example = (uint32_t)(batch_part->first + start);
        block.loss_scale = compute_loss_scale(cpu, step.shape.labels);
        cpu->program->train_block(&step, &block, lane->workspace, lane->gradient, sums);
    }
    if (cpu->program->end_shard != NULL) cpu->program->end_shard(&step, lane->workspace, lane->gradient);
}

static void train_shard(lh_cpu_engine *cpu, lh_cpu_lane *lane, int shard) {
    int first = cpu->shard_starts[shard], end = cpu->shard_starts[shard + 1];
    lh_sums sums = {0};
    for (int i = 0; i < cpu->parts.count; i++) {
        lh_batch_part batch_part = cpu->parts.parts[i];
        int from = batch_part.first > first ? batch_part.first : first, to = batch_part.first + batch_part.sequences;
        if (to > end) to = end;
        if (from < to) train_batch_part(cpu, lane, shard, &(lh_batch_part){batch_part.n, from, to - from}, &sums);
    }
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

/* The factor that turns the total into the gradient of the loss. Shards have divided by the number of all labels or
 * sequences. The loss is the mean over counted labels or sequences. If none counts, the gradient is 0. */
static double compute_mask_factor(const lh_cpu_engine *cpu) {
    bool weighs_sequences = cpu->engine.spec->train.weighs_sequences;
    int64_t counted = 0, total = weighs_sequences ? cpu->job.shape.sequences : cpu->labels;
    if (cpu->program->scale == NULL) return 1;
    for (int shard = 0; shard < cpu->engine.spec->train.shards; shard++) {
        const lh_sums *sums = &cpu->workspace->shard_sums[shard];
        counted += weighs_sequences ? sums->sequences : sums->counted;
    }
    return counted > 0 ? (double)total / (double)counted : 1;
}

/* Turns chunks first .. end - 1 of the total into the gradient of the loss, and computes their squared norms. */
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

/* Measures the parameters if no label of the batch is in the loss. Such a step makes no update. */
static void measure_unchanged_chunks(lh_cpu_engine *cpu, int64_t first, int64_t end) {
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
    if (sums.positions == 0) return measure_unchanged_chunks(cpu, first, end);
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

/* Chooses lengths and examples of the step's batch; returns its number of sequences. */
static int choose_batch(lh_cpu_engine *cpu, uint32_t step) {
    const lh_spec *spec = cpu->engine.spec;
    if (cpu->config.fixed_length > 0) lh_batch_parts_set(&cpu->parts, cpu->config.fixed_length, spec->train.batch);
    else if (spec->corpus == NULL) lh_batch_parts_draw(&cpu->parts, spec, cpu->data_key, step);
    else {
        const lh_epoch_batch *batch = lh_epoch_find_batch(&cpu->epoch, cpu->data_key, step);
        cpu->indices_in_shape = cpu->epoch.indices_in_shape + batch->first;
        lh_batch_parts_set(&cpu->parts, batch->n, batch->sequences);
        return batch->sequences;
    }
    return spec->train.batch;
}

static lh_shape make_part_shape(const lh_cpu_engine *cpu, int index) {
    const lh_batch_part *batch_part = &cpu->parts.parts[index];
    return lh_make_shape(cpu->engine.spec, batch_part->n, batch_part->sequences);
}

/* Cuts a batch of one length into shards. Sizes of shards differ by at most one; the larger shards come first. In a
 * short batch some shards may be empty. */
static void cut_evenly(lh_cpu_engine *cpu, int sequences) {
    int shards = cpu->engine.spec->train.shards, size = sequences / shards, larger_shards = sequences % shards;
    for (int shard = 0; shard <= shards; shard++)
        cpu->shard_starts[shard] = shard * size + (shard < larger_shards ? shard : larger_shards);
}

/* Cuts a batch of several lengths into shards with about equal numbers of tokens: a sequence belongs to the shard in
 * which its middle lies. */
static void cut_by_tokens(lh_cpu_engine *cpu) {
    int64_t total = 0, preceding_tokens = 0, shards = cpu->engine.spec->train.shards;
    int next = 0, sequence = 0;
    for (int i = 0; i < cpu->parts.count; i++) {
        lh_shape shape = make_part_shape(cpu, i);
        total += (int64_t)shape.sequences * lh_count_shape_tokens(&shape);
    }
    for (int i = 0; i < cpu->parts.count; i++) {
        lh_shape shape = make_part_shape(cpu, i);
        int64_t tokens = lh_count_shape_tokens(&shape);
        for (int s = 0; s < shape.sequences; s++, sequence++, preceding_tokens += tokens)
            while (next <= (2 * preceding_tokens + tokens) * shards / (2 * total)) cpu->shard_starts[next++] = sequence;
    }
    while (next <= shards) cpu->shard_starts[next++] = sequence;
}

static int64_t count_labels(const lh_cpu_engine *cpu) {
    int64_t labels = 0;
    for (int i = 0; i < cpu->parts.count; i++) {
        lh_shape shape = make_part_shape(cpu, i);
        labels += (int64_t)shape.sequences * shape.labels;
    }
    return labels;
}

static void start_step(lh_cpu_engine *cpu) {
    const lh_spec *spec = cpu->engine.spec;
    uint32_t step = (uint32_t)cpu->engine.step;
    int sequences = choose_batch(cpu, step);
    cpu->job = (lh_cpu_step){
        .mode = LH_MODE_TRAIN,
        .shape = lh_make_shape(spec, get_max_length(cpu), sequences),
        .key = cpu->draws_key,
        .step = step,
        .draw = {.key = cpu->draws_key, .step = step, .example = LH_SHARED, .domain = LH_DOMAIN_POSITIONS},
        .passes = lh_count_passes(spec, get_max_length(cpu)),
        .parameters = cpu->parameters,
        .tables = cpu->tables,
        .shared = cpu->workspace->shared,
        .panels = cpu->workspace->panels,
    };
    if (spec->progressive) cpu->job.passes = lh_draw_passes(spec, cpu->draws_key, step, &cpu->job.free_passes);
    cpu->labels = count_labels(cpu);
    if (cpu->parts.count > 1) cut_by_tokens(cpu);
    else cut_evenly(cpu, sequences);
    for (int i = 0; i < cpu->engine.threads; i++) cpu->workspace->lanes[i].shared_n = 0;
    atomic_store(&cpu->next_shard, 0);
    for (int piece = 0; piece < LH_FOLD_PIECES; piece++) atomic_store(&cpu->turn[piece], 0);
}

static void measure_step(const lh_cpu_engine *cpu, lh_step_metrics *metrics) {
    const lh_cpu_workspace *workspace = cpu->workspace;
    double clip_norm = cpu->engine.spec->optimizer.clip_norm, parameters = 0, update = 0, heaviest_squares = 0;
    memset(metrics, 0, sizeof *metrics);
    sum_step(cpu, &metrics->sums, &metrics->gradient_norm);
    for (int64_t chunk = 0; chunk < lh_cpu_count_chunks(cpu); chunk++) {
        parameters += workspace->chunk_updates[chunk].parameters;
        update += workspace->chunk_updates[chunk].update;
        if (workspace->chunk_squares[chunk] > heaviest_squares) {
            heaviest_squares = workspace->chunk_squares[chunk];
            metrics->heavy_chunk = chunk;
        }
    }
    metrics->heavy_share =
        heaviest_squares > 0 ? heaviest_squares / (metrics->gradient_norm * metrics->gradient_norm) : 0;
    metrics->parameter_norm = sqrt(parameters);
    metrics->update_norm = sqrt(update);
    metrics->is_clipped = clip_norm > 0 && metrics->gradient_norm >= clip_norm;
    metrics->length = lh_get_reported_length(cpu->engine.spec, get_max_length(cpu));
}

/* Takes the failure of the first shard whose examples could not be made. */
static lh_status take_failure(const lh_cpu_engine *cpu, lh_error *error) {
    lh_cpu_failure first = {.status = LH_OK};
    for (int i = 0; i < cpu->engine.threads; i++) lh_cpu_keep_first_failure(&first, &cpu->workspace->lanes[i].failure);
    if (first.status != LH_OK) *error = first.error;
    return first.status;
}

/* Refuses a step whose loss, gradient or new parameters are not finite. If no update was made, `total` still has the
 * gradient. */
static lh_status check_step(const lh_cpu_engine *cpu, const lh_step_metrics *metrics, lh_error *error) {
    bool is_updated = isfinite(metrics->sums.loss) && isfinite(metrics->gradient_norm);
    lh_status status = lh_check_step(metrics, cpu->engine.step + 1, is_updated, error);
    if (status != LH_OK)
        lh_diagnose_step(error, cpu->engine.spec, cpu->engine.real_bytes, cpu->parameters,
                         is_updated ? NULL : cpu->total, lh_get_reported_length(cpu->engine.spec, get_max_length(cpu)));
    return status;
}

static lh_status run_step(lh_cpu_engine *cpu, lh_step_metrics *metrics, lh_error *error) {
    start_step(cpu);
    lh_team_run(cpu->engine.threads, step_work, cpu);
    *metrics = (lh_step_metrics){.length = lh_get_reported_length(cpu->engine.spec, get_max_length(cpu))};
    lh_status status = take_failure(cpu, error);
    if (status != LH_OK) return status;
    measure_step(cpu, metrics);
    return check_step(cpu, metrics, error);
}

lh_status lh_cpu_engine_step(lh_engine *engine, int count, lh_step_metrics *metrics, int *steps_done, lh_error *error) {
    lh_cpu_engine *cpu = (lh_cpu_engine *)engine;
    *steps_done = 0;
    lh_status status = lh_cpu_begin_call(cpu, error);
    if (status != LH_OK) return status;
    double start = lh_read_clock();
    for (; *steps_done < count; ++*steps_done) {
        status = run_step(cpu, &metrics[*steps_done], error);
        if (status != LH_OK) break;
        engine->step++;
    }
    engine->seconds += lh_read_clock() - start;
    lh_cpu_end_call(cpu, status == LH_OK);
    return status;
}
