/* Writes files completely or not at all; see files.h.
 *
 * New content goes to a temporary file in the directory of its target. The temporary file is synced to disk, read back
 * and compared, and only then renamed. Its name is short, so the target's name may be as long as the file system
 * allows. The temporary name contains the process id and an id of the machine's last start (boot id). With these two
 * ids, the next process that locks the directory recognises the files that killed processes left, and removes them. It
 * keeps files that another machine may be using.
 */
#define _GNU_SOURCE
#include "base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const char TEMPORARY_PREFIX[] = ".longhand-", TEMPORARY_SUFFIX[] = ".tmp";

lh_status lh_fail_memory(const char *path, lh_error *error) {
    return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: not enough memory", path);
}

lh_status lh_fail_system(const char *path, const char *problem, lh_error *error) {
    return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: %s: %s", path, problem, strerror(errno));
}

char *lh_copy_directory(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static const char *name_kind(const struct stat *attributes) {
    return S_ISDIR(attributes->st_mode) ? "directory" : S_ISFIFO(attributes->st_mode) ? "pipe" : "device";
}

/* The status after a failed open or read with errno `reason`: LH_ERR_ENVIRONMENT if the machine lacks a resource that
 * may be available later, else LH_ERR_INPUT. */
static lh_status choose_read_status(int reason) {
    bool is_transient = reason == EMFILE || reason == ENFILE || reason == ENOMEM || reason == ESTALE;
    return is_transient ? LH_ERR_ENVIRONMENT : LH_ERR_INPUT;
}

/* Opens without blocking, and checks the type before use: opening a pipe would wait for its writer, and reading a
 * device may never end. */
lh_status lh_open_file(const char *path, int flags, int *file, lh_error *error) {
    struct stat attributes;
    bool may_create = (flags & O_CREAT) != 0;
    lh_status failure_status = may_create ? LH_ERR_ENVIRONMENT : LH_ERR_INPUT;
    *file = open(path, flags | (may_create ? O_NOFOLLOW : 0) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    if (*file < 0 && may_create && errno == ELOOP)
        return lh_fail(error, failure_status, "%s: is a symbolic link, expected a file", path);
    if (*file < 0)
        return lh_fail(error, may_create ? failure_status : choose_read_status(errno), "%s: cannot open: %s", path,
                       strerror(errno));
    if (fstat(*file, &attributes) != 0) attributes.st_mode = 0;
    if (S_ISREG(attributes.st_mode)) return LH_OK;
    close(*file);
    *file = -1;
    return lh_fail(error, failure_status, "%s: is a %s, expected a file", path, name_kind(&attributes));
}

static lh_status sync_directory(const char *directory, lh_error *error) {
    int handle = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0) return lh_fail_system(directory, "cannot open", error);
    lh_status status = LH_OK;
    if (fsync(handle) != 0 && errno != EINVAL) /* EINVAL: the file system does not support fsync here */
        status = lh_fail_system(directory, "cannot force to the disk", error);
    close(handle);
    return status;
}

static lh_status sync_parent(const char *path, lh_error *error) {
    char *directory = lh_copy_directory(path);
    if (!directory) return lh_fail_memory(path, error);
    lh_status status = sync_directory(directory, error);
    free(directory);
    return status;
}

static lh_status make_directory(const char *path, lh_error *error) {
    struct stat attributes;
    if (mkdir(path, 0777) == 0) return sync_parent(path, error);
    int saved_errno = errno;
    if (stat(path, &attributes) == 0) {
        if (S_ISDIR(attributes.st_mode)) return LH_OK;
        return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: is a file, expected a directory", path);
    }
    errno = saved_errno;
    return lh_fail_system(path, "cannot make this directory", error);
}

lh_status lh_make_directories(const char *path, lh_error *error) {
    char *partial_path = strdup(path);
    if (!partial_path) return lh_fail_memory(path, error);
    lh_status status = LH_OK;
    for (char *end = partial_path; status == LH_OK && *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char old_character = *end;
        *end = 0;
        if (partial_path[strspn(partial_path, "/")]) status = make_directory(partial_path, error);
        *end = old_character;
    }
    free(partial_path);
    return status;
}

static lh_status write_all(int file, const char *path, const void *data, size_t bytes, lh_error *error) {
    const char *next = data;
    for (size_t remaining = bytes; remaining > 0;) {
        ssize_t written = write(file, next, remaining);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return lh_fail_system(path, "cannot write", error);
        next += written;
        remaining -= (size_t)written;
    }
    return LH_OK;
}

enum { BUFFER = 16384 };

/* A position in a list of pieces. */
typedef struct cursor {
    const lh_piece *current;
    size_t pieces_left; /* number of remaining pieces, the current one included */
    size_t consumed;    /* bytes of the current piece that were consumed */
} cursor;

/* Copies the next bytes into buffer, at most BUFFER bytes; returns the number of bytes copied, 0 at the end. */
static size_t copy_next(cursor *c, char buffer[BUFFER]) {
    size_t used = 0;
    while (c->pieces_left > 0 && used < BUFFER) {
        size_t remaining_bytes = c->current->bytes - c->consumed,
               bytes = remaining_bytes < BUFFER - used ? remaining_bytes : BUFFER - used;
        if (bytes > 0) memcpy(buffer + used, (const char *)c->current->data + c->consumed, bytes);
        used += bytes;
        c->consumed += bytes;
        if (c->consumed < c->current->bytes) continue;
        c->current++;
        c->pieces_left--;
        c->consumed = 0;
    }
    return used;
}

/* Compares the next `bytes` bytes of the file with the data that was written there. */
static lh_status check_next(int file, const char *path, const char *data, size_t bytes, lh_error *error) {
    char read_back[BUFFER];
    while (bytes > 0) {
        ssize_t bytes_now = read(file, read_back, bytes < sizeof read_back ? bytes : sizeof read_back);
        if (bytes_now < 0 && errno == EINTR) continue;
        if (bytes_now < 0) return lh_fail_system(path, "cannot read back", error);
        if (bytes_now == 0 || memcmp(read_back, data, (size_t)bytes_now) != 0)
            return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: the disk returned other bytes than were written", path);
        data += bytes_now;
        bytes -= (size_t)bytes_now;
    }
    return LH_OK;
}

/* Compares the whole file with the pieces. First asks the system to drop the file's cached content, so that the bytes
 * are read from the disk. */
static lh_status check_written(int file, const char *path, const lh_piece *pieces, size_t count, lh_error *error) {
    struct stat attributes;
    lh_status status = LH_OK;
    char expected[BUFFER];
    cursor content = {pieces, count, 0};
    size_t total_bytes = 0;
    for (size_t i = 0; i < count; i++) total_bytes += pieces[i].bytes;
    (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    if (lseek(file, 0, SEEK_SET) != 0 || fstat(file, &attributes) != 0)
        return lh_fail_system(path, "cannot read back", error);
    if ((size_t)attributes.st_size != total_bytes)
        return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: the disk has %lld bytes, %zu were written", path,
                       (long long)attributes.st_size, total_bytes);
    for (size_t bytes; status == LH_OK && (bytes = copy_next(&content, expected)) > 0;)
        status = check_next(file, path, expected, bytes, error);
    return status;
}

/* The id of the machine's last start; no two machines or starts share one. Empty if the kernel does not report it. */
static char boot_id[64];

static void read_boot_id(void) {
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file < 0 ? -1 : read(file, boot_id, sizeof boot_id - 1);
    boot_id[bytes > 0 ? bytes : 0] = 0;
    boot_id[strcspn(boot_id, "\n/")] = 0;
    if (file >= 0) close(file);
}

static const char *get_boot_id(void) {
    static pthread_once_t once_control = PTHREAD_ONCE_INIT;
    pthread_once(&once_control, read_boot_id);
    return boot_id;
}

/* Opens a new file in directory. Returns its descriptor, or -1 and sets errno. *path: the file's path, which the caller
 * frees, or NULL. */
static int open_temporary(const char *directory, char **path) {
    static atomic_uint next_number;
    for (int attempt = 0; attempt < 100; attempt++) { /* an existing file may have the name */
        if (asprintf(path, "%s/%s%s.%ld-%u%s", directory, TEMPORARY_PREFIX, get_boot_id(), (long)getpid(),
                     atomic_fetch_add(&next_number, 1), TEMPORARY_SUFFIX) < 0) {
            *path = NULL;
            errno = ENOMEM;
            return -1;
        }
        int file = open(*path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST) return file;
        free(*path);
        *path = NULL;
    }
    return -1;
}

lh_status lh_rename_file(const char *from, const char *to, lh_error *error) {
    if (rename(from, to) != 0) {
        const char *reason = strerror(errno);
        return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: cannot rename to %s: %s", from, to, reason);
    }
    return sync_parent(to, error);
}

static lh_status fill_temporary(int file, const char *path, const lh_piece *pieces, size_t count, lh_error *error) {
    lh_status status = LH_OK;
    char buffer[BUFFER];
    cursor content = {pieces, count, 0};
    for (size_t bytes; status == LH_OK && (bytes = copy_next(&content, buffer)) > 0;)
        status = write_all(file, path, buffer, bytes, error);
    if (status == LH_OK && fsync(file) != 0) status = lh_fail_system(path, "cannot force to the disk", error);
    if (status == LH_OK) status = check_written(file, path, pieces, count, error);
    if (close(file) != 0 && status == LH_OK) status = lh_fail_system(path, "cannot close", error);
    return status;
}

lh_status lh_replace_file_by_pieces(const char *path, const lh_piece *pieces, size_t count, lh_error *error) {
    char *directory = lh_copy_directory(path), *temporary_path = NULL;
    if (!directory) return lh_fail_memory(path, error);
    int file = open_temporary(directory, &temporary_path);
    lh_status status;
    if (file < 0) {
        status = lh_fail_system(path, "cannot make a temporary file in its folder", error);
    } else {
        status = fill_temporary(file, path, pieces, count, error);
        if (status == LH_OK) status = lh_rename_file(temporary_path, path, error);
        /* If only the sync after the rename failed, no temporary file is left, and unlink does nothing. */
        if (status != LH_OK) unlink(temporary_path);
    }
    free(temporary_path);
    free(directory);
    return status;
}

lh_status lh_replace_file(const char *path, const void *data, size_t bytes, lh_error *error) {
    const lh_piece piece = {data, bytes};
    return lh_replace_file_by_pieces(path, &piece, 1, error);
}

lh_status lh_check_replaceable(const char *path, lh_error *error) {
    struct stat attributes;
    char *directory = lh_copy_directory(path), *temporary_path = NULL;
    if (!directory) return lh_fail_memory(path, error);
    int file = open_temporary(directory, &temporary_path);
    lh_status status = LH_OK;
    if (file < 0) {
        status = lh_fail_system(path, "cannot make a temporary file in its folder", error);
    } else {
        unlink(temporary_path);
        close(file);
        if (stat(path, &attributes) == 0 && S_ISDIR(attributes.st_mode))
            status = lh_fail(error, LH_ERR_ENVIRONMENT, "%s: is a directory, expected a file", path);
    }
    free(temporary_path);
    free(directory);
    return status;
}

static lh_status fail_length(const char *path, size_t max_bytes, lh_error *error) {
    return lh_fail(error, LH_ERR_INPUT, "%s: is longer than %zu bytes, the limit for files of this kind", path,
                   max_bytes);
}

lh_status lh_read_open_file(int file, const char *path, size_t max_bytes, char **data, size_t *bytes, lh_error *error) {
    struct stat attributes;
    if (fstat(file, &attributes) != 0)
        return lh_fail(error, LH_ERR_INPUT, "%s: cannot read: %s", path, strerror(errno));
    if ((uintmax_t)attributes.st_size > max_bytes) return fail_length(path, max_bytes, error);
    size_t capacity = (size_t)attributes.st_size + 1, bytes_read = 0;
    char *text = malloc(capacity);
    for (;;) {
        if (!text) return lh_fail_memory(path, error);
        ssize_t bytes_now = read(file, text + bytes_read, capacity - bytes_read);
        if (bytes_now < 0 && errno == EINTR) continue;
        if (bytes_now < 0) {
            lh_status status = lh_fail(error, choose_read_status(errno), "%s: cannot read: %s", path, strerror(errno));
            free(text);
            return status;
        }
        bytes_read += (size_t)bytes_now;
        if (bytes_now == 0) break;
        if (bytes_read > max_bytes) {
            free(text);
            return fail_length(path, max_bytes, error);
        }
        if (bytes_read < capacity) continue;
        char *larger = realloc(text, capacity *= 2);
        if (!larger) free(text);
        text = larger;
    }
    text[bytes_read] = 0;
    *data = text;
    *bytes = bytes_read;
    return LH_OK;
}

lh_status lh_read_file(const char *path, char **data, size_t *bytes, lh_error *error) {
    return lh_read_text(path, SIZE_MAX, data, bytes, error);
}

lh_status lh_read_text(const char *path, size_t max_bytes, char **data, size_t *bytes, lh_error *error) {
    *data = NULL;
    *bytes = 0;
    int file;
    lh_status status = lh_open_file(path, O_RDONLY, &file, error);
    if (status != LH_OK) return status;
    status = lh_read_open_file(file, path, max_bytes, data, bytes, error);
    close(file);
    return status;
}

lh_status lh_sync_file(const char *path, lh_error *error) {
    int file;
    if (access(path, F_OK) != 0 && errno == ENOENT) return LH_OK;
    lh_status status = lh_open_file(path, O_RDONLY, &file, error);
    if (status != LH_OK) return status;
    if (fsync(file) != 0) status = lh_fail_system(path, "cannot force to the disk", error);
    close(file);
    return status;
}

static bool is_temporary(const char *name) {
    size_t prefix = strlen(TEMPORARY_PREFIX), suffix = strlen(TEMPORARY_SUFFIX), length = strlen(name);
    return length > prefix + suffix && strncmp(name, TEMPORARY_PREFIX, prefix) == 0 &&
           strcmp(name + length - suffix, TEMPORARY_SUFFIX) == 0;
}

/* Whether only this machine can write to the directory, so that a lock excludes all other processes. On other file
 * systems, such as NFS with local_lock, a lock may exclude only processes of this machine. */
static bool is_local(int directory) {
    static const unsigned local_types[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                           F2FS_SUPER_MAGIC, TMPFS_MAGIC,     OVERLAYFS_SUPER_MAGIC};
    struct statfs attributes;
    if (fstatfs(directory, &attributes) != 0) return false;
    for (size_t i = 0; i < sizeof local_types / sizeof *local_types; i++)
        if ((unsigned)attributes.f_type == local_types[i]) return true;
    return false;
}

/* Whether the process that made a temporary file has ended. If the name contains this machine's boot id, the process
 * can be looked up. If the name contains another boot id: on a local file system the process ended before this
 * machine's last start; on a network file system it may be running on another machine. If the name contains the process
 * id of the caller, an earlier process with the same id made the file, because the caller writes nothing in the
 * directory before it has the lock. */
static bool is_abandoned(const char *name, bool is_local_file_system) {
    const char *file_boot_id = name + strlen(TEMPORARY_PREFIX);
    size_t bytes = strlen(get_boot_id());
    if (bytes == 0 || strncmp(file_boot_id, get_boot_id(), bytes) != 0 || file_boot_id[bytes] != '.')
        return is_local_file_system;
    pid_t maker = (pid_t)strtol(file_boot_id + bytes + 1, NULL, 10);
    return maker <= 0 || maker == getpid() || (kill(maker, 0) != 0 && errno == ESRCH);
}

/* Removes temporary files of killed processes; the caller has the lock. */
static void remove_abandoned_files(const char *directory) {
    DIR *list = opendir(directory);
    if (!list) return;
    bool is_local_file_system = is_local(dirfd(list));
    for (struct dirent *entry = readdir(list); entry; entry = readdir(list))
        if (is_temporary(entry->d_name) && is_abandoned(entry->d_name, is_local_file_system))
            (void)unlinkat(dirfd(list), entry->d_name, 0);
    closedir(list);
}

/* Whether flock failed with errno `reason` because the file system has no locks (Lustre without flock, NFS without its
 * daemon). Processes that share such a file system must exclude each other in another way, as cluster tasks do with one
 * folder each. */
static bool are_locks_missing(int reason) { return reason == ENOSYS || reason == EOPNOTSUPP || reason == ENOLCK; }

static lh_status lock_file(const char *path, int *handle, bool *is_exclusive, lh_error *error) {
    int file;
    lh_status status = lh_open_file(path, O_RDWR | O_CREAT, &file, error);
    if (status != LH_OK) return status;
    *is_exclusive = flock(file, LOCK_EX | LOCK_NB) == 0;
    if (*is_exclusive || are_locks_missing(errno)) {
        *handle = file;
        return LH_OK;
    }
    if (errno == EWOULDBLOCK) {
        *handle = LH_LOCK_HELD;
        status = lh_fail(error, LH_ERR_ENVIRONMENT, "%s: another process is writing to this directory", path);
    } else {
        status = lh_fail_system(path, "cannot lock", error);
    }
    close(file);
    return status;
}

lh_status lh_lock_directory(const char *directory, int *handle, bool *is_exclusive, lh_error *error) {
    char *path;
    *handle = -1;
    *is_exclusive = false;
    if (asprintf(&path, "%s/lock", directory) < 0) return lh_fail_memory(directory, error);
    lh_status status = lock_file(path, handle, is_exclusive, error);
    if (status == LH_OK && *is_exclusive) remove_abandoned_files(directory);
    free(path);
    return status;
}

void lh_unlock_directory(int handle) {
    if (handle >= 0) close(handle);
}
