/* Files that are whole or absent: written to a temporary name, fsynced, renamed; reads that tell what went wrong. */
#ifndef LONGHAND_FILES_H
#define LONGHAND_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "longhand/status.h"

enum { LH_PATH_MAX = 4096, LH_MOST_FACTS = 1 << 22 /* bytes of run.json */ };

/* Creates path and its parents, and forces their entries to the disk. LH_ERR_ENVIRONMENT names the component that could
 * not be made and why. */
lh_status lh_make_directories(const char *path, lh_error *error);

/* Replaces path by these bytes: path holds the old content or the new, never a part, also after a crash or with a
 * full disk. The temporary file lies beside path, is read back before it takes path's name, and is removed on
 * failure. */
lh_status lh_replace_file(const char *path, const void *data, size_t bytes, lh_error *error);

/* Bytes of a file in pieces, one after the other, so that large ones need not be copied together. */
typedef struct lh_piece {
    const void *data;
    size_t bytes;
} lh_piece;
lh_status lh_replace_file_by(const char *path, const lh_piece *pieces, size_t count, lh_error *error);

/* Whether lh_replace_file could begin, asked before the work that makes the bytes. */
lh_status lh_can_replace(const char *path, lh_error *error);

/* Renames within one file system, replacing `to`, and forces the directory to the disk. */
lh_status lh_rename_file(const char *from, const char *to, lh_error *error);

/* Opens a regular file, with flags as open(2) has them; *file is for close(). Every file that somebody else may have made
 * is opened here: a directory, a pipe, a device, and to write, with O_CREAT, a symbolic link are refused without waiting.
 * LH_ERR_INPUT; LH_ERR_ENVIRONMENT with O_CREAT, and for want of memory or descriptors, or of a server's file. */
lh_status lh_open_file(const char *path, int flags, int *file, lh_error *error);

/* Reads the whole file; *data is malloc'ed, with a 0 byte after the last. LH_ERR_INPUT when missing or unreadable, or
 * longer than `most` bytes. */
lh_status lh_read_file(const char *path, char **data, size_t *bytes, lh_error *error);
lh_status lh_read_text(const char *path, size_t most, char **data, size_t *bytes, lh_error *error);

/* Forces the content of a file to the disk; a missing file is fine. Its entry in the directory is another matter. */
lh_status lh_sync_file(const char *path, lh_error *error);

/* Takes directory/lock for this process (flock; freed by the kernel when the process dies), and removes temporary files
 * that killed processes left there: of this start of this machine, and where no other can write any. *alone is false
 * where the file system knows no locks: then anybody may have it, and files stay. LH_ERR_ENVIRONMENT: another process
 * holds it, *handle being LH_LOCK_HELD, or it cannot be had. */
enum { LH_LOCK_HELD = -2 };
lh_status lh_lock_directory(const char *directory, int *handle, bool *alone, lh_error *error);
void lh_unlock_directory(int handle);

#endif
