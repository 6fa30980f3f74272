/* eval/reach: `trainer eval --reach` compared with an evaluation of all lengths. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toy_program.h"
#include "toy_runs.h"

enum { MAX_LENGTH = 12 };

#define EVALUATE "eval --checkpoint " FOLDER "/checkpoint.safetensors --lengths 1:12 --examples 60 --threads 1"

typedef struct interval {
    double low, high;
} interval;

/* Reads from a file of lines the intervals of lengths 1 to MAX_LENGTH; a length without a line has low = high = -1.
 * Returns the number of lines. */
static int read_intervals(void **state, const char *name, bool uses_accuracy, interval of_length[MAX_LENGTH + 1]) {
    char *text = read_text(state, name), *cursor = text, *line_text;
    int lines = 0;
    for (int n = 0; n <= MAX_LENGTH; n++) of_length[n] = (interval){-1, -1};
    while ((line_text = strsep(&cursor, "\n")) != NULL && line_text[0] != 0) {
        json_t *line = json_loads(line_text, 0, NULL);
        int n = (int)json_integer_value(json_object_get(json_object_get(line, "by"), "length"));
        double accuracy = json_number_value(json_object_get(line, "accuracy"));
        double half_width =
            1.959963984540054 * json_number_value(json_object_get(line, "sd_over_sequences")) / sqrt(60.0);
        of_length[n] = uses_accuracy ? (interval){accuracy - half_width, accuracy + half_width}
                                     : (interval){json_number_value(json_object_get(line, "exact_match_low")),
                                                  json_number_value(json_object_get(line, "exact_match_high"))};
        lines++;
        json_decref(line);
    }
    free(text);
    return lines;
}

/* Checks what --reach prints for a level and how many lengths it evaluates, by the definition of a reach. */
static void check_reach(void **state, bool uses_accuracy, double level) {
    interval full[MAX_LENGTH + 1], partial[MAX_LENGTH + 1];
    char command[256], folder[64], file[96], certain_text[96], possible_text[96];
    int certain = MAX_LENGTH;  /* the longest length whose interval is at or above the level; 0: none */
    int possible = MAX_LENGTH; /* the longest length whose interval ends at or above the level; 0: none */
    read_intervals(state, "all/eval.jsonl", uses_accuracy, full);
    while (certain > 0 && full[certain].low < level) certain--;
    while (possible > 0 && full[possible].high < level) possible--;
    snprintf(folder, sizeof folder, "reach%d%g", uses_accuracy, level);
    snprintf(file, sizeof file, "%s/eval.jsonl", folder);
    snprintf(command, sizeof command, EVALUATE " --out %s --reach %g --metric %s", folder, level,
             uses_accuracy ? "accuracy" : "exact_match");
    lh_run_result result = run_toy(state, 0, command);
    snprintf(certain_text, sizeof certain_text, certain > 0 ? "or more at length %d," : "or more at no length,",
             certain);
    assert_non_null(strstr(result.out, certain_text));
    if (possible == MAX_LENGTH) snprintf(possible_text, sizeof possible_text, "12 is the longest");
    else if (possible == certain + 1)
        snprintf(possible_text, sizeof possible_text, "from %d to 12; length %d is undecided", possible + 1, possible);
    else if (possible > certain)
        snprintf(possible_text, sizeof possible_text, "from %d to 12; lengths %d to %d are undecided", possible + 1,
                 certain + 1, possible);
    else snprintf(possible_text, sizeof possible_text, "at all %slengths up to 12", certain > 0 ? "longer " : "");
    assert_non_null(strstr(result.out, possible_text));
    assert_int_equal(read_intervals(state, file, uses_accuracy, partial), MAX_LENGTH + 1 - (certain > 0 ? certain : 1));
    for (int n = certain > 0 ? certain : 1; n <= MAX_LENGTH; n++)
        assert_memory_equal(&partial[n], &full[n], sizeof *partial);
}

static void test_reach_is_found_from_the_longest_length(void **state) {
    run_toy(state, 0, "train --out . --steps 60 --no-eval");
    run_toy(state, 0, EVALUATE " --out all");
    for (int i = 0; i <= 10; i++) {
        check_reach(state, true, i / 10.0);  /* reach by accuracy */
        check_reach(state, false, i / 10.0); /* reach by exact match */
    }
}

static void test_reach_refuses_other_flags(void **state) {
    run_toy(state, 0, "train --out . --steps 2 --no-eval");
    lh_run_result result = run_toy(state, 2, EVALUATE " --metric accuracy");
    assert_non_null(strstr(result.err, "--metric: applies only with --reach"));
    result = run_toy(state, 2, EVALUATE " --reach 0.5 --metric loss");
    assert_non_null(strstr(result.err, "expected: exact_match or accuracy"));
    result = run_toy(state, 2, EVALUATE " --reach 0.5 --wrong wrong.jsonl");
    assert_non_null(strstr(result.err, "--reach and --wrong exclude each other"));
    result = run_toy(state, 2, "eval --checkpoint " FOLDER "/checkpoint.safetensors --lengths 5,3 --reach 0.5");
    assert_non_null(strstr(result.err, "--lengths: 3 after 5"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_reach_is_found_from_the_longest_length),
        RUN_TEST(test_reach_refuses_other_flags),
    };
    return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}
