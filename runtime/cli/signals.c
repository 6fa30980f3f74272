/* Handles signals, which request a clean stop of training, or end a live progress line before they kill the process. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "cli/cli.h"

static volatile sig_atomic_t stop;         /* a signal has requested a stop */
static volatile sig_atomic_t interrupted;  /* SIGINT has occurred */
static volatile sig_atomic_t line_is_open; /* a live line is on the screen, with the cursor at its end */

void lh_set_line_open(bool is_open) { line_is_open = is_open; }

/* Ends a live line with a newline. */
static void break_line(void) {
    if (line_is_open && write(STDERR_FILENO, "\n", 1) == 1) line_is_open = 0;
}

/* Ends the live line, and lets the signal kill the process. */
static void end_by_signal(int number) {
    break_line();
    signal(number, SIG_DFL);
    raise(number);
}

/* Sets the stop flag. SIGPIPE is ignored from then on: if the signal has also ended a program that reads the output,
 * such as tee, a write must not kill this process before its checkpoint. */
static void request_stop(int number) {
    int old_errno = errno; /* the interrupted code may read errno, and writing to a closed terminal changes it */
    if (number == SIGINT && interrupted) end_by_signal(number);
    interrupted = interrupted || number == SIGINT;
    stop = 1;
    signal(SIGPIPE, SIG_IGN);
    break_line();
    errno = old_errno;
}

static void install_handler(int number, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

/* Whether this is the signal's current handler. */
static bool has_handler(int number, void (*handler)(int)) {
    struct sigaction current;
    return sigaction(number, NULL, &current) == 0 && current.sa_handler == handler;
}

const volatile sig_atomic_t *lh_catch_signals(void) {
    stop = interrupted = 0;
    install_handler(SIGTERM, request_stop);
    install_handler(SIGUSR1, request_stop); /* schedulers often send this signal before the end of a job */
    install_handler(SIGINT, request_stop);
    if (!has_handler(SIGHUP, SIG_IGN)) install_handler(SIGHUP, request_stop);
    return &stop;
}

void lh_break_line_on_signals(void) {
    static const int deadly_signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};
    for (size_t i = 0; i < sizeof deadly_signals / sizeof *deadly_signals; i++)
        if (has_handler(deadly_signals[i], SIG_DFL)) install_handler(deadly_signals[i], end_by_signal);
}
