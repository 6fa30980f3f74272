/* See window.h. */
#include "training/window.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/json_text.h"
#include "base/json_lines.h"

/* The sums and their names in the file of lh_window_save. */
static const struct {
    const char *key;
    size_t offset;
} fields[] = {
    {"loss", offsetof(lh_window, loss)},
    {"accuracy", offsetof(lh_window, accuracy)},
    {"exact_match", offsetof(lh_window, exact_match)},
    {"grad_norm", offsetof(lh_window, gradient_norm)},
    {"clipped_share", offsetof(lh_window, clipped_steps)},
    {"parameter_norm", offsetof(lh_window, parameter_norm)},
    {"update_norm", offsetof(lh_window, update_norm)},
    {"seconds", offsetof(lh_window, seconds)},
};
enum {
    FIELDS = sizeof fields / sizeof *fields,
    LABEL_FIELDS = 3,  /* the first fields, to which steps without a counted label add nothing */
    MEANS = FIELDS - 1 /* the fields with a mean: seconds are not a sum over the window */
};

static double *get_field(lh_window *window, int index) {
    return (double *)(void *)((char *)window + fields[index].offset);
}

static double compute_share(int64_t count, int64_t total) { return total > 0 ? (double)count / (double)total : 0.0; }

void lh_window_add(lh_window *window, const lh_step_metrics *metrics) {
    const lh_sums *sums = &metrics->sums;
    window->steps++;
    window->masked_steps += sums->counted == 0;
    window->loss += sums->counted > 0 ? lh_compute_mean_loss(sums) : 0;
    window->accuracy += compute_share(sums->correct, sums->counted);
    window->exact_match += compute_share(sums->exact, sums->sequences);
    window->gradient_norm += metrics->gradient_norm;
    window->clipped_steps += metrics->is_clipped;
    window->parameter_norm += metrics->parameter_norm;
    window->update_norm += metrics->update_norm;
}

double lh_window_compute_mean(const lh_window *window, double sum) {
    int64_t steps = window->steps - window->masked_steps;
    return steps > 0 ? sum / (double)steps : NAN;
}

void lh_window_add_to_epoch(lh_window *window, const lh_step_metrics *metrics, int64_t step, int64_t batches) {
    lh_window_epoch *epoch = &window->epoch;
    epoch->steps++;
    epoch->masked_steps += metrics->sums.counted == 0;
    epoch->sum += compute_share(metrics->sums.correct, metrics->sums.counted);
    if (step % batches != 0) return;
    /* An epoch has no accuracy if its start was not recorded, or if none of its labels counts. */
    if (epoch->steps == batches && epoch->masked_steps < batches) {
        epoch->last_epoch = step / batches;
        epoch->accuracy = epoch->sum / (double)(batches - epoch->masked_steps);
    }
    epoch->steps = 0;
    epoch->masked_steps = 0;
    epoch->sum = 0;
}

void lh_window_clear(lh_window *window) {
    *window = (lh_window){.seconds = window->seconds,
                          .metrics_lines = window->metrics_lines,
                          .eval_lines = window->eval_lines,
                          .epoch = window->epoch,
                          .best = window->best};
}

/* Writes the values of the last complete epoch, if there is a complete epoch. */
static void put_epoch(lh_json *line, const lh_window_epoch *epoch) {
    if (epoch->last_epoch == 0) return;
    lh_json_integer(line, "epoch", epoch->last_epoch);
    lh_json_number(line, "epoch_accuracy", epoch->accuracy);
}

/* Appends a line of text to a file, and frees the text. */
static lh_status append_text(lh_text *text, const char *path, lh_error *error) {
    lh_status status = lh_text_close(text, error);
    if (status == LH_OK) status = lh_append_line(path, text->text, error);
    free(text->text);
    return status;
}

/* The key of a mean in metrics.jsonl. A teacher-forced accuracy has a key of its own, because each answer was predicted
 * from the target's tokens before it, not from the model's own answers. */
static const char *get_metric_key(int index, bool teacher_forced) {
    bool is_accuracy = fields[index].offset == offsetof(lh_window, accuracy);
    return teacher_forced && is_accuracy ? "accuracy_teacher_forced" : fields[index].key;
}

lh_status lh_window_log(lh_window *window, const char *path, int64_t step, bool teacher_forced, double learning_rate,
                        double steps_per_second, lh_error *error) {
    lh_text text;
    lh_status status = lh_text_open(&text, error);
    if (status != LH_OK) return status;
    const int first =
        window->masked_steps < window->steps ? 0 : LABEL_FIELDS; /* no label counts: no means of label fields */
    lh_json line;
    lh_json_begin(&line, text.out);
    lh_json_integer(&line, "step", step);
    for (int i = first; i < MEANS; i++)
        lh_json_number(&line, get_metric_key(i, teacher_forced),
                       i < LABEL_FIELDS ? lh_window_compute_mean(window, *get_field(window, i))
                                        : *get_field(window, i) / (double)window->steps);
    lh_json_number(&line, "learning_rate", learning_rate);
    lh_json_number(&line, "steps_per_second", steps_per_second);
    lh_json_number(&line, "seconds", window->seconds);
    put_epoch(&line, &window->epoch);
    lh_json_end(&line);
    window->metrics_lines++;
    return append_text(&text, path, error);
}

/* Writes the fields of `best`, if an evaluation has been added (lh_best_add). */
static void put_best(lh_json *line, const lh_best *best) {
    if (best->last_evaluated_step == 0) return;
    lh_json_integer(line, "best_step", best->step);
    lh_json_number(line, "best_score", best->score);
    lh_json_integer(line, "best_evaluated", best->last_evaluated_step);
    lh_json_integer(line, "best_waited", best->waited_evaluations);
}

lh_status lh_window_save(const lh_window *window, const char *path, int64_t step, lh_error *error) {
    lh_text text;
    lh_status status = lh_text_open(&text, error);
    if (status != LH_OK) return status;
    lh_window sums = *window; /* a copy, since get_field needs a window that is not const */
    lh_json line;
    lh_json_begin(&line, text.out);
    lh_json_integer(&line, "step", step);
    lh_json_integer(&line, "steps", sums.steps);
    if (sums.masked_steps > 0) lh_json_integer(&line, "masked", sums.masked_steps);
    for (int i = 0; i < FIELDS; i++) lh_json_number(&line, fields[i].key, *get_field(&sums, i));
    lh_json_integer(&line, "metrics_lines", sums.metrics_lines);
    lh_json_integer(&line, "eval_lines", sums.eval_lines);
    put_epoch(&line, &sums.epoch);
    if (sums.epoch.steps > 0) {
        lh_json_integer(&line, "epoch_steps", sums.epoch.steps);
        if (sums.epoch.masked_steps > 0) lh_json_integer(&line, "epoch_masked", sums.epoch.masked_steps);
        lh_json_number(&line, "epoch_sum", sums.epoch.sum);
    }
    put_best(&line, &sums.best);
    lh_json_end(&line);
    return append_text(&text, path, error);
}

/* The count at a key of a line; -1: the key is missing, or its value is not an integer of 0 or more. */
static int64_t read_count(const json_t *line, const char *key) {
    const json_t *value = json_object_get(line, key);
    return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value) : -1;
}

/* The number of steps without a counted label; 0 if the line lacks the key. */
static int64_t read_masked_steps(const json_t *line, const char *key, int64_t steps) {
    int64_t masked_steps = read_count(line, key);
    return masked_steps > 0 && masked_steps <= steps ? masked_steps : 0;
}

/* The epoch fields of a line; all 0 if the line has none. */
static lh_window_epoch read_epoch(const json_t *line) {
    const json_t *accuracy = json_object_get(line, "epoch_accuracy"), *sum = json_object_get(line, "epoch_sum");
    lh_window_epoch epoch = {.steps = read_count(line, "epoch_steps"), .last_epoch = read_count(line, "epoch")};
    if (epoch.steps > 0 && json_is_number(sum)) epoch.sum = json_number_value(sum);
    else epoch.steps = 0;
    if (epoch.steps > 0) epoch.masked_steps = read_masked_steps(line, "epoch_masked", epoch.steps);
    if (epoch.last_epoch > 0 && json_is_number(accuracy)) epoch.accuracy = json_number_value(accuracy);
    else epoch.last_epoch = 0;
    return epoch;
}

/* The state of the best checkpoint in a line; all 0 if the line has none. */
static lh_best read_best(const json_t *line) {
    const json_t *score = json_object_get(line, "best_score");
    lh_best best = {.step = read_count(line, "best_step"),
                    .score = json_number_value(score),
                    .last_evaluated_step = read_count(line, "best_evaluated"),
                    .waited_evaluations = read_count(line, "best_waited")};
    bool is_complete = json_is_number(score) && best.step >= 0 && best.last_evaluated_step >= best.step &&
                       best.waited_evaluations >= 0;
    return is_complete ? best : (lh_best){0};
}

/* Reads the window in a line of this step; false: the line has another step or is incomplete, and *window is
 * unchanged. */
static bool take_line(lh_window *window, const char *text, int64_t step) {
    lh_window loaded = {0};
    json_t *line = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    loaded.steps = read_count(line, "steps");
    bool is_complete = read_count(line, "step") == step && loaded.steps >= 0 && loaded.steps <= step;
    for (int i = 0; is_complete && i < FIELDS; i++) {
        const json_t *value = json_object_get(line, fields[i].key);
        is_complete = json_is_number(value);
        *get_field(&loaded, i) = json_number_value(value);
    }
    if (loaded.steps > 0) loaded.masked_steps = read_masked_steps(line, "masked", loaded.steps);
    loaded.metrics_lines = read_count(line, "metrics_lines");
    loaded.eval_lines = read_count(line, "eval_lines");
    loaded.epoch = read_epoch(line);
    loaded.best = read_best(line);
    json_decref(line);
    if (is_complete) *window = loaded;
    return is_complete;
}

lh_status lh_window_load(lh_window *window, const char *path, int64_t step, bool *is_found, lh_error *error) {
    memset(window, 0, sizeof *window);
    *is_found = false;
    if (access(path, F_OK) != 0) return LH_OK;
    char *text;
    size_t bytes;
    lh_status status = lh_read_file(path, &text, &bytes, error);
    if (status != LH_OK) return status;
    for (char *unread = text, *line_text; (line_text = strsep(&unread, "\n")) != NULL;)
        if (take_line(window, line_text, step)) *is_found = true;
    free(text);
    return LH_OK;
}
