/* The folder of one run: RUNS/<id>/<plan digest>/lr<rate>-seed<seed>/, with -data<8 digits> behind it where the examples
 * that it trains on are in a file, of its SHA-256, and with -overfit<K> for --overfit K. Folders of older versions have no
 * digits: one whose run.json has the same SHA-256 is that of the run.
 *
 *     run.json                          what ran, where, and how it ended
 *     metrics.jsonl  eval.jsonl         one line per window, one per evaluated condition
 *     checkpoint.safetensors            and checkpoint.previous.safetensors
 *     checkpoint-<step>.safetensors     those that stay
 *     window.jsonl                      sums of the metrics windows that checkpoints fell into, and seconds
 *     lock                              held while a process works here
 */
#ifndef LONGHAND_RUN_FILES_H
#define LONGHAND_RUN_FILES_H

#include "base/files.h"
#include "training/window.h"

typedef enum lh_run_start {
    LH_RUN_FRESH,    /* refuse a folder that has a checkpoint */
    LH_RUN_RESUME,   /* go on from its checkpoint where it has one */
    LH_RUN_OVERWRITE /* remove what is there */
} lh_run_start;

typedef struct lh_run {
    /* Set by the caller. */
    const lh_spec *spec;
    const char *root;  /* RUNS */
    const char *flags; /* the command line as a JSON list */
    uint64_t seed;
    double learning_rate;
    int overfit;             /* examples that are trained on; 0: an ordinary run */
    int64_t refused_from;    /* a checkpoint of this step or a later one is not resumed; 0: any is */
    const lh_engine *engine; /* for run.json, until the run is closed */
    /* Written by lh_run_claim. */
    char directory[LH_PATH_MAX];
    char metrics[LH_PATH_MAX + 64], evaluations[LH_PATH_MAX + 64], windows[LH_PATH_MAX + 64];
    char started[32];
    int lock;
    bool alone;              /* false: the file system has no locks, and another process may work here, too */
    bool linked;             /* the folder lies behind a symbolic link below `root`, and was not claimed */
    int64_t checkpoint_step; /* of the newest checkpoint; -1: none */
} lh_run;

/* Makes and locks the folder. LH_ERR_INPUT where a symbolic link below run->root is on the way to it, which may lead to
 * files of somebody else's, and where `start` is LH_RUN_FRESH and a checkpoint is in the way; then, and on any other
 * error, nothing is changed and nothing is held. run->lock is LH_LOCK_HELD where another process has it. */
lh_status lh_run_claim(lh_run *run, lh_run_start start, lh_error *error);

/* Removes the files of an earlier run unless this one resumes it, and writes run.json; before that, lines of eval.jsonl
 * get the names of their data files, where those change (eval/eval_data.h). The folder must be claimed; on an error it
 * still is. */
lh_status lh_run_begin(lh_run *run, lh_run_start start, lh_error *error);

/* Whether the claimed folder has a checkpoint, good or not. */
bool lh_run_has_checkpoint(const lh_run *run);

/* How the run of a claimed folder ended, as run.json says: its exit code, -1 where it has not ended, and its step. */
lh_status lh_run_ending(const lh_run *run, int *exit_code, int64_t *step, lh_error *error);

/* Lets a claimed folder go as it is. */
void lh_run_release(lh_run *run);

/* Loads the newest checkpoint into the engine and cuts metrics.jsonl, eval.jsonl and window.jsonl back to its step;
 * with none, cuts them to nothing and *found is false. Whatever deserves a word is in note. To be called before
 * lh_run_begin: where the checkpoint is refused, no file has changed. */
lh_status lh_run_resume(lh_run *run, lh_engine *engine, lh_window *window, bool *found, lh_error *note,
                        lh_error *error);

/* Writes a checkpoint of the engine, with the window it falls into; keep: also under the name of its step. */
lh_status lh_run_checkpoint(lh_run *run, lh_engine *engine, const lh_window *window, bool keep, lh_error *error);

/* Writes run.json with the engine's step, the window's seconds and this exit code, and lets the folder go. */
lh_status lh_run_close(lh_run *run, int exit_code, const lh_window *window, lh_error *error);

#endif
