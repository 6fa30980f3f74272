/* Finds the dataset files of a run from any working directory. */
#ifndef LONGHAND_DATA_PATHS_H
#define LONGHAND_DATA_PATHS_H

#include "base/files.h"
#include "data/datasets/example_groups.h"

/* Finds the file of a set; `found` gets its path. The path in the spec comes first. If that file is missing and a
 * checkpoint is given, the search goes on in the folder where the run was trained (from run.json) and in the folders
 * that contain the checkpoint, by the spec's path and by the file name alone; the bytes must be those that the run
 * used. LH_ERR_INPUT names the folders that were searched. checkpoint NULL: the path is not changed. */
lh_status lh_find_data(const char *path, lh_set set, const char *checkpoint, char found[LH_PATH_MAX], lh_error *error);

#endif
