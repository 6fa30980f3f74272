/* See bench_decode.h. A round decodes the batch, then one sequence of the batch. Then it decodes this sequence again
 * without cached keys and values, by passes over the whole sequence. The three measurements alternate, so medians over
 * rounds compare them at the same clock rate. */
#include "bench/bench_decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/bench.h"
#include "eval/decode.h"

enum { MIN_ROUNDS = 3, MAX_ROUNDS = 101 };

/* Two engines for forward passes, and the inputs of the batch. */
typedef struct decoder {
    lh_spec spec;
    lh_task task;                            /* the task without its end symbol, so that all answers are decoded */
    lh_engine *batch_engine, *single_engine; /* batch_engine: all threads; single_engine: one */
    lh_query query;
    uint16_t *input, *answers; /* input: [sequences][input tokens]; answers: [sequences][labels] */
    /* [sequences] positions of each sequence, from its line of the dataset (lh_query); NULL: the line has none */
    int32_t **line_positions;
} decoder;

bool lh_bench_decodes(const lh_target *target) {
    return target->cpu != NULL && target->cpu->decode_step != NULL && target->spec.format->teacher_forced;
}

static lh_status open_engine(const decoder *d, const lh_target *target, int n, int threads, lh_engine **engine,
                             lh_error *error) {
    lh_engine_config config = {.spec = &d->spec, .threads = threads};
    lh_lengths lengths = {.first = n, .last = n};
    lh_status status = lh_cpu_engine_open(&config, target->cpu, engine, error);
    return status == LH_OK ? (*engine)->ops->reserve(*engine, &lengths, 1, error) : status;
}

/* Writes the inputs of `count` examples, one after another. */
static lh_status fill_inputs(decoder *d, int n, int count, lh_error *error) {
    lh_condition condition = lh_make_condition(n, count, 1, 0);
    size_t inputs = (size_t)lh_get_input_length(&d->spec, n);
    if (d->spec.corpus != NULL) condition.source.set = &d->spec.corpus->train;
    lh_batch batch;
    lh_status status = lh_batch_open(&batch, &d->spec, n, 1, error);
    if (status != LH_OK) return status;
    for (int i = 0; status == LH_OK && i < count; i++) {
        status = lh_batch_fill(&batch, &d->spec, &condition.source, n, (uint32_t)i, 1, error);
        memcpy(d->input + (size_t)i * inputs, batch.input, inputs * sizeof *d->input);
        d->line_positions[i] = batch.line_positions;
    }
    lh_batch_close(&batch);
    d->query = (lh_query){.n = n, .input = d->input, .line_positions = d->line_positions, .draw = condition.draw};
    return status;
}

static lh_status open_decoder(decoder *d, const lh_target *target, int n, int threads, const lh_bench_decoding *sizes,
                              lh_error *error) {
    memset(d, 0, sizeof *d);
    d->spec = target->spec;
    d->task = *target->spec.task;
    d->task.end = NULL;
    d->spec.task = &d->task;
    size_t count = (size_t)sizes->sequences;
    d->input = lh_engine_allocate(count * (size_t)lh_get_input_length(&d->spec, n) * sizeof *d->input, "inputs", error);
    if (d->input == NULL) return LH_ERR_ENVIRONMENT;
    d->answers = lh_engine_allocate(count * (size_t)sizes->labels * sizeof *d->answers, "answers", error);
    d->line_positions = lh_engine_allocate(count * sizeof *d->line_positions, "inputs", error);
    if (d->answers == NULL || d->line_positions == NULL) return LH_ERR_ENVIRONMENT;
    lh_status status = open_engine(d, target, n, threads, &d->batch_engine, error);
    if (status == LH_OK) status = open_engine(d, target, n, 1, &d->single_engine, error);
    return status == LH_OK ? fill_inputs(d, n, sizes->sequences, error) : status;
}

static void close_decoder(decoder *d) {
    if (d->batch_engine != NULL) d->batch_engine->ops->close(d->batch_engine);
    if (d->single_engine != NULL) d->single_engine->ops->close(d->single_engine);
    free(d->input);
    free(d->answers);
    free(d->line_positions);
}

/* Decodes the first `count` sequences of the batch, each with `labels` answer tokens. *rate: answer tokens per
 * second. */
static lh_status measure(decoder *d, lh_engine *engine, int count, int labels, double *rate, lh_error *error) {
    double start = lh_read_clock();
    lh_status status = lh_decode(engine, &d->query, count, &(lh_answers){.answers = d->answers}, error);
    double elapsed = lh_read_clock() - start;
    *rate = (double)count * labels / (elapsed > 1e-9 ? elapsed : 1e-9); /* 1e-9: not 0 */
    return status;
}

/* Measures a round: the rates of the batch, of one sequence, and of one sequence by passes. */
static lh_status measure_round(decoder *d, const lh_bench_decoding *sizes, double rates[3], lh_error *error) {
    lh_status status = measure(d, d->batch_engine, sizes->sequences, sizes->labels, &rates[0], error);
    if (status == LH_OK) status = measure(d, d->single_engine, 1, sizes->labels, &rates[1], error);
    if (status != LH_OK) return status;
    d->single_engine->decodes = false; /* makes lh_decode use passes */
    status = measure(d, d->single_engine, 1, sizes->labels, &rates[2], error);
    d->single_engine->decodes = true;
    return status;
}

lh_status lh_bench_decode(const lh_target *target, int n, int threads, double seconds, lh_bench_decoding *result,
                          lh_error *error) {
    double rates[3][MAX_ROUNDS], round_rates[3], start;
    int rounds = 0;
    decoder d;
    *result = (lh_bench_decoding){.length = lh_get_reported_length(&target->spec, n),
                                  .labels = lh_make_shape(&target->spec, n, 1).labels,
                                  .threads = threads,
                                  .sequences = LH_BENCH_SEQUENCES * threads};
    lh_status status = open_decoder(&d, target, n, threads, result, error);
    if (status == LH_OK) status = measure_round(&d, result, round_rates, error); /* fills caches, starts threads */
    start = lh_read_clock();
    while (status == LH_OK && rounds < MAX_ROUNDS && (rounds < MIN_ROUNDS || lh_read_clock() - start < seconds)) {
        status = measure_round(&d, result, round_rates, error);
        for (int i = 0; i < 3; i++) rates[i][rounds] = round_rates[i];
        rounds++;
    }
    close_decoder(&d);
    if (status != LH_OK) return status;
    double *medians[] = {&result->batch, &result->single, &result->passes};
    for (int i = 0; i < 3; i++) *medians[i] = lh_find_median(rates[i], rounds);
    return LH_OK;
}
