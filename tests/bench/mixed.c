/* Measures training steps with mixed lengths, and steps that train the same numbers of sequences of each length in
 * batches of one length; see mixed.sh. MIXED_SPEC and PLAIN_SPEC differ only in train.lengths.per.
 *
 *     mixed ROUNDS SEQUENCES     SEQUENCES: sequences for each length
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/cpu_level.h"
#include "data/lengths.h"
#include "data/train_lengths.h"
#include "engine/engine.h"

extern const lh_spec MIXED_SPEC, PLAIN_SPEC;

enum { SEED = 1, MOST_LENGTHS = 64 };

static void stop_on_error(lh_status status, const lh_error *error) {
    if (status == LH_OK) return;
    fprintf(stderr, "mixed: %s\n", error->text);
    exit(status);
}

/* length: the task length of all sequences; 0: the lengths of the spec. */
static lh_engine *open_engine(const lh_spec *spec, int length) {
    lh_error error;
    lh_engine *engine;
    const lh_cpu_program *program;
    lh_engine_config config = {.spec = spec, .seed = SEED, .threads = 1, .trains = true, .fixed_length = length};
    config.learning_rate = 1e-5;
    stop_on_error(lh_level_choose(spec->cpu, &program, &error), &error);
    stop_on_error(lh_cpu_engine_open(&config, program, &engine, &error), &error);
    return engine;
}

/* Makes a step. Lowers *min_seconds to its processor time if that is less, or if *min_seconds is 0. */
static void time_step(lh_engine *engine, double *min_seconds) {
    int taken_steps;
    lh_error error;
    lh_step_metrics metrics;
    double start = lh_read_processor_clock();
    stop_on_error(engine->ops->step(engine, 1, &metrics, &taken_steps, &error), &error);
    double seconds = lh_read_processor_clock() - start;
    if (*min_seconds == 0 || seconds < *min_seconds) *min_seconds = seconds;
}

/* Times as many first steps of a mixed engine as there are lengths, and a step of every length. Writes the fewest
 * seconds of each over all rounds to step_seconds and length_seconds, which are 0 at first. */
static void time_rounds(const lh_spec *mixed, const lh_spec *plain, int rounds, double *step_seconds,
                        double *length_seconds) {
    int lengths = lh_lengths_count(&mixed->train.lengths);
    lh_engine *mixed_engine = open_engine(mixed, 0), *engines[MOST_LENGTHS];
    for (int i = 0; i < lengths; i++) engines[i] = open_engine(plain, lh_lengths_get(&plain->train.lengths, i));
    for (int round = 0; round < rounds; round++) {
        mixed_engine->step = 0; /* repeats the batches of the previous round */
        for (int i = 0; i < lengths; i++) {
            time_step(engines[i], &length_seconds[i]);
            time_step(mixed_engine, &step_seconds[i]);
        }
    }
    for (int i = 0; i < lengths; i++) engines[i]->ops->close(engines[i]);
    mixed_engine->ops->close(mixed_engine);
}

int main(int argc, char **argv) {
    lh_error error;
    lh_separate_seeds seed_parts = {0};
    lh_spec mixed = MIXED_SPEC, plain = PLAIN_SPEC;
    int64_t *sequences;
    double step_seconds[MOST_LENGTHS] = {0}, length_seconds[MOST_LENGTHS] = {0}, mixed_seconds = 0, plain_seconds = 0;
    int rounds = argc == 3 ? atoi(argv[1]) : 0, lengths = lh_lengths_count(&mixed.train.lengths);
    if (rounds < 1 || atoi(argv[2]) < 1 || lengths > MOST_LENGTHS) {
        fprintf(stderr, "usage: mixed ROUNDS SEQUENCES, for at most %d lengths\n", MOST_LENGTHS);
        return LH_ERR_USAGE;
    }
    mixed.train.batch = plain.train.batch = atoi(argv[2]) * lengths;
    time_rounds(&mixed, &plain, rounds, step_seconds, length_seconds);
    lh_key key = lh_get_part_key(SEED, &seed_parts, LH_SEED_DATA);
    stop_on_error(lh_count_trained_sequences(&mixed, key, lengths, &sequences, &error), &error);
    for (int i = 0; i < lengths; i++) {
        mixed_seconds += step_seconds[i];
        plain_seconds += length_seconds[i] * (double)sequences[i] / plain.train.batch;
    }
    free(sequences);
    printf("%.2f %.2f %.3f\n", 1e3 * mixed_seconds / lengths, 1e3 * plain_seconds / lengths,
           plain_seconds / mixed_seconds);
    return 0;
}
