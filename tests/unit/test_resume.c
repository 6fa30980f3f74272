/* The checkpoints in the directory of a run (engine/checkpoint.h). A resumed run continues with the same bits, also
 * after a kill at any moment or on a full disk. A checkpoint that does not fit is refused with the reason. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lh_disk.h"
#include "toy_state.h"
#include "engine/checkpoint_parts.h"

static void check_equal(const toy_state *actual, const toy_state *expected) {
    for (int i = 0; i < 3; i++) assert_memory_equal(actual->values[i], expected->values[i], sizeof actual->values[i]);
}

static void rotate(const char *directory, const toy_state *v, int64_t step) {
    lh_error error;
    lh_checkpoint_facts now = toy_facts;
    now.step = step;
    lh_assert_ok(lh_checkpoint_rotate(directory, &lh_toy_spec, &v->state, &now, &error), &error);
}

static lh_checkpoint_facts make_checkpoint_facts(void) {
    return (lh_checkpoint_facts){.level = toy_facts.level, .compiler = toy_facts.compiler};
}

/* Checks that a resume gives this state at this step. note_text: a part of the resume's note; NULL: there is no
 * note. */
static void check_resumes(const char *directory, const toy_state *expected, int64_t step, const char *note_text) {
    lh_error error, note;
    lh_checkpoint_facts current_facts = make_checkpoint_facts();
    int found;
    toy_state *actual = toy_make_state();
    memset(actual->values, 0xff, sizeof actual->values);
    lh_status status =
        lh_checkpoint_resume(directory, &lh_toy_spec, &actual->state, &current_facts, &found, &note, &error);
    lh_assert_ok(status, &error);
    assert_int_equal(found, 1);
    assert_int_equal(current_facts.step, step);
    check_equal(actual, expected);
    if (note_text) assert_non_null(strstr(note.text, note_text));
    else assert_string_equal(note.text, "");
    free(actual);
}

/* Checks that a resume fails with a message that contains `message`, and changes no value. */
static void check_resume_refused(const char *directory, const lh_spec *spec, lh_checkpoint_facts current_facts,
                                 const char *message) {
    lh_error error, note;
    int found;
    toy_state *v = toy_make_state();
    lh_status status = lh_checkpoint_resume(directory, spec, &v->state, &current_facts, &found, &note, &error);
    lh_assert_error(status, LH_ERR_INPUT, &error, message);
    for (int i = 0; i < TOY_STORAGE; i++) assert_true(v->values[0][i] == 0); /* no value was changed */
    free(v);
}

static const char *name_current(const char *directory) { return lh_test_path(directory, "checkpoint.safetensors"); }

static const char *name_previous(const char *directory) {
    return lh_test_path(directory, "checkpoint.previous.safetensors");
}

/* Flips one bit of the byte at `from_end` bytes before the end. */
static void flip_bit(const char *path, size_t from_end) {
    size_t bytes;
    char *text = lh_test_read(path, &bytes);
    text[bytes - from_end] = (char)(text[bytes - from_end] ^ 4);
    lh_test_write(path, text, bytes);
    free(text);
}

/* ---- resuming ---- */

static void test_empty_directory_has_no_run(void **state) {
    lh_error error, note;
    lh_checkpoint_facts current_facts = make_checkpoint_facts();
    int found = 1;
    toy_state *v = toy_make_state();
    lh_assert_ok(lh_checkpoint_resume(*state, &lh_toy_spec, &v->state, &current_facts, &found, &note, &error), &error);
    assert_int_equal(found, 0);
    free(v);
}

static void test_resumed_state_has_the_bits_of_the_written_state(void **state) {
    lh_error error, note;
    lh_checkpoint_facts current_facts = make_checkpoint_facts();
    int found;
    toy_state *v = toy_make_filled_state(0.5f);
    rotate(*state, v, 10);
    check_resumes(*state, v, 10, NULL);
    lh_assert_ok(lh_checkpoint_resume(*state, &lh_toy_spec, &v->state, &current_facts, &found, &note, &error), &error);
    assert_true(current_facts.seed == toy_facts.seed && current_facts.learning_rate == toy_facts.learning_rate);
    free(v);
}

static void test_checkpoint_of_another_origin_is_refused_with_both_named(void **state) {
    toy_state *v = toy_make_filled_state(0);
    rotate(*state, v, 10);
    lh_spec changed = lh_toy_spec;
    changed.plan_digest = "aaaaaaaaaaaaaaaa";
    check_resume_refused(*state, &changed, make_checkpoint_facts(),
                         "plan_digest is \"0123456789abcdef\", expected \"aaaaaaaaaaaaaaaa\"");
    changed = lh_toy_spec;
    changed.source_digest = "bbbbbbbbbbbbbbbb";
    check_resume_refused(*state, &changed, make_checkpoint_facts(),
                         "source_digest is \"fedcba9876543210\", expected \"bbbb");
    changed = lh_toy_spec;
    changed.plan_digest = "1111111111111111"; /* another optimiser is another plan, too */
    changed.optimizer = (lh_optimizer){.kind = "sgd", .states = 1, .state_name = {"momentum"}};
    check_resume_refused(*state, &changed, make_checkpoint_facts(), "its optimiser is \"adam\", this run's is \"sgd\"");
    changed = lh_toy_spec;
    changed.precision = "float64";
    check_resume_refused(*state, &changed, make_checkpoint_facts(), "precision is \"float32\", expected \"float64\"");
    lh_checkpoint_facts current_facts = make_checkpoint_facts();
    current_facts.level = "x86-64-v4";
    check_resume_refused(*state, &lh_toy_spec, current_facts, "level is \"x86-64-v3\", expected \"x86-64-v4\"");
    current_facts = make_checkpoint_facts();
    current_facts.compiler = "clang 14.0.6";
    check_resume_refused(*state, &lh_toy_spec, current_facts, "compiler is \"gcc 12.2.0\", expected \"clang 14.0.6\"");
    free(v);
}

static void test_damaged_current_falls_back(void **state) {
    size_t bytes;
    toy_state *old = toy_make_filled_state(0), *new = toy_make_filled_state(1);
    rotate(*state, old, 10);
    rotate(*state, new, 20);
    char *contents = lh_test_read(name_current(*state), &bytes);
    lh_test_write(name_current(*state), contents, bytes / 2); /* truncated */
    check_resumes(*state, old, 10, "resuming from");
    lh_test_write(name_current(*state), contents, bytes);
    flip_bit(name_current(*state), 5); /* one bit of the data */
    check_resumes(*state, old, 10, "checksum");
    lh_test_write(name_current(*state), "", 0);
    check_resumes(*state, old, 10, "expected at least 8");
    unlink(name_current(*state));
    check_resumes(*state, old, 10, "is missing");
    lh_test_write(name_current(*state), contents, bytes);
    check_resumes(*state, new, 20, NULL);
    free(contents);
    free(old);
    free(new);
}

static void test_two_damaged_checkpoints_are_refused_with_both_named(void **state) {
    toy_state *v = toy_make_filled_state(0);
    rotate(*state, v, 10);
    rotate(*state, v, 20);
    flip_bit(name_current(*state), 1);
    flip_bit(name_previous(*state), 1);
    check_resume_refused(*state, &lh_toy_spec, make_checkpoint_facts(), "/checkpoint.safetensors: damaged");
    check_resume_refused(*state, &lh_toy_spec, make_checkpoint_facts(), "/checkpoint.previous.safetensors: damaged");
    unlink(name_current(*state));
    check_resume_refused(*state, &lh_toy_spec, make_checkpoint_facts(), "/checkpoint.safetensors: is missing");
    free(v);
}

/* A checkpoint that cannot be read, but may be valid, is not skipped, since the next checkpoint would replace it. */
static void test_unreadable_current_is_an_environment_error(void **state) {
    lh_error error, note;
    lh_checkpoint_facts current_facts = make_checkpoint_facts();
    struct rlimit old_limit, no_files;
    int found;
    toy_state *v = toy_make_filled_state(0);
    rotate(*state, v, 10);
    rotate(*state, v, 20);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old_limit), 0);
    no_files = (struct rlimit){0, old_limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &no_files), 0);
    lh_status status = lh_checkpoint_resume(*state, &lh_toy_spec, &v->state, &current_facts, &found, &note, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old_limit), 0);
    assert_int_equal(status, LH_ERR_ENVIRONMENT);
    assert_non_null(strstr(error.text, "/checkpoint.safetensors: "));
    check_resumes(*state, v, 20, NULL);
    free(v);
}

/* Parameters alone are enough for an evaluation, but not for a resume. */
static void test_parameters_alone_are_not_resumed(void **state) {
    toy_write_parameters(name_current(*state), -1, -1, NULL);
    check_resume_refused(*state, &lh_toy_spec, make_checkpoint_facts(), "checksum");
}

/* ---- rotating ---- */

static void test_last_two_of_three_checkpoints_are_kept(void **state) {
    toy_state *v[3] = {toy_make_filled_state(0), toy_make_filled_state(1), toy_make_filled_state(2)};
    for (int i = 0; i < 3; i++) rotate(*state, v[i], i + 1);
    assert_int_equal(lh_test_count_files(*state), 2);
    check_resumes(*state, v[2], 3, NULL);
    unlink(name_current(*state));
    check_resumes(*state, v[1], 2, "is missing");
    for (int i = 0; i < 3; i++) free(v[i]);
}

/* The next rotation does not keep a damaged current checkpoint, but the good previous checkpoint. */
static void test_previous_stays_if_current_is_damaged(void **state) {
    toy_state *v[3] = {toy_make_filled_state(0), toy_make_filled_state(1), toy_make_filled_state(2)};
    rotate(*state, v[0], 1);
    rotate(*state, v[1], 2);
    flip_bit(name_current(*state), 1);
    rotate(*state, v[2], 3);
    check_resumes(*state, v[2], 3, NULL);
    unlink(name_current(*state));
    check_resumes(*state, v[0], 1, "is missing");
    for (int i = 0; i < 3; i++) free(v[i]);
}

/* A rotation consists of system calls. A run that is killed after any of them can be resumed, and the next rotation
 * gives a pair of checkpoints again. */
static void test_rotation_killed_after_any_call_resumes(void **state) {
    toy_state *old = toy_make_filled_state(0), *new = toy_make_filled_state(1);
    const char *current = name_current(*state), *previous = name_previous(*state);
    const char *new_path = lh_test_path(*state, "checkpoint.new.safetensors");
    const char *link_name = lh_test_path(*state, "checkpoint.old.safetensors");
    for (int completed_calls = 1; completed_calls <= 3; completed_calls++) {
        lh_error error;
        unlink(current);
        unlink(previous);
        rotate(*state, old, 1);
        rotate(*state, old, 2);
        lh_assert_ok(lh_checkpoint_write(new_path, &lh_toy_spec, &new->state, &toy_facts, &error), &error);
        if (completed_calls >= 2) assert_int_equal(link(current, link_name), 0);
        if (completed_calls >= 3) assert_int_equal(rename(link_name, previous), 0);
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
    toy_state *v = argument;
    lh_checkpoint_facts now = toy_facts;
    for (now.step = 1;; now.step++) {
        for (int i = 0; i < 28; i++) v->values[0][i] = (float)now.step;
        if (lh_checkpoint_rotate(directory, &lh_toy_spec, &v->state, &now, NULL) != LH_OK) return 1;
    }
}

static void test_rotation_killed_at_any_time_resumes(void **state) {
    lh_error error, note;
    int found;
    toy_state *v = toy_make_filled_state(0), *actual = toy_make_state();
    rotate(*state, v, 0);
    for (unsigned i = 0; i < 20; i++) {
        lh_checkpoint_facts current_facts = make_checkpoint_facts();
        assert_int_equal(lh_disk_run_killed(*state, 4000 + 617 * i, rotate_for_ever, v), 0);
        lh_assert_ok(lh_checkpoint_resume(*state, &lh_toy_spec, &actual->state, &current_facts, &found, &note, &error),
                     &error);
        assert_int_equal(found, 1);
        assert_string_equal(note.text, "");
        if (current_facts.step > 0)
            assert_true(actual->values[0][0] == (float)current_facts.step &&
                        actual->values[0][27] == (float)current_facts.step);
    }
    free(v);
    free(actual);
}

/* Both old checkpoints are kept if the new checkpoint does not fit. */
static int rotate_on_full_disk(void *argument, const char *directory) {
    toy_state *v = argument;
    lh_checkpoint_facts now = toy_facts;
    lh_error error;
    int rotations = 0;
    while (rotations < 3 && lh_checkpoint_rotate(directory, &lh_toy_spec, &v->state, &now, &error) == LH_OK)
        rotations++;
    if (rotations != 2 || !strstr(error.text, "No space left")) return 1;
    lh_checkpoint_facts current_facts = make_checkpoint_facts();
    int found = 0;
    lh_status status = lh_checkpoint_resume(directory, &lh_toy_spec, &v->state, &current_facts, &found, NULL, &error);
    bool is_complete = status == LH_OK && found && current_facts.step == toy_facts.step;
    return is_complete && lh_test_count_files(directory) == 2 ? 0 : 2;
}

static void test_old_checkpoints_stay_on_a_full_disk(void **state) {
    lh_error error;
    size_t bytes;
    toy_state *v = toy_make_filled_state(0);
    const char *path = lh_test_path(*state, "size");
    lh_assert_ok(lh_checkpoint_write(path, &lh_toy_spec, &v->state, &toy_facts, &error), &error);
    free(lh_test_read(path, &bytes));
    long pages = (long)(bytes + 4095) / 4096; /* space for two files, not for three */
    int result = lh_disk_run_small(*state, (2 * pages + 1) * 4096, rotate_on_full_disk, v);
    free(v);
    if (result == LH_DISK_ABSENT) skip();
    assert_int_equal(result, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        lh_test_in_directory(test_empty_directory_has_no_run),
        lh_test_in_directory(test_resumed_state_has_the_bits_of_the_written_state),
        lh_test_in_directory(test_checkpoint_of_another_origin_is_refused_with_both_named),
        lh_test_in_directory(test_damaged_current_falls_back),
        lh_test_in_directory(test_two_damaged_checkpoints_are_refused_with_both_named),
        lh_test_in_directory(test_unreadable_current_is_an_environment_error),
        lh_test_in_directory(test_parameters_alone_are_not_resumed),
        lh_test_in_directory(test_last_two_of_three_checkpoints_are_kept),
        lh_test_in_directory(test_previous_stays_if_current_is_damaged),
        lh_test_in_directory(test_rotation_killed_after_any_call_resumes),
        lh_test_in_directory(test_rotation_killed_at_any_time_resumes),
        lh_test_in_directory(test_old_checkpoints_stay_on_a_full_disk),
    };
    return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}
