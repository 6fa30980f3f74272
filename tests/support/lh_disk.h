/* Disks that misbehave, for tests of code that writes files. Each runs a function in a child process, so that limits
 * and mounts end with it, and returns what the function returned (0..99). */
#ifndef LH_DISK_H
#define LH_DISK_H

enum { LH_DISK_ABSENT = 100 }; /* this machine cannot make such a disk; skip the test */

typedef int lh_disk_work(void *argument, const char *directory);

/* A file system of `bytes` bytes, mounted at directory; needs the right to mount. */
int lh_disk_small(const char *directory, long bytes, lh_disk_work *work, void *argument);

/* No file may grow beyond `bytes`. */
int lh_disk_limited(const char *directory, long bytes, lh_disk_work *work, void *argument);

/* The directory and what it holds can be read but not written, also where the tests run as root. */
int lh_disk_read_only(const char *directory, lh_disk_work *work, void *argument);

/* Kills the child, which would run work for ever, after so many microseconds; returns 0 when it was killed. */
int lh_disk_killed(const char *directory, unsigned microseconds, lh_disk_work *work, void *argument);

#endif
