/* An orderly stop. */
#include <signal.h>
#include <stddef.h>

#include "cli/cli.h"

static volatile sig_atomic_t stop;

static void on_signal(int number) {
    (void)number;
    stop = 1;
}

const volatile sig_atomic_t *lh_catch_signals(void) {
    stop = 0;
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(SIGTERM, &action, NULL);
    action.sa_flags = (int)(SA_RESTART | SA_RESETHAND);
    sigaction(SIGINT, &action, NULL);
    return &stop;
}
