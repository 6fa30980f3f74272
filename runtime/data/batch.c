/* Batches of examples; see batch.h. */
#include "data/batch.h"

#include <stdlib.h>
#include <string.h>

#include "longhand/laps.h"

int lh_lengths_count(const lh_lengths *lengths) {
    if (lengths->list) return lengths->count;
    int step = lengths->step > 0 ? lengths->step : 1;
    return lengths->last < lengths->first ? 0 : (lengths->last - lengths->first) / step + 1;
}

int lh_lengths_at(const lh_lengths *lengths, int index) {
    if (lengths->list) return lengths->list[index];
    return lengths->first + index * (lengths->step > 0 ? lengths->step : 1);
}

int lh_lengths_longest(const lh_lengths *lengths) {
    int longest = 0;
    for (int i = 0, count = lh_lengths_count(lengths); i < count; i++) {
        int n = lh_lengths_at(lengths, i);
        if (n > longest) longest = n;
    }
    return longest;
}

int lh_train_length(const lh_spec *spec, lh_key key, uint32_t step) {
    const lh_lengths *lengths = &spec->train.lengths;
    lh_rng rng = lh_rng_at(key, step, LH_SHARED, lh_site(LH_DOMAIN_DATA, 0, LH_PLACE_LENGTH));
    return lh_lengths_at(lengths, (int)lh_rng_below(&rng, (uint32_t)lh_lengths_count(lengths)));
}

lh_shape lh_shape_at(const lh_spec *spec, int n, int sequences) {
    lh_shape shape = {.sequences = sequences, .labels = spec->format->labels(n)};
    for (int s = 0; s < spec->format->streams; s++) shape.length[s] = spec->format->stream[s].length(n);
    return shape;
}

/* The largest of each size over all task lengths up to longest_n: a formula need not grow with n. */
static lh_shape largest_shape(const lh_spec *spec, int longest_n, int sequences, int *input) {
    lh_shape largest = {.sequences = sequences};
    *input = 0;
    for (int n = 1; n <= longest_n; n++) {
        lh_shape shape = lh_shape_at(spec, n, sequences);
        for (int s = 0; s < LH_MAX_STREAMS; s++)
            if (shape.length[s] > largest.length[s]) largest.length[s] = shape.length[s];
        if (shape.labels > largest.labels) largest.labels = shape.labels;
        if (spec->task->input_length(n) > *input) *input = spec->task->input_length(n);
    }
    return largest;
}

lh_status lh_batch_open(lh_batch *batch, const lh_spec *spec, int longest_n, int sequences, lh_error *error) {
    memset(batch, 0, sizeof *batch);
    int input;
    lh_shape most = largest_shape(spec, longest_n, sequences, &input);
    size_t count = (size_t)sequences, labels = count * (size_t)most.labels;
    size_t words = labels + (size_t)input;
    for (int s = 0; s < LH_MAX_STREAMS; s++) words += count * (size_t)most.length[s];
    size_t bytes = words * sizeof(uint16_t) + labels;
    uint16_t *next = batch->memory = malloc(bytes ? bytes : 1);
    if (!next)
        return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for a batch of %d sequences of length %d: %zu bytes",
                       sequences, longest_n, bytes);
    for (int s = 0; s < spec->format->streams; s++) {
        batch->tokens[s] = next;
        next += count * (size_t)most.length[s];
    }
    batch->labels = next;
    batch->input = next + labels;
    batch->mask = (uint8_t *)(batch->input + input);
    return LH_OK;
}

void lh_batch_close(lh_batch *batch) {
    free(batch->memory);
    memset(batch, 0, sizeof *batch);
}

/* Makes example `index` in row `row`; its target and mask are the row's labels and mask. */
static void fill_row(lh_batch *batch, const lh_spec *spec, const lh_source *source, int n, uint32_t index, int row) {
    size_t at = (size_t)row * (size_t)batch->shape.labels;
    lh_example example = {
        .input_length = spec->task->input_length(n),
        .output_length = spec->task->output_length(n),
        .input = batch->input,
        .target = batch->labels + at,
        .mask = batch->mask + at,
    };
    memset(example.mask, 1, (size_t)example.output_length);
    lh_rng rng = lh_rng_at(source->key, source->step, index, lh_site(source->domain, 0, LH_PLACE_SAMPLE));
    spec->task->sample(&rng, n, &example);
    uint16_t *tokens[LH_MAX_STREAMS] = {NULL};
    for (int s = 0; s < spec->format->streams; s++)
        tokens[s] = batch->tokens[s] + (size_t)row * (size_t)batch->shape.length[s];
    spec->format->assemble(&example, tokens);
}

void lh_batch_fill(lh_batch *batch, const lh_spec *spec, const lh_source *source, int n, uint32_t first,
                   int sequences) {
    LH_TIMED(LH_PART_SAMPLING);
    batch->shape = lh_shape_at(spec, n, sequences);
    for (int row = 0; row < sequences; row++) {
        uint32_t index = first + (uint32_t)row;
        if (source->distinct) index %= source->distinct;
        fill_row(batch, spec, source, n, index, row);
    }
}
