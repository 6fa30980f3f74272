/* See wrong.h. */
#include "eval/wrong.h"

#include <stdlib.h>

#include "data/symbols.h"
#include "eval/decode.h"
#include "eval/eval_lines.h"
#include "train/json_text.h"

/* One wrong example, and what is decoded. */
typedef struct wrong {
    lh_batch batch;
    uint16_t *answers;
    int length; /* of answers */
} wrong;

static lh_status write_symbols(lh_json *line, const char *key, const char *const *names, int symbols,
                               const uint16_t *tokens, const uint8_t *mask, int count, lh_error *error) {
    lh_text text;
    lh_status status = lh_text_open(&text, error);
    if (status != LH_OK) return status;
    lh_print_symbols(text.out, names, symbols, tokens, mask, count);
    status = lh_text_close(&text, error);
    if (status == LH_OK) lh_json_string(line, key, text.text);
    free(text.text);
    return status;
}

static lh_status write_line(FILE *out, const wrong *w, const lh_spec *spec, const lh_eval_result *result, int n,
                            int example, int draw, lh_error *error) {
    const lh_task *task = spec->task;
    lh_json line;
    lh_json_begin(&line, out);
    lh_eval_write_place(&line, result);
    lh_json_integer(&line, "example", example);
    lh_json_integer(&line, "draw", draw);
    lh_status status = write_symbols(&line, "input", task->input_symbol, task->input_symbols, w->batch.input, NULL,
                                     lh_input_length(spec, n), error);
    if (status == LH_OK)
        status = write_symbols(&line, "target", task->output_symbol, task->output_symbols, w->batch.labels,
                               w->batch.mask, w->batch.shape.labels, error);
    if (status == LH_OK)
        status = write_symbols(&line, "answer", task->output_symbol, task->output_symbols, w->answers, NULL, w->length,
                               error);
    lh_json_end(&line);
    putc('\n', out);
    return status;
}

static lh_status decode_example(wrong *w, lh_engine *engine, const lh_condition *condition, int i, lh_error *error) {
    lh_status status = lh_batch_fill(&w->batch, engine->spec, &condition->source, condition->n,
                                     (uint32_t)(condition->first + i), 1, error);
    if (status != LH_OK) return status;
    lh_query query = {.n = condition->n, .input = w->batch.input, .draw = condition->draw, .example = (uint32_t)i};
    return lh_decode(engine, &query, 1, &(lh_answers){.answers = w->answers, .lengths = &w->length}, error);
}

lh_status lh_write_wrong(FILE *out, lh_engine *engine, const lh_eval_result *result, const lh_condition *condition,
                         int draw, int before, const lh_sums *each, int *written, lh_error *error) {
    const lh_spec *spec = engine->spec;
    wrong w = {.length = 0};
    if (condition->noise > 0) return LH_OK;
    lh_status status = lh_batch_open(&w.batch, spec, condition->n, 1, error);
    if (status != LH_OK) return status;
    w.answers =
        lh_engine_memory((size_t)lh_shape_at(spec, condition->n, 1).labels * sizeof *w.answers, "answers", error);
    if (w.answers == NULL) status = LH_ERR_ENVIRONMENT;
    for (int i = 0; status == LH_OK && i < condition->examples && *written < LH_MOST_WRONG; i++) {
        if (each[i].exact) continue;
        status = decode_example(&w, engine, condition, i, error);
        if (status == LH_OK) status = write_line(out, &w, spec, result, condition->n, before + i, draw, error);
        (*written)++;
    }
    free(w.answers);
    lh_batch_close(&w.batch);
    return status;
}
