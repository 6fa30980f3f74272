/* The message of `train --resume` where there is nothing to resume: which runs of the same id there are, and why it is
 * none of those. */
#ifndef LONGHAND_FRESH_START_H
#define LONGHAND_FRESH_START_H

#include "cli/train/train_run.h"

/* Looks at the folders of the train_runs, which are claimed, and at those beside them; prints on stderr. */
void lh_print_fresh_start(const lh_train_run *train_runs, int count);

#endif
