/* The training loop: steps, metrics, evaluation on the way, checkpoints, and an orderly stop. */
#ifndef LONGHAND_LOOP_H
#define LONGHAND_LOOP_H

#include "training/run_files.h"

/* The mean accuracy of an evaluation on the way over conditions of one split: of finite data a set, of a sampled task
 * "validation" (training lengths, in the validation stream), "between" or "beyond". */
typedef struct lh_during {
    const char *split;   /* static text */
    const char *axis;    /* what first and last count */
    int32_t first, last; /* least and greatest; LH_NO_VALUE: its conditions have no value there */
    double accuracy;
} lh_during;

enum { LH_MOST_DURING = 3 };

/* Facts for a watcher. */
typedef struct lh_training_view {
    int64_t step, steps;              /* done, and when training ends */
    double steps_per_second;          /* of late; evaluation and set-up left out */
    double loss, accuracy;            /* means over the last full window, or the running one before the first */
    lh_during during[LH_MOST_DURING]; /* of the last evaluation on the way */
    int during_count;
    int64_t at_chance_since; /* the step since which the training accuracy has been that of guessing; -1: it is not */
    bool logged;             /* a metrics line was just written */
    const char *warning;     /* to be said now, at most once in a training; NULL: nothing */
} lh_training_view;

typedef struct lh_training {
    lh_run *run;
    int64_t steps;                                              /* to reach */
    int64_t log_every, checkpoint_every;                        /* 0: no checkpoint by steps */
    double checkpoint_minutes;                                  /* 0: none by time */
    void (*watch)(void *context, const lh_training_view *view); /* NULL: nobody */
    bool (*perfect)(void *context, lh_engine *engine); /* asked at each metrics line: true ends training; NULL: never */
    void *context;
} lh_training;

/* A training under way, advanced piece by piece, so that one thread can carry many. */
typedef struct lh_loop lh_loop;

/* Prepares to train engine from its step to training->steps; window is what lh_run_resume gave, or all zero. What
 * training points to, engine and window must outlive the loop; *training itself is copied. */
lh_status lh_loop_open(const lh_training *training, lh_engine *engine, lh_window *window, lh_loop **loop,
                       lh_error *error);

/* Runs about a tenth of a second's worth of steps, and what is due after them; nothing where the engine waits for the
 * others that it steps together with. *done: training has ended, with a checkpoint of its last step. LH_STOPPED, with a
 * checkpoint of the step before it, where engine->stop is set; LH_ERR_INPUT when a loss or gradient is not finite. After any status but LH_OK only lh_loop_close may
 * follow. */
lh_status lh_loop_advance(lh_loop *loop, bool *done, lh_error *error);

void lh_loop_close(lh_loop *loop); /* NULL: nothing to do */

#endif
