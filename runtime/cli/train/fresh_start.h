/* Reports that `train --resume` found no checkpoint, and lists other runs of the same id with their differences from
 * the requested run. */
#ifndef LONGHAND_FRESH_START_H
#define LONGHAND_FRESH_START_H

#include "cli/train/train_run.h"

/* Prints on stderr how many of the claimed runs have no checkpoint; prints nothing if every run has a checkpoint. If no
 * run has a checkpoint, also compares the first run with runs in other folders of the same id. */
void lh_print_fresh_start(const lh_train_run *train_runs, int count);

#endif
