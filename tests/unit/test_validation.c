/* The validation stream of sampled tasks. Its examples and its random positions differ from those of training and of
 * the final evaluation. The tests also run a trainer that evaluates the stream. */
#include "lh_test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "longhand/positions.h"
#include "toy_program.h"
#include "toy_runs.h"

#define FOLDER_1 "toy/0123456789abcdef/lr0.01-seed1"
enum { MAX_CALLS = 4096, MAX_LENGTH = 9, DOMAINS = 9 };

/* A call that samples an example, or a pass of the model. Key and counter are those of the example, or of the draw of
 * the pass. */
typedef struct recorded_call {
    uint32_t key;     /* first word of the key */
    uint32_t word[3]; /* words 1 to 3 of the counter; the highest byte of word[0] is the domain */
    int n;            /* length of the example */
    uint64_t input;   /* input of the example, as digits in base 5 */
} recorded_call;

static recorded_call examples[MAX_CALLS], passes[MAX_CALLS];
static atomic_int example_count, pass_count;

lh_task_sample lh_task_bucket_sort;

static void record_sample(lh_rng *rng, int n, lh_example *example) {
    recorded_call *call = &examples[atomic_fetch_add(&example_count, 1) % MAX_CALLS];
    *call =
        (recorded_call){.key = rng->key.word[0], .word = {rng->counter[1], rng->counter[2], rng->counter[3]}, .n = n};
    lh_task_bucket_sort(rng, n, example);
    for (int i = 0; i < n; i++) call->input = call->input * 5 + example->input[i];
}

static void record_pass(const lh_cpu_step *step) {
    recorded_call *call = &passes[atomic_fetch_add(&pass_count, 1) % MAX_CALLS];
    *call = (recorded_call){.key = step->draw.key.word[0],
                            .word = {step->draw.domain << 24, step->draw.example, step->draw.step}};
}

static void record_train(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                         lh_sums *sums) {
    record_pass(step);
    toy_float.train_block(step, block, workspace, gradient, sums);
}

static void record_forward(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, lh_sums *sums) {
    record_pass(step);
    toy_float.forward_block(step, block, workspace, sums);
}

static lh_task task;
static lh_cpu_program program;
static const lh_cpu_program *const programs[] = {&program, NULL};

static int make_recorded_toy(void **state) {
    int failure = make_toy(state);
    task = *lh_toy_spec.task;
    task.sample = record_sample;
    program = toy_float;
    program.train_block = record_train;
    program.forward_block = record_forward;
    toy.cpu = programs;
    toy.task = &task;
    toy.eval.lengths = toy.eval.during_lengths = (lh_lengths){.first = 1, .last = MAX_LENGTH, .step = 1};
    toy.eval.validation_lengths = (lh_lengths){.first = 1, .last = 6, .step = 1};
    toy.eval.validation_examples = 4;
    atomic_store(&example_count, 0);
    atomic_store(&pass_count, 0);
    return failure;
}

static int count_calls(const recorded_call *calls, int count, uint32_t domain) {
    int found = 0;
    for (int i = 0; i < count; i++) found += calls[i].word[0] >> 24 == domain;
    return found;
}

static bool have_same_counter(const recorded_call *a, const recorded_call *b) {
    return a->key == b->key && memcmp(a->word, b->word, sizeof a->word) == 0;
}

/* Counts the examples of a domain that have the same counter as an example of the other domain. n: only examples of
 * this length; 0: of any length. by_input: compares inputs instead of counters. */
static int count_shared(uint32_t domain, uint32_t other_domain, int n, bool by_input) {
    int shared_count = 0, count = atomic_load(&example_count);
    for (int i = 0; i < count; i++) {
        if (examples[i].word[0] >> 24 != domain || (n > 0 && examples[i].n != n)) continue;
        bool is_shared = false;
        for (int k = 0; k < count && !is_shared; k++)
            is_shared =
                examples[k].word[0] >> 24 == other_domain && examples[k].n == examples[i].n &&
                (by_input ? examples[k].input == examples[i].input : have_same_counter(&examples[k], &examples[i]));
        shared_count += is_shared;
    }
    return shared_count;
}

/* The run has the seed of the evaluations during training, so only the domain distinguishes the streams. */
static void test_no_example_is_in_two_streams(void **state) {
    toy.eval.during_every = 10;
    run_toy(state, 0, "train --out . --seed 1 --threads 2");
    int count = atomic_load(&example_count),
        validation = 2 * MAX_LENGTH * 5 + 6 * 4; /* two evaluations during training, and one after it */
    assert_in_range(count, 1, MAX_CALLS);
    assert_int_equal(count_calls(examples, count, LH_DOMAIN_DATA), 20 * 8);
    assert_int_equal(count_calls(examples, count, LH_DOMAIN_EVAL),
                     MAX_LENGTH * 10); /* only the results of the final evaluation */
    assert_int_equal(count_calls(examples, count, LH_DOMAIN_VALIDATION), validation);
    assert_int_equal(count_calls(examples, count, LH_DOMAIN_DATA) + MAX_LENGTH * 10 + validation, count);
    static const uint32_t domain[] = {LH_DOMAIN_DATA, LH_DOMAIN_EVAL, LH_DOMAIN_VALIDATION};
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            if (a != b) assert_int_equal(count_shared(domain[a], domain[b], 0, false), 0);
    /* Length 1 has five inputs, which ten examples nearly cover; length 9 has nearly two million. */
    assert_in_range(count_shared(LH_DOMAIN_VALIDATION, LH_DOMAIN_EVAL, 1, true), 10, 14);
    assert_int_equal(count_shared(LH_DOMAIN_VALIDATION, LH_DOMAIN_EVAL, 9, true), 0);
}

/* Positions depend on the domain and the step of a pass's draw. Noise and dropout depend on its step alone, so the
 * draws of validation have steps that no other draw has. */
static void test_no_draw_is_in_two_streams(void **state) {
    toy.eval.during_every = 10;
    run_toy(state, 0, "train --out . --seed 1 --threads 1");
    int count = atomic_load(&pass_count);
    assert_in_range(count, 1, MAX_CALLS);
    static const uint32_t domain[] = {LH_DOMAIN_POSITIONS, LH_DOMAIN_EVAL, LH_DOMAIN_VALIDATION};
    int draw_count = 0;
    for (int i = 0; i < 3; i++) {
        assert_true(count_calls(passes, count, domain[i]) > 0);
        draw_count += count_calls(passes, count, domain[i]);
    }
    assert_int_equal(draw_count, count);
    for (int i = 0; i < count; i++)
        assert_int_equal(passes[i].word[0] >> 24 == LH_DOMAIN_VALIDATION, passes[i].word[2] >= LH_VALIDATION_STEP);
}

/* 200 draws, each of 20 numbers below 2000: no draw occurs twice. Half of them are from the validation stream. They are
 * positions of two layers, distances, and positions of a sequence. */
static void test_validation_has_its_own_positions(void **state) {
    static int32_t samples[200][20], scratch[2000];
    int count = 0;
    for (int n = 1; n <= 25; n++)
        for (int is_validation = 0; is_validation < 2; is_validation++) {
            lh_condition c = is_validation ? lh_make_validation(n, 8, 1, 0) : lh_make_condition(n, 8, 1, 0);
            lh_draw_positions(&c.draw, 0, 0, 2000, 20, true, samples[count++], scratch);
            lh_draw_positions(&c.draw, 3, 0, 2000, 20, true, samples[count++], scratch);
            lh_draw_distances(&c.draw, 0, 2000, 20, samples[count++], scratch);
            lh_draw_sequence(&c.draw, 1, 5, 0, 2000, 20, true, samples[count++], scratch);
        }
    assert_int_equal(count, 200);
    for (int a = 0; a < count; a++)
        for (int b = 0; b < a; b++) assert_memory_not_equal(samples[a], samples[b], sizeof samples[a]);
}

static int count_text(const char *text, const char *pattern) {
    int found = 0;
    for (const char *cursor = text; (cursor = strstr(cursor, pattern)); cursor++) found++;
    return found;
}

/* Lines of validation precede lines of the evaluation; `eval --splits validation` writes the same lines. */
static void test_train_validates_first(void **state) {
    lh_run_result result = run_toy(state, 0, "train --out . --seed 1 --threads 2");
    assert_non_null(strstr(result.out, "all validation      1..6               6 "));
    assert_null(strstr(result.out, "\nvalidation ")); /* validation has no row in the table of the evaluation */
    char *text = read_text(state, FOLDER_1 "/eval.jsonl");
    assert_ptr_equal(text, strstr(text, "{\"step\":20,\"split\":\"validation\",\"by\":{\"length\":1},\"examples\":4,"));
    assert_int_equal(count_text(text, "\"split\":\"validation\""), 6);
    assert_int_equal(count_text(text, "\"split\":\"in_distribution\""), 6);
    assert_int_equal(count_text(text, "\"split\":\"beyond\""), 3);
    *strstr(text, "{\"step\":20,\"split\":\"in_distribution\"") = 0;
    run_toy(state, 0, "eval --checkpoint " FOLDER_1 "/checkpoint.safetensors --splits validation --out again");
    char *repeated = read_text(state, "again/eval.jsonl");
    assert_string_equal(repeated, text);
    free(repeated);
    free(text);
    result = run_toy(state, 0,
                     "eval --checkpoint " FOLDER_1 "/checkpoint.safetensors --splits validation --out far "
                     "--lengths 9 --examples 3");
    assert_non_null(strstr(result.out, "validation     9 "));
    text = read_text(state, "far/eval.jsonl");
    assert_ptr_equal(text, strstr(text, "{\"step\":20,\"split\":\"validation\",\"by\":{\"length\":9},\"examples\":3,"));
    free(text);
    result = run_toy(state, 2, "eval --checkpoint " FOLDER_1 "/checkpoint.safetensors --splits test");
    assert_non_null(
        strstr(result.err, "--splits: test\n  expected: validation; the examples of this task are sampled, and its"));
}

/* The progress line names the split of an evaluation during training. */
static void test_progress_names_the_split(void **state) {
    static const int32_t trained[] = {2, 4, 6};
    toy.train.lengths = (lh_lengths){.list = trained, .count = 3};
    toy.eval.during_every = 20;
    toy.eval.during_lengths = (lh_lengths){.first = 1, .last = 9, .step = 1};
    lh_run_result result = run_toy(state, 0, "train --out . --seed 1 --no-eval");
    const char *line = strstr(result.err, "step 20/20");
    assert_non_null(line);
    const char *validation = strstr(line, "  validation 0."), *between_score = strstr(line, "  between 0.");
    assert_true(validation != NULL && between_score != NULL);
    assert_non_null(strstr(validation, " at lengths 2..6  beyond 0."));
    assert_non_null(strstr(between_score, " at lengths 1..5  validation 0."));
    assert_non_null(strstr(line, " at lengths 7..9  0 s left"));
    toy.eval.during_lengths = (lh_lengths){.first = 9, .last = 9, .step = 1};
    result = run_toy(state, 0, "train --out . --seed 1 --no-eval --overwrite");
    assert_null(strstr(result.err, "  validation"));
    assert_non_null(strstr(result.err, " at length 9  0 s left"));
}

/* A run of an older trainer has no validation: it counts as finished, and --resume adds the validation. */
static void test_older_runs_are_finished_without_validation(void **state) {
    toy.eval.validation_examples = 0;
    run_toy(state, 0, "train --out . --seed 1");
    char *text = read_text(state, FOLDER_1 "/eval.jsonl");
    assert_int_equal(count_text(text, "validation"), 0);
    free(text);
    lh_run_result result =
        run_toy(state, 2, "eval --checkpoint " FOLDER_1 "/checkpoint.safetensors --splits validation");
    assert_non_null(strstr(result.err, "--lengths: missing; the spec has no eval.validation"));
    toy.eval.validation_examples = 4;
    result = run_toy(state, 0, "train --out . --seed 1 --missing");
    assert_non_null(strstr(result.err, "1 of 1 runs are finished"));
    run_toy(state, 0, "train --out . --seed 1 --resume");
    text = read_text(state, FOLDER_1 "/eval.jsonl");
    assert_int_equal(count_text(text, "\"split\":\"validation\""), 6);
    assert_int_equal(count_text(text, "\n"), 6 + MAX_LENGTH);
    free(text);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_recorded_toy, lh_test_remove_directory)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_no_example_is_in_two_streams),
        TEST(test_no_draw_is_in_two_streams),
        cmocka_unit_test(test_validation_has_its_own_positions),
        TEST(test_train_validates_first),
        TEST(test_progress_names_the_split),
        TEST(test_older_runs_are_finished_without_validation),
    };
    return cmocka_run_group_tests_name("validation", tests, NULL, NULL);
}
