/* Many jobs on few threads, side by side: each piece of work is one thread's alone. */
#ifndef LONGHAND_GROUP_H
#define LONGHAND_GROUP_H

#include <stdbool.h>

#include "longhand/status.h"

/* Does one piece of a job; false: the job is over. Called by one thread at a time for any one job. */
typedef bool lh_group_advance(void *job);

/* Calls advance on every job until each is over, in turn, so that all come forward together. At most `threads` threads
 * work, and no more than there are jobs. LH_ERR_ENVIRONMENT, before anything was advanced, without memory. */
lh_status lh_group_run(int threads, void *const *jobs, int count, lh_group_advance *advance, lh_error *error);

#endif
