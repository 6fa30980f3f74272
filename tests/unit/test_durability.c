/* training/run_files.h, base/files.h: files on which a checkpoint relies are on disk before the checkpoint is renamed.
 * The test replaces fsync and rename, and checks the folder at each rename. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lh_run.h"
#include "toy_program.h"

enum { MAX_CALLS = 64, LOGS = 3 };

/* A synced path with its bytes when it was synced; for a folder also the number of logs in it. */
typedef struct synced_path {
    char path[PATH_MAX];
    off_t bytes;
    int logs;
} synced_path;

static synced_path synced_paths[MAX_CALLS];
static int synced_count, rename_count;
static char problem[PATH_MAX + 64]; /* the first problem; a test cannot fail while its output is captured */
static const char *const logs[LOGS] = {"metrics.jsonl", "eval.jsonl", "window.jsonl"};

/* Returns the record of a path, which the first call adds. */
static synced_path *find_or_add(const char *path) {
    for (int i = 0; i < synced_count; i++)
        if (strcmp(synced_paths[i].path, path) == 0) return &synced_paths[i];
    if (synced_count == MAX_CALLS) abort();
    snprintf(synced_paths[synced_count].path, sizeof synced_paths[synced_count].path, "%s", path);
    return &synced_paths[synced_count++];
}

static void expect(bool is_right, const char *path, const char *fault) {
    if (!is_right && problem[0] == 0) snprintf(problem, sizeof problem, "%s: %s", path, fault);
}

static int count_logs(const char *folder) {
    int found = 0;
    for (int i = 0; i < LOGS; i++) found += lh_test_exists(lh_test_path(folder, logs[i])) != 0;
    return found;
}

/* Replaces the system's function: also records the file. */
int fsync(int file) {
    char name[64], path[PATH_MAX];
    struct stat found;
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t bytes = readlink(name, path, sizeof path - 1);
    if (bytes < 0 || fstat(file, &found) != 0) abort();
    path[bytes] = 0;
    if (strstr(path, "/.longhand-") == NULL) { /* temporary files are left out: they are renamed later */
        synced_path *entry = find_or_add(path);
        entry->bytes = found.st_size;
        entry->logs = S_ISDIR(found.st_mode) ? count_logs(path) : 0;
    }
    return (int)syscall(SYS_fsync, file);
}

/* Checks the folder when a checkpoint is renamed. */
static void check_folder(const char *folder) {
    struct stat found;
    for (int i = 0; i < LOGS; i++) {
        const char *path = lh_test_path(folder, logs[i]);
        expect(stat(path, &found) == 0 && found.st_size > 0, path, "is empty");
        expect(find_or_add(path)->bytes == found.st_size, path, "is not on the disk");
    }
    expect(find_or_add(folder)->logs == LOGS, folder, "its entries are not on the disk");
    char parent[PATH_MAX];
    snprintf(parent, sizeof parent, "%s", folder);
    while (strstr(parent, "/out") != NULL) { /* the parent of each folder that the run made */
        *strrchr(parent, '/') = 0;
        expect(find_or_add(parent)->bytes > 0, parent, "its entries are not on the disk");
    }
}

/* Replaces the system's function: also checks the folder of a renamed checkpoint. */
int rename(const char *from, const char *to) {
    const char *name = "/checkpoint.safetensors";
    if (strlen(to) > strlen(name) && strcmp(to + strlen(to) - strlen(name), name) == 0) {
        char folder[PATH_MAX];
        if (realpath(from, folder) == NULL) abort();
        *strrchr(folder, '/') = 0;
        check_folder(folder);
        rename_count++;
    }
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

/* Checkpoints at steps 10 and 14, the second inside a window, with evaluations of steps 6 and 12 before them. */
static void test_checkpoint_is_durable_after_its_logs(void **state) {
    lh_spec toy = lh_toy_make_spec(toy_float_list);
    toy.train.keep_steps_count = 0;
    toy.eval.during_every = 6;
    toy.eval.during_lengths = (lh_lengths){.first = 5, .last = 6, .step = 1};
    toy.eval.during_examples = 4;
    lh_run_expect(&toy, *state, 0, "train --out out --steps 14 --checkpoint-every 10 --log-every 5 --no-eval", NULL);
    assert_string_equal(problem, "");
    assert_int_equal(rename_count, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        lh_test_in_directory(test_checkpoint_is_durable_after_its_logs),
    };
    return cmocka_run_group_tests_name("durability", tests, NULL, NULL);
}
