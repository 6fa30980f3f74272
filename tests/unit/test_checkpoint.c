/* engine/checkpoint.h: reading a file returns the state that was written, and files of another model are refused. */
#include "lh_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/safetensors.h"
#include "toy_state.h"

/* ---- the file ---- */

static void test_file_has_dense_tensors(void **state) {
    lh_error error;
    lh_st_file *file;
    const char *path = lh_test_path(*state, "c.safetensors");
    toy_state *v = toy_make_filled_state(0);
    lh_assert_ok(lh_checkpoint_write(path, &lh_toy_spec, &v->state, &toy_facts, &error), &error);
    lh_assert_ok(lh_st_read(path, &file, &error), &error);
    assert_int_equal(lh_st_count(file), TOY_TENSORS + 2 * (TOY_TENSORS - 1)); /* a constant table has no moments */
    const lh_st_tensor *key = lh_st_find(file, "optimizer.second_moment.layers.0.attention.key.weight");
    assert_non_null(key);
    assert_int_equal(key->shape[0], 4);
    assert_int_equal(key->shape[1], 4);
    for (int i = 0; i < 16; i++) {
        float actual;
        memcpy(&actual, (const char *)key->data + (size_t)i * sizeof actual, sizeof actual);
        assert_true(actual == v->values[2][292 + i / 4 * 12 + i % 4]); /* the key's offset is 292, its stride 12 */
    }
    assert_null(lh_st_find(file, "optimizer.first_moment.embed.position.weight"));
    assert_string_equal(lh_st_find_metadata(file, "seed"), "18446744073709551615");
    assert_string_equal(lh_st_find_metadata(file, "step"), "10");
    assert_string_equal(lh_st_find_metadata(file, "plan_digest"), lh_toy_spec.plan_digest);
    lh_st_free(file);
    free(v);
}

static void test_writing_a_state_twice_gives_the_same_bytes(void **state) {
    lh_error error;
    size_t bytes[2];
    toy_state *v = toy_make_filled_state(0);
    const char *paths[2] = {lh_test_path(*state, "1"), lh_test_path(*state, "2")};
    char *text[2];
    for (int i = 0; i < 2; i++) {
        lh_assert_ok(lh_checkpoint_write(paths[i], &lh_toy_spec, &v->state, &toy_facts, &error), &error);
        text[i] = lh_test_read(paths[i], &bytes[i]);
    }
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(text[0], text[1], bytes[0]);
    free(text[0]);
    free(text[1]);
    free(v);
}

/* ---- parameters alone ---- */

static void test_parameters_are_read_in_both_precisions(void **state) {
    lh_error error;
    int64_t step;
    toy_state *v = toy_make_filled_state(0);
    static double doubles[TOY_STORAGE], read_doubles[TOY_STORAGE];
    const char *path = lh_test_path(*state, "c");
    lh_assert_ok(lh_checkpoint_write(path, &lh_toy_spec, &v->state, &toy_facts, &error), &error);
    memset(doubles, 0xff, sizeof doubles);
    lh_assert_ok(lh_checkpoint_read_parameters(path, &lh_toy_spec, 8, doubles, &step, &error), &error);
    assert_int_equal(step, 10);
    for (int i = 0; i < TOY_STORAGE; i++) assert_true(doubles[i] == (double)v->values[0][i]);
    doubles[0] += 1e-12;
    lh_state state_of_doubles = {.real_bytes = 8, .parameters = doubles};
    lh_assert_ok(lh_checkpoint_write(path, &lh_toy_spec, &state_of_doubles, &toy_facts, &error), &error);
    lh_assert_ok(lh_checkpoint_read_parameters(path, &lh_toy_spec, 8, read_doubles, &step, &error), &error);
    assert_memory_equal(read_doubles, doubles, sizeof doubles);
    float narrow[TOY_STORAGE];
    lh_assert_ok(lh_checkpoint_read_parameters(path, &lh_toy_spec, 4, narrow, &step, &error), &error);
    assert_memory_equal(narrow, v->values[0], sizeof narrow);
    free(v);
}

/* Parameters can be read whichever optimiser trained them; a checkpoint holds only the states of its own optimiser. */
static void test_parameters_of_another_optimiser_are_read(void **state) {
    lh_error error;
    int64_t step;
    lh_st_file *file;
    static float values[TOY_STORAGE];
    const char *path = lh_test_path(*state, "c");
    toy_state *v = toy_make_filled_state(0);
    lh_spec sgd = lh_toy_spec;
    sgd.optimizer = (lh_optimizer){.kind = "sgd", .states = 1, .state_name = {"momentum"}};
    lh_assert_ok(lh_checkpoint_write(path, &lh_toy_spec, &v->state, &toy_facts, &error), &error);
    lh_assert_ok(lh_checkpoint_read_parameters(path, &sgd, 4, values, &step, &error), &error);
    assert_memory_equal(values, v->values[0], sizeof values);
    lh_assert_ok(lh_checkpoint_write(path, &sgd, &v->state, &toy_facts, &error), &error);
    lh_assert_ok(lh_st_read(path, &file, &error), &error);
    assert_string_equal(lh_st_find_metadata(file, "optimizer"), "sgd");
    assert_int_equal(lh_st_count(file), TOY_TENSORS + TOY_TENSORS - 1);
    assert_non_null(lh_st_find(file, "optimizer.momentum.output.weight"));
    lh_st_free(file);
    lh_assert_ok(lh_checkpoint_read_parameters(path, &lh_toy_spec, 4, values, &step, &error), &error);
    free(v);
}

static void test_parameters_without_metadata_are_read(void **state) {
    lh_error error;
    int64_t step = 99;
    static float values[TOY_STORAGE];
    toy_write_parameters(lh_test_path(*state, "p"), -1, -1, NULL);
    lh_status status = lh_checkpoint_read_parameters(lh_test_path(*state, "p"), &lh_toy_spec, 4, values, &step, &error);
    lh_assert_ok(status, &error);
    assert_int_equal(step, 0);
}

static void check_parameters_refused(const char *path, const lh_spec *spec, const char *expected_text) {
    lh_error error;
    int64_t step;
    static float values[TOY_STORAGE];
    values[0] = 42;
    lh_status status = lh_checkpoint_read_parameters(path, spec, 4, values, &step, &error);
    lh_assert_error(status, LH_ERR_INPUT, &error, expected_text);
    assert_non_null(strstr(error.text, path));
    assert_true(values[0] == 42); /* no value was changed */
}

/* A file with "format" but no checksum is a broken checkpoint; without "format" it is a file of parameters. */
static void test_checkpoint_without_checksum_is_refused(void **state) {
    const char *path = lh_test_path(*state, "p");
    float zeros[TOY_STORAGE] = {0};
    lh_st_file *file;
    lh_error error;
    toy_write_parameters(path, -1, -1, NULL);
    lh_assert_ok(lh_st_read(path, &file, &error), &error);
    lh_st_tensor tensors[16];
    int count = lh_st_count(file);
    for (int i = 0; i < count; i++) tensors[i] = *lh_st_get(file, i);
    lh_st_meta meta[] = {{"step", "3"}, {"format", "longhand checkpoint 1"}};
    lh_assert_ok(lh_st_write(path, tensors, count, meta, 2, &error), &error);
    check_parameters_refused(path, &lh_toy_spec,
                             "no checksum in its metadata\n  hint: a file of parameters needs no checksum if its "
                             "metadata has no entry \"format\"");
    lh_assert_ok(lh_st_write(path, tensors, count, meta, 1, &error), &error);
    int64_t step;
    lh_assert_ok(lh_checkpoint_read_parameters(path, &lh_toy_spec, 4, zeros, &step, &error), &error);
    assert_int_equal(step, 3);
    lh_st_free(file);
}

static void test_parameters_of_another_model_are_refused(void **state) {
    lh_error error;
    const char *path = lh_test_path(*state, "p");
    toy_write_parameters(path, TOY_KEY, -1, NULL);
    check_parameters_refused(path, &lh_toy_spec, "layers.0.attention.key.weight is missing");
    toy_write_parameters(path, -1, TOY_OUTPUT, NULL);
    check_parameters_refused(path, &lh_toy_spec, "output.weight: shape [3, 5], expected [4, 5]");
    toy_write_parameters(path, -1, -1, "norm.scale");
    check_parameters_refused(path, &lh_toy_spec, "norm.scale: the model toy has no such tensor");
    toy_state *v = toy_make_filled_state(0);
    lh_assert_ok(lh_checkpoint_write(path, &lh_toy_spec, &v->state, &toy_facts, &error), &error);
    lh_spec changed = lh_toy_spec;
    changed.model_digest = "1111111111111111";
    check_parameters_refused(path, &changed, "model digest 00112233445566aa, expected 1111111111111111");
    free(v);
}

static void test_other_files_than_checkpoints_are_refused(void **state) {
    const char *path = lh_test_path(*state, "p");
    check_parameters_refused(path, &lh_toy_spec, "cannot open");
    lh_test_write(path, "{}", 2);
    check_parameters_refused(path, &lh_toy_spec, "expected at least 8");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        lh_test_in_directory(test_file_has_dense_tensors),
        lh_test_in_directory(test_writing_a_state_twice_gives_the_same_bytes),
        lh_test_in_directory(test_parameters_are_read_in_both_precisions),
        lh_test_in_directory(test_parameters_of_another_optimiser_are_read),
        lh_test_in_directory(test_parameters_without_metadata_are_read),
        lh_test_in_directory(test_checkpoint_without_checksum_is_refused),
        lh_test_in_directory(test_parameters_of_another_model_are_refused),
        lh_test_in_directory(test_other_files_than_checkpoints_are_refused),
    };
    return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}
