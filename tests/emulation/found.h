/* For tests of accesses out of bounds: the address sanitizer ends the process after an error. */
#ifndef LH_TESTS_FOUND_H
#define LH_TESTS_FOUND_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sanitizer.h"

/* Returns the result of run(argument), 0: no error. With the sanitizer: whether it found one in a separate process. */
static inline int lh_found(int (*run)(int), int argument) {
#ifdef LH_ADDRESS_SANITIZER
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL) _exit(0);
        run(argument);
        _exit(0);
    }
    int status = 0;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return status != 0;
#else
    return run(argument);
#endif
}

#endif
