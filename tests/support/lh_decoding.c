/* See lh_decoding.h. */
#include "lh_decoding.h"

#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "data/batch.h"
#include "data/initialise.h"
#include "lh_test.h"
#include "engine/engine.h"
#include "longhand/rng.h"

enum { SEQUENCES = 5, FIRST_EXAMPLE = 40 };

/* A program with all buffers of a step. */
typedef struct decoder {
    const lh_spec *spec;
    const lh_cpu_program *program;
    lh_cpu_step step;
    lh_batch batch;
    void *parameters, *tables, *memory;
    char *expected;     /* logits of forward_block, [SEQUENCES][labels][classes] real */
    int stream, length; /* the stream of the labels, and its length */
    int labels;         /* labels per sequence */
    size_t label_bytes; /* bytes of a label's logits */
    lh_sums sums;       /* sums of forward_block */
} decoder;

static void *reserve(size_t bytes) {
    lh_error error;
    void *memory = lh_engine_allocate(bytes, "a test", &error);
    assert_non_null(memory);
    return memory;
}

/* Fills the parameters with initial values plus noise, so that elements of constant tensors, such as scales, differ. */
static void fill_parameters(const lh_spec *spec, int real_bytes, void *parameters) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(5), 0, 0, 0);
    lh_initialise(spec, 3, real_bytes, parameters);
    for (int i = 0; i < spec->tensor_count; i++) {
        const lh_tensor *t = &spec->tensors[i];
        int64_t columns = t->shape[t->rank - 1], rows = t->rank == 2 ? t->shape[0] : 1;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < columns; c++) {
                int64_t index = t->offset + r * t->stride + c;
                double value = lh_real_read(parameters, real_bytes, index) + lh_rng_below(&rng, 2001) * 2e-4 - 0.2;
                lh_real_write(parameters, real_bytes, index, value);
            }
    }
}

static lh_cpu_block make_block(const decoder *d, void *logits) {
    lh_cpu_block block = lh_batch_make_block(&d->batch, 0, SEQUENCES);
    block.first_example = FIRST_EXAMPLE;
    block.logits = logits;
    return block;
}

/* Runs forward_block on all sequences, in blocks of at most program->block_sequences() sequences. */
static void run_forward(decoder *d) {
    int max_sequences = d->program->block_sequences(d->step.shape.length);
    void *workspace = reserve(d->program->workspace_bytes(&d->step.shape, LH_MODE_EVALUATE));
    for (int first = 0; first < SEQUENCES; first += max_sequences) {
        int remaining = SEQUENCES - first;
        lh_cpu_block block =
            lh_batch_make_block(&d->batch, first, remaining < max_sequences ? remaining : max_sequences);
        block.first_example = (uint32_t)(FIRST_EXAMPLE + first);
        block.logits = d->expected + (size_t)(first * d->labels) * d->label_bytes;
        d->program->forward_block(&d->step, &block, workspace, &d->sums);
    }
    free(workspace);
}

static void open_decoder(decoder *d, const lh_spec *spec, const lh_cpu_program *program, int n) {
    lh_error error;
    *d = (decoder){.spec = spec, .program = program, .stream = spec->format->label_stream};
    lh_condition condition = lh_make_condition(n, SEQUENCES, 1, 1);
    d->step = (lh_cpu_step){.mode = LH_MODE_EVALUATE,
                            .passes = spec->passes,
                            .shape = lh_make_shape(spec, n, SEQUENCES),
                            .key = condition.draw.key,
                            .step = condition.draw.step,
                            .draw = condition.draw};
    d->length = d->step.shape.length[d->stream];
    d->labels = d->step.shape.labels;
    d->label_bytes = (size_t)spec->classes * (size_t)program->real_bytes;
    lh_assert_ok(lh_batch_open(&d->batch, spec, n, SEQUENCES, &error), &error);
    lh_assert_ok(lh_batch_fill(&d->batch, spec, &condition.source, n, 0, SEQUENCES, &error), &error);
    d->step.parameters = d->parameters = reserve((size_t)spec->parameter_storage * (size_t)program->real_bytes);
    fill_parameters(spec, program->real_bytes, d->parameters);
    if (program->tables_bytes != NULL) {
        d->step.tables = d->tables = reserve(program->tables_bytes(d->step.shape.length));
        program->make_tables(d->tables, d->step.shape.length);
    }
    d->step.shared = reserve(program->shared_bytes(&d->step.shape));
    program->begin_step(&d->step, 0, 1);
    d->memory = reserve(program->decode_bytes(&d->step.shape));
    d->expected = reserve((size_t)(SEQUENCES * d->labels) * d->label_bytes);
    run_forward(d);
}

static void close_decoder(decoder *d) {
    lh_batch_close(&d->batch);
    free(d->parameters);
    free(d->tables);
    free(d->step.shared);
    free(d->memory);
    free(d->expected);
}

/* Decodes `count` tokens at a time and compares the logits with those of forward_block. ends_early: after each call
 * of decode_step the first sequence ends, and the last sequence takes its place. A call sees only its own tokens and
 * those of earlier calls; all later tokens are 0. */
static void check_decoding(decoder *d, int count, bool ends_early) {
    const uint16_t *tokens = d->batch.tokens[d->stream];
    uint16_t *reordered = calloc((size_t)(SEQUENCES * d->length), sizeof *reordered);
    char *logits = reserve((size_t)(SEQUENCES * d->labels) * d->label_bytes);
    int sequence_in_row[SEQUENCES] = {0, 1, 2, 3, 4}, first_label = d->length - d->labels;
    lh_cpu_block block = make_block(d, logits);
    block.tokens[d->stream] = reordered;
    if (d->program->decode_begin != NULL) d->program->decode_begin(&d->step, &block, d->memory);
    for (int from = 0; from < d->length; from += count) {
        int to = from + count < d->length ? from + count : d->length;
        for (int s = 0; s < block.sequences; s++)
            memcpy(reordered + s * d->length + from, tokens + sequence_in_row[s] * d->length + from,
                   (size_t)(to - from) * sizeof *reordered);
        d->program->decode_step(&d->step, &block, from, to, d->memory);
        for (int s = 0; s < block.sequences; s++)
            for (int t = from < first_label ? first_label : from; t < to; t++)
                if (memcmp(logits + (size_t)(s * d->labels + t - first_label) * d->label_bytes,
                           d->expected + (size_t)(sequence_in_row[s] * d->labels + t - first_label) * d->label_bytes,
                           d->label_bytes) != 0)
                    fail_msg("%s, %s: logits of token %d of sequence %d differ, %d at a time", d->spec->id,
                             d->program->level, t, sequence_in_row[s], count);
        if (!ends_early || block.sequences == 1) continue;
        sequence_in_row[0] = sequence_in_row[--block.sequences];
        d->program->decode_move(&d->step, 0, block.sequences, d->memory);
        memcpy(reordered, reordered + block.sequences * d->length, (size_t)d->length * sizeof *reordered);
    }
    lh_sums sums = {0};
    if (!ends_early) d->program->score_block(&d->step, &block, &sums);
    if (!ends_early && memcmp(&sums, &d->sums, sizeof sums) != 0)
        fail_msg("%s: sums of the logits differ", d->spec->id);
    free(reordered);
    free(logits);
}

void lh_check_decoding(const lh_spec *spec, const lh_cpu_program *program, int n) {
    decoder d;
    open_decoder(&d, spec, program, n);
    check_decoding(&d, 1, false);
    check_decoding(&d, 1, true);
    check_decoding(&d, 3, true);
    check_decoding(&d, LH_DECODE_TOKENS, false);
    close_decoder(&d);
}
