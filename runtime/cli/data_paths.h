/* Finds the dataset files of a run from any working directory. */
#ifndef LONGHAND_DATA_PATHS_H
#define LONGHAND_DATA_PATHS_H

#include "base/files.h"
#include "data/datasets/example_groups.h"

/* Finds the file of a set and writes its path to `found`. The path in the spec is tried first. If that file is missing
 * and a checkpoint is given, the folder where the run was trained (from run.json) and the folders that contain the
 * checkpoint are searched, for the spec's path and for the file name alone. A file is accepted only if its bytes are
 * those that the run used. LH_ERR_INPUT names the searched folders. checkpoint NULL: `found` gets the spec's path. */
lh_status lh_find_data(const char *path, lh_set set, const char *checkpoint, char found[LH_PATH_MAX], lh_error *error);

#endif
