/* Files that the lines of eval.jsonl are of. Each line has the first digits of its file's SHA-256; lines of older
 * versions have none, and are of the files that run.json next to them names. */
#ifndef LONGHAND_EVAL_DATA_H
#define LONGHAND_EVAL_DATA_H

#include <jansson.h>

#include "eval/evaluate.h"

enum { LH_DATA_DIGITS = 16 };

/* The digests that run.json has, by set; "" where it names no file. */
typedef struct lh_recorded_data {
    char digest[LH_SETS][LH_SHA256_TEXT];
    bool tells_loss; /* whether of all labels or of those that count; versions before took all */
} lh_recorded_data;

/* Reads run.json next to this eval.jsonl; all are "" where there is none that can be read. */
void lh_read_recorded_data(const char *path, lh_recorded_data *recorded);

/* Whether a line is of the file that the result is of; both may be of none. */
bool lh_is_of_data(const json_t *line, const lh_eval_result *result, const lh_recorded_data *recorded);

/* Whether run.json next to this eval.jsonl names the files that the spec's examples are from; of other examples always. */
bool lh_records_data(const char *path, const lh_spec *spec);

/* To be called before run.json names other files than it did: writes into lines that do not say which file they are of the
 * one that run.json still names. Does nothing where no name changes. */
lh_status lh_mark_lines(const char *path, const lh_spec *spec, lh_error *error);

#endif
