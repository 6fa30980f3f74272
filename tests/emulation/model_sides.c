/* See model_sides.h. */
#include "model_sides.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "data/initialise.h"
#include "support/lh_test.h"

/* Bounds if products round their operands. Models of the showcase are larger and differ more from the CPU half, equally
 * in the emulated source and in the compiled code: tests/ptx/ptx.mk has bounds for them. */
#ifndef LH_TF32_BOUND
#define LH_TF32_BOUND 3e-2
#define LH_BF16_BOUND 2.4e-1
#endif

/* float64, float32: the difference of an element, relative to the largest element of its vector. On each side about a
 * hundred roundings of 2^-53 or 2^-24 follow each other, in different orders.
 * tf32, bf16: the Euclidean length of the difference, relative to that of the vector. Operands of products are rounded
 * to 11 or 8 bits, and the input of a rectifier may be below 0 on only one side.
 * test_emulation.c checks the rounding of operands exactly. */
double get_tolerance(void) {
    if (strcmp(SPEC->precision, "float64") == 0) return 1e-12;
    if (strcmp(SPEC->precision, "float32") == 0) return 3e-5;
    return strcmp(SPEC->precision, "tf32") == 0 ? LH_TF32_BOUND : LH_BF16_BOUND;
}

bool rounds_operands(void) { return get_tolerance() > 1e-3; }

const lh_cpu_program *get_plainest_program(void) { return SPEC->cpu[0]; }

size_t get_real_bytes(void) { return (size_t)SPEC->cuda->real_bytes; }

double read_element(const void *vector, size_t i) { return lh_real_read(vector, (int)get_real_bytes(), (int64_t)i); }

double find_largest(const void *vector, size_t count) {
    double max_value = 0;
    for (size_t i = 0; i < count; i++)
        max_value = fabs(read_element(vector, i)) > max_value ? fabs(read_element(vector, i)) : max_value;
    return max_value;
}

double measure_difference(const void *actual, const void *expected, size_t count) {
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        double difference = expected ? read_element(actual, i) - read_element(expected, i) : read_element(actual, i);
        squares += difference * difference;
    }
    return sqrt(squares);
}

void assert_near(const char *label, const void *actual, const void *expected, size_t count, double scale) {
    if (rounds_operands() && !(measure_difference(actual, expected, count) <= get_tolerance() * scale))
        fail_msg("%s: a difference of %.3g, length %.3g, tolerance %.3g", label,
                 measure_difference(actual, expected, count), scale, get_tolerance());
    for (size_t i = 0; !rounds_operands() && i < count; i++)
        if (!(fabs(read_element(actual, i) - read_element(expected, i)) <= get_tolerance() * scale))
            fail_msg("%s: element %zu is %.17g, expected %.17g (largest %.3g, tolerance %.3g)", label, i,
                     read_element(actual, i), read_element(expected, i), scale, get_tolerance());
}

double measure_scale(const void *vector, size_t count) {
    return rounds_operands() ? measure_difference(vector, NULL, count) : find_largest(vector, count);
}

void *negate_first_tensor(const void *parameters) {
    size_t real = get_real_bytes(), bytes = (size_t)SPEC->parameter_storage * real;
    unsigned char *copy = memcpy(lh_model_reserve(bytes), parameters, bytes);
    const lh_tensor *first = &SPEC->tensors[0];
    for (int64_t i = first->offset; i < first->offset + first->shape[0] * first->stride; i++)
        copy[(size_t)(i + 1) * real - 1] ^= 0x80; /* the sign is in the last byte of an element */
    return copy;
}

static const double NOISE = 0.7;

problem open_problem(int n, lh_mode mode) {
    problem p = {.n = n, .shape = lh_make_shape(SPEC, n, SEQUENCES)};
    lh_error error;
    lh_key key = lh_key_of_seed(SEED);
    lh_source source = {.key = key, .step = STEP, .domain = LH_DOMAIN_DATA};
    p.draw = (lh_draw){.key = key, .step = STEP, .example = LH_SHARED, .domain = LH_DOMAIN_POSITIONS};
    if (mode != LH_MODE_TRAIN)
        p.draw = (lh_draw){.key = key, .step = STEP, .example = DRAW, .domain = LH_DOMAIN_EVAL, .first = FIRST};
    p.noise = mode == LH_MODE_TRAIN ? 0 : NOISE;
    assert_int_equal(lh_batch_open(&p.batch, SPEC, n, SEQUENCES, &error), LH_OK);
    assert_int_equal(lh_batch_fill(&p.batch, SPEC, &source, n, 0, SEQUENCES, &error), LH_OK);
    p.parameters = lh_model_reserve((size_t)SPEC->parameter_storage * get_real_bytes());
    lh_initialise(SPEC, SEED, (int)get_real_bytes(), p.parameters);
    p.tables = lh_model_make_tables(SPEC, &p.shape);
    p.passes.count = lh_count_passes(SPEC, n);
    if (SPEC->progressive && mode == LH_MODE_TRAIN) p.passes.free = p.passes.count - p.passes.count / 2;
    if (mode == LH_MODE_TRAIN) lh_batch_shift_positions(&p.batch, SPEC, &p.draw, 0);
    p.draws = lh_model_make_draws(SPEC, p.passes, &p.draw, &p.shape, NULL, NULL,
                                  p.batch.positions[0] ? p.batch.positions : NULL);
    return p;
}

void close_problem(problem *p) {
    lh_batch_close(&p->batch);
    free(p->parameters);
    free(p->tables);
    free(p->draws);
}

/* Whether a sequence's loss is divided by its own number of counted labels. */
static bool divides_by_counted_labels(void) {
    return SPEC->train.weighs_sequences && SPEC->task->loss == LH_LOSS_COUNTED;
}

static double compute_loss_scale(const problem *p) {
    return 1.0 / (p->shape.sequences * (divides_by_counted_labels() ? 1.0 : p->shape.labels));
}

/* The number of labels or of sequences; 1 / this number is the device's factor of their gradients
 * (lh_cuda_program.parts). */
static int64_t count_terms(const problem *p) {
    size_t labels = (size_t)p->shape.sequences * (size_t)p->shape.labels;
    int64_t counted = 0;
    if (divides_by_counted_labels()) return lh_batch_count_sequences(&p->batch, SPEC);
    if (!SPEC->train.mixes_lengths || SPEC->task->loss != LH_LOSS_COUNTED) return (int64_t)labels;
    for (size_t i = 0; i < labels; i++) counted += p->batch.mask[i];
    return counted;
}

static double compute_device_loss_scale(const problem *p) {
    int64_t terms = count_terms(p);
    return terms > 0 ? 1.0 / (double)terms : 0;
}

cpu_side open_cpu_side(const problem *p, lh_mode mode) {
    const lh_cpu_program *program = get_plainest_program();
    cpu_side c = {.step = {.mode = mode,
                           .shape = p->shape,
                           .key = lh_key_of_seed(SEED),
                           .step = STEP,
                           .draw = p->draw,
                           .passes = p->passes.count,
                           .free_passes = p->passes.free,
                           .noise = p->noise}};
    c.step.parameters = p->parameters;
    if (program->tables_bytes != NULL) {
        c.tables = lh_model_reserve(program->tables_bytes(p->shape.length));
        program->make_tables(c.tables, p->shape.length);
    }
    c.step.tables = c.tables;
    c.step.shared = c.shared = lh_model_reserve(program->shared_bytes(&p->shape));
    c.workspace = lh_model_reserve(program->workspace_bytes(&p->shape, mode));
    if (program->panels_bytes > 0) c.step.panels = c.panels = lh_model_reserve(program->panels_bytes);
    program->begin_step(&c.step, 0, 1);
    if (mode == LH_MODE_TRAIN && program->begin_length != NULL) program->begin_length(&c.step, 0, 1);
    return c;
}

void run_each_block(const problem *p, cpu_side *c, void *gradient, void *logits, lh_sums *sums) {
    const lh_cpu_program *program = get_plainest_program();
    int size = program->block_sequences(p->shape.length), labels = p->shape.labels;
    for (int first = 0; first < SEQUENCES; first += size) {
        lh_cpu_block block = lh_batch_make_block(&p->batch, first, SEQUENCES - first < size ? SEQUENCES - first : size);
        block.first_example = p->draw.first + (uint32_t)first;
        block.loss_scale = compute_loss_scale(p);
        if (gradient != NULL) program->train_block(&c->step, &block, c->workspace, gradient, sums);
        else {
            block.logits = (char *)logits + (size_t)(first * labels * SPEC->classes) * get_real_bytes();
            program->forward_block(&c->step, &block, c->workspace, sums);
        }
    }
}

void close_cpu_side(cpu_side *c) {
    free(c->tables);
    free(c->workspace);
    free(c->shared);
    free(c->panels);
}

void visit_constant_rows(void (*visit)(void *context, size_t first, size_t count), void *context) {
    for (int i = 0; i < SPEC->tensor_count; i++) {
        const lh_tensor *t = &SPEC->tensors[i];
        int64_t rows = t->rank == 2 ? t->shape[0] : 1, columns = t->shape[t->rank - 1];
        for (int64_t r = 0; !t->learned && r < rows; r++)
            visit(context, (size_t)(t->offset + r * t->stride), (size_t)columns);
    }
}

static void clear_row(void *gradient, size_t first, size_t count) {
    memset((char *)gradient + first * get_real_bytes(), 0, count * get_real_bytes());
}

/* Scales the gradient of a loss that is divided by the number of all labels, or of all sequences, to that of the mean
 * over counted labels, or over sequences with counted labels. */
static void scale_by_mask(const problem *p, void *gradient, const lh_sums *sums) {
    const lh_cpu_program *program = get_plainest_program();
    double factor = (double)p->shape.sequences * p->shape.labels / (double)sums->counted;
    if (divides_by_counted_labels()) factor = (double)p->shape.sequences / (double)sums->sequences;
    if (program->scale != NULL && sums->counted > 0) program->scale(gradient, factor, (size_t)SPEC->parameter_storage);
}

void compute_cpu_gradient(const problem *p, void *gradient, lh_sums *sums) {
    const lh_cpu_program *program = get_plainest_program();
    cpu_side c = open_cpu_side(p, LH_MODE_TRAIN);
    if (program->begin_shard != NULL) program->begin_shard(&c.step, c.workspace);
    run_each_block(p, &c, gradient, NULL, sums);
    if (program->end_shard != NULL) program->end_shard(&c.step, c.workspace, gradient);
    visit_constant_rows(clear_row, gradient);
    scale_by_mask(p, gradient, sums);
    close_cpu_side(&c);
}

lh_cuda_step make_device_step(const problem *p) {
    lh_cuda_step step = {
        .tokens = {p->batch.tokens[0], p->batch.tokens[1]},
        .labels = p->batch.labels,
        .mask = p->batch.mask,
        .place = p->batch.place,
        .draws = p->draws,
        .sequences = p->shape.sequences,
        .T = {p->shape.length[0], p->shape.length[1]},
        .label_count = p->shape.labels,
        .step = STEP,
        .key = {lh_key_of_seed(SEED).word[0], lh_key_of_seed(SEED).word[1]},
        .draw = p->draw.example,
        .first = p->draw.first,
        .rate = p->noise > 0 ? p->noise : 1e-3,
        .correct2 = 1000,
        .loss_scale = compute_device_loss_scale(p),
    };
    return step;
}

lh_model_step train_on_device(const problem *p, int shards, int team, unsigned order) {
    lh_cuda_step step = make_device_step(p);
    return lh_model_train(SPEC, p->parameters, p->tables, &step, (lh_model_cut){shards, team, order}, 1, NULL);
}

void print_bits(const char *label, const void *bytes, size_t count) {
    uint64_t hash = 0xcbf29ce484222325;
    if (getenv("LONGHAND_BITS") == NULL) return;
    for (size_t i = 0; i < count; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
    printf("bits %s %016" PRIx64 "\n", label, hash);
}
