/* Measures one generated model for check.sh, on one thread.
 *
 *     check time LENGTH                   time per step, generated and hand-written in turn: medians and their ratio
 *     check steps MODE LENGTH SEQUENCES   one step on few sequences, for counting its instructions
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu_level.h"
#include "bench/step.h"
#include "data/datasets/corpus.h"
#include "engine/engine.h"

extern const lh_spec CHECK_SPEC;

static lh_spec spec;     /* CHECK_SPEC; count_step changes its batch */
static lh_corpus corpus; /* examples of a spec with a data set */

enum { ROUNDS = 9 };
static const double WINDOW = 0.08; /* seconds; a step takes 10 to 40 ms */

static double read_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void stop_on_error(lh_status status, const lh_error *error) {
    if (status == LH_OK) return;
    fprintf(stderr, "check: %s\n", error->text);
    exit(status);
}

static lh_engine *open_engine(lh_mode mode, int length) {
    lh_error error;
    lh_engine *engine;
    const lh_cpu_program *program;
    lh_lengths lengths = {NULL, 0, length, length, 1}; /* a single length */
    lh_engine_config config = {.spec = &spec, .threads = 1, .trains = mode == LH_MODE_TRAIN, .fixed_length = length};
    config.learning_rate = 3e-4;
    stop_on_error(lh_level_choose(spec.cpu, &program, &error), &error);
    stop_on_error(lh_cpu_engine_open(&config, program, &engine, &error), &error);
    if (mode == LH_MODE_EVALUATE)
        stop_on_error(engine->ops->reserve(engine, &lengths, spec.train.batch, &error), &error);
    return engine;
}

/* Makes a training step or an evaluation by generated code; returns its loss. */
static double make_generated_step(lh_engine *engine, lh_mode mode, int length) {
    int taken_steps;
    lh_error error;
    lh_sums sums;
    lh_step_metrics metrics;
    lh_condition condition = lh_make_condition(length, spec.train.batch, 1, 0);
    if (spec.corpus != NULL) condition.source.set = &spec.corpus->train;
    if (mode == LH_MODE_EVALUATE) {
        stop_on_error(engine->ops->evaluate(engine, &condition, &sums, NULL, &error), &error);
        return sums.loss;
    }
    stop_on_error(engine->ops->step(engine, 1, &metrics, &taken_steps, &error), &error);
    return metrics.sums.loss;
}

/* Seconds per step, over as many steps as fill the window; engine NULL: of the hand-written step. */
static double time_steps(lh_engine *engine, lh_mode mode, int length) {
    int steps = 0;
    double start = read_clock(), loss = 0;
    do {
        if (engine != NULL) loss += make_generated_step(engine, mode, length);
        else loss += mode == LH_MODE_TRAIN ? plain_train() : plain_forward();
        steps++;
    } while (read_clock() - start < WINDOW);
    if (isfinite(loss)) return (read_clock() - start) / steps;
    fprintf(stderr, "check: the loss is %g\n", loss);
    exit(LH_ERR_INPUT);
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void time_mode(lh_mode mode, int length) {
    double generated[ROUNDS], by_hand[ROUNDS], ratio[ROUNDS];
    lh_engine *engine = open_engine(mode, length);
    for (int i = 0; i < ROUNDS; i++) {
        generated[i] = time_steps(engine, mode, length);
        by_hand[i] = time_steps(NULL, mode, length);
        ratio[i] = generated[i] / by_hand[i];
    }
    engine->ops->close(engine);
    qsort(generated, ROUNDS, sizeof(double), compare_doubles);
    qsort(by_hand, ROUNDS, sizeof(double), compare_doubles);
    qsort(ratio, ROUNDS, sizeof(double), compare_doubles);
    printf("%s %d %s %.3f %.3f %.3f\n", spec.id, length, mode == LH_MODE_TRAIN ? "train" : "eval",
           1e3 * generated[ROUNDS / 2], 1e3 * by_hand[ROUNDS / 2], ratio[ROUNDS / 2]);
}

/* Checks the hand-written step: gradients agree with differences, and training lowers the loss. */
static void check_by_hand(void) {
    plain_open();
    double error = plain_gradient_error(), first = plain_train(), last = first;
    for (int i = 0; i < 5; i++) last = plain_train();
    if (error < 0.05 && last < first - 1) return;
    fprintf(stderr, "check: the step by hand is wrong: gradient error %g, loss %g, then %g\n", error, first, last);
    exit(LH_ERR_INPUT);
}

/* Makes one step on this number of sequences, each in its own shard; length: the task length, or with a data set the
 * length of inputs. */
static int count_step(lh_mode mode, int length, int sequences) {
    lh_error error;
    lh_corpus_request request = {0};
    spec.train.batch = spec.train.shards = sequences; /* set before the data is bound, which converts epochs to steps */
    if (spec.data != NULL) {
        stop_on_error(lh_corpus_open(&corpus, &spec, &request, &error), &error);
        stop_on_error(lh_corpus_bind(&corpus, &spec, &error), &error);
        length = lh_corpus_find_shape(&corpus, length);
    }
    lh_engine *engine = open_engine(mode, length);
    double loss = make_generated_step(engine, mode, length);
    engine->ops->close(engine);
    if (spec.data != NULL) lh_corpus_close(&corpus);
    return isfinite(loss) ? 0 : LH_ERR_INPUT;
}

int main(int argc, char **argv) {
    spec = CHECK_SPEC;
    if (argc == 3 && strcmp(argv[1], "time") == 0) {
        check_by_hand();
        time_mode(LH_MODE_TRAIN, atoi(argv[2]));
        time_mode(LH_MODE_EVALUATE, atoi(argv[2]));
        return 0;
    }
    if (argc != 5 || strcmp(argv[1], "steps") != 0) {
        fprintf(stderr, "usage: check time LENGTH | check steps train|eval LENGTH SEQUENCES\n");
        return LH_ERR_USAGE;
    }
    lh_mode mode = strcmp(argv[2], "train") == 0 ? LH_MODE_TRAIN : LH_MODE_EVALUATE;
    return count_step(mode, atoi(argv[3]), atoi(argv[4]));
}
