/* Generated encoder-decoders with random positions (tests/specs/parity_float64_drawn_{layers,pair}.lua) compared with
 * kernels/ref: values, and gradients of every parameter. Each stream has its own sites, and draws positions once for
 * each layer, for each sequence or for each pass. Each comparison is repeated with positions from the caller. */
#include "support/lh_test.h"

#include <stdlib.h>
#include <string.h>

#include "longhand/positions.h"
#include "support/lh_trainer.h"

extern const lh_spec longhand_spec_parity_float64_drawn_layers, longhand_spec_parity_float64_drawn_pair;

enum { SEQUENCES = 4, MAX_LENGTH = 19, HEADS = 2, LAYERS = 2, RANGE = 64, CLASSES = 5, FIRST_EXAMPLE = 1000 };
enum { SOURCE, TARGET, STREAMS };
enum { ENCODER, DECODER, CROSS, FAMILIES };

/* The positions, distances and scores of a family of attentions (ENCODER, DECODER or CROSS) in every layer. */
typedef struct family_values {
    int32_t query[LAYERS * MAX_LENGTH], key[LAYERS * MAX_LENGTH], distances[LAYERS * MAX_LENGTH * MAX_LENGTH];
    double score[LAYERS * HEADS * MAX_LENGTH * MAX_LENGTH];
} family_values;

/* A batch of random tokens, with draws for one sequence or for all. */
typedef struct batch_data {
    lh_ref_batch batch; /* points into the other fields */
    uint16_t token[STREAMS][SEQUENCES * MAX_LENGTH], label[SEQUENCES * MAX_LENGTH];
    int length[STREAMS];
    lh_draw draw;
    bool from_caller; /* the caller gives positions and distances */
    int32_t positions[STREAMS][MAX_LENGTH], distances[STREAMS][MAX_LENGTH]; /* if from_caller */
    int32_t input[STREAMS][MAX_LENGTH]; /* positions of the vectors that are added to the input */
    family_values family_values[FAMILIES];
    lh_ref_family_positions family_positions[FAMILIES]; /* points into family_values */
} batch_data;

/* ---- draws ---- */

static void sample_positions(const batch_data *data, int stream, uint32_t site, int32_t *out) {
    int32_t scratch[RANGE];
    if (data->from_caller) memcpy(out, data->positions[stream], (size_t)data->length[stream] * sizeof *out);
    else lh_draw_positions(&data->draw, site, 0, RANGE, data->length[stream], true, out, scratch);
}

/* Differences [query][key] of the positions of queries and keys. */
static void compute_differences(int queries, int keys, const int32_t *query, const int32_t *key, int32_t *out) {
    for (int i = 0; i < queries; i++)
        for (int j = 0; j < keys; j++) *out++ = key[j] - query[i];
}

/* Distances [query][key] that a stream samples. has_independent_sides: both sides are sampled; else the left side is
 * the mirror image of the right. */
static void sample_distances(const batch_data *data, int stream, uint32_t site, int range, bool has_independent_sides,
                             int32_t *out) {
    int32_t buffer[2 * MAX_LENGTH], scratch[RANGE + 1], *middle = buffer + MAX_LENGTH;
    int T = data->length[stream];
    if (data->from_caller) memcpy(middle, data->distances[stream], (size_t)T * sizeof *middle);
    else if (has_independent_sides) lh_draw_signed_distances(&data->draw, site, range, T, middle, scratch);
    else lh_draw_distances(&data->draw, site, range, T, middle, scratch);
    for (int d = 1; d < T && (data->from_caller || !has_independent_sides); d++) middle[-d] = -middle[d];
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++) *out++ = middle[j - i];
}

/* ALiBi of signed distances. */
static void compute_alibi(int pairs, const int32_t *distances, double *out) {
    for (int h = 0; h < HEADS; h++)
        for (int p = 0; p < pairs; p++) {
            lh_ref_pair pair = {.key = distances[p], .head = h, .heads = HEADS};
            *out++ = lh_ref_alibi_half_step(pair);
        }
}

/* Sites of the spec drawn_layers: 0 to 2 for the source (the input, then each layer), 3 to 5 likewise for the target,
 * and from 7 on for the source's positions in the decoder's layers. This spec does not use site 6. */
static void place_layers(batch_data *data) {
    enum { SOURCE_SITE = 0, TARGET_SITE = LAYERS + 1, CROSS_SITE = 2 * (LAYERS + 1) + 1 };
    int S = data->length[SOURCE], T = data->length[TARGET];
    sample_positions(data, SOURCE, SOURCE_SITE, data->input[SOURCE]);
    sample_positions(data, TARGET, TARGET_SITE, data->input[TARGET]);
    for (uint32_t l = 0; l < LAYERS; l++) {
        family_values *families = data->family_values;
        sample_positions(data, SOURCE, SOURCE_SITE + l + 1, families[ENCODER].query + l * S);
        sample_positions(data, TARGET, TARGET_SITE + l + 1, families[DECODER].query + l * T);
        sample_positions(data, SOURCE, CROSS_SITE + l, families[CROSS].key + l * S);
        memcpy(families[ENCODER].key, families[ENCODER].query, sizeof families->key);
        memcpy(families[DECODER].key, families[DECODER].query, sizeof families->key);
        memcpy(families[CROSS].query, families[DECODER].query, sizeof families->query);
        sample_distances(data, SOURCE, SOURCE_SITE + l + 1, RANGE, true, families[ENCODER].distances + l * S * S);
        compute_differences(T, T, families[DECODER].query + l * T, families[DECODER].key + l * T,
                            families[DECODER].distances + l * T * T);
        compute_differences(T, S, families[CROSS].query + l * T, families[CROSS].key + l * S,
                            families[CROSS].distances + l * T * S);
        compute_alibi(T * S, families[CROSS].distances + l * T * S, families[CROSS].score + l * HEADS * T * S);
    }
    for (int f = 0; f < FAMILIES; f++) data->family_positions[f].layers = LAYERS;
}

/* drawn_pair: sequence s has its own positions, for all attentions but the decoder's self-attention. */
static void place_sequence(batch_data *data, int s) {
    enum { TARGET_SITE = 2 };
    int32_t scratch[RANGE], *positions[STREAMS] = {data->family_values[CROSS].key, data->family_values[CROSS].query};
    for (uint32_t stream = 0; stream < STREAMS; stream++) {
        int count = data->length[stream];
        if (data->from_caller)
            memcpy(positions[stream], data->positions[stream], (size_t)count * sizeof *positions[stream]);
        else
            lh_draw_sequence(&data->draw, stream, FIRST_EXAMPLE + (uint32_t)s, 1, RANGE, count, false,
                             positions[stream], scratch);
        for (int t = 0; t < count; t++)
            data->input[stream][t] = positions[stream][t] - 1; /* index of the table's row */
    }
    memcpy(data->family_values[ENCODER].query, positions[SOURCE], sizeof data->family_values->query);
    memcpy(data->family_values[ENCODER].key, positions[SOURCE], sizeof data->family_values->key);
    sample_distances(data, TARGET, TARGET_SITE, RANGE + 1, false, data->family_values[DECODER].distances);
    compute_alibi(data->length[TARGET] * data->length[TARGET], data->family_values[DECODER].distances,
                  data->family_values[DECODER].score);
}

/* ---- batches ---- */

static void draw_tokens(lh_rng *rng, int count, uint32_t symbols, uint16_t *out) {
    for (int i = 0; i < count; i++) out[i] = (uint16_t)lh_rng_below(rng, symbols);
}

/* Fills positions from 1 on and distances from 0 on, both ascending. */
static void draw_positions(lh_rng *rng, batch_data *data) {
    for (int stream = 0; stream < STREAMS; stream++) {
        int32_t position = 0, distance = -1;
        for (int t = 0; t < MAX_LENGTH; t++) {
            data->positions[stream][t] = position += 1 + (int32_t)lh_rng_below(rng, 3);
            data->distances[stream][t] = distance += t ? 1 + (int32_t)lh_rng_below(rng, 3) : 1;
        }
    }
}

/* Makes a batch whose sources and targets have these lengths. */
static void make_batch(batch_data *data, lh_mode mode, bool from_caller, int source, int target) {
    enum { TOKENS = 11 };
    lh_rng rng = lh_rng_at(lh_key_of_seed(9), (uint32_t)(source * MAX_LENGTH + target), 0, 0);
    memset(data, 0, sizeof *data);
    data->length[SOURCE] = source;
    data->length[TARGET] = target;
    draw_tokens(&rng, SEQUENCES * source, TOKENS, data->token[SOURCE]);
    draw_tokens(&rng, SEQUENCES * target, TOKENS, data->token[TARGET]);
    draw_tokens(&rng, SEQUENCES * target, CLASSES, data->label);
    data->from_caller = from_caller;
    draw_positions(&rng, data);
    data->draw = lh_trainer_make_draw(mode);
    for (int f = 0; f < FAMILIES; f++)
        data->family_positions[f] = (lh_ref_family_positions){.layers = 1,
                                                              .query = data->family_values[f].query,
                                                              .key = data->family_values[f].key,
                                                              .distances = data->family_values[f].distances,
                                                              .score = data->family_values[f].score};
    data->batch = (lh_ref_batch){.sequences = SEQUENCES,
                                 .tokens = source,
                                 .target_tokens = target,
                                 .labels = target,
                                 .token = data->token[SOURCE],
                                 .target = data->token[TARGET],
                                 .label = data->label,
                                 .family_positions = data->family_positions,
                                 .input_positions = {data->input[SOURCE], data->input[TARGET]},
                                 .dropping = mode == LH_MODE_TRAIN ? LH_REF_IN_TRAINING : LH_REF_NO_DROPOUT,
                                 .key = lh_key_of_seed(0xfeedULL << 32 | 5),
                                 .step = 77,
                                 .first_example = FIRST_EXAMPLE,
                                 .loss_scale = 1.0 / (SEQUENCES * target),
                                 .backward = mode == LH_MODE_TRAIN};
}

/* Runs the reference sequence by sequence and sums its gradients. Returns the loss. */
static double run_reference(lh_ref_model *model, batch_data *data, void (*place)(batch_data *, int), double *logits) {
    double loss = 0;
    lh_ref_model_clear(model);
    for (int s = 0; s < SEQUENCES; s++) {
        lh_ref_batch sequence = data->batch;
        sequence.sequences = 1;
        sequence.token += s * sequence.tokens;
        sequence.target += s * sequence.target_tokens;
        sequence.label += s * sequence.labels;
        sequence.first_example += (uint32_t)s;
        place(data, s);
        loss += lh_ref_run(model, &sequence, logits + s * sequence.labels * CLASSES);
    }
    return loss;
}

/* Compares a pass with the reference. place: fills the positions, distances and scores of a sequence. */
static void check_against_reference(const lh_spec *spec, void (*place)(batch_data *, int), lh_mode mode,
                                    bool from_caller, int source, int target) {
    static batch_data data;
    static const uint8_t mask[SEQUENCES * MAX_LENGTH] = {0};
    lh_ref_model *model = lh_parity_make_random_model(spec);
    double logits[SEQUENCES * MAX_LENGTH * CLASSES];
    make_batch(&data, mode, from_caller, source, target);
    double loss = run_reference(model, &data, place, logits);
    const int32_t *const no_values[STREAMS] = {NULL},
                         *const positions[] = {data.positions[SOURCE], data.positions[TARGET]},
                         *const distances[] = {data.distances[SOURCE], data.distances[TARGET]};
    lh_trainer t = lh_trainer_open_sampling(spec, model, &data.batch, mode, from_caller ? positions : no_values,
                                            from_caller ? distances : no_values);
    lh_trainer_check(&t, &data.batch, mask, 2, model, loss, logits, &lh_parity_random_tolerance);
    lh_trainer_close(&t);
    lh_ref_model_free(model);
}

static void check_all_lengths(const lh_spec *spec, void (*place)(batch_data *, int)) {
    static const int shapes[][STREAMS] = {{1, 1}, {5, 12}, {19, 3}, {16, 16}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int from_caller = 0; from_caller < 2; from_caller++)
            for (int mode = 0; mode < 2; mode++)
                check_against_reference(spec, place, mode ? LH_MODE_EVALUATE : LH_MODE_TRAIN, from_caller, shapes[i][0],
                                        shapes[i][1]);
}

static void place_every_layer(batch_data *data, int s) { place_layers(data); }

static void test_draws_of_layers_match_reference(void **state) {
    lh_parity_check_memory(&longhand_spec_parity_float64_drawn_layers);
    check_all_lengths(&longhand_spec_parity_float64_drawn_layers, place_every_layer);
}

static void test_draws_of_sequences_match_reference(void **state) {
    lh_parity_check_memory(&longhand_spec_parity_float64_drawn_pair);
    check_all_lengths(&longhand_spec_parity_float64_drawn_pair, place_sequence);
}

/* The host passes to a device first the positions of every sequence, stream by stream, and then the distances of the
 * decoder's self-attention. */
static void check_draws_for_a_device(bool from_caller) {
    enum { SOURCES = 7, TARGETS = 4, DECODER_SITE = 2 };
    const lh_cuda_program *cuda = longhand_spec_parity_float64_drawn_pair.cuda;
    const lh_shape shape = {.sequences = SEQUENCES, .length = {SOURCES, TARGETS}, .labels = TARGETS};
    const lh_draw draw = lh_trainer_make_draw(LH_MODE_TRAIN);
    static batch_data data;
    int out[SEQUENCES * (SOURCES + TARGETS) + TARGETS], *next = out;
    int32_t scratch[RANGE + 1], expected[MAX_LENGTH];
    make_batch(&data, LH_MODE_TRAIN, from_caller, SOURCES, TARGETS);
    const int32_t *const no_values[STREAMS] = {NULL},
                         *const positions[] = {data.positions[SOURCE], data.positions[TARGET]},
                         *const distances[] = {data.distances[SOURCE], data.distances[TARGET]};
    assert_int_equal(cuda->draw_count(&shape), sizeof out / sizeof *out);
    assert_true(cuda->draw_scratch >= RANGE);
    cuda->draw(&draw, &shape, from_caller ? positions : no_values, from_caller ? distances : no_values, scratch, out);
    for (int stream = 0; stream < STREAMS; stream++)
        for (int s = 0; s < SEQUENCES; s++, next += shape.length[stream]) {
            lh_draw_sequence(&draw, (uint32_t)stream, (uint32_t)s, 1, RANGE, shape.length[stream], false, expected,
                             scratch);
            assert_memory_equal(next, from_caller ? positions[stream] : expected,
                                (size_t)shape.length[stream] * sizeof *expected);
        }
    lh_draw_distances(&draw, DECODER_SITE, RANGE + 1, TARGETS, expected, scratch); /* distances 0 .. RANGE */
    assert_memory_equal(next, from_caller ? distances[TARGET] : expected, TARGETS * sizeof *expected);
}

static void test_device_gets_the_draws_of_the_streams(void **state) {
    check_draws_for_a_device(false); /* sampled positions */
    check_draws_for_a_device(true);  /* positions from the caller */
}

/* The ranges limit the positions and distances in lines of `predict`, so each range must suit all encodings of its
 * stream. */
static void test_ranges_are_separate_for_each_stream(void **state) {
    const lh_spec *layers = &longhand_spec_parity_float64_drawn_layers,
                  *pair = &longhand_spec_parity_float64_drawn_pair;
    assert_true(layers->position_range[SOURCE] == RANGE && layers->position_range[TARGET] == RANGE);
    assert_true(layers->distance_range[SOURCE] == RANGE && layers->distance_range[TARGET] == 0);
    assert_true(pair->first_position[SOURCE] == 1 && pair->first_position[TARGET] == 1);
    assert_true(pair->distance_range[SOURCE] == 0 && pair->distance_range[TARGET] == RANGE + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws_of_layers_match_reference),
        cmocka_unit_test(test_draws_of_sequences_match_reference),
        cmocka_unit_test(test_device_gets_the_draws_of_the_streams),
        cmocka_unit_test(test_ranges_are_separate_for_each_stream),
    };
    return cmocka_run_group_tests_name("drawn_streams", tests, NULL, NULL);
}
