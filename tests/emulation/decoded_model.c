/* See decoded_model.h. */
#include "decoded_model.h"

#include <stdlib.h>
#include <string.h>

#include "model_sides.h"
#include "support/lh_test.h"

/* A batch whose sequences request different answers (is_requested). The tokens of requested answers are at first those
 * of class 0, which decoding replaces. */
typedef struct decoded {
    problem p;
    lh_cuda_step step;
    size_t labels, all_labels, bytes; /* labels of a sequence; labels of all sequences; bytes of all logits */
    int first_output;                 /* the token of the first class */
    uint8_t *mask;                    /* [all_labels] requested answers */
    int *classes;                     /* [all_labels] */
    unsigned char *logits;            /* [all_labels][classes] */
} decoded;

/* Returns the token of a label's answer in its sequence, or NULL for the last answer, which is not in the sequence. */
static uint16_t *find_token(const decoded *d, size_t label) {
    int stream = SPEC->format->label_stream, length = d->p.shape.length[stream];
    size_t n = label % d->labels, sequence = label / d->labels;
    if (n + 1 == d->labels) return NULL;
    return d->p.batch.tokens[stream] + (sequence + 1) * (size_t)length - d->labels + n + 1;
}

/* Computes the positions of digits again after tokens of the sequences have changed. */
static void update_digit_positions(decoded *d) {
    const lh_token_positions *positions = SPEC->format->positions;
    const int stream = SPEC->format->label_stream, length = d->p.shape.length[stream];
    if (positions == NULL || positions->digit == NULL) return;
    int32_t *position = d->p.batch.positions[stream];
    for (int i = 0; i < SEQUENCES * length; i++) {
        const int previous_position = i % length > 0 ? position[i - 1] : 0;
        position[i] = positions->digit[d->p.batch.tokens[stream][i]] ? previous_position + 1 : 0;
    }
    free(d->p.draws);
    d->step.draws = d->p.draws =
        lh_model_make_draws(SPEC, d->p.passes, &d->p.draw, &d->p.shape, NULL, NULL, d->p.batch.positions);
}

static bool is_requested(size_t sequence, size_t n, size_t labels) {
    const bool requested[SEQUENCES] = {true, false, n >= 2, n % 2 == 1, n + 3 < labels};
    return requested[sequence];
}

static decoded open_decoded(int n) {
    decoded d = {.p = open_problem(n, LH_MODE_EVALUATE)};
    d.step = make_device_step(&d.p);
    d.labels = (size_t)d.p.shape.labels;
    d.all_labels = SEQUENCES * d.labels;
    d.bytes = d.all_labels * (size_t)SPEC->classes * get_real_bytes();
    d.first_output = *find_token(&d, 0) - d.p.batch.labels[0];
    d.mask = lh_model_reserve(d.all_labels);
    d.classes = lh_model_reserve(d.all_labels * sizeof *d.classes);
    d.logits = lh_model_reserve(d.bytes);
    for (size_t i = 0; i < d.all_labels; i++) {
        d.mask[i] = is_requested(i / d.labels, i % d.labels, d.labels);
        if (d.mask[i] && find_token(&d, i)) *find_token(&d, i) = (uint16_t)d.first_output;
    }
    d.step.mask = d.mask;
    update_digit_positions(&d);
    return d;
}

static void close_decoded(decoded *d) {
    free(d->mask);
    free(d->classes);
    free(d->logits);
    close_problem(&d->p);
}

static void decode(const decoded *d, lh_model_cut cut, int ending) {
    const void *parameters = d->p.parameters;
    lh_model_decode(SPEC, &parameters, d->p.tables, &d->step, 1, cut, ending, d->classes, d->logits);
}

static bool has_decoding(void) { return SPEC->cuda->decode_bytes != NULL; }

/* Compares requested logits with those of a pass over whole sequences that have the decoded answers. */
static void compare_logits(const decoded *d, const unsigned char *expected_logits, bool same_bits) {
    size_t classes = (size_t)SPEC->classes, row = classes * get_real_bytes();
    double scale = measure_scale(expected_logits, d->all_labels * classes);
    for (size_t i = 0; i < d->all_labels; i++) {
        const unsigned char *actual = d->logits + i * row, *expected = expected_logits + i * row;
        if (!d->mask[i]) {
            assert_int_equal(d->classes[i], -1);
            continue;
        }
        size_t best = 0;
        for (size_t c = 1; c < classes; c++)
            if (read_element(actual, c) > read_element(actual, best)) best = c;
        assert_int_equal(d->classes[i], best);
        if (same_bits) assert_memory_equal(actual, expected, row);
        else assert_near("decoded logits", actual, expected, classes, scale);
    }
}

void test_decoded_logits_are_those_of_whole_passes(void **state) {
    static const int lengths[] = {2, 5, 9, 18};
    /* Decoding computes attention in loops, not in fragments, so sums have another order. */
    bool has_fragments = strstr(SPEC->id, "_warps_") != NULL;
    for (size_t n = 0; has_decoding() && n < sizeof lengths / sizeof *lengths; n++) {
        decoded d = open_decoded(lengths[n]);
        lh_cuda_loop_answer answers[SEQUENCES];
        unsigned char *expected_logits = lh_model_reserve(d.bytes), *cpu_logits = lh_model_reserve(d.bytes);
        lh_sums sums = {0};
        decode(&d, (lh_model_cut){2, 2, (unsigned)n % 4}, -1);
        for (size_t i = 0; i < d.all_labels; i++)
            if (d.mask[i] && find_token(&d, i)) *find_token(&d, i) = (uint16_t)(d.first_output + d.classes[i]);
        update_digit_positions(&d);
        lh_model_evaluate(SPEC, d.p.parameters, d.p.tables, &d.step, 2, 2, 0, answers, expected_logits);
        compare_logits(&d, expected_logits, !has_fragments);
        cpu_side c = open_cpu_side(&d.p, LH_MODE_EVALUATE);
        run_each_block(&d.p, &c, NULL, cpu_logits, &sums);
        compare_logits(&d, cpu_logits, false);
        close_cpu_side(&c);
        free(expected_logits);
        free(cpu_logits);
        close_decoded(&d);
    }
}

void test_decoding_in_any_order_and_group_has_the_same_bits(void **state) {
    static const lh_model_cut cuts[] = {{1, 3, 0}, {SEQUENCES, 1, 1}, {2, 2, 2}, {3, 1, 3}};
    if (!has_decoding()) return;
    decoded d = open_decoded(9);
    unsigned char *first = lh_model_reserve(d.bytes);
    decode(&d, cuts[0], -1);
    memcpy(first, d.logits, d.bytes);
    for (size_t i = 1; i < sizeof cuts / sizeof *cuts; i++) {
        decode(&d, cuts[i], -1);
        assert_memory_equal(d.logits, first, d.bytes);
    }
    free(first);
    close_decoded(&d);
}

void test_decoding_of_several_models_has_the_bits_of_each(void **state) {
    if (!has_decoding()) return;
    decoded d = open_decoded(9);
    void *negated = negate_first_tensor(d.p.parameters);
    unsigned char *logits = lh_model_reserve(2 * d.bytes);
    int *classes = lh_model_reserve(2 * d.all_labels * sizeof *classes);
    const void *parameters[] = {d.p.parameters, negated};
    lh_cuda_step steps[] = {d.step, d.step};
    lh_model_decode(SPEC, parameters, d.p.tables, steps, 2, (lh_model_cut){2, 2, 1}, -1, classes, logits);
    for (size_t i = 0; i < 2; i++) {
        lh_model_decode(SPEC, &parameters[i], d.p.tables, &d.step, 1, (lh_model_cut){3, 1, 0}, -1, d.classes, d.logits);
        assert_memory_equal(logits + i * d.bytes, d.logits, d.bytes);
        assert_memory_equal(classes + i * d.all_labels, d.classes, d.all_labels * sizeof *classes);
    }
    assert_memory_not_equal(logits + d.bytes, logits, d.bytes);
    free(negated);
    free(logits);
    free(classes);
    close_decoded(&d);
}

/* If the ending class is that of the first answer of sequence 0, this answer ends the sequence, unless it is right. */
void test_ending_class_ends_a_sequence_unless_it_is_the_label(void **state) {
    if (!has_decoding()) return;
    decoded d = open_decoded(9);
    size_t row = (size_t)SPEC->classes * get_real_bytes();
    decode(&d, (lh_model_cut){2, 1, 0}, -1);
    int ending = d.classes[0], answer = d.classes[1];
    unsigned char *second = memcpy(lh_model_reserve(row), d.logits + row, row);
    d.p.batch.labels[0] = (uint16_t)(ending == 0);
    decode(&d, (lh_model_cut){2, 1, 0}, ending);
    assert_int_equal(d.classes[0], ending);
    assert_int_equal(d.classes[1], -1);
    d.p.batch.labels[0] = (uint16_t)ending;
    decode(&d, (lh_model_cut){2, 1, 0}, ending);
    assert_int_equal(d.classes[1], answer);
    assert_memory_equal(d.logits + row, second, row);
    free(second);
    close_decoded(&d);
}
