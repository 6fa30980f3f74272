/* One run of `train`: its folder, its engine, and how far it has come. A command trains one, or a group of them that
 * differ in seed and learning rate. */
#ifndef LONGHAND_TRAIN_RUN_H
#define LONGHAND_TRAIN_RUN_H

#include "cli/cli.h"
#include "training/loop.h"

/* Flags that the runs of a group share. */
typedef struct lh_train_flags {
    int64_t steps, threads, log_every, checkpoint_every, overfit;
    lh_option_range seeds;
    lh_option_numbers rates;
    const char *out, *init, *device;
    bool resume, overwrite, no_eval, missing;
    bool group; /* several runs were asked for, by --seeds or --learning-rate, even if there is one */
} lh_train_flags;

typedef struct lh_train_run {
    const lh_spec *spec;
    const lh_train_flags *flags;
    struct lh_train_screen *screen;
    const volatile sig_atomic_t *stop;
    lh_run run;          /* spec, root, flags, seed, learning rate and overfit are set by the caller */
    bool claimed, begun; /* the folder; run.json is this run's */
    lh_engine *engine;   /* set by the caller */
    lh_window window;
    lh_loop *loop;
    int64_t first_step, last_step; /* of this process */
    lh_eval_result *results;       /* [conditions], those of validation in front; NULL before the evaluation */
    int conditions, validated;     /* validated: of the evaluation that is under way, those before it */
    bool over;
    lh_status status;
    lh_error error;
} lh_train_run;

/* The configuration of this run's engine; threads: 0. */
lh_engine_config lh_train_run_config(const lh_train_run *train_run);

/* Claims the folder. Changes no file of an earlier run. */
lh_status lh_train_run_claim(lh_train_run *train_run, lh_error *error);

/* Whether nothing is left to do for this run, whose folder is claimed: it has all steps and its evaluation, or has
 * trained further than is asked for. */
lh_status lh_train_run_is_finished(const lh_train_run *train_run, bool *finished, lh_error *error);

/* Makes the run ready for lh_train_run_advance, and claims its folder unless that is done. */
lh_status lh_train_run_open(lh_train_run *train_run, lh_error *error);

/* Writes the parameters of flags->init, if any, into the engines of all runs that do not go on from a checkpoint of
 * their own. To be called before any of them advances: the file may be of a run that is overwritten. */
lh_status lh_train_runs_load_init(lh_train_run *train_runs, int count, lh_error *error);

/* An lh_group_advance over lh_train_runs: does a piece of a run, from loading its state to the end of its evaluation.
 * What goes wrong is kept in status and error, and ends this run alone. */
bool lh_train_run_advance(void *train_run);

void lh_train_run_close(lh_train_run *train_run);

#endif
