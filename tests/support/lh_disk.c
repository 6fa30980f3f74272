/* See lh_disk.h. */
#define _GNU_SOURCE
#include "lh_disk.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int wait_for(pid_t child) {
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 99;
    return WEXITSTATUS(status);
}

static int mount_small(const char *directory, long bytes) {
    char options[64];
    snprintf(options, sizeof options, "size=%ld", bytes);
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", directory, "tmpfs", 0, options) == 0;
}

int lh_disk_run_small(const char *directory, long bytes, lh_disk_work *work, void *argument) {
    pid_t child = fork();
    if (child == 0) _exit(mount_small(directory, bytes) ? work(argument, directory) : LH_DISK_ABSENT);
    return wait_for(child);
}

int lh_disk_run_limited(const char *directory, long bytes, lh_disk_work *work, void *argument) {
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {(rlim_t)bytes, (rlim_t)bytes};
        signal(SIGXFSZ, SIG_IGN);
        _exit(setrlimit(RLIMIT_FSIZE, &limit) == 0 ? work(argument, directory) : LH_DISK_ABSENT);
    }
    return wait_for(child);
}

int lh_disk_run_read_only(const char *directory, lh_disk_work *work, void *argument) {
    pid_t child = fork();
    if (child == 0) {
        if (chmod(directory, 0555) != 0 || (geteuid() == 0 && seteuid(65534) != 0)) _exit(LH_DISK_ABSENT);
        _exit(work(argument, directory));
    }
    int result = wait_for(child);
    return chmod(directory, 0755) == 0 ? result : 99;
}

int lh_disk_run_killed(const char *directory, unsigned microseconds, lh_disk_work *work, void *argument) {
    pid_t child = fork();
    if (child == 0) _exit(work(argument, directory));
    usleep(microseconds);
    int status;
    if (child < 0 || kill(child, SIGKILL) != 0 || waitpid(child, &status, 0) != child) return 99;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : 99;
}
