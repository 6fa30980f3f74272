/* Tests of the verbs of a trainer of the toy, over the emulated driver: the toy with its device code, and checks. */
#ifndef LH_TEST_TOY_DEVICE_H
#define LH_TEST_TOY_DEVICE_H

#include "support/lh_test.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulation.h"
#include "support/lh_run.h"
#include "support/toy_cuda.h"
#include "support/toy_program.h"

#define PLAN "toy/0123456789abcdef/"

static lh_spec toy;
static lh_task task;
static lh_cuda_program program;

static inline void set_device(lh_emulation emulation) {
    lh_emulation_set(&emulation);
    lh_emulated_driver()->cuInit(0); /* cuda/driver.c calls cuInit only once per process */
}

static inline int make_toy(void **state) {
    set_device((lh_emulation){.multiprocessors = 4});
    program = toy_cuda;
    task = *lh_toy_spec.task;
    toy = lh_toy_make_spec(toy_drawn_list);
    toy.position_range[0] = 64;
    toy.task = &task;
    toy.cuda = &program;
    toy.eval.during_every = 7;
    return lh_test_make_directory(state);
}

static inline int end_toy(void **state) {
    assert_int_equal(lh_emulation_held(), 0);
    return lh_test_remove_directory(state);
}

static inline lh_run_result run(void **state, int code, const char *command) {
    return lh_run_expect(&toy, *state, code, command, NULL);
}

static inline void assert_text(const char *text, const char *expected_part) {
    if (strstr(text, expected_part) == NULL) print_error("wanted: %s\ngot: %s\n", expected_part, text);
    assert_non_null(strstr(text, expected_part));
}

static inline void assert_string(const json_t *json, const char *key, const char *expected) {
    assert_string_equal(json_string_value(json_object_get(json, key)), expected);
}

#define RUN_TEST(function) cmocka_unit_test_setup_teardown(function, make_toy, end_toy)

#endif
