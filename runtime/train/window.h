/* The window of a metrics line: sums over the steps since the line before. A checkpoint saves it, so that a resumed run
 * writes the same lines as one that never stopped and goes on counting seconds. */
#ifndef LONGHAND_WINDOW_H
#define LONGHAND_WINDOW_H

#include "train/engine.h"

typedef struct lh_window {
    int64_t steps;
    /* Sums over steps. */
    double loss, accuracy, exact_match, gradient_norm, clipped, parameter_norm, update_norm;
    double seconds; /* that all steps of the run took so far, those before this window too */
} lh_window;

void lh_window_add(lh_window *window, const lh_step_metrics *metrics);

/* Begins the next window; the seconds go on. */
void lh_window_clear(lh_window *window);

/* Appends the means to metrics.jsonl as the line of `step`. */
lh_status lh_window_log(const lh_window *window, const char *path, int64_t step, double learning_rate,
                        double steps_per_second, lh_error *error);

/* Appends the sums as they stand at a checkpoint of `step`. */
lh_status lh_window_save(const lh_window *window, const char *path, int64_t step, lh_error *error);

/* The sums saved with the checkpoint of `step`; all zero where none were. */
lh_status lh_window_load(lh_window *window, const char *path, int64_t step, lh_error *error);

#endif
