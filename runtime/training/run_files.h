/* Manages the folder of one run, RUNS/<id>/<plan digest>/lr<rate>-seed<seed>. The folder's name may continue:
 *
 *     .<part><seed>      for each part with a seed of its own (data/seeds.h)
 *     -data<8 digits>    if training examples are in a file: the first digits of its SHA-256
 *     -overfit<K>        for --overfit K
 *
 * Files:
 *
 *     run.json                          facts of the run, its machine and its end
 *     metrics.jsonl                     one line per window (window.h)
 *     eval.jsonl                        one line per evaluated condition
 *     checkpoint.safetensors            the newest checkpoint
 *     checkpoint.previous.safetensors   the checkpoint before it
 *     checkpoint-<step>.safetensors     kept checkpoints
 *     checkpoint-best.safetensors       the best checkpoint (best.h)
 *     window.jsonl                      for each checkpoint the state of lh_window (window.h)
 *     lock                              locked while a process writes to the folder
 */
#ifndef LONGHAND_RUN_FILES_H
#define LONGHAND_RUN_FILES_H

#include "base/files.h"
#include "training/window.h"

#define LH_BEST_CHECKPOINT "checkpoint-best.safetensors"

typedef enum lh_run_start {
    LH_RUN_FRESH,    /* a folder with a checkpoint is refused */
    LH_RUN_RESUME,   /* the run continues from the folder's checkpoint, if there is one */
    LH_RUN_OVERWRITE /* the files of an earlier run in the folder are removed */
} lh_run_start;

typedef struct lh_run {
    /* Fields set by the caller: */
    const lh_spec *spec;
    const char *root;  /* the folder RUNS */
    const char *flags; /* the flags of train, without data flags (cli/data_files.h), as a JSON list */
    uint64_t seed;
    lh_separate_seeds separate_seeds;
    double learning_rate;
    int overfit;             /* number of training examples of --overfit; 0: an ordinary run */
    int64_t steps;           /* last step of the training; a checkpoint of a later step is refused */
    const lh_engine *engine; /* engine that run.json describes; must exist until lh_run_close */
    /* Fields set by lh_run_claim and the following functions: */
    char directory[LH_PATH_MAX];                                                              /* the run's folder */
    char metrics[LH_PATH_MAX + 64], evaluations[LH_PATH_MAX + 64], windows[LH_PATH_MAX + 64]; /* paths of the files */
    char started[32];        /* time at which lh_run_begin was called */
    int lock;                /* handle of the lock */
    bool is_exclusive;       /* false: the file system has no locks, and other processes may use the folder */
    bool has_link;           /* the path below `root` has a symbolic link, and the folder was not claimed */
    int64_t checkpoint_step; /* step of the newest checkpoint; -1: none */
} lh_run;

/* Creates and locks the folder. After an error, no file is changed and nothing is locked. If another process has the
 * lock, run->lock is LH_LOCK_HELD. Cases of LH_ERR_INPUT:
 *
 *   - the path is too long
 *   - the path below run->root has a symbolic link, which may lead to another user's files
 *   - start is LH_RUN_FRESH and the folder has a checkpoint
 */
lh_status lh_run_claim(lh_run *run, lh_run_start start, lh_error *error);

/* Writes run.json. Unless the run is resumed, first removes the files of an earlier run. The folder must be claimed. It
 * stays claimed after an error. */
lh_status lh_run_begin(lh_run *run, lh_run_start start, lh_error *error);

/* Whether the claimed folder has a checkpoint, valid or not. */
bool lh_run_has_checkpoint(const lh_run *run);

/* Unlocks a claimed folder without changing its files. */
void lh_run_release(lh_run *run);

/* Loads the newest checkpoint into the engine and truncates metrics.jsonl, eval.jsonl and window.jsonl to its step.
 * Without a checkpoint, *is_found is false and the files are emptied. If the checkpoint is refused, no file changes.
 * note gets warnings for the user. Call this function before lh_run_begin. */
lh_status lh_run_resume(lh_run *run, lh_engine *engine, lh_window *window, bool *is_found, lh_error *note,
                        lh_error *error);

/* Further files to which a checkpoint is written: checkpoint-<step>.safetensors and checkpoint-best.safetensors. */
enum { LH_COPY_STEP = 1, LH_COPY_BEST = 2 };

/* Writes a checkpoint of the engine and the current window. copies: a sum of LH_COPY_..., or 0. */
lh_status lh_run_checkpoint(lh_run *run, lh_engine *engine, const lh_window *window, unsigned copies, lh_error *error);

/* Writes run.json with the engine's step, the window's seconds and this exit code, and unlocks the folder. */
lh_status lh_run_close(lh_run *run, int exit_code, const lh_window *window, lh_error *error);

#endif
