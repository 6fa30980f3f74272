/* See decode.h. */
#include "eval/decode.h"

#include <stdlib.h>
#include <string.h>

static uint16_t best_class(const double *row, int classes) {
    int best = 0;
    for (int c = 1; c < classes; c++)
        if (row[c] > row[best]) best = c;
    return (uint16_t)best;
}

/* Row i is that of pass i; the answers before it are then the target. */
static lh_status decode_rows(lh_engine *engine, lh_query query, int labels, double *logits, uint16_t *target,
                             lh_error *error) {
    size_t classes = (size_t)engine->spec->classes, row = classes * sizeof *logits;
    double *all = lh_engine_memory((size_t)labels * row, "logits", error);
    lh_status status = all != NULL ? LH_OK : LH_ERR_ENVIRONMENT;
    query.target = target;
    for (int i = 0; status == LH_OK && i < labels; i++) {
        status = engine->ops->predict(engine, &query, all, error);
        if (status != LH_OK) break;
        memcpy(logits + (size_t)i * classes, all + (size_t)i * classes, row);
        target[i] = best_class(all + (size_t)i * classes, (int)classes);
    }
    free(all);
    return status;
}

lh_status lh_decode(lh_engine *engine, const lh_query *query, double *logits, uint16_t *answers, lh_error *error) {
    const lh_spec *spec = engine->spec;
    int labels = lh_shape_at(spec, query->n, 1).labels;
    uint16_t *target = lh_engine_memory((size_t)labels * sizeof *target, "answers", error);
    if (target == NULL) return LH_ERR_ENVIRONMENT;
    lh_status status = spec->format->teacher_forced ? decode_rows(engine, *query, labels, logits, target, error)
                                                    : engine->ops->predict(engine, query, logits, error);
    for (int i = 0; status == LH_OK && answers != NULL && i < labels; i++)
        answers[i] = best_class(logits + (size_t)i * (size_t)spec->classes, spec->classes);
    free(target);
    return status;
}
