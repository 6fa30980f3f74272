/* Batches of examples; see batch.h. */
#include "data/batch.h"

#include <stdlib.h>
#include <string.h>

#include "longhand/timings.h"

int lh_get_input_length(const lh_spec *spec, int n) {
    return spec->corpus != NULL ? spec->corpus->sizes[n - 1].input : spec->task->input_length(n);
}

int lh_get_output_length(const lh_spec *spec, int n) {
    return spec->corpus != NULL ? spec->corpus->sizes[n - 1].output : spec->task->output_length(n);
}

int lh_get_reported_length(const lh_spec *spec, int n) {
    return spec->corpus != NULL ? lh_get_input_length(spec, n) : n;
}

lh_shape lh_make_shape(const lh_spec *spec, int n, int sequences) {
    lh_shape shape = {.sequences = sequences};
    if (spec->corpus != NULL) {
        spec->format->shape(lh_get_input_length(spec, n), lh_get_output_length(spec, n), &shape);
        return shape;
    }
    shape.labels = spec->format->labels(n);
    for (int s = 0; s < spec->format->streams; s++) shape.length[s] = spec->format->stream[s].length(n);
    return shape;
}

int lh_count_passes(const lh_spec *spec, int n) {
    if (spec->pass_axis > 0) return spec->corpus->sizes[n - 1].passes;
    return spec->passes_by_length ? n : spec->passes;
}

int lh_count_shape_tokens(const lh_shape *shape) {
    int tokens = 0;
    for (int s = 0; s < LH_MAX_STREAMS; s++) tokens += shape->length[s];
    return tokens;
}

bool lh_raise_lengths(int max_length[LH_MAX_STREAMS], const int length[LH_MAX_STREAMS]) {
    bool has_grown = false;
    for (int s = 0; s < LH_MAX_STREAMS; s++) {
        if (length[s] <= max_length[s]) continue;
        max_length[s] = length[s];
        has_grown = true;
    }
    return has_grown;
}

size_t lh_count_batch_words(const lh_spec *spec, int n) {
    lh_shape shape = lh_make_shape(spec, n, 1);
    return (size_t)lh_count_shape_tokens(&shape) + (size_t)shape.labels + (size_t)lh_get_input_length(spec, n);
}

/* Finds the largest value of each size over all task lengths up to max_n, since a size may decrease with n.
 * LH_ERR_INPUT: the labelled stream has fewer tokens than labels. */
static lh_status find_max_sizes(const lh_spec *spec, int max_n, lh_shape *max_shape, int *max_input, lh_error *error) {
    const lh_format *format = spec->format;
    *max_input = 0;
    for (int n = 1; n <= max_n; n++) {
        lh_shape shape = lh_make_shape(spec, n, max_shape->sequences);
        if (shape.labels > shape.length[format->label_stream])
            return lh_fail(error, LH_ERR_INPUT, "length %d: %d labels, but %s has %d tokens\n  expected: one for each",
                           lh_get_reported_length(spec, n), shape.labels, format->stream[format->label_stream].name,
                           shape.length[format->label_stream]);
        lh_raise_lengths(max_shape->length, shape.length);
        if (shape.labels > max_shape->labels) max_shape->labels = shape.labels;
        if (lh_get_input_length(spec, n) > *max_input) *max_input = lh_get_input_length(spec, n);
    }
    return LH_OK;
}

static int find_max_outputs(const lh_spec *spec, int max_n) {
    int max_outputs = 0;
    for (int n = 1; n <= max_n; n++)
        if (lh_get_output_length(spec, n) > max_outputs) max_outputs = lh_get_output_length(spec, n);
    return max_outputs;
}

lh_status lh_batch_open(lh_batch *batch, const lh_spec *spec, int max_n, int sequences, lh_error *error) {
    memset(batch, 0, sizeof *batch);
    int max_input;
    lh_shape max_shape = {.sequences = sequences};
    lh_status status = find_max_sizes(spec, max_n, &max_shape, &max_input, error);
    if (status != LH_OK) return status;
    size_t count = (size_t)sequences, labels = count * (size_t)max_shape.labels;
    size_t words = labels + (size_t)max_input, places = spec->format->locate != NULL ? labels : 0;
    size_t tokens = count * (size_t)lh_count_shape_tokens(&max_shape),
           position_count = spec->format->positions ? tokens : 0;
    size_t bytes = position_count * sizeof(int32_t) + (tokens + words + places) * sizeof(uint16_t) + labels;
    /* The memory has positions, tokens, labels, places, input and mask, in this order. */
    int32_t *position = batch->memory = malloc(bytes ? bytes : 1);
    if (!position)
        return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for a batch of %d sequences of length %d: %zu bytes",
                       sequences, max_n, bytes);
    for (int s = 0; position_count > 0 && s < spec->format->streams; s++) {
        batch->positions[s] = position;
        position += count * (size_t)max_shape.length[s];
    }
    uint16_t *next = (uint16_t *)position;
    for (int s = 0; s < spec->format->streams; s++) {
        batch->tokens[s] = next;
        next += count * (size_t)max_shape.length[s];
    }
    batch->labels = next;
    if (places > 0) batch->place = next + labels;
    batch->input = next + labels + places;
    batch->mask = (uint8_t *)(batch->input + max_input);
    if (spec->task->source == NULL) return LH_OK;
    status = lh_trial_open(&batch->trial, max_input, find_max_outputs(spec, max_n), error);
    if (status != LH_OK) lh_batch_close(batch);
    return status;
}

void lh_batch_close(lh_batch *batch) {
    free(batch->memory);
    lh_trial_close(&batch->trial);
    memset(batch, 0, sizeof *batch);
}

/* Copies an example of a dataset. */
static lh_status copy_example(lh_batch *batch, const lh_spec *spec, const lh_source *source, int n, uint32_t index,
                              lh_example *example, lh_error *error) {
    const lh_corpus *corpus = spec->corpus;
    const lh_dataset *set = source->set != NULL                ? source->set
                            : source->domain == LH_DOMAIN_EVAL ? &corpus->eval
                                                               : &corpus->train;
    int64_t count = lh_dataset_count_examples(set, n);
    if (count == 0)
        return lh_fail(error, LH_ERR_INPUT, "%s has no example with an input of %d tokens and a target of %d",
                       set->path, corpus->sizes[n - 1].input, corpus->sizes[n - 1].output);
    int64_t example_index = source->indices_in_shape != NULL ? source->indices_in_shape[index] : index % count;
    lh_dataset_copy(set, n, example_index, example);
    batch->line_positions = lh_dataset_get_positions(set, n, example_index);
    return LH_OK;
}

static lh_status make_example(lh_batch *batch, const lh_spec *spec, const lh_source *source, int n, uint32_t index,
                              lh_example *example, lh_error *error) {
    lh_rng rng = lh_rng_at(source->key, source->step, index, lh_site(source->domain, 0, LH_PLACE_SAMPLE));
    memset(example->mask, 1, (size_t)example->output_length);
    if (spec->task->source != NULL) return lh_trial_sample(&batch->trial, spec->task, &rng, n, example, error);
    if (spec->corpus != NULL) return copy_example(batch, spec, source, n, index, example, error);
    spec->task->sample(&rng, n, example);
    return LH_OK;
}

/* Writes the position of each digit in its number, from 1 on, and 0 for other tokens. is_digit: for each kind of token
 * whether it is a digit. */
static void place_digits(const bool *is_digit, const uint16_t *token, int count, int32_t *position) {
    int32_t previous = 0;
    for (int i = 0; i < count; i++) position[i] = previous = is_digit[token[i]] ? previous + 1 : 0;
}

static int32_t *get_positions(const lh_batch *batch, int s, int row) {
    return batch->positions[s] + (size_t)row * (size_t)batch->shape.length[s];
}

/* Writes the positions that the task or the example's line gives. The outputs are the last tokens of their stream. */
static void place_by_task(const lh_batch *batch, const lh_spec *spec, const lh_example *example, int row) {
    const int stream = spec->format->label_stream, length = batch->shape.length[stream];
    const size_t inputs = (size_t)example->input_length, outputs = (size_t)example->output_length;
    for (int s = 0; s < spec->format->streams; s++)
        memset(get_positions(batch, s, row), 0, (size_t)batch->shape.length[s] * sizeof(int32_t));
    int32_t *input = get_positions(batch, 0, row), *target = get_positions(batch, stream, row) + length - outputs;
    if (!spec->format->positions->by_line) {
        spec->task->place(example, input, target);
        return;
    }
    memcpy(input, batch->line_positions, inputs * sizeof *input);
    memcpy(target, batch->line_positions + inputs, outputs * sizeof *target);
}

static void place_row(const lh_batch *batch, const lh_spec *spec, const lh_example *example, int row) {
    const bool *is_digit = spec->format->positions->digit;
    if (is_digit == NULL) place_by_task(batch, spec, example, row);
    for (int s = 0; is_digit != NULL && s < spec->format->streams; s++) {
        const int length = batch->shape.length[s];
        place_digits(is_digit, batch->tokens[s] + (size_t)row * (size_t)length, length, get_positions(batch, s, row));
    }
}

/* Writes tokens, positions and label places of a row; false: the example does not determine the places. */
static bool assemble_row(lh_batch *batch, const lh_spec *spec, const lh_example *example, int row) {
    const lh_format *format = spec->format;
    uint16_t *tokens[LH_MAX_STREAMS] = {NULL};
    for (int s = 0; s < format->streams; s++)
        tokens[s] = batch->tokens[s] + (size_t)row * (size_t)batch->shape.length[s];
    format->assemble(example, tokens);
    if (format->positions != NULL) place_row(batch, spec, example, row);
    return format->locate == NULL || format->locate(example, batch->place + (size_t)row * (size_t)batch->shape.labels);
}

/* The greatest position of a row. If some positions are below 0, the first of them instead. */
static int32_t find_greatest_position(const lh_batch *batch, const lh_spec *spec, int row) {
    int32_t max_position = 0;
    for (int s = 0; s < spec->format->streams; s++) {
        const int32_t *position = get_positions(batch, s, row);
        for (int i = 0; i < batch->shape.length[s]; i++) {
            if (position[i] < 0) return position[i];
            if (position[i] > max_position) max_position = position[i];
        }
    }
    return max_position;
}

/* Checks that the positions of a row are in range; see lh_find_input_positions. */
static lh_status check_positions(const lh_batch *batch, const lh_spec *spec, int row, lh_error *error) {
    const lh_token_positions *positions = spec->format->positions;
    if (positions == NULL || positions->digit != NULL) return LH_OK; /* lh_spec.limit bounds the positions of digits */
    const int32_t max_position = find_greatest_position(batch, spec, row);
    if (max_position >= 0 && max_position <= positions->greatest) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT,
                   "%s: an example with %d tokens of input has a token at position %d\n"
                   "  expected: 0 to encoding.positions.max_position = %d%s",
                   spec->task->kind, lh_count_shape_tokens(&batch->shape) - batch->shape.labels, max_position,
                   positions->greatest,
                   max_position < 0 ? "" : "\n  hint: shorter examples, or a spec with a greater max_position");
}

/* An example to be written to a row: its target and mask are the row's labels and mask, its input is batch->input. */
static lh_example open_row(const lh_batch *batch, const lh_spec *spec, int n, int row) {
    size_t offset = (size_t)row * (size_t)batch->shape.labels;
    return (lh_example){
        .input_length = lh_get_input_length(spec, n),
        .output_length = lh_get_output_length(spec, n),
        .input = batch->input,
        .target = batch->labels + offset,
        .mask = batch->mask + offset,
        .options = spec->task->options,
    };
}

/* Makes example `index` in row `row`. */
static lh_status fill_row(lh_batch *batch, const lh_spec *spec, const lh_source *source, int n, uint32_t index, int row,
                          lh_error *error) {
    lh_example example = open_row(batch, spec, n, row);
    lh_status status = make_example(batch, spec, source, n, index, &example, error);
    if (status == LH_OK && !assemble_row(batch, spec, &example, row))
        return lh_fail(error, LH_ERR_INPUT,
                       "%s: example %u does not determine the token from which its answer is read\n  expected: %s",
                       spec->task->kind, index, spec->format->located);
    return status == LH_OK ? check_positions(batch, spec, row, error) : status;
}

lh_status lh_batch_fill(lh_batch *batch, const lh_spec *spec, const lh_source *source, int n, uint32_t first,
                        int sequences, lh_error *error) {
    LH_TIMED(LH_PART_SAMPLING);
    lh_status status = LH_OK;
    batch->shape = lh_make_shape(spec, n, sequences);
    for (int row = 0; status == LH_OK && row < sequences; row++) {
        uint32_t index = first + (uint32_t)row;
        if (source->distinct_examples) index %= source->distinct_examples;
        status = fill_row(batch, spec, source, n, index, row, error);
    }
    return status;
}

void lh_batch_put(lh_batch *batch, const lh_spec *spec, int n, int row, const uint16_t *input, const uint16_t *target,
                  int32_t *line_positions) {
    batch->line_positions = line_positions;
    batch->shape = lh_make_shape(spec, n, row + 1);
    lh_example example = open_row(batch, spec, n, row);
    size_t inputs = (size_t)example.input_length, outputs = (size_t)example.output_length;
    if (input != example.input) memcpy(example.input, input, inputs * sizeof *input);
    if (target == NULL) memset(example.target, 0, outputs * sizeof *example.target);
    else if (target != example.target) memcpy(example.target, target, outputs * sizeof *target);
    memset(example.mask, 0, outputs);
    assemble_row(batch, spec, &example, row);
}

/* Adds a number to the positions above 0 of a row. */
static void shift_row(lh_batch *batch, const lh_spec *spec, int row, int32_t offset) {
    for (int s = 0; s < spec->format->streams; s++) {
        int32_t *position = get_positions(batch, s, row);
        for (int i = 0; i < batch->shape.length[s]; i++)
            if (position[i] > 0) position[i] += offset;
    }
}

void lh_batch_shift_positions(lh_batch *batch, const lh_spec *spec, const lh_draw *draw, uint32_t first) {
    const lh_token_positions *positions = spec->format->positions;
    const uint32_t site = lh_site(LH_DOMAIN_POSITIONS, 0, LH_PLACE_DRAWN_POSITIONS);
    for (int row = 0; positions != NULL && row < batch->shape.sequences; row++) {
        const bool is_shared = positions->digit != NULL; /* all sequences get the same offset */
        const int max_offset =
            is_shared ? positions->offset : positions->greatest - find_greatest_position(batch, spec, row);
        lh_rng rng = lh_rng_at(draw->key, draw->step, is_shared ? LH_SHARED : first + (uint32_t)row, site);
        shift_row(batch, spec, row, (int32_t)lh_rng_below(&rng, (uint32_t)max_offset + 1));
    }
}

/* Copies the positions of a batch of one sequence, stream after stream. */
static lh_status copy_positions(const lh_batch *batch, const lh_spec *spec, int32_t **positions, lh_error *error) {
    int32_t *next = *positions = malloc((size_t)lh_count_shape_tokens(&batch->shape) * sizeof *next);
    if (next == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for the positions of an input");
    for (int s = 0; s < spec->format->streams; s++) {
        memcpy(next, batch->positions[s], (size_t)batch->shape.length[s] * sizeof *next);
        next += batch->shape.length[s];
    }
    return LH_OK;
}

lh_status lh_find_input_positions(const lh_spec *spec, int n, const uint16_t *input, int32_t *line_positions,
                                  int32_t **positions, lh_error *error) {
    lh_batch batch;
    *positions = NULL;
    if (spec->format->positions == NULL || spec->format->positions->digit != NULL) return LH_OK;
    lh_status status = lh_batch_open(&batch, spec, n, 1, error);
    if (status != LH_OK) return status;
    lh_batch_put(&batch, spec, n, 0, input, NULL, line_positions);
    status = check_positions(&batch, spec, 0, error);
    if (status == LH_OK) status = copy_positions(&batch, spec, positions, error);
    lh_batch_close(&batch);
    return status;
}

int lh_batch_count_sequences(const lh_batch *batch, const lh_spec *spec) {
    size_t labels = (size_t)batch->shape.labels;
    int count = 0;
    if (spec->task->loss == LH_LOSS_UNMASKED) return batch->shape.sequences;
    for (int s = 0; s < batch->shape.sequences; s++)
        count += memchr(batch->mask + (size_t)s * labels, 1, labels) != NULL;
    return count;
}

lh_cpu_block lh_batch_make_block(const lh_batch *batch, int first, int sequences) {
    size_t labels = (size_t)first * (size_t)batch->shape.labels;
    lh_cpu_block block = {.sequences = sequences, .labels = batch->labels + labels, .mask = batch->mask + labels};
    for (int s = 0; s < LH_MAX_STREAMS; s++)
        if (batch->tokens[s] != NULL)
            block.tokens[s] = batch->tokens[s] + (size_t)first * (size_t)batch->shape.length[s];
    for (int s = 0; s < LH_MAX_STREAMS; s++)
        if (batch->positions[s] != NULL)
            block.positions[s] = batch->positions[s] + (size_t)first * (size_t)batch->shape.length[s];
    if (batch->place != NULL) block.place = batch->place + labels;
    return block;
}
