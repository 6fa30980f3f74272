/* Prints a message if `train --resume` finds nothing to resume: other runs of the same id, and how each differs from
 * the requested run. */
#ifndef LONGHAND_FRESH_START_H
#define LONGHAND_FRESH_START_H

#include "cli/train/train_run.h"

/* Compares the claimed folders of train_runs with the other folders of the same id; prints on stderr. */
void lh_print_fresh_start(const lh_train_run *train_runs, int count);

#endif
