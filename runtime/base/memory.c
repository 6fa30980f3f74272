/* See memory.h. Linux reports memory in /proc. In a container, /sys/fs/cgroup has the limits of the container's control
 * group. */
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* The number after `key` in the first line that starts with `key`. INFINITY: the file or the line is missing, or "max"
 * or another word stands in place of the number. */
static double read_number(const char *path, const char *key) {
    char line[256];
    double number = INFINITY;
    FILE *file = fopen(path, "r");
    if (file == NULL) return INFINITY;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, strlen(key)) == 0) {
            if (sscanf(line + strlen(key), "%lf", &number) != 1) number = INFINITY;
            break;
        }
    fclose(file);
    return number;
}

double lh_get_available_memory(void) {
    struct rlimit limit;
    double available = read_number("/proc/meminfo", "MemAvailable:") * 1024;
    double group_limit = read_number("/sys/fs/cgroup/memory.max", ""),
           used = read_number("/sys/fs/cgroup/memory.stat", "anon ");
    if (isfinite(group_limit) && isfinite(used)) available = fmin(available, fmax(group_limit - used, 0));
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        available = fmin(available, (double)limit.rlim_cur);
    return available;
}

double lh_get_peak_memory(void) {
    double kilobytes = read_number("/proc/self/status", "VmHWM:");
    return isfinite(kilobytes) ? kilobytes * 1024 : 0;
}
