/* Runs code with an access out of bounds, after which the address sanitizer ends the process. */
#ifndef LH_TESTS_FOUND_H
#define LH_TESTS_FOUND_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sanitizer.h"

/* Returns the result of run(argument), 0 if it finds no error. With the sanitizer, returns whether it finds an error in
 * a separate process. */
static inline int lh_find_error(int (*run)(int), int argument) {
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
