/* Paths of the files of a run's examples, seen from any folder. */
#ifndef LONGHAND_DATA_PATHS_H
#define LONGHAND_DATA_PATHS_H

#include "base/files.h"
#include "data/datasets/example_groups.h"

/* The path of a set's file, in found: as the spec has it, where there is such a file. Else, with the checkpoint of a
 * run, in the folder where that was trained, as run.json says, or in one that the checkpoint lies in, as the spec has
 * it or by its name alone, provided that its bytes are those that the run had. LH_ERR_INPUT names the folders that were
 * searched. Without a checkpoint (NULL) the path as it is. */
lh_status lh_find_data(const char *path, lh_set set, const char *checkpoint, char found[LH_PATH_MAX], lh_error *error);

#endif
