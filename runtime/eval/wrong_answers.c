/* See wrong_answers.h. */
#include "eval/wrong_answers.h"

#include <stdlib.h>

#include "base/json_text.h"
#include "data/symbols/symbols.h"
#include "eval/eval_lines.h"

static lh_status write_symbols(lh_json *line, const char *key, const char *const *names, int symbols,
                               const uint16_t *tokens, const uint8_t *mask, int count, lh_error *error) {
    char *text = NULL;
    lh_status status = lh_write_symbols(names, symbols, tokens, mask, count, &text, error);
    if (status == LH_OK) lh_json_string(line, key, text);
    free(text);
    return status;
}

/* An example with a wrong answer. */
typedef struct wrong_example {
    const lh_batch *batch; /* a batch of this example alone */
    const uint16_t *answers;
    int length; /* number of answers */
} wrong_example;

static lh_status write_line(FILE *out, const wrong_example *w, const lh_spec *spec, const lh_eval_result *result, int n,
                            int example, int draw, lh_error *error) {
    const lh_task *task = spec->task;
    lh_json line;
    lh_eval_begin_example(&line, out, result, example, draw);
    lh_status status = write_symbols(&line, "input", task->input_symbol, task->input_symbols, w->batch->input, NULL,
                                     lh_get_input_length(spec, n), error);
    if (status == LH_OK)
        status = write_symbols(&line, "target", task->output_symbol, task->output_symbols, w->batch->labels,
                               w->batch->mask, w->batch->shape.labels, error);
    if (status == LH_OK)
        status = write_symbols(&line, "answer", task->output_symbol, task->output_symbols, w->answers, NULL, w->length,
                               error);
    lh_json_end_line(&line);
    return status;
}

lh_status lh_write_wrong_answers(FILE *out, const lh_spec *spec, const lh_eval_result *result,
                                 const lh_condition *condition, int draw, int first_example,
                                 const lh_sums *sequence_sums, const int *lengths, int *written, lh_error *error) {
    lh_batch batch;
    if (condition->noise > 0) return LH_OK;
    lh_status status = lh_batch_open(&batch, spec, condition->n, 1, error);
    if (status != LH_OK) return status;
    for (int i = 0; status == LH_OK && i < condition->examples && *written < LH_MAX_WRONG; i++) {
        if (sequence_sums[i].exact || sequence_sums[i].counted == 0) continue;
        status =
            lh_batch_fill(&batch, spec, &condition->source, condition->n, (uint32_t)(condition->first + i), 1, error);
        wrong_example w = {.batch = &batch,
                           .answers = condition->answers + (size_t)i * (size_t)batch.shape.labels,
                           .length = lengths[i]};
        if (status == LH_OK) status = write_line(out, &w, spec, result, condition->n, first_example + i, draw, error);
        (*written)++;
    }
    lh_batch_close(&batch);
    return status;
}
