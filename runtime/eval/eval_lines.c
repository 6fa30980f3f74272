/* See eval_lines.h. */
#include "eval/eval_lines.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/json_text.h"
#include "base/json_lines.h"

/* Writes a result's values on its axes: the task length or the values of its group, the noise and the passes. */
static void write_values(lh_json *by, const lh_eval_result *result) {
    if (result->groups == NULL) lh_json_integer(by, result->axis, result->n);
    for (int i = 0; result->groups != NULL && i < result->groups->axes; i++)
        if (result->group->value[i] != LH_NO_VALUE)
            lh_json_integer(by, result->groups->name[i], result->group->value[i]);
    if (result->has_noise) lh_json_number(by, "noise", result->noise);
    if (result->passes > 0) lh_json_integer(by, "passes", result->passes);
}

/* Whether the line has the key "set": there are several sets, and the split does not name the set. */
static bool has_set_key(const lh_eval_result *result) {
    return result->groups != NULL && result->groups->sets != 1u << result->group->set &&
           strcmp(result->split, lh_set_name[result->group->set]) != 0;
}

/* Writes the axes on which a group exceeds all training examples, the share of its examples in training, and whether
 * trained examples were left out. */
static void write_training(lh_json *line, FILE *out, const lh_eval_result *result) {
    const lh_groups *groups = result->groups;
    const char *separator = "[";
    for (int i = 0; i < groups->axes; i++) {
        if (!lh_is_group_beyond(groups, result->group, i)) continue;
        if (separator[0] == '[') lh_json_raw(line, "beyond", "");
        fprintf(out, "%s\"%s\"", separator, groups->name[i]);
        separator = ",";
    }
    if (separator[0] != '[') putc(']', out);
    double trained = lh_group_compute_trained_share(groups, result->group);
    if (trained >= 0) lh_json_number(line, "trained", trained);
    if (groups->leaves_out_trained) lh_json_raw(line, "novel", "true");
}

enum { DATA_DIGITS = 16 }; /* first digits of a file's SHA-256 that a line records */

static void write_data(lh_json *line, const char *digest) {
    char digits[DATA_DIGITS + 1];
    snprintf(digits, sizeof digits, "%.*s", DATA_DIGITS, digest);
    lh_json_string(line, "data", digits);
}

void lh_eval_begin_example(lh_json *line, FILE *out, const lh_eval_result *result, int example, int draw) {
    lh_json_begin(line, out);
    if (result->groups != NULL && lh_has_several_sets(result->groups)) lh_json_string(line, "split", result->split);
    write_values(line, result);
    lh_json_integer(line, "example", example);
    lh_json_integer(line, "draw", draw);
    if (result->decoding != NULL) lh_json_string(line, "decoding", result->decoding);
}

void lh_eval_write_examples(FILE *out, const lh_eval_result *result, int draw, int first, const lh_sums *sequence_sums,
                            int count) {
    for (int i = 0; i < count; i++) {
        lh_json line;
        lh_eval_begin_example(&line, out, result, first + i, draw);
        lh_json_integer(&line, "correct", sequence_sums[i].correct);
        lh_json_integer(&line, "counted", sequence_sums[i].counted);
        lh_json_integer(&line, "exact", sequence_sums[i].exact);
        lh_json_number(&line, "loss", sequence_sums[i].loss);
        lh_json_end_line(&line);
    }
}

static void put_unless_nan(lh_json *line, const char *key, double value) {
    if (!isnan(value)) lh_json_number(line, key, value);
}

/* Writes the shares of right answers, and for a generative model the kind of decoding. */
static void write_answers(lh_json *line, const lh_eval_result *result) {
    bool is_greedy = result->decoding == lh_greedy;
    if (result->decoding != NULL) lh_json_string(line, "decoding", result->decoding);
    if (is_greedy && result->greedy_examples < result->examples)
        lh_json_integer(line, "greedy_examples", result->greedy_examples);
    if (result->counted == 0) {
        lh_json_integer(line, "counted", 0);
        return;
    }
    if (is_greedy || result->decoding == NULL) lh_json_number(line, "accuracy", result->accuracy);
    if (result->decoding != NULL) lh_json_number(line, "accuracy_teacher_forced", result->teacher_forced);
    lh_json_number(line, "exact_match", result->exact_match);
    put_unless_nan(line, "exact_match_low", result->exact_match_low);
    put_unless_nan(line, "exact_match_high", result->exact_match_high);
    if (!is_greedy || !result->has_end_symbol) return;
    lh_json_number(line, "ended_early", result->ended_early);
    lh_json_number(line, "not_ended", result->not_ended);
}

lh_status lh_eval_append(const char *path, int64_t step, uint64_t seed, const lh_eval_result *result,
                         const lh_by_place *places, const lh_by_example *examples, lh_error *error) {
    lh_text text;
    lh_status status = lh_text_open(&text, error);
    if (status != LH_OK) return status;
    lh_json line, by;
    lh_json_begin(&line, text.out);
    lh_json_integer(&line, "step", step);
    lh_json_string(&line, "split", result->split);
    if (has_set_key(result)) lh_json_string(&line, "set", lh_set_name[result->group->set]);
    lh_json_raw(&line, "by", "");
    lh_json_begin(&by, text.out);
    write_values(&by, result);
    lh_json_end(&by);
    if (result->is_oracle) lh_json_string(&line, "stop", "oracle");
    lh_json_integer(&line, "examples", result->examples);
    if (result->total > 0) lh_json_integer(&line, "of", result->total);
    if (result->total > 0 && result->in_order) lh_json_string(&line, "order", "file");
    if (result->batch > 0) lh_json_integer(&line, "batch", result->batch);
    lh_json_integer(&line, "draws", result->draws);
    write_answers(&line, result);
    put_unless_nan(&line, "loss", result->loss);
    put_unless_nan(&line, "uncertainty", result->uncertainty);
    lh_json_number(&line, "sd_over_draws", result->sd_over_draws);
    put_unless_nan(&line, "sd_over_sequences", result->sd_over_sequences);
    if (result->groups != NULL) write_training(&line, text.out, result);
    if (result->data != NULL) write_data(&line, result->data);
    if (seed != LH_EVAL_SEED) lh_json_integer(&line, "seed", (int64_t)seed);
    /* Long lists are last: readers cut them off before they decode a line. */
    if (places != NULL && result->counted > 0) lh_by_place_write(places, &line);
    if (examples != NULL && result->passes > 0) lh_by_example_write(examples, &line);
    lh_json_end(&line);
    status = lh_text_close(&text, error);
    if (status == LH_OK) status = lh_append_line(path, text.text, error);
    free(text.text);
    return status;
}

static double read_number(const json_t *line, const char *key) { return json_number_value(json_object_get(line, key)); }

/* A number of the line; NAN: it is missing. */
static double read_optional_number(const json_t *line, const char *key) {
    return json_object_get(line, key) != NULL ? read_number(line, key) : NAN;
}

/* Whether a line with this object `by` has the result's value on every axis. */
static bool is_condition(const json_t *by, const lh_eval_result *result) {
    const json_t *noise = json_object_get(by, "noise");
    size_t values = (size_t)result->has_noise + (result->passes > 0);
    if (json_is_number(noise) != result->has_noise || json_number_value(noise) != result->noise) return false;
    if (json_integer_value(json_object_get(by, "passes")) != result->passes) return false;
    if (result->groups == NULL) return json_integer_value(json_object_get(by, result->axis)) == result->n;
    for (int i = 0; i < result->groups->axes; i++) {
        const json_t *value = json_object_get(by, result->groups->name[i]);
        if (result->group->value[i] == LH_NO_VALUE) continue;
        if (!json_is_integer(value) || json_integer_value(value) != result->group->value[i]) return false;
        values++;
    }
    return json_object_size(by) == values;
}

/* The seed of a line; lines of LH_EVAL_SEED have no seed. */
static uint64_t read_seed(const json_t *line) {
    const json_t *seed = json_object_get(line, "seed");
    return seed != NULL ? (uint64_t)json_integer_value(seed) : LH_EVAL_SEED;
}

/* Whether both texts are equal, or both missing (NULL). */
static bool are_equal(const char *a, const char *b) { return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0; }

/* Whether the line has the result's kind of decoding and number of decoded examples. */
static bool has_same_decoding(const json_t *line, const lh_eval_result *result) {
    const char *decoding = json_string_value(json_object_get(line, "decoding"));
    const json_t *examples = json_object_get(line, "greedy_examples");
    if (!are_equal(decoding, result->decoding)) return false;
    return result->decoding != lh_greedy ||
           (examples != NULL ? json_integer_value(examples) : result->examples) == result->greedy_examples;
}

/* Whether the line was computed from the same examples of the same file. */
static bool has_same_examples(const json_t *line, const lh_eval_result *result) {
    const char *order = json_string_value(json_object_get(line, "order"));
    const char *digits = json_string_value(json_object_get(line, "data"));
    bool is_same_order = are_equal(order, result->total > 0 && result->in_order ? "file" : NULL);
    bool is_same_file = digits == NULL || result->data == NULL
                            ? digits == result->data
                            : strlen(digits) == DATA_DIGITS && strncmp(digits, result->data, DATA_DIGITS) == 0;
    return json_integer_value(json_object_get(line, "examples")) == result->examples &&
           json_integer_value(json_object_get(line, "of")) == result->total && is_same_order && is_same_file;
}

/* lh_eval_append writes the key "counted" only if no label is counted. */
static bool has_counted_labels(const json_t *line) { return json_object_get(line, "counted") == NULL; }

static bool is_result(const json_t *line, int64_t step, uint64_t seed, const lh_eval_result *result) {
    bool is_novel = result->groups != NULL && result->groups->leaves_out_trained;
    if (result->has_places && has_counted_labels(line) && json_object_get(line, "places") == NULL) return false;
    return are_equal(json_string_value(json_object_get(line, "split")), result->split) &&
           are_equal(json_string_value(json_object_get(line, "set")),
                     has_set_key(result) ? lh_set_name[result->group->set] : NULL) &&
           json_is_true(json_object_get(line, "novel")) == is_novel &&
           is_condition(json_object_get(line, "by"), result) &&
           json_integer_value(json_object_get(line, "step")) == step && read_seed(line) == seed &&
           has_same_examples(line, result) && json_integer_value(json_object_get(line, "batch")) == result->batch &&
           json_integer_value(json_object_get(line, "draws")) == result->draws && has_same_decoding(line, result);
}

static void take_answers(const json_t *line, lh_eval_result *result) {
    result->counted = has_counted_labels(line) ? 1 : 0; /* 1 stands for any positive number */
    result->teacher_forced = read_number(line, "accuracy_teacher_forced");
    result->accuracy = result->decoding == lh_teacher_forced ? result->teacher_forced : read_number(line, "accuracy");
    result->exact_match = read_number(line, "exact_match");
    result->exact_match_low = read_optional_number(line, "exact_match_low");
    result->exact_match_high = read_optional_number(line, "exact_match_high");
    result->ended_early = read_number(line, "ended_early");
    result->not_ended = read_number(line, "not_ended");
}

static void take_line(const json_t *line, int64_t step, uint64_t seed, lh_eval_result *results, bool *is_found,
                      int count) {
    for (int i = 0; i < count; i++)
        if (is_result(line, step, seed, &results[i])) {
            is_found[i] = true;
            take_answers(line, &results[i]);
            results[i].loss = read_optional_number(line, "loss");
            results[i].sd_over_draws = read_number(line, "sd_over_draws");
            results[i].sd_over_sequences = read_optional_number(line, "sd_over_sequences");
        }
}

lh_status lh_eval_find(const char *path, int64_t step, uint64_t seed, lh_eval_result *results, bool *is_found,
                       int count, lh_error *error) {
    char *text;
    size_t bytes;
    if (access(path, F_OK) != 0) return LH_OK;
    lh_status status = lh_read_file(path, &text, &bytes, error);
    if (status != LH_OK) return status;
    for (char *unread = text, *line_text; (line_text = strsep(&unread, "\n")) != NULL;) {
        json_t *line = json_loads(line_text, 0, NULL);
        if (line != NULL) take_line(line, step, seed, results, is_found, count);
        json_decref(line);
    }
    free(text);
    return LH_OK;
}
