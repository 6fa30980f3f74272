/* Sums metrics over a window: the steps since the previous metrics line. Every checkpoint saves the window, so that a
 * resumed run writes the same means as an uninterrupted run. */
#ifndef LONGHAND_WINDOW_H
#define LONGHAND_WINDOW_H

#include "training/best.h"

/* Training accuracy over an epoch of a dataset. All batches have the same weight. */
typedef struct lh_window_epoch {
    int64_t steps;        /* steps of the current epoch so far */
    int64_t masked_steps; /* number of these steps without a counted label */
    double sum;           /* sum of accuracies over the steps with a counted label */
    int64_t last_epoch;   /* number of the last complete epoch; 0: none */
    double accuracy;      /* mean accuracy of epoch `last_epoch` */
} lh_window_epoch;

typedef struct lh_window {
    int64_t steps;        /* number of steps in the window */
    int64_t masked_steps; /* steps without a counted label, left out of loss, accuracy and exact_match */
    /* Sums over the window's steps. */
    double loss, accuracy, exact_match, gradient_norm, clipped_steps, parameter_norm, update_norm;
    double seconds; /* time of all steps of the run so far, also before this window */
    /* Numbers of lines in metrics.jsonl and eval.jsonl; -1: not in the loaded window. */
    int64_t metrics_lines, eval_lines;
    lh_window_epoch epoch; /* all 0 without a dataset */
    lh_best best;          /* all 0 unless the best checkpoint is kept */
} lh_window;

/* Adds the metrics of one step. */
void lh_window_add(lh_window *window, const lh_step_metrics *metrics);

/* Adds a step to its epoch. step: its number; the first step is 1. batches: batches per epoch. */
void lh_window_add_to_epoch(lh_window *window, const lh_step_metrics *metrics, int64_t step, int64_t batches);

/* The mean over the steps with a counted label; NAN: there is no such step. sum: the window's loss, accuracy or
 * exact_match. */
double lh_window_compute_mean(const lh_window *window, double sum);

/* Begins the next window: clears its steps and sums, and keeps seconds, numbers of lines, `epoch` and `best`. */
void lh_window_clear(lh_window *window);

/* Appends the means to metrics.jsonl as the line of `step`, and counts the line. teacher_forced: the accuracy gets the
 * key accuracy_teacher_forced. */
lh_status lh_window_log(lh_window *window, const char *path, int64_t step, bool teacher_forced, double learning_rate,
                        double steps_per_second, lh_error *error);

/* Appends the sums for a checkpoint of `step`. */
lh_status lh_window_save(const lh_window *window, const char *path, int64_t step, lh_error *error);

/* Loads the window saved with the checkpoint of `step`. If the file has no complete window of this step, *is_found is
 * false and all fields are zero. */
lh_status lh_window_load(lh_window *window, const char *path, int64_t step, bool *is_found, lh_error *error);

#endif
