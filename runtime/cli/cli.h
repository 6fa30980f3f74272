/* Declarations that the verbs of a trainer share. Only the files of this folder print. */
#ifndef LONGHAND_CLI_H
#define LONGHAND_CLI_H

#include <signal.h>

#include "base/clock.h"
#include "cli/options.h"
#include "engine/target.h"
#include "eval/evaluate.h"

typedef struct lh_cli {
    const lh_spec *spec;
    const char *program; /* argv[0] */
    int argc;            /* the words behind the verb */
    char **argv;
    bool reads_data; /* the verb has flags for files of examples, where the spec has finite data */
} lh_cli;

/* A verb returns its exit code; on a failure the message is in error. */
typedef lh_status lh_verb_function(const lh_cli *cli, lh_error *error);

/* --- cli.c ------------------------------------------------------------------------------------------------------ */

/* Parses the verb's flags. *done: --help was answered. */
lh_status lh_cli_options(const lh_cli *cli, const lh_verb *verb, const lh_option *options, int count, bool *done,
                         lh_error *error);

/* The level that this process uses: LH_ERR_ENVIRONMENT where the trainer has no CPU half or no level that runs. */
lh_status lh_cli_program(const lh_spec *spec, const lh_cpu_program **program, lh_error *error);

/* Threads asked for, or all processors for 0. */
int lh_cli_threads(int64_t asked);

/* Word and help of the flag --device, which points to "cpu" unless it is given. */
#define LH_DEVICE_WORDS "cpu|cuda[:N]", "what computes (cpu)"

/* An engine for evaluation with the parameters of a checkpoint, which is of engine->step. */
typedef struct lh_cli_model {
    lh_target target;
    lh_engine *engine;
} lh_cli_model;

lh_status lh_cli_open_checkpoint(lh_cli_model *model, const lh_spec *spec, const char *checkpoint, const char *device,
                                 int64_t threads, lh_error *error);
void lh_cli_close_checkpoint(lh_cli_model *model);

/* Says, once in a process, that nothing keeps others out of this folder. Of one thread at a time. */
void lh_warn_unlocked(const char *directory);

/* --- progress.c ------------------------------------------------------------------------------------------------- */

/* One live line on a terminal, plain lines now and then elsewhere; always on stderr. */
typedef struct lh_progress {
    bool live;
    double started, shown; /* clock */
    int width;             /* of the line on the screen, to be wiped */
} lh_progress;

void lh_progress_start(lh_progress *progress);
double lh_progress_seconds(const lh_progress *progress); /* since the start */
/* Whether a line is due: several times a second when live, otherwise every `seconds`. */
bool lh_progress_due(const lh_progress *progress, double seconds);
/* Shows a line: in place when live, else as a line of its own. */
void lh_progress_line(lh_progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lh_progress_wipe(lh_progress *progress);
/* "[####....]" of 20 characters. */
const char *lh_progress_bar(double share, char text[32]);
/* "1 h 05 min", "3 min 10 s", "12 s". */
const char *lh_duration(double seconds, char text[32]);

/* A watcher for lh_eval_request: context is an lh_progress. */
void lh_progress_evaluation(void *context, const lh_eval_result *result, int done, int count);

/* The closing table of an evaluation, on stdout. */
void lh_print_evaluation(const lh_spec *spec, const lh_eval_result *results, int count);

/* Reads the value of a flag --order, hash or file, which finite data alone has; NULL: as the spec says. LH_ERR_USAGE. */
lh_status lh_cli_order(const lh_spec *spec, const char *word, bool *in_order, lh_error *error);

/* Prints the scale of accuracies: chance, and the task's analytic baseline. */
void lh_print_guessing(const lh_spec *spec);

/* --- signals.c -------------------------------------------------------------------------------------------------- */

/* SIGTERM, SIGUSR1, SIGINT and, unless it is ignored (nohup), SIGHUP set this from now on; a second SIGINT kills. */
const volatile sig_atomic_t *lh_catch_signals(void);

/* Signals that would kill end the live line first; those that are caught or ignored stay so. */
void lh_break_line_on_signals(void);

/* Whether there is a live line that a signal has to end. */
void lh_line_is_open(bool open);

#endif
