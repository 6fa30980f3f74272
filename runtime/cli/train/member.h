/* One run of `train`: its folder, its engine, and how far it has come. A command trains one, or a group of them that
 * differ in seed and learning rate. */
#ifndef LONGHAND_MEMBER_H
#define LONGHAND_MEMBER_H

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

typedef struct lh_member {
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
} lh_member;

/* The configuration of this run's engine; threads: 0. */
lh_engine_config lh_member_config(const lh_member *member);

/* Claims the folder. Changes no file of an earlier run. */
lh_status lh_member_claim(lh_member *member, lh_error *error);

/* Whether nothing is left to do for this run, whose folder is claimed: it has all steps and its evaluation, or has
 * trained further than is asked for. */
lh_status lh_member_is_finished(const lh_member *member, bool *finished, lh_error *error);

/* Makes the run ready for lh_member_advance, and claims its folder unless that is done. */
lh_status lh_member_open(lh_member *member, lh_error *error);

/* Writes the parameters of flags->init, if any, into the engines of all runs that do not go on from a checkpoint of
 * their own. To be called before any of them advances: the file may be of a run that is overwritten. */
lh_status lh_members_load_init(lh_member *members, int count, lh_error *error);

/* An lh_group_advance over lh_members: does a piece of a run, from loading its state to the end of its evaluation. What
 * goes wrong is kept in status and error, and ends this run alone. */
bool lh_member_advance(void *member);

void lh_member_close(lh_member *member);

#endif
