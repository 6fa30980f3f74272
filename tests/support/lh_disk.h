/* Disks with errors, for tests of code that writes files. Each function runs work in a child process, so that limits
 * and mounts end with it. Each returns the result of work (0..98), LH_DISK_ABSENT, or 99 if the child failed. */
#ifndef LH_DISK_H
#define LH_DISK_H

enum { LH_DISK_ABSENT = 100 }; /* this machine cannot make such a disk, so the test is skipped */

typedef int lh_disk_work(void *argument, const char *directory);

/* Runs work on a file system of `bytes` bytes, mounted at directory; requires the right to mount. */
int lh_disk_run_small(const char *directory, long bytes, lh_disk_work *work, void *argument);

/* Runs work while no file may grow beyond `bytes`. */
int lh_disk_run_limited(const char *directory, long bytes, lh_disk_work *work, void *argument);

/* Runs work while the directory is read-only, also for root. */
int lh_disk_run_read_only(const char *directory, lh_disk_work *work, void *argument);

/* Kills the child after this number of microseconds; work must take longer. Returns 0 if the child was killed. */
int lh_disk_run_killed(const char *directory, unsigned microseconds, lh_disk_work *work, void *argument);

#endif
