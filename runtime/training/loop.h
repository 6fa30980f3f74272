/* Runs training: steps, metrics, evaluation during training, checkpoints, and a clean stop. */
#ifndef LONGHAND_LOOP_H
#define LONGHAND_LOOP_H

#include "training/run_files.h"

/* The accuracy of an evaluation during training, as a mean over the conditions of one split. */
typedef struct lh_split_accuracy {
    /* Static text. Dataset: the name of a set. Sampled task: "validation" (training lengths), "between" or "beyond". */
    const char *split;
    const char *axis;    /* name of the first axis of the conditions */
    int32_t first, last; /* least and greatest value on this axis; LH_NO_VALUE: the conditions have none */
    double accuracy;
} lh_split_accuracy;

enum { LH_MAX_SPLITS = 3 };

/* The state of a training for the progress callback. */
typedef struct lh_training_view {
    int64_t step;                            /* number of finished steps */
    int64_t steps;                           /* number of all steps */
    double steps_per_second;                 /* recent rate of training steps alone */
    double loss, accuracy;                   /* means over the last complete window; at first, the incomplete window */
    lh_split_accuracy splits[LH_MAX_SPLITS]; /* results of the last evaluation during training */
    int split_count;
    /* Since this step, each window's accuracy is at most 0.02 above guessing; -1 if there are fewer than 10 such
     * windows. */
    int64_t at_chance_since;
    bool is_logged;      /* a metrics line was written just now */
    const char *warning; /* a warning to print now, at most one per training; NULL: none */
} lh_training_view;

typedef struct lh_training {
    lh_run *run;
    int64_t steps;                       /* last step */
    int64_t log_every, checkpoint_every; /* intervals in steps; checkpoint_every 0: no checkpoints by steps */
    double checkpoint_minutes;           /* 0: no checkpoints by time */
    void (*watch)(void *context, const lh_training_view *view); /* progress callback; NULL: none */
    /* Called at each metrics line; true ends training. NULL: none. */
    bool (*is_perfect)(void *context, lh_engine *engine);
    void *context;
} lh_training;

/* A running training, advanced in pieces, so that one thread can run many trainings. */
typedef struct lh_loop lh_loop;

/* Prepares training of engine from its step to training->steps. window: from lh_run_resume, or all zero. The
 * loop copies *training. The pointers in *training, the engine and the window must outlive the loop. */
lh_status lh_loop_open(const lh_training *training, lh_engine *engine, lh_window *window, lh_loop **loop,
                       lh_error *error);

/* Runs steps for about 0.1 seconds, then metrics, evaluation and checkpoints that are due. Does nothing while the
 * engine waits for the other engines of its fleet. After an error, only lh_loop_close may be called.
 *
 *     *is_done        training has ended, and its last step has a checkpoint
 *     LH_STOPPED      engine->stop was set, and a checkpoint has the finished steps
 *     other errors    from a step (lh_engine_ops.step), an evaluation or a file
 */
lh_status lh_loop_advance(lh_loop *loop, bool *is_done, lh_error *error);

void lh_loop_close(lh_loop *loop); /* NULL is valid */

#endif
