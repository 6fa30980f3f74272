/* Status codes and error messages of every Longhand module.
 *
 * A status is also the program's exit code. Library code never prints and never exits: it fills an lh_error and
 * returns. Only the command line (runtime/cli) prints.
 */
#ifndef LONGHAND_STATUS_H
#define LONGHAND_STATUS_H

typedef enum lh_status {
    LH_OK = 0,
    LH_ERR_INPUT = 1,       /* a file or a value is wrong, or a loss or gradient is not finite */
    LH_ERR_USAGE = 2,       /* the command line is wrong */
    LH_ERR_STALE = 3,       /* generated sources, runtime interface or defaults belong to another build */
    LH_ERR_ENVIRONMENT = 4, /* disk, memory, processor, driver, missing package */
    LH_STOPPED = 75         /* stopped by a signal; completed work is saved, and --resume continues it */
} lh_status;

typedef struct lh_error {
    char text[2048]; /* one or more lines, no final newline; empty when nothing went wrong */
} lh_error;

/* Formats a message into error (which may be NULL) and returns status, so that callers can write
 * `return lh_fail(error, LH_ERR_INPUT, "%s: %d rows, expected %d", path, got, want);`
 * Control characters other than newline and tab become question marks.
 */
lh_status lh_fail(lh_error *error, lh_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
