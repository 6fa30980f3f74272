/* The window of a metrics line: sums over the steps since the line before. A checkpoint saves it, so that a resumed run
 * writes the same lines as one that never stopped, goes on counting seconds, and knows which lines it should find. */
#ifndef LONGHAND_WINDOW_H
#define LONGHAND_WINDOW_H

#include "train/engine.h"

typedef struct lh_window {
    int64_t steps;
    /* Sums over steps. */
    double loss, accuracy, exact_match, gradient_norm, clipped, parameter_norm, update_norm;
    double seconds; /* that all steps of the run took so far, those before this window too */
    /* Lines of metrics.jsonl and eval.jsonl so far; -1 in a window that was loaded: not recorded. */
    int64_t metrics_lines, eval_lines;
} lh_window;

void lh_window_add(lh_window *window, const lh_step_metrics *metrics);

/* Begins the next window; seconds and lines go on. */
void lh_window_clear(lh_window *window);

/* Appends the means to metrics.jsonl as the line of `step`, and counts it. */
lh_status lh_window_log(lh_window *window, const char *path, int64_t step, double learning_rate,
                        double steps_per_second, lh_error *error);

/* Appends the sums as they stand at a checkpoint of `step`. */
lh_status lh_window_save(const lh_window *window, const char *path, int64_t step, lh_error *error);

/* The window saved with the checkpoint of `step`. *found is false, and all is zero, where the file has none that is whole. */
lh_status lh_window_load(lh_window *window, const char *path, int64_t step, bool *found, lh_error *error);

#endif
