/* Files of JSON lines, to which lines are appended: each whole, or the last one torn, as a killed process leaves it. */
#ifndef LONGHAND_JSON_LINES_H
#define LONGHAND_JSON_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "longhand/status.h"

/* Appends one line (a newline is added) in one write; opens and closes the file. A short write is taken back and
 * reported. Where the file ends in a torn line, that is cut off first; one that lacks its newline alone is ended. */
lh_status lh_append_line(const char *path, const char *line, lh_error *error);

/* Lines of a file that was cut back. */
typedef struct lh_cut {
    bool there;   /* the file */
    int64_t kept; /* lines */
    int torn;     /* lines that were dropped because they are no JSON object with the field */
} lh_cut;

/* Keeps the lines of a JSON-line file whose integer field `key` is at most `last`, atomically. A missing file is fine.
 */
lh_status lh_truncate_lines(const char *path, const char *key, int64_t last, lh_cut *cut, lh_error *error);

#endif
