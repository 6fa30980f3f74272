/* Finds the dataset files of a run from any working directory. */
#ifndef LONGHAND_DATA_PATHS_H
#define LONGHAND_DATA_PATHS_H

#include "base/files.h"
#include "data/datasets/example_groups.h"

/* Finds the file of a set and writes its path to `found_path`. path: the path in the spec. If this file exists or
 * checkpoint is NULL, `found_path` gets `path`. Otherwise the folder where the checkpoint's run was trained (from
 * run.json) and the seven innermost folders that contain the checkpoint are searched for `path`, if it is relative,
 * and for the file name alone. A found file must have the bytes that the run used; if run.json does not record their
 * digest, `found_path` gets `path`. LH_ERR_INPUT: no searched folder has the file, or the path is too long. */
lh_status lh_find_data(const char *path, lh_set set, const char *checkpoint, char found_path[LH_PATH_MAX],
                       lh_error *error);

#endif
