/* Trains one run of `train`, with its folder, its engine and its progress. A command trains one run, or a group of runs
 * that differ in seeds and learning rate. */
#ifndef LONGHAND_TRAIN_RUN_H
#define LONGHAND_TRAIN_RUN_H

#include "cli/cli.h"
#include "training/loop.h"

/* The values of the flags of `train`, for all runs of a command. */
typedef struct lh_train_flags {
    int64_t steps, threads, log_every, checkpoint_every, overfit;
    lh_option_range seeds;
    lh_option_range part_seeds[LH_SEED_PARTS]; /* the values of --seeds-init, --seeds-data and --seeds-draws */
    bool has_part_seeds[LH_SEED_PARTS];        /* whether --seeds-<part> is present */
    lh_option_numbers rates;
    const char *out, *init, *device;
    bool resume, overwrite, no_eval, missing;
    bool is_group; /* whether flags request a group of runs: several runs, or --seeds even with a single seed */
} lh_train_flags;

typedef struct lh_train_run {
    const lh_spec *spec;
    const lh_train_flags *flags;
    struct lh_train_screen *screen;
    const volatile sig_atomic_t *stop; /* the flag of lh_catch_signals */
    lh_run run;                        /* spec, root, flags, seeds, learning rate and overfit are set by the caller */
    bool is_claimed;                   /* the folder is claimed */
    bool is_begun;                     /* run.json is written */
    lh_engine *engine;                 /* set by the caller */
    lh_window window;
    lh_loop *loop;
    int64_t first_step;           /* step at the start of this process */
    int64_t last_step;            /* latest step of this process so far */
    lh_eval_result *results;      /* [conditions], validation first; NULL before the evaluation */
    lh_eval_result *best_results; /* results of the best checkpoint; NULL: not evaluated, or it is the last one */
    int conditions;               /* number of conditions of an evaluation */
    int finished_validations;     /* for progress: 0 until all validation conditions are evaluated, then their number */
    lh_status status;             /* status and error of the run after its end */
    lh_error error;
} lh_train_run;

/* The configuration of this run's engine, without `threads`, which the caller sets. */
lh_engine_config lh_train_run_make_config(const lh_train_run *train_run);

/* Claims the run's folder. Files of an earlier run in the folder are not changed. */
lh_status lh_train_run_claim(lh_train_run *train_run, lh_error *error);

/* Finds whether a claimed run is finished. A run that has made more steps than requested is finished. Otherwise both
 * its training must have ended, by the last step or by train.patience, and the requested evaluation must be complete.
 */
lh_status lh_train_run_is_finished(const lh_train_run *train_run, bool *is_finished, lh_error *error);

/* Makes the run ready for lh_train_run_advance, and claims its folder if necessary. */
lh_status lh_train_run_open(lh_train_run *train_run, lh_error *error);

/* Writes the parameters of flags->init, if any, into the engines of all runs that do not resume a checkpoint. Call it
 * before any run advances: the file may belong to a run that is overwritten. */
lh_status lh_train_runs_load_init(lh_train_run *train_runs, int count, lh_error *error);

/* Does the next piece of a run's work, such as loading its state, some steps or its evaluation; returns whether work
 * remains. A failure is stored in the run's status and error, and ends only this run. This is an lh_group_advance, and
 * train_run an lh_train_run. */
bool lh_train_run_advance(void *train_run);

void lh_train_run_close(lh_train_run *train_run);

#endif
