/* train/checkpoint.h: states survive the way to a file and back, wrong files are refused by name, and a directory can be
 * resumed whatever moment a process was killed at. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/safetensors.h"
#include "lh_disk.h"
#include "toy_spec.h"
#include "train/checkpoint.h"

static const lh_run_facts facts = {"x86-64-v3", "gcc 12.2.0", 10, UINT64_MAX, 3e-4};

/* ---- states ---- */

static bool covered(const lh_tensor *tensor, int64_t at) {
    int64_t rows = tensor->rank == 2 ? tensor->shape[0] : 1, columns = tensor->shape[tensor->rank - 1];
    int64_t row = (at - tensor->offset) / tensor->stride, column = (at - tensor->offset) % tensor->stride;
    return at >= tensor->offset && row < rows && column < columns;
}

/* Whether some tensor covers this element; learned: one with optimiser state. */
static bool any_covers(int64_t at, bool learned) {
    for (int t = 0; t < TOY_TENSORS; t++)
        if (covered(&lh_toy_spec.tensors[t], at) && (!learned || lh_toy_spec.tensors[t].learned)) return true;
    return false;
}

typedef struct vectors {
    float values[3][TOY_STORAGE]; /* parameters, first and second moment */
    lh_state state;
} vectors;

static vectors *new_vectors(void) {
    vectors *v = calloc(1, sizeof *v);
    assert_non_null(v);
    v->state = (lh_state){4, v->values[0], {v->values[1], v->values[2]}};
    return v;
}

/* Every element a tensor covers gets a value of its own; the rest stays 0. */
static vectors *filled_vectors(float shift) {
    vectors *v = new_vectors();
    for (int i = 0; i < 3; i++)
        for (int64_t at = 0; at < TOY_STORAGE; at++)
            if (any_covers(at, i > 0)) v->values[i][at] = shift + (float)(i * TOY_STORAGE + (int)at + 1);
    return v;
}

static void check_equal(const vectors *got, const vectors *want) {
    for (int i = 0; i < 3; i++) assert_memory_equal(got->values[i], want->values[i], sizeof got->values[i]);
}

static void rotate(const char *directory, const vectors *v, int64_t step) {
    lh_error error;
    lh_run_facts now = facts;
    now.step = step;
    lh_assert_ok(lh_checkpoint_rotate(directory, &lh_toy_spec, &v->state, &now, &error), &error);
}

static lh_run_facts own_facts(void) {
    lh_run_facts own = {.level = facts.level, .compiler = facts.compiler};
    return own;
}

/* Resumes and expects this state at this step, with a note that contains part (none where NULL). */
static void check_resumes(const char *directory, const vectors *want, int64_t step, const char *part) {
    lh_error error, note;
    lh_run_facts own = own_facts();
    int found;
    vectors *got = new_vectors();
    memset(got->values, 0xff, sizeof got->values);
    lh_status status = lh_checkpoint_resume(directory, &lh_toy_spec, &got->state, &own, &found, &note, &error);
    lh_assert_ok(status, &error);
    assert_int_equal(found, 1);
    assert_int_equal(own.step, step);
    check_equal(got, want);
    if (part) assert_non_null(strstr(note.text, part));
    else assert_string_equal(note.text, "");
    free(got);
}

static void check_resume_refused(const char *directory, const lh_spec *spec, lh_run_facts own, const char *part) {
    lh_error error, note;
    int found;
    vectors *v = new_vectors();
    lh_status status = lh_checkpoint_resume(directory, spec, &v->state, &own, &found, &note, &error);
    lh_assert_error(status, LH_ERR_INPUT, &error, part);
    for (int i = 0; i < TOY_STORAGE; i++) assert_true(v->values[0][i] == 0); /* nothing was written */
    free(v);
}

static const char *current_of(const char *directory) { return lh_test_path(directory, "checkpoint.safetensors"); }

static const char *previous_of(const char *directory) {
    return lh_test_path(directory, "checkpoint.previous.safetensors");
}

/* Flips one bit of the byte `from_end` bytes before the end. */
static void flip(const char *path, size_t from_end) {
    size_t bytes;
    char *text = lh_test_read(path, &bytes);
    text[bytes - from_end] = (char)(text[bytes - from_end] ^ 4);
    lh_test_write(path, text, bytes);
    free(text);
}

/* ---- the file ---- */

static void test_write_file_holds_dense_tensors(void **state) {
    lh_error error;
    lh_st_file *file;
    const char *path = lh_test_path(*state, "c.safetensors");
    vectors *v = filled_vectors(0);
    lh_assert_ok(lh_checkpoint_write(path, &lh_toy_spec, &v->state, &facts, &error), &error);
    lh_assert_ok(lh_st_read(path, &file, &error), &error);
    assert_int_equal(lh_st_count(file), TOY_TENSORS + 2 * (TOY_TENSORS - 1)); /* the table has no moments */
    const lh_st_tensor *key = lh_st_find(file, "optimizer.second_moment.layers.0.attention.key.weight");
    assert_non_null(key);
    assert_int_equal(key->shape[0], 4);
    assert_int_equal(key->shape[1], 4);
    for (int i = 0; i < 16; i++) {
        float got;
        memcpy(&got, (const char *)key->data + (size_t)i * sizeof got, sizeof got);
        assert_true(got == v->values[2][292 + i / 4 * 12 + i % 4]);
    }
    assert_null(lh_st_find(file, "optimizer.first_moment.embed.position.weight"));
    assert_string_equal(lh_st_metadata(file, "seed"), "18446744073709551615");
    assert_string_equal(lh_st_metadata(file, "step"), "10");
    assert_string_equal(lh_st_metadata(file, "plan_digest"), lh_toy_spec.plan_digest);
    lh_st_free(file);
    free(v);
}

static void test_write_same_state_same_bytes(void **state) {
    lh_error error;
    size_t bytes[2];
    vectors *v = filled_vectors(0);
    const char *paths[2] = {lh_test_path(*state, "1"), lh_test_path(*state, "2")};
    char *text[2];
    for (int i = 0; i < 2; i++) {
        lh_assert_ok(lh_checkpoint_write(paths[i], &lh_toy_spec, &v->state, &facts, &error), &error);
        text[i] = lh_test_read(paths[i], &bytes[i]);
    }
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(text[0], text[1], bytes[0]);
    free(text[0]);
    free(text[1]);
    free(v);
}

/* ---- parameters alone ---- */

static void test_read_parameters_both_types_read(void **state) {
    lh_error error;
    int64_t step;
    vectors *v = filled_vectors(0);
    static double wide[TOY_STORAGE], again[TOY_STORAGE];
    const char *path = lh_test_path(*state, "c");
    lh_assert_ok(lh_checkpoint_write(path, &lh_toy_spec, &v->state, &facts, &error), &error);
    memset(wide, 0xff, sizeof wide);
    lh_assert_ok(lh_checkpoint_read_parameters(path, &lh_toy_spec, 8, wide, &step, &error), &error);
    assert_int_equal(step, 10);
    for (int i = 0; i < TOY_STORAGE; i++) assert_true(wide[i] == (double)v->values[0][i]);
    wide[0] += 1e-12;
    lh_state doubles = {8, wide, {NULL, NULL}};
    lh_assert_ok(lh_checkpoint_write(path, &lh_toy_spec, &doubles, &facts, &error), &error);
    lh_assert_ok(lh_checkpoint_read_parameters(path, &lh_toy_spec, 8, again, &step, &error), &error);
    assert_memory_equal(again, wide, sizeof wide);
    float narrow[TOY_STORAGE];
    lh_assert_ok(lh_checkpoint_read_parameters(path, &lh_toy_spec, 4, narrow, &step, &error), &error);
    assert_memory_equal(narrow, v->values[0], sizeof narrow);
    free(v);
}

/* Writes the toy's parameters without metadata; `skip` is left out, `change` has another shape, extra is added. */
static void write_parameters(const char *path, int skip, int change, const char *extra) {
    static const float zeros[256];
    lh_error error;
    lh_st_tensor list[TOY_TENSORS + 1];
    int count = 0;
    for (int t = 0; t < TOY_TENSORS; t++) {
        const lh_tensor *tensor = &lh_toy_spec.tensors[t];
        if (t == skip) continue;
        lh_st_tensor *entry = &list[count++];
        *entry = (lh_st_tensor){.name = tensor->name, .dtype = "F32", .rank = tensor->rank, .data = zeros};
        for (int i = 0; i < tensor->rank; i++) entry->shape[i] = tensor->shape[i];
        if (t == change) entry->shape[0]--;
        entry->bytes = 4;
        for (int i = 0; i < tensor->rank; i++) entry->bytes *= (size_t)entry->shape[i];
    }
    if (extra) list[count++] = (lh_st_tensor){extra, "F32", 0, {0}, zeros, 4};
    lh_assert_ok(lh_st_write(path, list, count, NULL, 0, &error), &error);
}

static void test_read_parameters_without_metadata_read(void **state) {
    lh_error error;
    int64_t step = 99;
    static float values[TOY_STORAGE];
    write_parameters(lh_test_path(*state, "p"), -1, -1, NULL);
    lh_status status = lh_checkpoint_read_parameters(lh_test_path(*state, "p"), &lh_toy_spec, 4, values, &step, &error);
    lh_assert_ok(status, &error);
    assert_int_equal(step, 0);
}

static void check_parameters_refused(const char *path, const lh_spec *spec, const char *part) {
    lh_error error;
    int64_t step;
    static float values[TOY_STORAGE];
    values[0] = 42;
    lh_status status = lh_checkpoint_read_parameters(path, spec, 4, values, &step, &error);
    lh_assert_error(status, LH_ERR_INPUT, &error, part);
    assert_non_null(strstr(error.text, path));
    assert_true(values[0] == 42); /* nothing was written */
}

static void test_read_parameters_other_model_refused(void **state) {
    lh_error error;
    const char *path = lh_test_path(*state, "p");
    write_parameters(path, TOY_KEY, -1, NULL);
    check_parameters_refused(path, &lh_toy_spec, "layers.0.attention.key.weight is missing");
    write_parameters(path, -1, TOY_OUTPUT, NULL);
    check_parameters_refused(path, &lh_toy_spec, "output.weight: shape [3, 5], expected [4, 5]");
    write_parameters(path, -1, -1, "norm.scale");
    check_parameters_refused(path, &lh_toy_spec, "norm.scale: the model toy has no such tensor");
    vectors *v = filled_vectors(0);
    lh_assert_ok(lh_checkpoint_write(path, &lh_toy_spec, &v->state, &facts, &error), &error);
    lh_spec other = lh_toy_spec;
    other.model_digest = "1111111111111111";
    check_parameters_refused(path, &other, "model digest 00112233445566aa, expected 1111111111111111");
    free(v);
}

static void test_read_parameters_no_checkpoint_refused(void **state) {
    const char *path = lh_test_path(*state, "p");
    check_parameters_refused(path, &lh_toy_spec, "cannot open");
    lh_test_write(path, "{}", 2);
    check_parameters_refused(path, &lh_toy_spec, "expected at least 8");
}

/* ---- resuming ---- */

static void test_resume_empty_directory_not_found(void **state) {
    lh_error error, note;
    lh_run_facts own = own_facts();
    int found = 1;
    vectors *v = new_vectors();
    lh_assert_ok(lh_checkpoint_resume(*state, &lh_toy_spec, &v->state, &own, &found, &note, &error), &error);
    assert_int_equal(found, 0);
    free(v);
}

static void test_resume_after_rotate_same_bits(void **state) {
    lh_error error, note;
    lh_run_facts own = own_facts();
    int found;
    vectors *v = filled_vectors(0.5f);
    rotate(*state, v, 10);
    check_resumes(*state, v, 10, NULL);
    lh_assert_ok(lh_checkpoint_resume(*state, &lh_toy_spec, &v->state, &own, &found, &note, &error), &error);
    assert_true(own.seed == facts.seed && own.learning_rate == facts.learning_rate);
    free(v);
}

static void test_resume_other_origin_refused_naming_both(void **state) {
    vectors *v = filled_vectors(0);
    rotate(*state, v, 10);
    lh_spec other = lh_toy_spec;
    other.plan_digest = "aaaaaaaaaaaaaaaa";
    check_resume_refused(*state, &other, own_facts(),
                         "plan_digest is \"0123456789abcdef\" there, \"aaaaaaaaaaaaaaaa\"");
    other = lh_toy_spec;
    other.source_digest = "bbbbbbbbbbbbbbbb";
    check_resume_refused(*state, &other, own_facts(), "source_digest is \"fedcba9876543210\" there, \"bbbb");
    other = lh_toy_spec;
    other.precision = "float64";
    check_resume_refused(*state, &other, own_facts(), "precision is \"float32\" there, \"float64\" here");
    lh_run_facts own = own_facts();
    own.level = "x86-64-v4";
    check_resume_refused(*state, &lh_toy_spec, own, "level is \"x86-64-v3\" there, \"x86-64-v4\" here");
    own = own_facts();
    own.compiler = "clang 14.0.6";
    check_resume_refused(*state, &lh_toy_spec, own, "compiler is \"gcc 12.2.0\" there, \"clang 14.0.6\" here");
    free(v);
}

static void test_resume_damaged_current_falls_back(void **state) {
    size_t bytes;
    vectors *old = filled_vectors(0), *new = filled_vectors(1);
    rotate(*state, old, 10);
    rotate(*state, new, 20);
    char *good = lh_test_read(current_of(*state), &bytes);
    lh_test_write(current_of(*state), good, bytes / 2); /* cut */
    check_resumes(*state, old, 10, "going on from");
    lh_test_write(current_of(*state), good, bytes);
    flip(current_of(*state), 5); /* one bit of the data */
    check_resumes(*state, old, 10, "checksum");
    lh_test_write(current_of(*state), "", 0);
    check_resumes(*state, old, 10, "expected at least 8");
    unlink(current_of(*state));
    check_resumes(*state, old, 10, "is missing");
    lh_test_write(current_of(*state), good, bytes);
    check_resumes(*state, new, 20, NULL);
    free(good);
    free(old);
    free(new);
}

static void test_resume_both_damaged_refused_naming_both(void **state) {
    vectors *v = filled_vectors(0);
    rotate(*state, v, 10);
    rotate(*state, v, 20);
    flip(current_of(*state), 1);
    flip(previous_of(*state), 1);
    check_resume_refused(*state, &lh_toy_spec, own_facts(), "/checkpoint.safetensors: damaged");
    check_resume_refused(*state, &lh_toy_spec, own_facts(), "/checkpoint.previous.safetensors: damaged");
    unlink(current_of(*state));
    check_resume_refused(*state, &lh_toy_spec, own_facts(), "/checkpoint.safetensors: is missing");
    free(v);
}

/* Parameters alone are enough to evaluate, not to go on. */
static void test_resume_parameters_alone_refused(void **state) {
    write_parameters(current_of(*state), -1, -1, NULL);
    check_resume_refused(*state, &lh_toy_spec, own_facts(), "checksum");
}

/* ---- rotating ---- */

static void test_rotate_three_times_last_two_stay(void **state) {
    vectors *v[3] = {filled_vectors(0), filled_vectors(1), filled_vectors(2)};
    for (int i = 0; i < 3; i++) rotate(*state, v[i], i + 1);
    assert_int_equal(lh_test_count_files(*state), 2);
    check_resumes(*state, v[2], 3, NULL);
    unlink(current_of(*state));
    check_resumes(*state, v[1], 2, "is missing");
    for (int i = 0; i < 3; i++) free(v[i]);
}

/* A damaged current is not worth keeping: the good previous stays. */
static void test_rotate_damaged_current_previous_stays(void **state) {
    vectors *v[3] = {filled_vectors(0), filled_vectors(1), filled_vectors(2)};
    rotate(*state, v[0], 1);
    rotate(*state, v[1], 2);
    flip(current_of(*state), 1);
    rotate(*state, v[2], 3);
    check_resumes(*state, v[2], 3, NULL);
    unlink(current_of(*state));
    check_resumes(*state, v[0], 1, "is missing");
    for (int i = 0; i < 3; i++) free(v[i]);
}

/* What a kill leaves between two system calls, one after the other: resumable, and rotated to order by the next one. */
static void test_rotate_after_kill_at_each_call_resumes(void **state) {
    vectors *old = filled_vectors(0), *new = filled_vectors(1);
    const char *current = current_of(*state), *previous = previous_of(*state);
    const char *made = lh_test_path(*state, "checkpoint.new.safetensors");
    const char *link_name = lh_test_path(*state, "checkpoint.old.safetensors");
    for (int calls = 1; calls <= 3; calls++) {
        lh_error error;
        unlink(current);
        unlink(previous);
        rotate(*state, old, 1);
        rotate(*state, old, 2);
        lh_assert_ok(lh_checkpoint_write(made, &lh_toy_spec, &new->state, &facts, &error), &error);
        if (calls >= 2) assert_int_equal(link(current, link_name), 0);
        if (calls >= 3) assert_int_equal(rename(link_name, previous), 0);
        check_resumes(*state, old, 2, NULL);
        rotate(*state, new, 3);
        check_resumes(*state, new, 3, NULL);
        assert_int_equal(lh_test_count_files(*state), 2);
        unlink(current);
        check_resumes(*state, old, 2, "is missing");
    }
    free(old);
    free(new);
}

static int rotate_for_ever(void *argument, const char *directory) {
    vectors *v = argument;
    lh_run_facts now = facts;
    for (now.step = 1;; now.step++) {
        for (int i = 0; i < 28; i++) v->values[0][i] = (float)now.step;
        if (lh_checkpoint_rotate(directory, &lh_toy_spec, &v->state, &now, NULL) != LH_OK) return 1;
    }
}

static void test_rotate_killed_any_time_resumes(void **state) {
    lh_error error, note;
    int found;
    vectors *v = filled_vectors(0), *got = new_vectors();
    rotate(*state, v, 0);
    for (unsigned i = 0; i < 20; i++) {
        lh_run_facts own = own_facts();
        assert_int_equal(lh_disk_killed(*state, 4000 + 617 * i, rotate_for_ever, v), 0);
        lh_assert_ok(lh_checkpoint_resume(*state, &lh_toy_spec, &got->state, &own, &found, &note, &error), &error);
        assert_int_equal(found, 1);
        assert_string_equal(note.text, "");
        if (own.step > 0) assert_true(got->values[0][0] == (float)own.step && got->values[0][27] == (float)own.step);
    }
    free(v);
    free(got);
}

/* The old pair stays when the new one does not fit. */
static int rotate_on_full_disk(void *argument, const char *directory) {
    vectors *v = argument;
    lh_run_facts now = facts;
    lh_error error;
    int rotations = 0;
    while (rotations < 3 && lh_checkpoint_rotate(directory, &lh_toy_spec, &v->state, &now, &error) == LH_OK)
        rotations++;
    if (rotations != 2 || !strstr(error.text, "No space left")) return 1;
    lh_run_facts own = own_facts();
    int found = 0;
    lh_status status = lh_checkpoint_resume(directory, &lh_toy_spec, &v->state, &own, &found, NULL, &error);
    return status == LH_OK && found && own.step == facts.step && lh_test_count_files(directory) == 2 ? 0 : 2;
}

static void test_rotate_full_disk_old_stays(void **state) {
    lh_error error;
    size_t bytes;
    vectors *v = filled_vectors(0);
    const char *path = lh_test_path(*state, "size");
    lh_assert_ok(lh_checkpoint_write(path, &lh_toy_spec, &v->state, &facts, &error), &error);
    free(lh_test_read(path, &bytes));
    long pages = (long)(bytes + 4095) / 4096; /* room for two files, not for three */
    int result = lh_disk_small(*state, (2 * pages + 1) * 4096, rotate_on_full_disk, v);
    free(v);
    if (result == LH_DISK_ABSENT) skip();
    assert_int_equal(result, 0);
}

#define in_directory(test) cmocka_unit_test_setup_teardown(test, lh_test_make_directory, lh_test_remove_directory)

int main(void) {
    const struct CMUnitTest checkpoint[] = {
        in_directory(test_write_file_holds_dense_tensors),
        in_directory(test_write_same_state_same_bytes),
        in_directory(test_read_parameters_both_types_read),
        in_directory(test_read_parameters_without_metadata_read),
        in_directory(test_read_parameters_other_model_refused),
        in_directory(test_read_parameters_no_checkpoint_refused),
        in_directory(test_resume_empty_directory_not_found),
        in_directory(test_resume_after_rotate_same_bits),
        in_directory(test_resume_other_origin_refused_naming_both),
        in_directory(test_resume_damaged_current_falls_back),
        in_directory(test_resume_both_damaged_refused_naming_both),
        in_directory(test_resume_parameters_alone_refused),
        in_directory(test_rotate_three_times_last_two_stay),
        in_directory(test_rotate_damaged_current_previous_stays),
        in_directory(test_rotate_after_kill_at_each_call_resumes),
        in_directory(test_rotate_killed_any_time_resumes),
        in_directory(test_rotate_full_disk_old_stays),
    };
    return cmocka_run_group_tests(checkpoint, NULL, NULL);
}
