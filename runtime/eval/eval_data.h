/* The dataset files to which lines of eval.jsonl belong. Each line has the first digits of its file's SHA-256; lines of
 * older versions have none and belong to the files that run.json in the same folder names. */
#ifndef LONGHAND_EVAL_DATA_H
#define LONGHAND_EVAL_DATA_H

#include <jansson.h>

#include "eval/evaluate.h"

enum { LH_DATA_DIGITS = 16 };

/* The digests in run.json, by set; "": run.json names no file. */
typedef struct lh_recorded_data {
    char digest[LH_SETS][LH_SHA256_TEXT];
    bool tells_loss; /* run.json records which labels are in the loss; older versions took all labels */
} lh_recorded_data;

/* Reads run.json in the folder of this eval.jsonl; all digests are "" if it cannot be read. */
void lh_read_recorded_data(const char *path, lh_recorded_data *recorded);

/* Whether a line and a result belong to the same file, or both to no file. */
bool lh_is_from_data(const json_t *line, const lh_eval_result *result, const lh_recorded_data *recorded);

/* Whether run.json in the folder of this eval.jsonl names the files of the spec's examples; true if the examples are
 * not from files. */
bool lh_records_data(const char *path, const lh_spec *spec);

/* Adds to every line without a digest the digest in run.json. Call it before run.json changes to other files. Does
 * nothing if no file changes. */
lh_status lh_mark_lines(const char *path, const lh_spec *spec, lh_error *error);

#endif
