/* Batches of future steps, made by host threads while a launch runs. A batch is a pure function of seeds and step, so
 * unused batches can be dropped without effect on results. Layouts, lanes and draws also serve forward passes. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "engine/schedule.h"
#include "longhand/timings.h"
#include "longhand/math.h"
#include "runtime/cuda/fleet/fleet_parts.h"
#include "runtime/cuda/device_memory.h"

static const size_t RING_BYTES = 64 << 20; /* limit for the bytes of a ring, unless two steps need more */

/* Reserves bytes after the used bytes and returns their offset. */
static size_t reserve_bytes(size_t *used, size_t bytes) {
    size_t offset = *used;
    *used += (bytes + 15) / 16 * 16;
    return offset;
}

lh_cuda_layout lh_cuda_make_layout(const lh_cuda_fleet *fleet, const lh_shape *shape) {
    const lh_cuda_program *program = fleet->program;
    const lh_spec *spec = fleet->spec;
    size_t sequences = (size_t)shape->sequences, labels = sequences * (size_t)shape->labels;
    size_t draws = program->draw_count != NULL ? program->draw_count(shape) : 0, used = 0;
    size_t passes = spec->passes > 0 ? sizeof(lh_cuda_passes) : 0, positions = 0;
    lh_cuda_layout layout = {.has_places = spec->format->locate != NULL};
    for (int s = 0; s < LH_MAX_STREAMS; s++)
        layout.tokens[s] = reserve_bytes(&used, sequences * (size_t)shape->length[s] * sizeof(uint16_t));
    layout.labels = reserve_bytes(&used, labels * sizeof(uint16_t));
    layout.mask = reserve_bytes(&used, labels);
    layout.place = reserve_bytes(&used, layout.has_places ? labels * sizeof(uint16_t) : 0);
    for (int s = 0; s < LH_MAX_STREAMS; s++) {
        layout.positions[s] = used + passes + positions * sizeof(int);
        if (spec->format->positions != NULL) positions += sequences * (size_t)shape->length[s];
    }
    layout.draws = reserve_bytes(&used, passes + (positions + draws) * sizeof(int));
    layout.bytes = lh_cuda_align(used);
    return layout;
}

lh_status lh_cuda_lanes_open(lh_cuda_lanes *lanes, const lh_cuda_fleet *fleet, int max_n, int rows, lh_error *error) {
    int threads = fleet->config.threads;
    size_t scratch = (size_t)fleet->program->draw_scratch * sizeof(int);
    lanes->lane = lh_engine_allocate((size_t)threads * sizeof *lanes->lane, "threads", error);
    if (lanes->lane == NULL) return LH_ERR_ENVIRONMENT;
    for (lanes->count = 0; lanes->count < threads; lanes->count++) {
        lh_cuda_lane *lane = &lanes->lane[lanes->count];
        lane->scratch = lh_engine_allocate(scratch, "draws", error);
        if (lane->scratch == NULL) return LH_ERR_ENVIRONMENT;
        lh_status status = lh_batch_open(&lane->batch, fleet->spec, max_n, rows, error);
        if (status != LH_OK) {
            free(lane->scratch);
            return status;
        }
    }
    return LH_OK;
}

void lh_cuda_lanes_close(lh_cuda_lanes *lanes) {
    for (int i = 0; i < lanes->count; i++) {
        lh_batch_close(&lanes->lane[i].batch);
        free(lanes->lane[i].scratch);
    }
    free(lanes->lane);
    memset(lanes, 0, sizeof *lanes);
}

/* Writes `rows` rows of elements_per_row words, starting at row first_row. */
static void put_words(char *memory, size_t first_row, size_t rows, size_t elements_per_row, const uint16_t *words) {
    memcpy(memory + first_row * elements_per_row * sizeof *words, words, rows * elements_per_row * sizeof *words);
}

void lh_cuda_put_rows(const lh_cuda_layout *layout, char *memory, int first, const lh_batch *batch) {
    const lh_shape *shape = &batch->shape;
    size_t labels = (size_t)shape->labels, rows = (size_t)shape->sequences, first_row = (size_t)first;
    for (int s = 0; s < LH_MAX_STREAMS; s++) {
        size_t length = (size_t)shape->length[s];
        if (batch->tokens[s] != NULL) put_words(memory + layout->tokens[s], first_row, rows, length, batch->tokens[s]);
        if (batch->positions[s] != NULL)
            memcpy(memory + layout->positions[s] + first_row * length * sizeof(int), batch->positions[s],
                   rows * length * sizeof(int));
    }
    put_words(memory + layout->labels, first_row, rows, labels, batch->labels);
    if (layout->has_places) put_words(memory + layout->place, first_row, rows, labels, batch->place);
    memcpy(memory + layout->mask + first_row * labels, batch->mask, rows * labels);
}

lh_cuda_step lh_cuda_make_step(const lh_cuda_layout *layout, const lh_shape *shape, CUdeviceptr address,
                               const lh_draw *draw) {
    lh_cuda_step step = {
        .labels = (const unsigned short *)(uintptr_t)(address + layout->labels),
        .mask = (const unsigned char *)(uintptr_t)(address + layout->mask),
        .place = layout->has_places ? (const unsigned short *)(uintptr_t)(address + layout->place) : NULL,
        .draws = (const int *)(uintptr_t)(address + layout->draws),
        .sequences = shape->sequences,
        .label_count = shape->labels,
        .step = draw->step,
        .key = {draw->key.word[0], draw->key.word[1]},
        .draw = draw->example,
        .first = draw->first,
    };
    for (int s = 0; s < LH_CUDA_STREAMS; s++) {
        if (shape->length[s] > 0) step.tokens[s] = (const unsigned short *)(uintptr_t)(address + layout->tokens[s]);
        step.T[s] = shape->length[s];
    }
    return step;
}

/* ---- memory ---- */

/* Upper bound for the bytes that rounding adds to a layout. */
enum { LAYOUT_ROUNDING = 512 };

/* The largest number of bytes of a batch. A part of a batch of mixed lengths needs at most its share of the bytes of
 * a batch of one length, and in addition the bytes of one sequence. */
static size_t find_largest_batch(const lh_cuda_fleet *fleet, const lh_lengths *lengths) {
    size_t max_bytes = 0, sequence_bytes = 0;
    for (int i = 0; i < lh_lengths_count(lengths); i++) {
        lh_shape shape = lh_make_shape(fleet->spec, lh_lengths_get(lengths, i), fleet->spec->train.batch);
        size_t bytes = lh_cuda_make_layout(fleet, &shape).bytes;
        if (bytes > max_bytes) max_bytes = bytes;
        shape.sequences = 1;
        sequence_bytes += lh_cuda_make_layout(fleet, &shape).bytes + LAYOUT_ROUNDING;
    }
    return fleet->spec->train.mixes_lengths ? lh_cuda_align(max_bytes + sequence_bytes) : max_bytes;
}

/* Allocates `batches` prepared steps with their parts. */
static lh_status open_prepared_steps(lh_cuda_fleet *fleet, size_t batches, lh_error *error) {
    lh_cuda_ring *ring = &fleet->ring;
    size_t parts = (size_t)lh_cuda_count_parts(fleet);
    ring->prepared = lh_engine_allocate(batches * sizeof *ring->prepared, "batches", error);
    ring->steps = lh_engine_allocate(batches * parts * sizeof *ring->steps, "batches", error);
    if (ring->prepared == NULL || ring->steps == NULL) return LH_ERR_ENVIRONMENT;
    lh_status status = LH_OK;
    for (size_t i = 0; status == LH_OK && i < batches; i++) {
        ring->prepared[i].steps = ring->steps + i * parts;
        status = lh_batch_parts_open(&ring->prepared[i].parts, fleet->spec, error);
    }
    return status;
}

lh_status lh_cuda_ring_open(lh_cuda_fleet *fleet, lh_error *error) {
    lh_cuda_ring *ring = &fleet->ring;
    const lh_lengths lengths = lh_cuda_get_training_lengths(fleet);
    size_t columns = (size_t)fleet->count, batch = (size_t)fleet->spec->train.batch;
    ring->batch_bytes = find_largest_batch(fleet, &lengths);
    size_t steps = RING_BYTES / (2 * columns * ring->batch_bytes);
    ring->capacity = 2 * (steps < 1 ? 1 : steps > LH_CUDA_MAX_STEPS ? LH_CUDA_MAX_STEPS : (int)steps);
    ring->columns = fleet->count;
    size_t batches = (size_t)ring->capacity * columns;
    lh_status status = open_prepared_steps(fleet, batches, error);
    if (status != LH_OK) return status;
    if (fleet->spec->corpus != NULL) {
        ring->indices_in_shape = lh_engine_allocate(batches * batch * sizeof *ring->indices_in_shape, "batches", error);
        if (ring->indices_in_shape == NULL) return LH_ERR_ENVIRONMENT;
    }
    status = lh_cuda_pin(fleet->device, batches * ring->batch_bytes, "batches", &ring->host, error);
    if (status == LH_OK)
        status = lh_cuda_allocate(fleet->device, batches * ring->batch_bytes, "batches", &ring->device, error);
    if (status == LH_OK)
        status = lh_cuda_check(fleet->driver, fleet->driver->cuStreamCreate(&ring->stream, LH_CUDA_STREAM_NON_BLOCKING),
                               "cuStreamCreate", error);
    if (status != LH_OK) return status;
    return lh_cuda_lanes_open(&ring->lanes, fleet, lh_lengths_find_longest(&lengths), fleet->spec->train.batch, error);
}

void lh_cuda_ring_close(lh_cuda_fleet *fleet) {
    lh_cuda_ring *ring = &fleet->ring;
    if (ring->stream != NULL) {
        fleet->driver->cuStreamSynchronize(ring->stream);
        fleet->driver->cuStreamDestroy(ring->stream);
    }
    lh_cuda_lanes_close(&ring->lanes);
    lh_cuda_release(fleet->device, &ring->device);
    lh_cuda_unpin(fleet->device, &ring->host);
    for (size_t i = 0; ring->prepared != NULL && i < (size_t)ring->capacity * (size_t)fleet->count; i++)
        lh_batch_parts_close(&ring->prepared[i].parts);
    free(ring->prepared);
    free(ring->steps);
    free(ring->indices_in_shape);
    memset(ring, 0, sizeof *ring);
}

/* ---- filling ---- */

static size_t get_index(const lh_cuda_ring *ring, int64_t slot, int column) {
    return (size_t)(slot % ring->capacity) * (size_t)ring->columns + (size_t)column;
}

lh_cuda_prepared_step *lh_cuda_ring_get(const lh_cuda_ring *ring, int64_t slot, int column) {
    return &ring->prepared[get_index(ring, slot, column)];
}

void lh_cuda_ring_clear(lh_cuda_fleet *fleet) {
    lh_cuda_ring *ring = &fleet->ring;
    if (ring->stream != NULL) fleet->driver->cuStreamSynchronize(ring->stream); /* the copies read the ring's memory */
    ring->end = ring->first;
    ring->columns = fleet->active_count;
}

/* Chooses the task lengths and examples of the step with index `step`. */
static void choose_lengths(lh_cuda_fleet *fleet, lh_cuda_engine *engine, size_t index, uint32_t step) {
    const lh_spec *spec = fleet->spec;
    lh_cuda_ring *ring = &fleet->ring;
    lh_cuda_prepared_step *prepared = &ring->prepared[index];
    if (fleet->config.fixed_length > 0)
        lh_batch_parts_set(&prepared->parts, fleet->config.fixed_length, spec->train.batch);
    else if (spec->corpus == NULL) lh_batch_parts_draw(&prepared->parts, spec, engine->data_key, step);
    else { /* the epoch of dataset files determines the length and the examples */
        const lh_epoch_batch *batch = lh_epoch_find_batch(&engine->epoch, engine->data_key, step);
        uint32_t *indices_in_shape = ring->indices_in_shape + index * (size_t)spec->train.batch;
        memcpy(indices_in_shape, engine->epoch.indices_in_shape + batch->first,
               (size_t)batch->sequences * sizeof *indices_in_shape);
        prepared->indices_in_shape = indices_in_shape;
        lh_batch_parts_set(&prepared->parts, batch->n, batch->sequences);
    }
}

static lh_shape make_part_shape(const lh_cuda_fleet *fleet, const lh_batch_part *batch_part) {
    return lh_make_shape(fleet->spec, batch_part->n, batch_part->sequences);
}

/* The draw of the random numbers that the sequences of a part share. */
static lh_draw make_part_draw(lh_key key, uint32_t step, const lh_batch_part *batch_part) {
    return (lh_draw){.key = key,
                     .step = step,
                     .example = LH_SHARED,
                     .domain = LH_DOMAIN_POSITIONS,
                     .first = (uint32_t)batch_part->first};
}

/* Chooses the task lengths and examples of a step, and describes its parts for the device. */
static void choose_batch(lh_cuda_fleet *fleet, int64_t slot, int column) {
    const lh_spec *spec = fleet->spec;
    lh_cuda_ring *ring = &fleet->ring;
    lh_cuda_engine *engine = fleet->active[column];
    size_t index = get_index(ring, slot, column);
    lh_cuda_prepared_step *prepared = &ring->prepared[index];
    int64_t step = engine->engine.step + engine->engine.unreported_steps + (slot - ring->first);
    double rate = lh_compute_learning_rate(&spec->train, engine->learning_rate, step + 1);
    CUdeviceptr address = ring->device + index * ring->batch_bytes;
    *prepared =
        (lh_cuda_prepared_step){.parts = prepared->parts, .steps = prepared->steps, .data_key = engine->data_key};
    choose_lengths(fleet, engine, index, (uint32_t)step);
    prepared->n = prepared->parts.parts[0].n;
    prepared->passes.count = lh_count_passes(spec, prepared->n);
    if (spec->progressive)
        prepared->passes.count = lh_draw_passes(spec, engine->draws_key, (uint32_t)step, &prepared->passes.free);
    memset(prepared->steps, 0, (size_t)lh_cuda_count_parts(fleet) * sizeof *prepared->steps);
    for (int i = 0; i < prepared->parts.count; i++) {
        const lh_batch_part *batch_part = &prepared->parts.parts[i];
        lh_shape shape = make_part_shape(fleet, batch_part);
        lh_cuda_layout layout = lh_cuda_make_layout(fleet, &shape);
        lh_draw draw = make_part_draw(engine->draws_key, (uint32_t)step, batch_part);
        prepared->steps[i] = lh_cuda_make_step(&layout, &shape, address, &draw);
        prepared->steps[i].rate = rate / (1 - lh_power(fleet->program->beta1, step + 1));
        prepared->steps[i].correct2 = 1 / (1 - lh_power(fleet->program->beta2, step + 1));
        prepared->labels += (int64_t)shape.sequences * shape.labels;
        address += layout.bytes;
    }
}

/* Makes the examples of a part of a step. With config.distinct_examples, a batch begins after the last example of the
 * previous batch, and after the last of the distinct examples comes the first again. */
static lh_status make_examples(const lh_cuda_fleet *fleet, const lh_cuda_prepared_step *prepared, int part_index,
                               lh_batch *batch, lh_error *error) {
    const lh_batch_part *batch_part = &prepared->parts.parts[part_index];
    const lh_cuda_step *step = &prepared->steps[part_index];
    uint64_t distinct = (uint64_t)fleet->config.distinct_examples, first = (uint64_t)batch_part->first;
    lh_source source = {.key = prepared->data_key,
                        .step = step->step,
                        .domain = LH_DOMAIN_DATA,
                        .distinct_examples = (uint32_t)distinct,
                        .indices_in_shape = prepared->indices_in_shape};
    if (distinct > 0) {
        source.step = 0;
        first = ((uint64_t)step->step * (uint64_t)fleet->spec->train.batch + first) % distinct;
    }
    return lh_batch_fill(batch, fleet->spec, &source, batch_part->n, (uint32_t)first, batch_part->sequences, error);
}

void lh_cuda_make_draws(const lh_cuda_fleet *fleet, lh_cuda_passes passes, const lh_draw *draw, const lh_shape *shape,
                        const int32_t *const positions[LH_MAX_STREAMS], const int32_t *const distances[LH_MAX_STREAMS],
                        int *scratch, int *out) {
    const lh_cuda_program *program = fleet->program;
    LH_TIMED(LH_PART_SAMPLING);
    if (fleet->spec->passes > 0) {
        memcpy(out, &passes, sizeof passes);
        out += sizeof passes / sizeof *out;
    }
    if (fleet->spec->format->positions != NULL) out += (size_t)shape->sequences * (size_t)lh_count_shape_tokens(shape);
    if (program->draw_count != NULL) program->draw(draw, shape, positions, distances, scratch, out);
}

/* Makes the examples and draws of a part of a step in the memory at `memory`. Returns the number of bytes of the
 * part, 0 after an error. */
static size_t fill_part(const lh_cuda_fleet *fleet, lh_cuda_lane *lane, lh_cuda_prepared_step *prepared, int part_index,
                        char *memory) {
    const lh_batch_part *batch_part = &prepared->parts.parts[part_index];
    const lh_cuda_step *step = &prepared->steps[part_index];
    const lh_draw draw = make_part_draw((lh_key){{step->key[0], step->key[1]}}, step->step, batch_part);
    const int32_t *const no_values[LH_MAX_STREAMS] = {NULL};
    lh_cuda_passes passes = prepared->passes;
    prepared->status = make_examples(fleet, prepared, part_index, &lane->batch, NULL);
    if (prepared->status != LH_OK) return 0;
    if (fleet->spec->passes_by_length) passes.count = lh_count_passes(fleet->spec, batch_part->n);
    prepared->counted_sequences += lh_batch_count_sequences(&lane->batch, fleet->spec);
    lh_cuda_layout layout = lh_cuda_make_layout(fleet, &lane->batch.shape);
    lh_batch_shift_positions(&lane->batch, fleet->spec, &draw, (uint32_t)batch_part->first);
    lh_cuda_put_rows(&layout, memory, 0, &lane->batch);
    lh_cuda_make_draws(fleet, passes, &draw, &lane->batch.shape, no_values, no_values, lane->scratch,
                       (int *)(void *)(memory + layout.draws));
    return layout.bytes;
}

static int64_t count_counted_labels(const lh_batch *batch) {
    int64_t counted = 0;
    for (int i = 0; i < batch->shape.sequences * batch->shape.labels; i++) counted += batch->mask[i];
    return counted;
}

/* The factor of each label's gradient in a part of a step (lh_cuda_program.parts). If the loss is a mean over
 * sequences and some labels may be masked, it is instead the factor of the gradient of each sequence's own mean. */
static double compute_loss_scale(const lh_spec *spec, const lh_cuda_prepared_step *prepared, int64_t counted_labels,
                                 const lh_cuda_step *step) {
    const lh_batch_part *last = &prepared->parts.parts[prepared->parts.count - 1];
    int64_t sequences = last->first + last->sequences, terms = prepared->labels;
    bool has_mask = spec->task->loss == LH_LOSS_COUNTED; /* masked labels do not count */
    if (spec->train.weighs_sequences) terms = has_mask ? prepared->counted_sequences : sequences * step->label_count;
    else if (has_mask && spec->train.mixes_lengths) terms = counted_labels;
    return terms > 0 ? 1.0 / (double)terms : 0;
}

static void fill_batch(const lh_cuda_fleet *fleet, lh_cuda_lane *lane, int64_t slot, int column) {
    const lh_cuda_ring *ring = &fleet->ring;
    size_t index = get_index(ring, slot, column), used = 0;
    lh_cuda_prepared_step *prepared = &ring->prepared[index];
    char *memory = (char *)ring->host + index * ring->batch_bytes;
    int64_t counted_labels = 0;
    for (int i = 0; i < prepared->parts.count; i++) {
        used += fill_part(fleet, lane, prepared, i, memory + used);
        if (prepared->status != LH_OK) return;
        counted_labels += count_counted_labels(&lane->batch);
    }
    assert(used <= ring->batch_bytes);
    for (int i = 0; i < prepared->parts.count; i++)
        prepared->steps[i].loss_scale = compute_loss_scale(fleet->spec, prepared, counted_labels, &prepared->steps[i]);
}

typedef struct fill_job {
    lh_cuda_fleet *fleet;
    int64_t first; /* first slot to fill */
    int slots;
    atomic_int next; /* next batch to make, slot * columns + column */
} fill_job;

static void fill_work(void *argument, int index, int count) {
    fill_job *job = argument;
    lh_cuda_fleet *fleet = job->fleet;
    int columns = fleet->ring.columns, item;
    for (int column = index; column < columns; column += count)
        for (int i = 0; i < job->slots; i++) choose_batch(fleet, job->first + i, column);
    lh_team_barrier();
    while ((item = atomic_fetch_add(&job->next, 1)) < job->slots * columns)
        fill_batch(fleet, &fleet->ring.lanes.lane[index], job->first + item / columns, item % columns);
}

/* Copies adjacent slots to the device. */
static lh_status copy_slots(const lh_cuda_fleet *fleet, int64_t slot, int count, lh_error *error) {
    const lh_cuda_ring *ring = &fleet->ring;
    size_t slot_bytes = (size_t)ring->columns * ring->batch_bytes,
           offset = (size_t)(slot % ring->capacity) * slot_bytes;
    return lh_cuda_check(fleet->driver,
                         fleet->driver->cuMemcpyHtoDAsync(ring->device + offset, (char *)ring->host + offset,
                                                          (size_t)count * slot_bytes, ring->stream),
                         "cuMemcpyHtoDAsync", error);
}

lh_status lh_cuda_ring_fill(lh_cuda_fleet *fleet, int64_t end, lh_error *error) {
    lh_cuda_ring *ring = &fleet->ring;
    fill_job job = {.fleet = fleet, .first = ring->end, .slots = (int)(end - ring->end)};
    if (job.slots <= 0) return LH_OK;
    int batches = job.slots * ring->columns, threads = ring->lanes.count;
    atomic_init(&job.next, 0);
    lh_team_run(threads < batches ? threads : batches, fill_work, &job);
    int before_wrap = ring->capacity - (int)(ring->end % ring->capacity);
    int first_part_slots = job.slots < before_wrap ? job.slots : before_wrap;
    lh_status status = copy_slots(fleet, ring->end, first_part_slots, error);
    if (status == LH_OK && first_part_slots < job.slots)
        status = copy_slots(fleet, ring->end + first_part_slots, job.slots - first_part_slots, error);
    ring->end = end;
    return status;
}

lh_status lh_cuda_ring_get_failure(lh_cuda_fleet *fleet, int column, lh_error *error) {
    const lh_cuda_prepared_step *prepared = lh_cuda_ring_get(&fleet->ring, fleet->ring.first, column);
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < prepared->parts.count; i++)
        status = make_examples(fleet, prepared, i, &fleet->ring.lanes.lane[0].batch, error);
    if (status != LH_OK) return status;
    return lh_fail(error, prepared->status, "step %lld: the task made no examples at first, but made them when retried",
                   (long long)prepared->steps->step + 1);
}
