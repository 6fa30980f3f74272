/* Draws the lengths and the passes of training steps; see train_lengths.h. */
#include "data/train_lengths.h"

#include <stdlib.h>
#include <string.h>

#include "data/lengths.h"

/* The number of training lengths that the curriculum allows at a step; these are the shortest lengths. */
static int count_lengths(const lh_train_defaults *train, uint32_t step) {
    int count = lh_lengths_count(&train->lengths), stage = 0;
    while (stage < train->curriculum_count && step >= train->curriculum[stage].until_step) stage++;
    if (stage == train->curriculum_count) return count;
    while (lh_lengths_get(&train->lengths, count - 1) > train->curriculum[stage].longest) count--;
    return count;
}

/* Draws the index of one of the first `count` lengths. */
static int draw_index(lh_key key, uint32_t step, uint32_t example, int count) {
    lh_rng rng = lh_rng_at(key, step, example, lh_site(LH_DOMAIN_DATA, 0, LH_PLACE_LENGTH));
    return (int)lh_rng_below(&rng, (uint32_t)count);
}

int lh_draw_train_length(const lh_spec *spec, lh_key key, uint32_t step, uint32_t example) {
    return lh_lengths_get(&spec->train.lengths, draw_index(key, step, example, count_lengths(&spec->train, step)));
}

int lh_draw_passes(const lh_spec *spec, lh_key key, uint32_t step, int *free_passes) {
    lh_rng rng = lh_rng_at(key, step, LH_SHARED, lh_site(LH_DOMAIN_PASSES, 0, 0));
    int max_trained = spec->passes / 2;
    *free_passes = (int)lh_rng_below(&rng, (uint32_t)spec->passes);
    if (max_trained > spec->passes - *free_passes) max_trained = spec->passes - *free_passes;
    return *free_passes + 1 + (int)lh_rng_below(&rng, (uint32_t)max_trained);
}

lh_status lh_batch_parts_open(lh_batch_parts *parts, const lh_spec *spec, lh_error *error) {
    int lengths = lh_lengths_count(&spec->train.lengths), max_parts = 1;
    if (spec->train.mixes_lengths) max_parts = lengths < spec->train.batch ? lengths : spec->train.batch;
    *parts = (lh_batch_parts){
        .parts = malloc((size_t)max_parts * sizeof *parts->parts),
        .sequences = spec->train.mixes_lengths ? malloc((size_t)lengths * sizeof *parts->sequences) : NULL,
    };
    if (parts->parts != NULL && (parts->sequences != NULL || !spec->train.mixes_lengths)) return LH_OK;
    return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for the lengths of a batch");
}

void lh_batch_parts_close(lh_batch_parts *parts) {
    free(parts->parts);
    free(parts->sequences);
    *parts = (lh_batch_parts){0};
}

void lh_batch_parts_set(lh_batch_parts *parts, int n, int sequences) {
    parts->count = 1;
    parts->parts[0] = (lh_batch_part){n, 0, sequences}; /* from sequence 0 on */
}

/* Counts the sequences of each length of a mixed batch; returns the number of lengths that the step may have. */
static int count_sequences(const lh_spec *spec, lh_key key, uint32_t step, int *sequences) {
    int count = count_lengths(&spec->train, step);
    memset(sequences, 0, (size_t)count * sizeof *sequences);
    for (int i = 0; i < spec->train.batch; i++) sequences[draw_index(key, step, (uint32_t)i, count)]++;
    return count;
}

void lh_batch_parts_draw(lh_batch_parts *parts, const lh_spec *spec, lh_key key, uint32_t step) {
    int first = 0;
    if (!spec->train.mixes_lengths) {
        lh_batch_parts_set(parts, lh_draw_train_length(spec, key, step, LH_SHARED), spec->train.batch);
        return;
    }
    parts->count = 0;
    for (int i = count_sequences(spec, key, step, parts->sequences) - 1; i >= 0; i--) {
        int sequences = parts->sequences[i];
        if (sequences == 0) continue;
        parts->parts[parts->count++] = (lh_batch_part){lh_lengths_get(&spec->train.lengths, i), first, sequences};
        first += sequences;
    }
}

lh_status lh_count_trained_sequences(const lh_spec *spec, lh_key key, int64_t steps, int64_t **sequences,
                                     lh_error *error) {
    const lh_train_defaults *train = &spec->train;
    *sequences = calloc((size_t)lh_lengths_count(&train->lengths), sizeof **sequences);
    if (*sequences == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for the lengths of training");
    for (int64_t step = 0; step < steps; step++) {
        int count = count_lengths(train, (uint32_t)step);
        if (!train->mixes_lengths) (*sequences)[draw_index(key, (uint32_t)step, LH_SHARED, count)] += train->batch;
        for (int i = 0; train->mixes_lengths && i < train->batch; i++)
            (*sequences)[draw_index(key, (uint32_t)step, (uint32_t)i, count)]++;
    }
    return LH_OK;
}
