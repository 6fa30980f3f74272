/* Reads and writes files safely: new content goes to a temporary file, which is fsynced and then renamed, so a file has
 * its old or its new content. Errors name the file and the reason. */
#ifndef LONGHAND_FILES_H
#define LONGHAND_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "longhand/status.h"

enum { LH_PATH_MAX = 4096, LH_MAX_RUN_JSON_BYTES = 1 << 22 };

/* Reports a failed allocation: returns LH_ERR_ENVIRONMENT with a message that names path. */
lh_status lh_fail_memory(const char *path, lh_error *error);

/* Reports a failed system call: returns LH_ERR_ENVIRONMENT with a message that has path, the problem, and the reason
 * from errno. */
lh_status lh_fail_system(const char *path, const char *problem, lh_error *error);

/* Returns the directory of path, which the caller frees; NULL: out of memory. */
char *lh_copy_directory(const char *path);

/* Creates directory path and its parents, and syncs their entries to disk. The message of LH_ERR_ENVIRONMENT names the
 * directory that cannot be created, and the reason. */
lh_status lh_make_directories(const char *path, lh_error *error);

/* Replaces the content of path by these bytes: path holds the old content or the new, never a part, also after a crash
 * or with a full disk. The temporary file lies in the same directory; it is read back before the rename and removed on
 * failure. */
lh_status lh_replace_file(const char *path, const void *data, size_t bytes, lh_error *error);

/* A piece of a file's content. The pieces of a list are written one after the other, so large data need not be copied
 * into one buffer. */
typedef struct lh_piece {
    const void *data;
    size_t bytes;
} lh_piece;

/* Replaces the content of path by these pieces, as lh_replace_file does. */
lh_status lh_replace_file_by_pieces(const char *path, const lh_piece *pieces, size_t count, lh_error *error);

/* Checks, before the caller makes the content, that lh_replace_file can create its temporary file and that path is not
 * a directory. */
lh_status lh_check_replaceable(const char *path, lh_error *error);

/* Renames a file within one file system, replaces `to` if it exists, and syncs the directory. */
lh_status lh_rename_file(const char *from, const char *to, lh_error *error);

/* Opens a regular file with the flags of open(2); the caller closes *file with close(). Use it for every file that
 * another program or user may have made: it never blocks, and refuses directories, pipes and devices. If the flags
 * include O_CREAT, it also refuses symbolic links, and any failure is LH_ERR_ENVIRONMENT. Without O_CREAT, a lack of
 * memory or descriptors or a stale handle of a network file system is LH_ERR_ENVIRONMENT; any other failure is
 * LH_ERR_INPUT. */
lh_status lh_open_file(const char *path, int flags, int *file, lh_error *error);

/* Reads a whole file. The caller frees *data, which ends with an extra 0 byte. lh_read_text accepts at most max_bytes.
 * LH_ERR_INPUT: the file is missing, unreadable or longer; LH_ERR_ENVIRONMENT: out of memory, or as lh_open_file. */
lh_status lh_read_file(const char *path, char **data, size_t *bytes, lh_error *error);
lh_status lh_read_text(const char *path, size_t max_bytes, char **data, size_t *bytes, lh_error *error);

/* Reads the rest of an open file or pipe as lh_read_text does; path: its name for messages. */
lh_status lh_read_open_file(int file, const char *path, size_t max_bytes, char **data, size_t *bytes, lh_error *error);

/* Syncs the content of a file to disk, but not its directory entry. A missing file is not an error. */
lh_status lh_sync_file(const char *path, lh_error *error);

/* Locks directory/lock for this process (flock; the kernel releases the lock when the process dies). *handle is for
 * lh_unlock_directory. Then removes temporary files that ended processes have left in the directory: on a local file
 * system all of them, on a network file system only files that this machine wrote since its last start. *is_exclusive:
 * false if the file system has no locks; then other processes may use the directory too, and no file is removed.
 * LH_ERR_ENVIRONMENT: another process holds the lock (*handle = LH_LOCK_HELD), or locking fails (*handle = -1). */
enum { LH_LOCK_HELD = -2 };
lh_status lh_lock_directory(const char *directory, int *handle, bool *is_exclusive, lh_error *error);
void lh_unlock_directory(int handle);

#endif
