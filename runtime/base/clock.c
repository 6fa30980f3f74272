/* See clock.h. */
#include "base/clock.h"

#include <time.h>

static double read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double lh_read_clock(void) { return read_clock(CLOCK_MONOTONIC); }

double lh_read_processor_clock(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }
