/* Reads run.json, and the digests of dataset files in it. */
#ifndef LONGHAND_EVAL_DATA_H
#define LONGHAND_EVAL_DATA_H

#include <jansson.h>

#include "engine/engine.h"

/* Reads run.json; *facts, for json_decref(), is NULL if it is no JSON. LH_ERR_INPUT: it is missing, unreadable or too
 * long; LH_ERR_ENVIRONMENT: no memory. */
lh_status lh_read_facts(const char *path, json_t **facts, lh_error *error);

/* The SHA-256 of each set's file in run.json, in hexadecimal; "": run.json names no file of the set. */
typedef struct lh_recorded_data {
    char digest[LH_SETS][LH_SHA256_TEXT];
} lh_recorded_data;

/* Reads run.json in the folder of `path`, another file of the run; all digests are "" if run.json cannot be read. */
void lh_read_recorded_data(const char *path, lh_recorded_data *recorded);

/* Whether run.json in the folder of `path` names exactly the files of the spec's examples; true if the examples are not
 * from files. */
bool lh_records_data(const char *path, const lh_spec *spec);

#endif
