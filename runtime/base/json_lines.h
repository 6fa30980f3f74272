/* Appends to files of JSON lines, and truncates them. Each line is complete, except that a killed process may leave the
 * last one incomplete ("torn"). */
#ifndef LONGHAND_JSON_LINES_H
#define LONGHAND_JSON_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "longhand/status.h"

/* Appends one line and a newline in one write to the file at path, which is created if it is missing. A short write is
 * undone and reported. A torn last line is cut off first; a complete last line without newline gets its newline. */
lh_status lh_append_line(const char *path, const char *line, lh_error *error);

/* The result of lh_truncate_lines. */
typedef struct lh_truncation {
    bool exists;        /* the file exists */
    int64_t kept_lines; /* number of lines kept */
    int torn_lines;     /* number of torn lines removed */
} lh_truncation;

/* Removes, atomically, all lines whose integer field `key` is greater than `last`, and all torn lines, that is, all
 * lines that are not a JSON object with this field. A missing file is not an error. */
lh_status lh_truncate_lines(const char *path, const char *key, int64_t last, lh_truncation *truncation,
                            lh_error *error);

#endif
