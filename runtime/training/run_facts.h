/* Writes and reads run.json: facts of a run, its machine and its end. */
#ifndef LONGHAND_RUN_FACTS_H
#define LONGHAND_RUN_FACTS_H

#include "training/run_files.h"

/* The end of a run. */
typedef struct lh_run_end {
    const char *time; /* time of the end in UTC */
    int exit_code;
    int64_t step; /* the run's last step */
    const lh_window *window;
} lh_run_end;

/* Writes run.json to the claimed folder of a run. end NULL: the run is in progress. */
lh_status lh_run_write_facts(const lh_run *run, const lh_run_end *end, lh_error *error);

/* The end of a run as run.json records it. */
typedef struct lh_recorded_end {
    int exit_code;          /* -1: the run has not ended, or run.json is missing or not JSON */
    int64_t step;           /* the run's last step */
    int64_t requested_step; /* the requested last step of a run that patience ended; else the same as `step` */
} lh_recorded_end;

/* Reads the recorded end from run.json of a claimed folder. */
lh_status lh_run_read_recorded_end(const lh_run *run, lh_recorded_end *ending, lh_error *error);

#endif
