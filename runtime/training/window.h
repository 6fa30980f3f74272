/* The window of a metrics line: sums over the steps since the line before. A checkpoint saves it, so that a resumed run
 * writes the same lines as an uninterrupted one, continues the count of seconds, and can check the lines in its files.
 */
#ifndef LONGHAND_WINDOW_H
#define LONGHAND_WINDOW_H

#include "engine/engine.h"

/* Accuracies of the batches of an epoch of finite data, each before its update and each counting alike, however short.
 */
typedef struct lh_window_epoch {
    int64_t steps;   /* steps of the current epoch so far */
    int64_t masked;  /* of these, steps without a label that counts */
    double sum;      /* of the accuracies of the other steps */
    int64_t last;    /* the last complete epoch, from 1; 0: none */
    double accuracy; /* its mean */
} lh_window_epoch;

typedef struct lh_window {
    int64_t steps;
    int64_t masked; /* of these, steps without a label that counts: in no mean of loss, accuracy, exact_match */
    /* Sums over steps. */
    double loss, accuracy, exact_match, gradient_norm, clipped, parameter_norm, update_norm;
    double seconds; /* time of all steps of the run so far, including those before this window */
    /* Lines of metrics.jsonl and eval.jsonl so far; -1 in a window that was loaded: not recorded. */
    int64_t metrics_lines, eval_lines;
    lh_window_epoch epoch; /* all 0 where the data is not finite */
} lh_window;

void lh_window_add(lh_window *window, const lh_step_metrics *metrics);

/* Adds the step of this number, from 1, to its epoch of so many batches. */
void lh_window_add_to_epoch(lh_window *window, const lh_step_metrics *metrics, int64_t step, int64_t batches);

/* The mean of loss, accuracy or exact_match over the steps that have one; NAN: none has. */
double lh_window_mean(const lh_window *window, double sum);

/* Begins the next window; seconds, lines and the epoch go on. */
void lh_window_clear(lh_window *window);

/* Appends the means to metrics.jsonl as the line of `step`, and counts it. teacher_forced: the accuracy is that of a
 * generative model, and is called so. */
lh_status lh_window_log(lh_window *window, const char *path, int64_t step, bool teacher_forced, double learning_rate,
                        double steps_per_second, lh_error *error);

/* Appends the sums as they stand at a checkpoint of `step`. */
lh_status lh_window_save(const lh_window *window, const char *path, int64_t step, lh_error *error);

/* The window saved with the checkpoint of `step`. *found is false, and all is zero, where the file has none that is
 * whole. */
lh_status lh_window_load(lh_window *window, const char *path, int64_t step, bool *found, lh_error *error);

#endif
