/* base/files.h: the lock of a directory, which excludes other processes and removes files of ended processes. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "lh_disk.h"

static void write_text(const char *path, const char *text) { lh_test_write(path, text, strlen(text)); }

static void test_lock_excludes_others_until_it_is_released(void **state) {
    lh_error error;
    int first, second;
    bool is_exclusive;
    lh_assert_ok(lh_lock_directory(*state, &first, &is_exclusive, &error), &error);
    assert_true(is_exclusive);
    lh_assert_error(lh_lock_directory(*state, &second, &is_exclusive, &error), LH_ERR_ENVIRONMENT, &error,
                    "another process");
    assert_int_equal(second, LH_LOCK_HELD);
    lh_unlock_directory(first);
    lh_assert_ok(lh_lock_directory(*state, &second, &is_exclusive, &error), &error);
    lh_unlock_directory(second);
    lh_unlock_directory(-1);
}

static int lock_failure; /* error of flock; 0: it succeeds */

/* Replaces the system's function. */
int flock(int file, int operation) {
    if (lock_failure == 0) return (int)syscall(SYS_flock, file, operation);
    errno = lock_failure;
    return -1;
}

static void test_lock_without_support_of_the_file_system_succeeds_for_all(void **state) {
    const int errors[] = {ENOSYS, EOPNOTSUPP, ENOLCK};
    lh_error error;
    int first, second;
    bool is_exclusive;
    const char *temporary = lh_test_path(*state, ".longhand-1-1.tmp");
    write_text(temporary, "of another process");
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        lock_failure = errors[i];
        lh_assert_ok(lh_lock_directory(*state, &first, &is_exclusive, &error), &error);
        assert_false(is_exclusive);
        lh_assert_ok(lh_lock_directory(*state, &second, &is_exclusive, &error), &error);
        assert_false(is_exclusive);
        lh_unlock_directory(first);
        lh_unlock_directory(second);
        assert_true(lh_test_exists(temporary));
    }
    lock_failure = EIO;
    lh_assert_error(lh_lock_directory(*state, &first, &is_exclusive, &error), LH_ERR_ENVIRONMENT, &error,
                    "cannot lock");
    lock_failure = 0;
    lh_assert_ok(lh_lock_directory(*state, &first, &is_exclusive, &error), &error);
    lh_unlock_directory(first);
}

static long file_system; /* file system that fstatfs reports */

/* Replaces the system's function. */
int fstatfs(int file, struct statfs *found) {
    *found = (struct statfs){.f_type = file_system};
    return 0;
}

/* Returns the path of a temporary file that a process made. boot: id of the start of the machine. */
static const char *name_temporary(const char *directory, const char *boot, pid_t process) {
    static char name[128];
    snprintf(name, sizeof name, ".longhand-%s.%d-7.tmp", boot, (int)process);
    return lh_test_path(directory, name);
}

/* Returns the process number of an ended child, which no other process has yet. */
static pid_t make_ended_process(void) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    assert_true(child > 0 && waitpid(child, NULL, 0) == child);
    return child;
}

/* A temporary file with another boot id:
 * - on a local file system, its process has ended, since the machine was started again;
 * - on a network file system, its process may run on another machine. */
static void test_lock_removes_temporary_files_of_ended_processes_only(void **state) {
    lh_error error;
    static const char earlier_boot[] = "0f0f0f0f-0000-4000-8000-0123456789ab";
    char boot[64] = "";
    int handle;
    bool is_exclusive;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file == NULL || fscanf(file, "%63s", boot) != 1) skip();
    fclose(file);
    pid_t dead = make_ended_process(), living = getppid();
    for (int is_local = 0; is_local < 2; is_local++) {
        file_system = is_local ? TMPFS_MAGIC : NFS_SUPER_MAGIC;
        write_text(name_temporary(*state, boot, dead), "");
        write_text(name_temporary(*state, boot, getpid()), "");
        write_text(name_temporary(*state, boot, living), "");
        write_text(name_temporary(*state, earlier_boot, living), "");
        write_text(name_temporary(*state, earlier_boot, dead), "");
        lh_assert_ok(lh_lock_directory(*state, &handle, &is_exclusive, &error), &error);
        assert_false(lh_test_exists(name_temporary(*state, boot, dead)));
        assert_false(lh_test_exists(name_temporary(*state, boot, getpid())));
        assert_true(lh_test_exists(name_temporary(*state, boot, living)));
        assert_int_equal(lh_test_count_files(*state), is_local ? 2 : 4); /* the lock, and the remaining files */
        lh_unlock_directory(handle);
    }
}

static int lock_and_sleep(void *argument, const char *directory) {
    int handle;
    bool is_exclusive;
    if (lh_lock_directory(directory, &handle, &is_exclusive, NULL) != LH_OK) return 1;
    write_text(lh_test_path(directory, "held"), "");
    for (;;) pause();
}

static void test_lock_is_free_after_its_holder_is_killed(void **state) {
    lh_error error;
    int handle;
    bool is_exclusive;
    for (int tries = 0; tries < 50 && !lh_test_exists(lh_test_path(*state, "held")); tries++)
        assert_int_equal(lh_disk_run_killed(*state, 20000u << tries / 10, lock_and_sleep, NULL), 0);
    assert_true(lh_test_exists(lh_test_path(*state, "held")));
    lh_assert_ok(lh_lock_directory(*state, &handle, &is_exclusive, &error), &error);
    lh_unlock_directory(handle);
}

static void test_lock_names_a_missing_directory(void **state) {
    lh_error error;
    int handle;
    bool is_exclusive;
    lh_status status = lh_lock_directory(lh_test_path(*state, "none"), &handle, &is_exclusive, &error);
    lh_assert_error(status, LH_ERR_ENVIRONMENT, &error, "none/lock: cannot open");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        lh_test_in_directory(test_lock_excludes_others_until_it_is_released),
        lh_test_in_directory(test_lock_without_support_of_the_file_system_succeeds_for_all),
        lh_test_in_directory(test_lock_removes_temporary_files_of_ended_processes_only),
        lh_test_in_directory(test_lock_is_free_after_its_holder_is_killed),
        lh_test_in_directory(test_lock_names_a_missing_directory),
    };
    return cmocka_run_group_tests_name("locks", tests, NULL, NULL);
}
