/* Runs many jobs on few threads. A job is done in pieces, each by one thread. */
#ifndef LONGHAND_GROUP_H
#define LONGHAND_GROUP_H

#include <stdbool.h>

#include "longhand/status.h"

/* Does one piece of a job; false: the job is finished. Only one thread at a time calls it for a job. */
typedef bool lh_group_advance(void *job);

/* Calls advance on all jobs in turn until each job is finished, on min(threads, count) threads. LH_ERR_ENVIRONMENT: out
 * of memory; no job was advanced. */
lh_status lh_group_run(int threads, void *const *jobs, int count, lh_group_advance *advance, lh_error *error);

#endif
