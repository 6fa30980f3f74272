/* See lh_run.h. */
#include "lh_run.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lh_test.h"
#include "longhand/main.h"

enum { MOST_WORDS = 64 };

static int redirect(int stream, const char *path, int flags) {
    int saved_stream = dup(stream), file = open(path, flags, 0666);
    assert_true(saved_stream >= 0 && file >= 0);
    dup2(file, stream);
    close(file);
    return saved_stream;
}

static void restore(int stream, int saved_stream) {
    dup2(saved_stream, stream);
    close(saved_stream);
}

static int split(char *command, char **words) {
    static char name[] = "trainer";
    int count = 0;
    words[count++] = name;
    for (char *word = strtok(command, " "); word && count < MOST_WORDS - 1; word = strtok(NULL, " "))
        words[count++] = word;
    words[count] = NULL;
    return count;
}

lh_run_result lh_run_main(const lh_spec *spec, const char *directory, const char *command, const char *input) {
    static lh_run_result result;
    char *words[MOST_WORDS], *copy = strdup(command), *original = getcwd(NULL, 0);
    int count = split(copy, words);
    free(result.out);
    free(result.err);
    lh_test_write(lh_test_path(directory, "stdin"), input ? input : "", input ? strlen(input) : 0);
    fflush(NULL);
    int saved_streams[] = {redirect(0, lh_test_path(directory, "stdin"), O_RDONLY),
                           redirect(1, lh_test_path(directory, "stdout"), O_WRONLY | O_CREAT | O_TRUNC),
                           redirect(2, lh_test_path(directory, "stderr"), O_WRONLY | O_CREAT | O_TRUNC)};
    __fpurge(stdin); /* removes the rest of the last run's input */
    assert_int_equal(chdir(directory), 0);
    result.code = lh_main(spec, count, words);
    fflush(NULL);
    assert_int_equal(chdir(original), 0);
    for (int i = 0; i < 3; i++) restore(i, saved_streams[i]);
    clearerr(stdin);
    size_t bytes;
    result.out = lh_test_read(lh_test_path(directory, "stdout"), &bytes);
    result.err = lh_test_read(lh_test_path(directory, "stderr"), &bytes);
    free(copy);
    free(original);
    return result;
}

lh_run_result lh_run_expect(const lh_spec *spec, const char *directory, int code, const char *command,
                            const char *input) {
    lh_run_result result = lh_run_main(spec, directory, command, input);
    if (result.code != code) print_error("%s\n%s%s", command, result.out, result.err);
    assert_int_equal(result.code, code);
    return result;
}

void lh_assert_same_file(const char *directory, const char *a, const char *b) {
    size_t first_bytes, second_bytes;
    char *first = lh_test_read(lh_test_path(directory, a), &first_bytes);
    char *second = lh_test_read(lh_test_path(directory, b), &second_bytes);
    assert_int_equal(first_bytes, second_bytes);
    assert_memory_equal(first, second, first_bytes);
    free(first);
    free(second);
}

static void drop_times(json_t *line) {
    json_object_del(line, "steps_per_second");
    json_object_del(line, "seconds");
}

void lh_assert_same_lines(const char *directory, const char *a, const char *b) {
    size_t bytes;
    char *first = lh_test_read(lh_test_path(directory, a), &bytes), *first_rest = first;
    char *second = lh_test_read(lh_test_path(directory, b), &bytes), *second_rest = second;
    while (first_rest && second_rest) {
        json_t *x = json_loads(strsep(&first_rest, "\n"), 0, NULL);
        json_t *y = json_loads(strsep(&second_rest, "\n"), 0, NULL);
        drop_times(x);
        drop_times(y);
        assert_int_equal(!x, !y);
        assert_true(!x || json_equal(x, y));
        json_decref(x);
        json_decref(y);
    }
    assert_true(!first_rest && !second_rest);
    free(first);
    free(second);
}

void lh_assert_same_run(const char *directory, const char *a, const char *b, const char *run) {
    static const char *const files[] = {"checkpoint.safetensors", "metrics.jsonl", "eval.jsonl"};
    for (int i = 0; i < 3; i++) {
        char first[256], second[256];
        snprintf(first, sizeof first, "%s/%s/%s", a, run, files[i]);
        snprintf(second, sizeof second, "%s/%s/%s", b, run, files[i]);
        if (i == 0) lh_assert_same_file(directory, first, second);
        else lh_assert_same_lines(directory, first, second);
    }
}
