/* See examples.h. */
#include "engine/examples.h"

#include <stdlib.h>
#include <string.h>

lh_status lh_examples_open(lh_examples *examples, const lh_spec *spec, int n, int count, lh_error *error) {
    lh_examples *e = examples;
    size_t rows = (size_t)count;
    *e = (lh_examples){
        .count = count, .labels = (size_t)lh_shape_at(spec, n, 1).labels, .inputs = (size_t)lh_input_length(spec, n)};
    e->input = lh_engine_memory(rows * (e->inputs + e->labels) * sizeof *e->input, "examples", error);
    e->mask = lh_engine_memory(rows * e->labels, "examples", error);
    e->until = lh_engine_memory(rows * sizeof *e->until, "examples", error);
    if (e->input == NULL || e->mask == NULL || e->until == NULL) return LH_ERR_ENVIRONMENT;
    e->target = e->input + rows * e->inputs;
    return LH_OK;
}

void lh_examples_close(lh_examples *examples) {
    free(examples->input);
    free(examples->mask);
    free(examples->until);
}

lh_status lh_examples_make(lh_examples *examples, const lh_spec *spec, const lh_condition *condition, lh_error *error) {
    lh_examples *e = examples;
    lh_batch batch;
    lh_status status = lh_batch_open(&batch, spec, condition->n, 1, error);
    if (status != LH_OK) return status;
    for (int i = 0; status == LH_OK && i < e->count; i++) {
        size_t at = (size_t)i;
        status =
            lh_batch_fill(&batch, spec, &condition->source, condition->n, (uint32_t)(condition->first + i), 1, error);
        memcpy(e->input + at * e->inputs, batch.input, e->inputs * sizeof *e->input);
        memcpy(e->target + at * e->labels, batch.labels, e->labels * sizeof *e->target);
        memcpy(e->mask + at * e->labels, batch.mask, e->labels);
        e->until[i] = lh_answers_until(batch.mask, (int)e->labels);
    }
    lh_batch_close(&batch);
    return status;
}
