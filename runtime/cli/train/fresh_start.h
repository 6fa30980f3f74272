/* Prints a message if `train --resume` finds nothing to resume, with other runs of the same id and their differences
 * from the requested run. */
#ifndef LONGHAND_FRESH_START_H
#define LONGHAND_FRESH_START_H

#include "cli/train/train_run.h"

/* Prints on stderr how many of the claimed runs have no checkpoint, unless all have one; if none has one, also compares
 * the first run with runs in other folders of the same id. */
void lh_print_fresh_start(const lh_train_run *train_runs, int count);

#endif
