/* Reads run.json, and the digests of dataset files in it. */
#ifndef LONGHAND_EVAL_DATA_H
#define LONGHAND_EVAL_DATA_H

#include <jansson.h>

#include "engine/engine.h"

/* Reads the file run.json at `path`; the caller drops the reference *facts, which is NULL after an error or if the file
 * is not JSON. LH_ERR_INPUT: the file is missing, unreadable or too long; LH_ERR_ENVIRONMENT: no memory. */
lh_status lh_read_facts(const char *path, json_t **facts, lh_error *error);

/* The SHA-256 of each set (lh_dataset.digest) that run.json records; "": run.json has none. */
typedef struct lh_recorded_data {
    char digest[LH_SETS][LH_SHA256_TEXT];
} lh_recorded_data;

/* Reads run.json in the folder that has the file `path`; all digests are "" if run.json cannot be read. */
void lh_read_recorded_data(const char *path, lh_recorded_data *recorded);

/* Whether run.json in the folder of `path` has the digests of the files of the spec's examples, and no digest for a set
 * without a file. True if the examples do not come from files. */
bool lh_recorded_data_matches_spec(const char *path, const lh_spec *spec);

#endif
