/* See decode.h. */
#include "eval/decode.h"

#include <stdlib.h>
#include <string.h>

/* Where the answers of one sequence go. */
typedef struct row {
    uint16_t *answers;
    int *length;     /* NULL: not wanted */
    double *logits;  /* likewise */
    double *of_pass; /* room for those of a pass */
} row;

static void take(const row *to, int first, int count, int classes) {
    size_t at = (size_t)first * (size_t)classes, size = (size_t)count * (size_t)classes * sizeof *to->of_pass;
    if (to->logits != NULL) memcpy(to->logits + at, to->of_pass + at, size);
    for (int i = first; i < first + count; i++)
        to->answers[i] = (uint16_t)lh_best_class(to->of_pass + (size_t)i * (size_t)classes, classes);
}

/* A pass over one sequence, unless a signal asks for an end. */
static lh_status predict(lh_engine *engine, const lh_query *query, double *logits, lh_error *error) {
    return lh_is_stopped(engine) ? LH_STOPPED : engine->ops->predict(engine, query, logits, error);
}

/* A pass for each answer; the answers before it are then the target. */
static lh_status decode_by_passes(lh_engine *engine, lh_query query, int labels, const row *to, lh_error *error) {
    int length = 0;
    lh_status status = LH_OK;
    query.target = to->answers;
    while (status == LH_OK && length < labels && (length == 0 || !lh_ends(engine->spec, to->answers[length - 1]))) {
        status = predict(engine, &query, to->of_pass, error);
        if (status == LH_OK) take(to, length++, 1, engine->spec->classes);
    }
    if (status != LH_OK) return status;
    for (int i = length; i < labels; i++) to->answers[i] = to->answers[length - 1];
    if (to->length != NULL) *to->length = length;
    return LH_OK;
}

static lh_status answer_at_once(lh_engine *engine, lh_query query, int labels, const row *to, lh_error *error) {
    lh_status status = predict(engine, &query, to->of_pass, error);
    if (status != LH_OK) return status;
    take(to, 0, labels, engine->spec->classes);
    if (to->length != NULL) *to->length = labels;
    return LH_OK;
}

lh_status lh_decode(lh_engine *engine, const lh_query *query, int count, const lh_answers *to, lh_error *error) {
    const lh_spec *spec = engine->spec;
    bool forced = spec->format->teacher_forced;
    if (forced && engine->decodes) return engine->ops->decode(engine, query, count, to, error);
    size_t labels = (size_t)lh_shape_at(spec, query->n, 1).labels, logits = labels * (size_t)spec->classes;
    double *of_pass = lh_engine_memory(logits * sizeof *of_pass, "logits", error);
    lh_status status = of_pass != NULL ? LH_OK : LH_ERR_ENVIRONMENT;
    memset(to->answers, 0, (size_t)count * labels * sizeof *to->answers);
    if (to->logits != NULL) memset(to->logits, 0, (size_t)count * logits * sizeof *to->logits);
    for (int i = 0; status == LH_OK && i < count; i++) {
        row one = {.answers = to->answers + (size_t)i * labels,
                   .length = to->lengths != NULL ? to->lengths + i : NULL,
                   .logits = to->logits != NULL ? to->logits + (size_t)i * logits : NULL,
                   .of_pass = of_pass};
        lh_query each = *query;
        each.input += (size_t)i * (size_t)lh_input_length(spec, query->n);
        each.example += (uint32_t)i;
        status = (forced ? decode_by_passes : answer_at_once)(engine, each, (int)labels, &one, error);
    }
    free(of_pass);
    return status;
}
