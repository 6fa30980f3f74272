/* Damaged checkpoints. Each file has one kind of damage:
 *   - it is truncated
 *   - one bit of the header or of the data is flipped
 *   - the header or the file has a wrong length
 *   - some text of the header is replaced
 * A message or note names the damaged file. The previous checkpoint is used if there is one. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "longhand/rng.h"
#include "toy_state.h"

/* A folder with two checkpoints: `current` of step 20 and `previous` of step 10. Tests damage `current`. */
typedef struct checkpoints {
    const char *directory, *current, *previous;
    char *text;                /* original bytes of current */
    size_t bytes, data_offset; /* data_offset: where the data begin, after the header */
    toy_state *previous_state;
} checkpoints;

static checkpoints make_checkpoints(const char *directory) {
    checkpoints p = {.directory = directory, .previous_state = toy_make_filled_state(0)};
    toy_state *current_state = toy_make_filled_state(1);
    lh_error error;
    lh_checkpoint_facts facts = toy_facts;
    lh_assert_ok(lh_checkpoint_rotate(directory, &lh_toy_spec, &p.previous_state->state, &facts, &error), &error);
    facts.step = 20;
    lh_assert_ok(lh_checkpoint_rotate(directory, &lh_toy_spec, &current_state->state, &facts, &error), &error);
    free(current_state);
    p.current = strdup(lh_test_path(directory, "checkpoint.safetensors"));
    p.previous = strdup(lh_test_path(directory, "checkpoint.previous.safetensors"));
    p.text = lh_test_read(p.current, &p.bytes);
    p.data_offset = 8 + (unsigned char)p.text[0] + 256u * (unsigned char)p.text[1];
    assert_true(p.data_offset > 1000 && p.data_offset < p.bytes);
    return p;
}

static void free_checkpoints(checkpoints *p) {
    free(p->previous_state);
    free(p->text);
    free((char *)p->current);
    free((char *)p->previous);
}

/* Resumes the run. A checkpoint that is found must be the previous one, of step 10. */
static lh_status resume(const checkpoints *p, toy_state *actual, int *found, lh_error *note, lh_error *error) {
    lh_checkpoint_facts current_facts = {.level = toy_facts.level, .compiler = toy_facts.compiler};
    lh_status status =
        lh_checkpoint_resume(p->directory, &lh_toy_spec, &actual->state, &current_facts, found, note, error);
    if (status == LH_OK && *found) assert_int_equal(current_facts.step, 10); /* the damaged file is of step 20 */
    return status;
}

/* Checks that the previous checkpoint is used, and that the note names the damaged checkpoint. */
static void check_falls_back(const checkpoints *p) {
    lh_error error, note;
    int found;
    toy_state *actual = toy_make_state();
    lh_assert_ok(resume(p, actual, &found, &note, &error), &error);
    assert_int_equal(found, 1);
    assert_non_null(strstr(note.text, "/checkpoint.safetensors: "));
    assert_non_null(strstr(note.text, "; resuming from "));
    assert_memory_equal(actual->values, p->previous_state->values, sizeof actual->values);
    free(actual);
}

/* Checks that without a previous checkpoint a message names the file, and no value changes. */
static void check_refused(const checkpoints *p, toy_state *actual) {
    lh_error error = {""}, note;
    int found;
    if (resume(p, actual, &found, &note, &error) != LH_ERR_INPUT)
        fail_msg("accepted, or another error: %s", error.text);
    assert_non_null(strstr(error.text, "/checkpoint.safetensors: "));
    assert_true(strlen(strstr(error.text, "/checkpoint.safetensors: ")) > strlen("/checkpoint.safetensors: ") + 8);
    assert_true(actual->values[0][0] == 0);
}

static void test_truncated_header_falls_back(void **state) {
    checkpoints p = make_checkpoints(*state);
    for (size_t length = p.data_offset + 4; length-- > 0;) {
        assert_int_equal(truncate(p.current, (off_t)length), 0);
        check_falls_back(&p);
    }
    free_checkpoints(&p);
}

static void test_truncated_checkpoint_without_previous_is_refused(void **state) {
    checkpoints p = make_checkpoints(*state);
    toy_state *actual = toy_make_state();
    unlink(p.previous);
    for (size_t length = p.bytes; length-- > 0;) {
        if (length > p.data_offset + 16 && length % 61 != 0) continue; /* skips most bytes of the data */
        assert_int_equal(truncate(p.current, (off_t)length), 0);
        check_refused(&p, actual);
    }
    free(actual);
    free_checkpoints(&p);
}

/* Writes one byte of the file. */
static void write_byte(int file, size_t offset, int byte) {
    char value = (char)byte;
    assert_int_equal(pwrite(file, &value, 1, (off_t)offset), 1);
}

static void test_flip_of_any_bit_of_the_header_is_refused(void **state) {
    checkpoints p = make_checkpoints(*state);
    toy_state *actual = toy_make_state();
    unlink(p.previous);
    int file = open(p.current, O_RDWR);
    for (size_t offset = 0; offset < p.data_offset; offset++) {
        for (int bit = 0; bit < 8; bit++) {
            write_byte(file, offset, p.text[offset] ^ 1 << bit);
            check_refused(&p, actual);
        }
        write_byte(file, offset, p.text[offset]);
    }
    close(file);
    free(actual);
    free_checkpoints(&p);
}

/* Checks that a reader of parameters refuses the file, names it, and changes no value. */
static void check_parameters_refused(const checkpoints *p, toy_state *actual) {
    lh_error error = {""};
    int64_t step;
    lh_status status =
        lh_checkpoint_read_parameters(p->current, &lh_toy_spec, 4, actual->state.parameters, &step, &error);
    if (status != LH_ERR_INPUT) fail_msg("accepted, or another error: %s", error.text);
    assert_non_null(strstr(error.text, "/checkpoint.safetensors: "));
    assert_true(actual->values[0][0] == 0);
}

/* Flips one bit in each byte of the header, and in every third byte of the data. */
static void test_parameters_with_a_flipped_bit_are_refused(void **state) {
    checkpoints p = make_checkpoints(*state);
    toy_state *actual = toy_make_state();
    int file = open(p.current, O_RDWR);
    for (size_t offset = 0; offset < p.bytes; offset += offset < p.data_offset ? 1 : 3) {
        write_byte(file, offset, p.text[offset] ^ 1 << offset % 8);
        check_parameters_refused(&p, actual);
        write_byte(file, offset, p.text[offset]);
    }
    close(file);
    free(actual);
    free_checkpoints(&p);
}

static void test_flipped_bits_fall_back(void **state) {
    enum { SAMPLES = 1500 };
    checkpoints p = make_checkpoints(*state);
    int file = open(p.current, O_RDWR);
    lh_rng rng = lh_rng_at(lh_key_of_seed(20), 0, 0, 0);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint32_t header = (uint32_t)p.data_offset, data = (uint32_t)(p.bytes - p.data_offset);
        size_t offset = i % 3 == 0 ? lh_rng_below(&rng, header) : header + lh_rng_below(&rng, data);
        write_byte(file, offset, p.text[offset] ^ 1 << lh_rng_below(&rng, 8));
        check_falls_back(&p);
        write_byte(file, offset, p.text[offset]);
    }
    close(file);
    free_checkpoints(&p);
}

/* Replaces the first `from` of the header by `to`; both have the same length. */
static void check_changed(const checkpoints *p, const char *from, const char *to) {
    char *text = malloc(p->bytes);
    assert_non_null(text);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(text, p->text, p->bytes);
    char *found = memmem(text + 8, p->data_offset - 8, from, strlen(from));
    if (found == NULL) fail_msg("the header has no %s", from);
    memcpy(found, to, strlen(to));
    lh_test_write(p->current, text, p->bytes);
    check_falls_back(p);
    free(text);
}

static void test_changed_valid_file_falls_back(void **state) {
    checkpoints p = make_checkpoints(*state);
    check_changed(&p, "\"step\":\"20\"", "\"step\":\"21\"");
    check_changed(&p, "\"step\":\"20\"", "\"stop\":\"20\"");
    check_changed(&p, "\"seed\":\"1844", "\"seed\":\"1744");
    check_changed(&p, "\"learning_rate\":\"0.0003\"", "\"learning_rate\":\"0.0013\"");
    check_changed(&p, "\"id\":\"", "\"if\":\"");
    check_changed(&p, "\"shape\":[4,4]", "\"shape\":[2,8]");
    check_changed(&p, "\"F32\"", "\"I32\"");
    check_changed(&p, "attention.key.weight", "attention.kay.weight");
    check_changed(&p, "first_moment", "other_moment");
    free_checkpoints(&p);
}

/* Wrong lengths of the header and of the file. */
static void test_wrong_lengths_fall_back(void **state) {
    static const int64_t added[] = {1, 8, -1, -8, 1 << 24, INT64_MAX, INT64_MIN};
    checkpoints p = make_checkpoints(*state);
    char *text = malloc(p.bytes + 4096);
    assert_non_null(text);
    const uint64_t right_length = p.data_offset - 8;
    for (size_t i = 0; i <= sizeof added / sizeof *added; i++) {
        memcpy(text, p.text, p.bytes);
        uint64_t length = i == 0 ? 0 : right_length + (uint64_t)added[i - 1];
        for (int b = 0; b < 8; b++) text[b] = (char)(length >> 8 * b & 0xff);
        lh_test_write(p.current, text, p.bytes);
        check_falls_back(&p);
    }
    memcpy(text, p.text, p.bytes);
    memset(text + p.bytes, 0, 4096);
    for (size_t appended_bytes = 1; appended_bytes <= 4096; appended_bytes *= 4) {
        lh_test_write(p.current, text, p.bytes + appended_bytes);
        check_falls_back(&p);
    }
    lh_test_write(p.current, text + 8, p.bytes - 8);
    check_falls_back(&p);
    free(text);
    free_checkpoints(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        lh_test_in_directory(test_truncated_header_falls_back),
        lh_test_in_directory(test_truncated_checkpoint_without_previous_is_refused),
        lh_test_in_directory(test_flip_of_any_bit_of_the_header_is_refused),
        lh_test_in_directory(test_parameters_with_a_flipped_bit_are_refused),
        lh_test_in_directory(test_flipped_bits_fall_back),
        lh_test_in_directory(test_changed_valid_file_falls_back),
        lh_test_in_directory(test_wrong_lengths_fall_back),
    };
    return cmocka_run_group_tests_name("damage", tests, NULL, NULL);
}
