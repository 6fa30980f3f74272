/* Declarations that the verbs of a trainer share. In the runtime library, only files of runtime/cli print. */
#ifndef LONGHAND_CLI_H
#define LONGHAND_CLI_H

#include <signal.h>

#include "base/clock.h"
#include "cli/options.h"
#include "engine/target.h"
#include "eval/evaluate.h"

typedef struct lh_cli {
    const lh_spec *spec;
    const char *program; /* last part of the path argv[0] */
    int argc;            /* arguments after the verb; lh_data_files_open removes the data flags */
    char **argv;
    bool reads_data; /* whether the verb has flags for files of examples; they need a spec with a dataset */
} lh_cli;

/* The function of a verb. Returns the exit code. After an error `error` holds the message; after LH_STOPPED it is
 * empty. */
typedef lh_status lh_verb_function(const lh_cli *cli, lh_error *error);

/* ---- cli.c ---- */

/* Parses the verb's flags, and prints help if --help is among them. */
lh_status lh_cli_read_options(const lh_cli *cli, const lh_verb *verb, const lh_option *options, int count,
                              bool *has_printed_help, lh_error *error);

/* The requested number of threads; 0: all processors. */
int lh_cli_count_threads(int64_t requested);

/* Value and help of the flag --device, whose default is "cpu". */
#define LH_DEVICE_WORDS "cpu|cuda[:N]", "device that computes (cpu)"

/* An engine for evaluation with the parameters of a checkpoint; engine->step is the checkpoint's step. */
typedef struct lh_cli_model {
    lh_target target;
    lh_engine *engine;
} lh_cli_model;

/* Opens the model. checkpoint, device, threads: values of the flags; threads 0: all processors. LH_ERR_USAGE:
 * checkpoint is NULL. Otherwise fails as lh_target_open, opening an engine or lh_checkpoint_read_parameters does. */
lh_status lh_cli_open_checkpoint(lh_cli_model *model, const lh_spec *spec, const char *checkpoint, const char *device,
                                 int64_t threads, lh_error *error);
void lh_cli_close_checkpoint(lh_cli_model *model);

/* Warns, once per process, that this folder cannot be locked. Call it from one thread at a time. */
void lh_warn_unlocked(const char *directory);

/* ---- progress.c ---- */

/* Progress on stderr: one line that is overwritten on a terminal ("live"), occasional lines elsewhere. */
typedef struct lh_progress {
    bool is_live;
    double start_time, line_time; /* times of lh_read_clock at the start and at the last line */
    int width;                    /* width of the current line, to erase it */
} lh_progress;

void lh_progress_start(lh_progress *progress);
double lh_progress_get_seconds(const lh_progress *progress); /* seconds since the start */

/* Whether it is time for another line: several times a second on a terminal, every `seconds` in a file or pipe. */
bool lh_progress_is_due(const lh_progress *progress, double seconds);

/* Prints a line, which overwrites the previous line on a terminal. */
void lh_progress_print(lh_progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Erases the live line. */
void lh_progress_erase(lh_progress *progress);

/* Writes a bar, such as "[####....]" but with 20 characters in brackets. Returns text. */
const char *lh_progress_write_bar(double share, char text[32]);

/* Writes "1 h 05 min", "3 min 10 s", "12 s", or "?" for negative, huge and undefined times. Returns text. */
const char *lh_write_duration(double seconds, char text[32]);

/* Progress callback for lh_eval_request; context is an lh_progress. */
void lh_progress_show_evaluation(void *context, const lh_eval_result *result, int completed, int count);

/* Prints the final table of an evaluation on stdout. */
void lh_print_evaluation(const lh_spec *spec, const lh_eval_result *results, int count);

/* Prints the accuracy of guessing and, if the task has a baseline, the baseline's accuracy, for comparison. */
void lh_print_guessing(const lh_spec *spec);

/* ---- signals.c ---- */

/* Installs handlers of SIGTERM, SIGUSR1, SIGINT and, unless it is ignored (nohup), SIGHUP; returns the flag that they
 * set. A second SIGINT kills the process. */
const volatile sig_atomic_t *lh_catch_signals(void);

/* Makes SIGINT, SIGTERM, SIGUSR1 and SIGHUP end the live line before they kill the process. Signals that are caught or
 * ignored are not changed. */
void lh_break_line_on_signals(void);

/* Records whether a live line is on the screen, so that a signal can end the line. */
void lh_set_line_open(bool is_open);

#endif
