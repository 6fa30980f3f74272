/* See decode.h. */
#include "eval/decode.h"

#include <stdlib.h>
#include <string.h>

#include "engine/decode_passes.h"

/* Sequences that an engine decodes by passes, and buffers of a pass. */
typedef struct decoding {
    lh_engine *engine;
    const lh_query *query;
    const lh_answers *results;
    int count;                      /* number of sequences */
    size_t labels, inputs, classes; /* labels, inputs (tokens): per sequence; classes: per label */
    lh_decode_passes passes;
    uint16_t *input, *target, *answers; /* buffers of a pass: [rows][inputs], [rows][labels], [rows][labels] */
    int32_t **line_positions;           /* [rows] of a pass, see lh_query */
    double *logits;                     /* [labels][classes] of a pass over one sequence; NULL: not requested */
} decoding;

/* Writes the inputs, targets and positions of the rows of the next pass. */
static void put_rows(decoding *d, int rows) {
    for (int row = 0; row < rows; row++) {
        memcpy(d->input + (size_t)row * d->inputs, lh_decode_passes_get_input(&d->passes, row),
               d->inputs * sizeof *d->input);
        memcpy(d->target + (size_t)row * d->labels, lh_decode_passes_get_target(&d->passes, row),
               d->labels * sizeof *d->target);
        if (d->query->line_positions != NULL) d->line_positions[row] = d->query->line_positions[d->passes.row[row]];
    }
}

/* Runs a pass over the rows, unless a signal has requested a stop. */
static lh_status run_pass(decoding *d, int rows, lh_error *error) {
    lh_query query = *d->query;
    if (lh_is_stopped(d->engine)) return LH_STOPPED;
    query.input = d->input;
    query.target = d->target;
    query.line_positions = d->line_positions;
    query.example += (uint32_t)d->passes.row[0];
    return d->engine->ops->answer(d->engine, &query, rows, d->answers, error);
}

/* Runs a pass over the first row alone, and stores the requested logits. */
static lh_status run_pass_with_logits(decoding *d, lh_error *error) {
    lh_query query = *d->query;
    int i = d->passes.row[0];
    if (lh_is_stopped(d->engine)) return LH_STOPPED;
    query.input = d->input;
    query.target = d->target;
    query.line_positions = d->line_positions;
    query.example += (uint32_t)i;
    lh_status status = d->engine->ops->predict(d->engine, &query, d->logits, error);
    if (status != LH_OK) return status;
    for (size_t label = (size_t)d->passes.length[i]; label < d->labels; label++) {
        const double *logits = d->logits + label * d->classes;
        d->answers[label] = (uint16_t)lh_find_best_class(logits, (int)d->classes);
        memcpy(d->results->logits + ((size_t)i * d->labels + label) * d->classes, logits, d->classes * sizeof *logits);
    }
    return LH_OK;
}

static lh_status decode_by_passes(decoding *d, lh_error *error) {
    lh_status status = lh_decode_passes_open(&d->passes, d->engine->spec, d->query, d->count, d->results, error);
    for (int rows; status == LH_OK && (rows = lh_decode_passes_choose(&d->passes)) > 0;) {
        if (d->logits != NULL) rows = 1;
        put_rows(d, rows);
        status = d->logits != NULL ? run_pass_with_logits(d, error) : run_pass(d, rows, error);
        if (status == LH_OK) lh_decode_passes_take(&d->passes, rows, d->answers, false);
    }
    lh_decode_passes_close(&d->passes);
    return status;
}

/* Computes an encoder's answers in one pass. If logits are requested, each sequence has its own pass. */
static lh_status answer_as_encoder(decoding *d, lh_error *error) {
    lh_status status = LH_OK;
    for (int i = 0; i < d->count && d->results->lengths != NULL; i++) d->results->lengths[i] = (int)d->labels;
    if (d->logits == NULL) return d->engine->ops->answer(d->engine, d->query, d->count, d->results->answers, error);
    for (int i = 0; status == LH_OK && i < d->count; i++) {
        lh_query query = *d->query;
        query.input += (size_t)i * d->inputs;
        query.example += (uint32_t)i;
        if (query.line_positions != NULL) query.line_positions += i;
        if (lh_is_stopped(d->engine)) return LH_STOPPED;
        status = d->engine->ops->predict(d->engine, &query, d->logits, error);
        for (size_t label = 0; status == LH_OK && label < d->labels; label++)
            d->results->answers[(size_t)i * d->labels + label] =
                (uint16_t)lh_find_best_class(d->logits + label * d->classes, (int)d->classes);
        if (status == LH_OK)
            memcpy(d->results->logits + (size_t)i * d->labels * d->classes, d->logits,
                   d->labels * d->classes * sizeof *d->logits);
    }
    return status;
}

static bool open_buffers(decoding *d, lh_error *error) {
    size_t count = (size_t)d->count;
    d->input = lh_engine_allocate(count * (d->inputs + 2 * d->labels) * sizeof *d->input, "answers", error);
    if (d->results->logits != NULL)
        d->logits = lh_engine_allocate(d->labels * d->classes * sizeof *d->logits, "logits", error);
    d->line_positions = lh_engine_allocate(count * sizeof *d->line_positions, "answers", error);
    if (d->input == NULL || d->line_positions == NULL) return false;
    d->target = d->input + count * d->inputs;
    d->answers = d->target + count * d->labels;
    return d->results->logits == NULL || d->logits != NULL;
}

lh_status lh_decode(lh_engine *engine, const lh_query *query, int count, const lh_answers *results, lh_error *error) {
    const lh_spec *spec = engine->spec;
    bool is_teacher_forced = spec->format->teacher_forced;
    if (is_teacher_forced && engine->decodes && !(query->noise > 0))
        return engine->ops->decode(engine, query, count, results, error);
    decoding d = {.engine = engine,
                  .query = query,
                  .results = results,
                  .count = count,
                  .labels = (size_t)lh_make_shape(spec, query->n, 1).labels,
                  .inputs = (size_t)lh_get_input_length(spec, query->n),
                  .classes = (size_t)spec->classes};
    lh_status status = LH_ERR_ENVIRONMENT;
    if (open_buffers(&d, error)) status = (is_teacher_forced ? decode_by_passes : answer_as_encoder)(&d, error);
    free(d.input);
    free(d.line_positions);
    free(d.logits);
    return status;
}
