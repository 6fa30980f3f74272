/* See decode.h. */
#include "eval/decode.h"

#include <stdlib.h>
#include <string.h>

/* Row i is that of pass i; the answers before it are then the target. */
static lh_status decode_by_passes(lh_engine *engine, lh_query query, int labels, double *logits, lh_error *error) {
    size_t classes = (size_t)engine->spec->classes, row = classes * sizeof *logits;
    double *all = lh_engine_memory((size_t)labels * row, "logits", error);
    uint16_t *target = lh_engine_memory((size_t)labels * sizeof *target, "answers", error);
    lh_status status = all != NULL && target != NULL ? LH_OK : LH_ERR_ENVIRONMENT;
    query.target = target;
    for (int i = 0; status == LH_OK && i < labels; i++) {
        status = engine->ops->predict(engine, &query, all, error);
        if (status != LH_OK) break;
        memcpy(logits + (size_t)i * classes, all + (size_t)i * classes, row);
        target[i] = (uint16_t)lh_best_class(all + (size_t)i * classes, (int)classes);
    }
    free(all);
    free(target);
    return status;
}

lh_status lh_decode(lh_engine *engine, const lh_query *query, double *logits, uint16_t *answers, lh_error *error) {
    const lh_spec *spec = engine->spec;
    int labels = lh_shape_at(spec, query->n, 1).labels;
    lh_status status = LH_OK;
    if (!spec->format->teacher_forced) status = engine->ops->predict(engine, query, logits, error);
    else if (engine->decodes) engine->ops->decode(engine, query, logits);
    else status = decode_by_passes(engine, *query, labels, logits, error);
    for (int i = 0; status == LH_OK && answers != NULL && i < labels; i++)
        answers[i] = (uint16_t)lh_best_class(logits + (size_t)i * (size_t)spec->classes, spec->classes);
    return status;
}
