/* training/best: scores of evaluations during training, the best checkpoint of a run, and the end by patience. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "toy_program.h"
#include "toy_runs.h"
#include "training/best.h"

/* Adds an evaluation of two training lengths, with 10 and 30 examples. It has also a length beyond training, whose
 * result must not matter. */
static bool add_evaluation(lh_best *best, int64_t step, double short_value, double long_value) {
    const lh_eval_result results[] = {
        {.n = 2, .examples = 10, .counted = 10, .accuracy = short_value, .exact_match = 0.5, .loss = short_value},
        {.n = 6, .examples = 30, .counted = 30, .accuracy = long_value, .exact_match = 0.25, .loss = long_value},
        {.n = 7, .examples = 30, .counted = 30, .accuracy = (double)(step % 2), .loss = (double)(step % 2)},
    };
    return lh_best_add(best, &toy, step, results, 3);
}

static void test_best_score_is_the_mean_at_training_lengths(void **state) {
    (void)state;
    lh_best best = {0};
    toy.train.best = "accuracy";
    assert_true(add_evaluation(&best, 5, 0.2, 0.6));
    assert_true(fabs(best.score - 0.5) < 1e-15);
    assert_false(add_evaluation(&best, 10, 0.6, 0.4));
    assert_int_equal(best.step, 5);
    assert_int_equal(best.waited_evaluations, 1);
    assert_false(add_evaluation(&best, 10, 1, 1)); /* the step was added before */
    assert_int_equal(best.waited_evaluations, 1);
    assert_true(add_evaluation(&best, 15, 0.2, 0.7));
    assert_int_equal(best.waited_evaluations, 0);
    toy.train.best = "exact_match";
    best = (lh_best){0};
    assert_true(add_evaluation(&best, 1, 0, 0));
    assert_true(fabs(best.score - 0.3125) < 1e-15);
}

static void test_best_of_equal_scores_is_the_last_or_the_earliest(void **state) {
    (void)state;
    lh_best best = {0};
    toy.train.best = "accuracy";
    toy.train.patience = 2;
    assert_true(add_evaluation(&best, 1, 1, 1));
    assert_true(add_evaluation(&best, 2, 1, 1));
    assert_int_equal(best.step, 2);
    assert_int_equal(best.waited_evaluations, 1); /* an equal score is not better */
    assert_false(lh_best_is_exhausted(&best, &toy));
    toy.train.best_earliest = true;
    assert_false(add_evaluation(&best, 3, 1, 1));
    assert_int_equal(best.step, 2);
    assert_true(lh_best_is_exhausted(&best, &toy));
    toy.train.patience = 0;
    assert_false(lh_best_is_exhausted(&best, &toy));
}

static void test_best_loss_is_the_lowest(void **state) {
    (void)state;
    lh_best best = {0};
    toy.train.best = "loss";
    assert_false(add_evaluation(&best, 1, NAN, 1));
    assert_int_equal(best.step, 0);
    assert_true(add_evaluation(&best, 2, 2, 2));
    assert_true(add_evaluation(&best, 3, 1, 1));
    assert_false(add_evaluation(&best, 4, 1, 2));
    assert_false(add_evaluation(&best, 5, NAN, 1));
    assert_int_equal(best.waited_evaluations, 2);
}

/* Lets the toy keep its best checkpoint by the loss, which rises again at a high learning rate. */
static void keep_best(void) {
    toy.train.best = "loss";
    toy.eval.during_every = 4;
    toy.eval.during_lengths = (lh_lengths){.first = 5, .last = 8, .step = 1};
}

#define FAST "toy/0123456789abcdef/lr0.9-seed0"

/* Returns an integer of run.json: the value of `key`, at the top level or, if `object` is not NULL, in this object. -1:
 * there is none. */
static int64_t read_fact(void **state, const char *folder, const char *object, const char *key) {
    char name[128];
    snprintf(name, sizeof name, "%s/" FAST "/run.json", folder);
    char *text = read_text(state, name);
    json_t *facts = json_loads(text, 0, NULL), *place = object != NULL ? json_object_get(facts, object) : facts;
    const json_t *value = json_object_get(place, key);
    int64_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    json_decref(facts);
    free(text);
    return number;
}

static void test_best_checkpoint_equals_the_checkpoint_of_its_step(void **state) {
    char command[128], line[64];
    keep_best();
    lh_run_result result = run_toy(state, 0, "train --out best --steps 40 --learning-rate 0.9");
    assert_non_null(strstr(result.out, "best checkpoint: step "));
    int64_t step = read_fact(state, "best", "best", "step");
    assert_true(step >= 4 && step < 40 && step % 4 == 0);
    snprintf(command, sizeof command, "train --out kept --steps %lld --learning-rate 0.9 --no-eval", (long long)step);
    run_toy(state, 0, command);
    lh_assert_same_file(*state, "kept/" FAST "/checkpoint.safetensors", "best/" FAST "/checkpoint-best.safetensors");
    char *text = read_text(state, "best/" FAST "/eval.jsonl");
    snprintf(line, sizeof line, "{\"step\":%lld,\"split\":\"beyond\",\"by\":{\"length\":7}", (long long)step);
    assert_non_null(strstr(text, line)); /* the best checkpoint is evaluated like the last checkpoint */
    assert_non_null(strstr(text, "{\"step\":40,\"split\":\"beyond\",\"by\":{\"length\":7}"));
    assert_int_equal(read_fact(state, "best", NULL, "step"), 40);
    run_toy(state, 0, "train --out best --steps 40 --learning-rate 0.9 --resume");
    char *text_after_resume = read_text(state, "best/" FAST "/eval.jsonl");
    assert_string_equal(text_after_resume, text); /* nothing is evaluated again */
    free(text_after_resume);
    free(text);
    assert_int_equal(unlink(lh_test_path(*state, "kept/" FAST "/checkpoint-best.safetensors")), 0);
    run_toy(state, 0, "train --out kept --steps 40 --learning-rate 0.9 --no-eval --resume");
    lh_assert_same_file(*state, "kept/" FAST "/checkpoint-best.safetensors",
                        "best/" FAST "/checkpoint-best.safetensors");
}

static void test_patience_ends_a_run_and_more_steps_continue_it(void **state) {
    keep_best();
    toy.train.patience = 3;
    run_toy(state, 0, "train --out whole --steps 400 --learning-rate 0.9");
    int64_t end = read_fact(state, "whole", NULL, "step");
    assert_true(end >= 16 && end < 400);
    assert_int_equal(read_fact(state, "whole", NULL, "patience_of_steps"), 400); /* the requested steps */
    assert_int_equal(read_fact(state, "whole", "best", "step"), end - 4 * toy.train.patience);
    run_toy(state, 0, "train --out parts --steps 7 --learning-rate 0.9 --no-eval");
    run_toy(state, 0, "train --out parts --steps 14 --learning-rate 0.9 --no-eval --resume");
    run_toy(state, 0, "train --out parts --steps 400 --learning-rate 0.9 --resume");
    lh_assert_same_file(*state, "whole/" FAST "/checkpoint.safetensors", "parts/" FAST "/checkpoint.safetensors");
    lh_assert_same_file(*state, "whole/" FAST "/checkpoint-best.safetensors",
                        "parts/" FAST "/checkpoint-best.safetensors");
    lh_assert_same_lines(*state, "whole/" FAST "/eval.jsonl", "parts/" FAST "/eval.jsonl");
    lh_run_result result = run_toy(state, 0, "train --out whole --steps 400 --learning-rate 0.9 --missing");
    assert_non_null(strstr(result.err, "1 of 1 runs are finished"));
    run_toy(state, 0, "train --out whole --steps 400 --learning-rate 0.9 --resume");
    assert_int_equal(read_fact(state, "whole", NULL, "step"), end);
    run_toy(state, 0, "train --out whole --steps 500 --learning-rate 0.9 --resume");
    assert_true(read_fact(state, "whole", NULL, "step") >= end + 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_best_score_is_the_mean_at_training_lengths),
        RUN_TEST(test_best_of_equal_scores_is_the_last_or_the_earliest),
        RUN_TEST(test_best_loss_is_the_lowest),
        RUN_TEST(test_best_checkpoint_equals_the_checkpoint_of_its_step),
        RUN_TEST(test_patience_ends_a_run_and_more_steps_continue_it),
    };
    return cmocka_run_group_tests_name("best", tests, NULL, NULL);
}
