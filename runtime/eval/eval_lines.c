/* See eval_lines.h. */
#include "eval/eval_lines.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "train/json_text.h"

lh_status lh_eval_append(const char *path, const lh_spec *spec, int64_t step, uint64_t seed,
                         const lh_eval_result *result, lh_error *error) {
    lh_text text;
    lh_status status = lh_text_open(&text, error);
    if (status != LH_OK) return status;
    lh_json line, by;
    lh_json_begin(&line, text.out);
    lh_json_integer(&line, "step", step);
    lh_json_string(&line, "split", result->split);
    lh_json_raw(&line, "by", "");
    lh_json_begin(&by, text.out);
    lh_json_integer(&by, spec->eval.axis, result->n);
    lh_json_end(&by);
    lh_json_integer(&line, "examples", result->examples);
    if (result->batch > 0) lh_json_integer(&line, "batch", result->batch);
    lh_json_integer(&line, "draws", result->draws);
    lh_json_number(&line, "accuracy", result->accuracy);
    lh_json_number(&line, "exact_match", result->exact_match);
    lh_json_number(&line, "loss", result->loss);
    lh_json_number(&line, "sd_over_draws", result->sd_over_draws);
    if (seed != LH_EVAL_SEED) lh_json_integer(&line, "seed", (int64_t)seed);
    lh_json_end(&line);
    status = lh_text_close(&text, error);
    if (status == LH_OK) status = lh_append_line(path, text.text, error);
    free(text.text);
    return status;
}

static double number_of(const json_t *line, const char *key) { return json_number_value(json_object_get(line, key)); }

static bool is_result(const json_t *line, const lh_spec *spec, int64_t step, const lh_eval_result *result) {
    const char *split = json_string_value(json_object_get(line, "split"));
    const json_t *n = json_object_get(json_object_get(line, "by"), spec->eval.axis);
    return split != NULL && strcmp(split, result->split) == 0 && json_integer_value(n) == result->n &&
           json_integer_value(json_object_get(line, "step")) == step && json_object_get(line, "seed") == NULL &&
           json_integer_value(json_object_get(line, "examples")) == result->examples &&
           json_integer_value(json_object_get(line, "batch")) == result->batch &&
           json_integer_value(json_object_get(line, "draws")) == result->draws;
}

static void take_line(const json_t *line, const lh_spec *spec, int64_t step, lh_eval_result *results, bool *found,
                      int count) {
    for (int i = 0; i < count; i++)
        if (is_result(line, spec, step, &results[i])) {
            found[i] = true;
            results[i].accuracy = number_of(line, "accuracy");
            results[i].exact_match = number_of(line, "exact_match");
            results[i].loss = number_of(line, "loss");
            results[i].sd_over_draws = number_of(line, "sd_over_draws");
        }
}

lh_status lh_eval_find(const char *path, const lh_spec *spec, int64_t step, lh_eval_result *results, bool *found,
                       int count, lh_error *error) {
    char *text;
    size_t bytes;
    if (access(path, F_OK) != 0) return LH_OK;
    lh_status status = lh_read_file(path, &text, &bytes, error);
    if (status != LH_OK) return status;
    for (char *rest = text, *one; (one = strsep(&rest, "\n")) != NULL;) {
        json_t *line = json_loads(one, 0, NULL);
        if (line != NULL) take_line(line, spec, step, results, found, count);
        json_decref(line);
    }
    free(text);
    return LH_OK;
}
