/* See unpack.h. */
#define _GNU_SOURCE /* memfd_create, pipe2 */
#include "data/datasets/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"

static const char GZIP_START[] = "\x1f\x8b"; /* the first bytes of all files of gzip (RFC 1952) */

/* Makes a file in memory with these bytes, and opens it at its beginning. */
static lh_status open_copy(const char *path, const char *data, size_t bytes, int *file, lh_error *error) {
    *file = memfd_create("longhand", MFD_CLOEXEC);
    if (*file < 0) return lh_fail_system(path, "cannot make a file in memory", error);
    for (size_t copied_bytes = 0; copied_bytes < bytes;) {
        ssize_t written = write(*file, data + copied_bytes, bytes - copied_bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return lh_fail_system(path, "cannot write a copy to memory", error);
        copied_bytes += (size_t)written;
    }
    return lseek(*file, 0, SEEK_SET) == 0 ? LH_OK : lh_fail_system(path, "cannot read its copy in memory", error);
}

/* Starts gzip with these files as its input and output. gzip gets a process group of its own, so that Ctrl-C reaches
 * only the trainer. Error messages of gzip are dropped, because the trainer reports its errors. */
static lh_status start_gzip(const char *path, int input, int output, pid_t *child, lh_error *error) {
    char program[] = "gzip", flags[] = "-dc", *words[] = {program, flags, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int problem = posix_spawn_file_actions_init(&actions);
    if (problem != 0) return lh_fail_memory(path, error);
    problem = posix_spawnattr_init(&attributes);
    if (problem == 0) {
        problem = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        if (problem == 0) problem = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
        if (problem == 0) problem = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        if (problem == 0) problem = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        if (problem == 0) problem = posix_spawnp(child, program, &actions, &attributes, words, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    if (problem == ENOENT)
        return lh_fail(error, LH_ERR_ENVIRONMENT,
                       "%s: is compressed, and this machine has no program gzip\n  hint: install the package gzip, or "
                       "unpack the file elsewhere",
                       path);
    errno = problem;
    return problem == 0 ? LH_OK : lh_fail_system(path, "cannot start gzip", error);
}

/* Waits for gzip and checks that it has succeeded. */
static lh_status end_gzip(const char *path, pid_t child, lh_error *error) {
    int wait_status;
    pid_t ended;
    do ended = waitpid(child, &wait_status, 0);
    while (ended < 0 && errno == EINTR);
    if (ended < 0) return lh_fail_system(path, "cannot wait for gzip", error);
    if (WIFSIGNALED(wait_status))
        return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: gzip was ended by signal %d", path, WTERMSIG(wait_status));
    if (WEXITSTATUS(wait_status) == 0) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT,
                   "%s: is truncated or damaged: gzip -dc has exit code %d\n  expected: a complete file of gzip\n"
                   "  hint: was the file copied whole?",
                   path, WEXITSTATUS(wait_status));
}

/* Unpacks the content of the file `input`. If gzip's output is not read to its end, SIGPIPE ends gzip. */
static lh_status run_gzip(const char *path, int input, size_t max_bytes, char **text, size_t *bytes, lh_error *error) {
    int pipe_ends[2];
    pid_t child;
    lh_error gzip_error;
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) return lh_fail_system(path, "cannot make a pipe", error);
    lh_status status = start_gzip(path, input, pipe_ends[1], &child, error);
    bool is_started = status == LH_OK;
    close(pipe_ends[1]);
    if (is_started) status = lh_read_open_file(pipe_ends[0], path, max_bytes, text, bytes, error);
    close(pipe_ends[0]);
    if (!is_started) return status;
    lh_status gzip_status = end_gzip(path, child, status == LH_OK ? error : &gzip_error);
    if (status != LH_OK) return status;
    if (gzip_status != LH_OK) free(*text);
    return gzip_status;
}

lh_status lh_unpack(const char *path, size_t max_bytes, char **data, size_t *bytes, lh_error *error) {
    int copy;
    char *text;
    size_t unpacked;
    if (*bytes < strlen(GZIP_START) || memcmp(*data, GZIP_START, strlen(GZIP_START)) != 0) return LH_OK;
    lh_status status = open_copy(path, *data, *bytes, &copy, error);
    if (status == LH_OK) status = run_gzip(path, copy, max_bytes, &text, &unpacked, error);
    if (copy >= 0) close(copy);
    if (status != LH_OK) return status;
    free(*data);
    *data = text;
    *bytes = unpacked;
    return LH_OK;
}
