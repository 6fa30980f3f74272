/* A trainer runs on a full disk: first without a free page, then with one more free page each time. If a file does not
 * fit, the message names the file and the reason, the exit code is 4, and all lines are complete. Training that resumes
 * with enough space has the same bits. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lh_disk.h"
#include "toy_program.h"
#include "toy_runs.h"

enum { DISK = 1 << 20, PAGE = 4096, MAX_PAGES = 64 /* maximum number of pages that a tested command needs */ };

#define TRAIN "train --steps 14 --checkpoint-every 5 --log-every 5 --threads 1 --out "
#define CHECKPOINT " --checkpoint whole/" FOLDER "/checkpoint.safetensors --threads 1"

static int full_disk_count; /* number of runs of a command that filled the disk */

/* Fills the disk except for this number of pages. */
static bool fill_disk(const char *disk, int pages) {
    static const char page[PAGE];
    int file = open(lh_test_path(disk, "ballast"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    off_t bytes = 0;
    while (file >= 0 && write(file, page, PAGE) == PAGE) bytes += PAGE;
    bool has_filled = errno == ENOSPC && bytes >= pages * PAGE && ftruncate(file, bytes - pages * PAGE) == 0;
    return close(file) == 0 && has_filled;
}

/* Whether every line of a file, if there is one, is a whole JSON object. */
static bool has_whole_lines(const char *path) {
    json_error_t problem;
    bool is_complete = true;
    FILE *file = fopen(path, "r");
    while (file != NULL && is_complete && getc(file) != EOF) {
        fseek(file, -1, SEEK_CUR);
        json_t *line = json_loadf(file, JSON_DISABLE_EOF_CHECK, &problem);
        is_complete = json_is_object(line) && getc(file) == '\n';
        json_decref(line);
    }
    if (file != NULL) fclose(file);
    return is_complete;
}

static bool are_same(const char *a, const char *b) {
    size_t bytes[2];
    char *text[2] = {lh_test_read(a, &bytes[0]), lh_test_read(b, &bytes[1])};
    bool is_equal = bytes[0] == bytes[1] && memcmp(text[0], text[1], bytes[0]) == 0;
    free(text[0]);
    free(text[1]);
    return is_equal;
}

/* Runs a command on a disk with this number of free pages: it succeeds, or fails with the right message and exit
 * code. */
static bool is_failure_reported(const char *parent, const char *disk, int pages, const char *command) {
    if (!fill_disk(disk, pages)) return false;
    lh_run_result result = lh_run_main(&toy, parent, command, NULL);
    unlink(lh_test_path(disk, "ballast"));
    if (result.code == 0) return true;
    full_disk_count++;
    const char *message = strstr(result.err, "error: disk/");
    if (result.code == LH_ERR_ENVIRONMENT && message != NULL &&
        (strstr(message, "No space left on device") != NULL || strstr(message, "no space left?") != NULL))
        return true;
    print_error("%d pages: %s: %d\n%s", pages, command, result.code, result.err);
    return false;
}

static int train_into(void *argument, const char *disk) {
    const char *parent = argument;
    static const char *const lines[] = {"metrics.jsonl", "eval.jsonl", "window.jsonl"};
    char path[256];
    for (int pages = 0; pages < MAX_PAGES; pages++) {
        int old_count = full_disk_count;
        if (!is_failure_reported(parent, disk, pages, TRAIN "disk/new")) return 1;
        for (int i = 0; i < 3; i++) {
            snprintf(path, sizeof path, "new/" FOLDER "/%s", lines[i]);
            if (!has_whole_lines(lh_test_path(disk, path))) return 2;
        }
        if (lh_run_main(&toy, parent, TRAIN "disk/new --resume", NULL).code != 0) return 3;
        if (!are_same(lh_test_path(disk, "new/" FOLDER "/checkpoint.safetensors"),
                      lh_test_path(parent, "whole/" FOLDER "/checkpoint.safetensors")) ||
            !are_same(lh_test_path(disk, "new/" FOLDER "/eval.jsonl"),
                      lh_test_path(parent, "whole/" FOLDER "/eval.jsonl")))
            return 4;
        if (full_disk_count == old_count) return pages > 5 ? 0 : 5; /* the files of a run take more than 5 pages */
        snprintf(path, sizeof path, "rm -r '%s'", lh_test_path(disk, "new"));
        if (system(path) != 0) return 6;
    }
    return 7;
}

/* Runs each command with one more free page each time, until its files fit. */
static int evaluate_into(void *argument, const char *disk) {
    const char *parent = argument;
    static const char *const commands[] = {
        "eval --out disk/eval" CHECKPOINT,
        "eval --out eval --examples 900 --per-example disk/each.jsonl" CHECKPOINT,
        "eval --out eval --examples 900 --draws 9 --wrong disk/wrong.jsonl" CHECKPOINT,
    };
    for (int i = 0; i < 3; i++) {
        full_disk_count = 0;
        for (int pages = 0; pages == 0 || full_disk_count == pages; pages++) {
            if (pages == MAX_PAGES || !is_failure_reported(parent, disk, pages, commands[i])) return 10 * i + 1;
            if (!has_whole_lines(lh_test_path(disk, "each.jsonl"))) return 10 * i + 2;
            if (!has_whole_lines(lh_test_path(disk, "wrong.jsonl"))) return 10 * i + 3;
            if (!has_whole_lines(lh_test_path(disk, "eval/eval.jsonl"))) return 10 * i + 4;
        }
        if (full_disk_count == 0) return 10 * i + 5;
    }
    return 0;
}

static int trace_into(void *argument, const char *disk) {
    const char *command = "trace --out disk/trace --length 5 --examples 40 --checkpoint "
                          "whole/toy_pair/0123456789abcdef/lr0.01-seed0/checkpoint.safetensors";
    full_disk_count = 0;
    for (int pages = 0; pages == 0 || full_disk_count == pages; pages++) {
        if (pages == MAX_PAGES || !is_failure_reported(argument, disk, pages, command)) return 1;
        if (full_disk_count == pages + 1 && lh_test_count_files(disk) != 0)
            return 2; /* no partial and no temporary file */
    }
    return full_disk_count > 0 ? 0 : 3;
}

static void check_disks(void **state, lh_disk_work *work) {
    char disk[256];
    snprintf(disk, sizeof disk, "%s", lh_test_path(*state, "disk"));
    assert_int_equal(mkdir(disk, 0777), 0);
    run_toy(state, 0, TRAIN "whole");
    int result = lh_disk_run_small(disk, DISK, work, *state);
    if (result == LH_DISK_ABSENT) skip();
    assert_int_equal(result, 0);
}

static void test_training_on_a_full_disk_keeps_its_files_whole(void **state) {
    toy = lh_toy_make_spec(toy_float_list);
    toy.train.keep_all = true;
    toy.eval.during_every = 6;
    toy.eval.during_lengths = (lh_lengths){.first = 5, .last = 6, .step = 1};
    toy.eval.during_examples = 4;
    check_disks(state, train_into);
}

static void test_evaluation_on_a_full_disk_keeps_its_files_whole(void **state) {
    toy = lh_toy_make_spec(toy_float_list);
    check_disks(state, evaluate_into);
}

static void test_traces_on_a_full_disk_keep_their_files_whole(void **state) {
    toy = lh_toy_make_pair(toy_float_list);
    check_disks(state, trace_into);
}

int main(void) {
    const struct CMUnitTest tests[] = {lh_test_in_directory(test_training_on_a_full_disk_keeps_its_files_whole),
                                       lh_test_in_directory(test_evaluation_on_a_full_disk_keeps_its_files_whole),
                                       lh_test_in_directory(test_traces_on_a_full_disk_keep_their_files_whole)};
    return cmocka_run_group_tests_name("full_disk", tests, NULL, NULL);
}
