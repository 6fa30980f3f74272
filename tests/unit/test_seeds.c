/* data/seeds, engine, training/run_files: runs in which initial values, data or draws have a seed of their own instead
 * of the run's seed. */
#include "lh_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "data/seeds.h"
#include "lh_engines.h"
#include "toy_program.h"
#include "toy_runs.h"

enum { STEPS = 20 };

typedef struct trained_model {
    lh_state start, end;
    lh_step_metrics metrics[STEPS];
} trained_model;

/* Trains a model with random positions and dropout. start: parameters and optimiser state before the first step; NULL:
 * the seed's. */
static trained_model train(uint64_t seed, lh_separate_seeds part_seeds, lh_state *start) {
    static lh_spec spec;
    lh_error error;
    trained_model t;
    spec = lh_toy_make_spec(toy_drawn_list);
    lh_engine *engine = lh_test_open_engine((lh_engine_config){.spec = &spec,
                                                               .seed = seed,
                                                               .separate_seeds = part_seeds,
                                                               .learning_rate = 0.01,
                                                               .threads = 2,
                                                               .trains = true},
                                            &toy_drawn);
    if (start != NULL) lh_assert_ok(engine->ops->write_state(engine, start, 0, &error), &error);
    t.start = lh_test_copy_state(engine);
    lh_test_step(engine, STEPS, t.metrics);
    t.end = lh_test_copy_state(engine);
    engine->ops->close(engine);
    return t;
}

static void close_trained(trained_model *t) {
    lh_state_close(&t->start);
    lh_state_close(&t->end);
}

static bool is_same_start(const trained_model *a, const trained_model *b) {
    return memcmp(a->start.parameters, b->start.parameters, TOY_STORAGE * sizeof(float)) == 0;
}

static bool is_same_run(const trained_model *a, const trained_model *b) {
    return memcmp(a->end.parameters, b->end.parameters, TOY_STORAGE * sizeof(float)) == 0 &&
           memcmp(a->metrics, b->metrics, sizeof a->metrics) == 0;
}

static bool has_same_lengths(const trained_model *a, const trained_model *b) {
    for (int i = 0; i < STEPS; i++)
        if (a->metrics[i].length != b->metrics[i].length) return false;
    return true;
}

static lh_separate_seeds separate_seed(lh_seed_part seed_part, uint64_t seed) {
    lh_separate_seeds part_seeds = {{false}, {0}};
    part_seeds.is_separate[seed_part] = true;
    part_seeds.seed[seed_part] = seed;
    return part_seeds;
}

static void test_equal_seeds_give_the_bits_of_one_seed(void **state) {
    lh_separate_seeds one_seed = {{false}, {0}}, part_seeds = {{true, true, true}, {7, 7, 7}};
    trained_model plain = train(7, one_seed, NULL), separate = train(99, part_seeds, NULL);
    assert_true(is_same_start(&plain, &separate) && is_same_run(&plain, &separate));
    close_trained(&plain);
    close_trained(&separate);
}

/* From the same parameters, runs that differ in LH_SEED_INIT alone have equal batches, positions and dropout. */
static void test_init_changes_nothing_but_the_start(void **state) {
    lh_separate_seeds one_seed = {{false}, {0}};
    trained_model plain = train(7, one_seed, NULL), changed_init = train(7, separate_seed(LH_SEED_INIT, 8), NULL);
    trained_model changed_from_same_start = train(7, separate_seed(LH_SEED_INIT, 8), &plain.start),
                  seed_eight = train(8, one_seed, NULL);
    assert_false(is_same_start(&plain, &changed_init));
    assert_true(is_same_start(&seed_eight, &changed_init));
    assert_true(has_same_lengths(&plain, &changed_init));
    assert_false(is_same_run(&plain, &changed_init));
    assert_true(is_same_run(&plain, &changed_from_same_start));
    close_trained(&plain);
    close_trained(&changed_init);
    close_trained(&changed_from_same_start);
    close_trained(&seed_eight);
}

static void test_data_and_draws_change_the_steps_alone(void **state) {
    lh_separate_seeds one_seed = {{false}, {0}}, changed = separate_seed(LH_SEED_DATA, 8);
    changed.is_separate[LH_SEED_DRAWS] = true;
    changed.seed[LH_SEED_DRAWS] = 8;
    trained_model plain = train(7, one_seed, NULL), data = train(7, separate_seed(LH_SEED_DATA, 8), NULL);
    trained_model draws = train(7, separate_seed(LH_SEED_DRAWS, 8), NULL), changed_both = train(7, changed, NULL);
    trained_model seed_eight = train(8, separate_seed(LH_SEED_INIT, 7), NULL);
    assert_true(is_same_start(&plain, &data) && is_same_start(&plain, &draws) && is_same_start(&plain, &changed_both));
    assert_false(has_same_lengths(&plain, &data));
    assert_true(has_same_lengths(&plain, &draws));
    assert_false(is_same_run(&plain, &data));
    assert_false(is_same_run(&plain, &draws));
    assert_false(is_same_run(&data, &changed_both));
    assert_true(is_same_run(&seed_eight, &changed_both));
    close_trained(&plain);
    close_trained(&data);
    close_trained(&draws);
    close_trained(&changed_both);
    close_trained(&seed_eight);
}

static void assert_in_file(void **state, const char *name, const char *expected_text) {
    char *text = read_text(state, name);
    if (strstr(text, expected_text) == NULL) fail_msg("%s lacks %s:\n%s", name, expected_text, text);
    free(text);
}

#define RUNS "toy/0123456789abcdef/lr0.01-"

/* A part whose seed equals the run's seed does not appear in the run's name, and the run is the same as without the
 * flag. */
static void test_train_crosses_seeds(void **state) {
    lh_run_result result = run_toy(state, 0, "train --out . --steps 12 --no-eval --seeds-init 0:1 --seeds-data 0:1");
    assert_non_null(strstr(result.out, "4 runs"));
    assert_non_null(strstr(result.out, " 0.init1.data1 "));
    assert_in_file(state, RUNS "seed0.init1.data1/run.json",
                   "\"seed\":0,\"seeds_apart\":{\"init\":1,\"data\":1},\"learning_rate\"");
    assert_in_file(state, RUNS "seed0.init1/run.json", "\"seeds_apart\":{\"init\":1}");
    assert_in_file(state, RUNS "seed0.data1/run.json", "\"seeds_apart\":{\"data\":1}");
    run_toy(state, 0, "train --out alone --steps 12 --no-eval");
    lh_assert_same_file(*state, RUNS "seed0/checkpoint.safetensors", "alone/" FOLDER "/checkpoint.safetensors");
    run_toy(state, 0, "train --out alone --steps 12 --no-eval --seed 3 --seeds-init 1 --seeds-data 1 --seeds-draws 0");
    lh_assert_same_lines(*state, RUNS "seed0.init1.data1/metrics.jsonl",
                         "alone/" RUNS "seed3.init1.data1.draws0/metrics.jsonl");
}

static void test_train_resumes_separate_seeds(void **state) {
    const char *checkpoint = RUNS "seed0.draws5/checkpoint.safetensors";
    run_toy(state, 0, "train --out whole --steps 20 --no-eval --seeds-draws 5");
    run_toy(state, 0, "train --out . --steps 12 --no-eval --seeds-draws 5");
    run_toy(state, 0, "train --out . --steps 20 --no-eval --seeds-draws 5 --resume");
    lh_assert_same_file(*state, checkpoint, "whole/" RUNS "seed0.draws5/checkpoint.safetensors");
    run_toy(state, 0, "train --out . --steps 12 --no-eval");
    char *bytes = NULL;
    size_t size = 0;
    lh_error error;
    lh_assert_ok(lh_read_file(lh_test_path(*state, checkpoint), &bytes, &size, &error), &error);
    lh_test_write(lh_test_path(*state, FOLDER "/checkpoint.safetensors"), bytes, size);
    free(bytes);
    lh_run_result result = run_toy(state, 1, "train --out . --steps 30 --no-eval --resume");
    assert_non_null(strstr(result.err, "the checkpoint is of seed 0.draws5, this run has seed 0\n"));
}

static void test_train_refuses_seeds_of_no_effect(void **state) {
    run_toy(state, 0, "train --out . --steps 12 --no-eval");
    lh_run_result result =
        run_toy(state, 2, "train --out . --seeds-init 1 --init " FOLDER "/checkpoint.safetensors --no-eval");
    assert_non_null(strstr(result.err, "--seeds-init: the initial values come from the file"));
    result = run_toy(state, 2, "train --out . --seeds 0:63 --seeds-init 0:63 --seeds-data 0:1");
    assert_non_null(strstr(result.err, "8192 runs"));
    result = run_toy(state, 2, "train --out . --seeds 0:4095 --seeds-init 0:9007199254740992");
    assert_non_null(strstr(result.err, "expected: at most 4096 at once"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_seeds_give_the_bits_of_one_seed),
        cmocka_unit_test(test_init_changes_nothing_but_the_start),
        cmocka_unit_test(test_data_and_draws_change_the_steps_alone),
        RUN_TEST(test_train_crosses_seeds),
        RUN_TEST(test_train_resumes_separate_seeds),
        RUN_TEST(test_train_refuses_seeds_of_no_effect),
    };
    return cmocka_run_group_tests_name("seeds", tests, NULL, NULL);
}
