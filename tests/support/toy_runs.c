/* See toy_runs.h. */
#include "toy_runs.h"

#include "lh_test.h"
#include "toy_program.h"

lh_spec toy;

int make_toy(void **state) {
    toy = lh_toy_make_spec(toy_float_list);
    return lh_test_make_directory(state);
}

lh_run_result run_toy(void **state, int code, const char *command) {
    return lh_run_expect(&toy, *state, code, command, NULL);
}

char *read_text(void **state, const char *name) {
    size_t bytes;
    return lh_test_read(lh_test_path(*state, name), &bytes);
}

int count_lines(const char *text) {
    int lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}
