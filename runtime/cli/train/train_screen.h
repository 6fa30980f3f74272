/* Displays progress and results of `train`, for one run or a group. A function locks the screen if several training
 * threads may call it at the same time. */
#ifndef LONGHAND_TRAIN_SCREEN_H
#define LONGHAND_TRAIN_SCREEN_H

#include <pthread.h>

#include "cli/train/train_run.h"

typedef enum lh_phase { LH_WAITS, LH_TRAINS, LH_EVALUATES, LH_IS_OVER } lh_phase;

typedef struct lh_display {
    lh_training_view view; /* the latest view of the run; before the first view its loss is NaN */
    lh_phase phase;
    int finished_conditions; /* number of conditions evaluated so far */
} lh_display;

typedef struct lh_train_screen {
    lh_train_run *train_runs;
    lh_display *displays; /* [count] */
    int count;
    lh_progress progress;
    pthread_mutex_t mutex;
} lh_train_screen;

lh_status lh_screen_open(lh_train_screen *screen, lh_train_run *train_runs, int count, lh_error *error);
void lh_screen_close(lh_train_screen *screen);

/* Prints a line on stderr; in a group the run's learning rate and seeds precede it. */
void lh_screen_print_note(lh_train_screen *screen, const lh_train_run *train_run, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Progress callbacks of the training loop and of the evaluation; context is the lh_train_run. */
void lh_screen_update(void *context, const lh_training_view *view);
void lh_screen_update_evaluation(void *context, const lh_eval_result *result, int completed, int count);

/* Reports that the training of a run starts. */
void lh_screen_show_start(lh_train_screen *screen, const lh_train_run *train_run);

/* Reports that the run has made its last step. */
void lh_screen_show_trained(lh_train_screen *screen, const lh_train_run *train_run);

/* Reports that an evaluation of the run starts. */
void lh_screen_show_evaluation(lh_train_screen *screen, const lh_train_run *train_run);

/* Reports the end of the run, with its results. */
void lh_screen_show_end(lh_train_screen *screen, const lh_train_run *train_run);

/* Prints the table of a group on stdout, after all runs are finished. */
void lh_screen_print_summary(lh_train_screen *screen);

#endif
