/* The display of `train`: one run's progress and results, or those of a group side by side. The calls come from the
 * threads that train; each takes the screen for itself. */
#ifndef LONGHAND_TRAIN_SCREEN_H
#define LONGHAND_TRAIN_SCREEN_H

#include <pthread.h>

#include "cli/train/train_run.h"

typedef enum lh_phase { LH_WAITS, LH_TRAINS, LH_EVALUATES, LH_IS_OVER } lh_phase;

typedef struct lh_shown {
    lh_training_view view; /* the newest; loss is NaN before there is one */
    lh_phase phase;
    int evaluated; /* conditions */
} lh_shown;

typedef struct lh_train_screen {
    lh_train_run *train_runs;
    lh_shown *shown; /* [count] */
    int count;
    lh_progress progress;
    pthread_mutex_t mutex;
} lh_train_screen;

lh_status lh_screen_open(lh_train_screen *screen, lh_train_run *train_runs, int count, lh_error *error);
void lh_screen_close(lh_train_screen *screen);

/* A line on stderr, with the run's name before it in a group. */
void lh_screen_note(lh_train_screen *screen, const lh_train_run *train_run, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Watchers of the loop and of the evaluation; context is the lh_train_run. */
void lh_screen_watch(void *context, const lh_training_view *view);
void lh_screen_watch_evaluation(void *context, const lh_eval_result *result, int done, int count);

/* The run goes on from its first step, has trained, starts its evaluation, is over. */
void lh_screen_starts(lh_train_screen *screen, const lh_train_run *train_run);
void lh_screen_trained(lh_train_screen *screen, const lh_train_run *train_run);
void lh_screen_evaluates(lh_train_screen *screen, const lh_train_run *train_run);
void lh_screen_over(lh_train_screen *screen, const lh_train_run *train_run);

/* The table of a group, on stdout, when all are over. */
void lh_screen_summary(lh_train_screen *screen);

#endif
