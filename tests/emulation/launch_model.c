#include "launch_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "data/batch.h"
#include "emulation.h"
#include "longhand/cuda_place.h"
#include "runtime/cuda/fleet/fleet_parts.h"
#include "support/lh_test.h"

void *lh_model_reserve(size_t bytes) {
    size_t size = (bytes + 127) / 64 * 64;
    void *memory = aligned_alloc(64, size);
    assert_non_null(memory);
    return memset(memory, 0, size);
}

static void *reserve_poisoned(size_t bytes) { return memset(lh_model_reserve(bytes), 0xff, bytes); }

void *lh_model_make_tables(const lh_spec *spec, const lh_shape *shape) {
    if (!spec->cuda->tables_bytes) return NULL;
    void *tables = lh_model_reserve(spec->cuda->tables_bytes(shape->length));
    spec->cuda->make_tables(tables, shape->length);
    return tables;
}

int *lh_model_make_draws(const lh_spec *spec, lh_cuda_passes passes, const lh_draw *draw, const lh_shape *shape,
                         const int32_t *positions, const int32_t *distances,
                         int32_t *const token_positions[LH_MAX_STREAMS]) {
    const int32_t *const position_streams[LH_MAX_STREAMS] = {positions}, *const distance_streams[LH_MAX_STREAMS] = {
                                                                             distances};
    const lh_cuda_program *cuda = spec->cuda;
    size_t first = spec->passes > 0 ? sizeof passes / sizeof(int) : 0;
    size_t tokens = token_positions ? (size_t)(shape->sequences * lh_count_shape_tokens(shape)) : 0;
    size_t count = first + tokens + (cuda->draw_count ? cuda->draw_count(shape) : 0);
    if (count == 0) return NULL;
    int *scratch = lh_model_reserve((size_t)cuda->draw_scratch * sizeof *scratch);
    int *draws = lh_model_reserve(count * sizeof *draws), *next = draws + first;
    memcpy(draws, &passes, first * sizeof *draws);
    for (int s = 0; token_positions && s < spec->format->streams; s++) {
        tokens = (size_t)(shape->sequences * shape->length[s]);
        memcpy(next, token_positions[s], tokens * sizeof *next);
        next += tokens;
    }
    if (cuda->draw_count) cuda->draw(draw, shape, position_streams, distance_streams, scratch, next);
    free(scratch);
    return draws;
}

static void launch(const lh_spec *spec, const char *kernel, int blocks, void *arguments, lh_cuda_place place) {
    lh_error error = {""};
    void *list[] = {arguments, &place};
    lh_assert_ok(lh_emulation_launch(kernel, blocks, spec->cuda->threads, spec->cuda->block_memory, list, &error),
                 &error);
}

/* Returns a matrix [rows][columns], or the transpose of [columns][rows], as double; for free(). */
static double *read_matrix(const void *from, int real_bytes, int rows, int columns, bool is_transposed) {
    double *matrix = lh_model_reserve((size_t)rows * (size_t)columns * sizeof *matrix);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            matrix[i * columns + j] = lh_real_read(from, real_bytes, is_transposed ? j * rows + i : i * columns + j);
    return matrix;
}

/* Writes a row of the library's product. without_epilogue: without bias and rectifier. */
static void write_row(const lh_cuda_product *p, int real_bytes, bool without_epilogue, int row, const double *sums) {
    for (int column = 0; column < p->columns; column++) {
        int64_t to = (int64_t)row * p->columns + column;
        double sum = real_bytes == sizeof(float) ? (double)(float)sums[column] : sums[column];
        if (p->bias && !without_epilogue) sum += lh_real_read(p->bias, real_bytes, column);
        if (p->rectified && !without_epilogue) sum = fmax(sum, 0);
        if (real_bytes == sizeof(double)) ((double *)p->out)[to] = sum;
        else ((float *)p->out)[to] = (float)sum;
    }
}

/* Computes the library's product; each element is summed in double in the order of the inner dimension. */
static void multiply(const lh_cuda_product *p, int real_bytes, bool without_epilogue) {
    double *a = read_matrix(p->a, real_bytes, p->rows, p->inner, p->transposed_a);
    double *b = read_matrix(p->b, real_bytes, p->inner, p->columns, p->transposed_b);
    double *sums = lh_model_reserve((size_t)p->columns * sizeof *sums);
    for (int64_t row = 0; row < p->rows; row++) {
        for (int64_t column = 0; column < p->columns; column++)
            sums[column] = p->adds ? lh_real_read(p->out, real_bytes, row * p->columns + column) : 0;
        for (int64_t k = 0; k < p->inner; k++) {
            const double factor = a[row * p->inner + k], *from = b + k * p->columns;
            for (int column = 0; column < p->columns; column++) sums[column] += factor * from[column];
        }
        write_row(p, real_bytes, without_epilogue, (int)row, sums);
    }
    free(a);
    free(b);
    free(sums);
}

/* A step of a wide model, or its evaluation of the sequences of `shape`. first: the index of the first of them. */
typedef struct model_pass {
    lh_shape shape;
    lh_cuda_passes passes;
    lh_mode mode;
    int first, blocks;
    bool without_epilogue; /* the library adds no bias */
    const lh_cuda_result *earlier;
    void *workspace, *gradient, *arguments;
    const void *parameters;
    unsigned *arrivals;
} model_pass;

static void run_launches(const lh_spec *spec, const model_pass *pass) {
    const lh_cuda_program *cuda = spec->cuda;
    int extra_passes = pass->passes.count > spec->passes ? pass->passes.count - spec->passes : 0;
    int max_launches = cuda->most_launches + extra_passes * cuda->launches_of_pass;
    assert_true(cuda->most_launches > 0);
    lh_cuda_launch *list = lh_model_reserve((size_t)max_launches * sizeof *list);
    int count =
        cuda->launches(&pass->shape, pass->passes, pass->mode, pass->workspace, pass->parameters, pass->gradient, list);
    assert_in_range(count, 1, max_launches);
    for (int i = 0; i < count; i++) {
        *pass->arrivals = 0;
        bool is_product = list[i].phase == LH_CUDA_PRODUCT;
        bool has_bias_phase = pass->without_epilogue && list[i].product.bias != NULL;
        bool has_begun = list[i].phase == LH_CUDA_BEGIN && pass->first > 0; /* with the first sequences */
        if (is_product) multiply(&list[i].product, cuda->real_bytes, pass->without_epilogue);
        if (is_product ? has_bias_phase : !has_begun)
            launch(spec, pass->mode == LH_MODE_TRAIN ? cuda->train_kernel : cuda->evaluate_kernel, pass->blocks,
                   pass->arguments,
                   (lh_cuda_place){is_product ? list[i].bias_phase : list[i].phase, list[i].layer, pass->first,
                                   pass->earlier});
    }
    free(list);
}

/* Returns the shape of a step with this number of sequences. */
static lh_shape make_shape(const lh_cuda_step *step, int sequences) {
    return (lh_shape){sequences, {step->T[0], step->T[1]}, step->label_count};
}

/* Returns the passes of a step of a model with loops. */
static lh_cuda_passes read_passes(const lh_spec *spec, const lh_cuda_step *step) {
    return spec->passes > 0 ? (lh_cuda_passes){step->draws[0], step->draws[1]} : (lh_cuda_passes){0, 0};
}

/* Makes the gradient that a wide model has before a step: NaN in every learned element, which a step must overwrite,
 * and 0 in the rest. */
static void *make_old_gradient(const lh_spec *spec, size_t bytes) {
    unsigned char *gradient = lh_model_reserve(bytes);
    size_t real = (size_t)spec->cuda->real_bytes;
    for (int i = 0; i < spec->tensor_count; i++) {
        const lh_tensor *t = &spec->tensors[i];
        int64_t rows = t->rank == 2 ? t->shape[0] : 1, columns = t->shape[t->rank - 1];
        for (int64_t row = 0; t->learned && row < rows; row++)
            memset(gradient + (size_t)(t->offset + row * t->stride) * real, 0xff, (size_t)columns * real);
    }
    return gradient;
}

lh_model_step lh_model_train(const lh_spec *spec, const void *parameters, const void *tables, const lh_cuda_step *step,
                             lh_model_cut cut, int count, const lh_cuda_result *earlier) {
    const lh_cuda_program *cuda = spec->cuda;
    lh_model_step out = {.bytes = (size_t)spec->parameter_storage * (size_t)cuda->real_bytes};
    const lh_shape batch_shape = make_shape(step, step->sequences);
    size_t pieces = (size_t)spec->parameter_storage / LH_CUDA_PIECE;
    bool is_wide = cuda->launches != NULL;
    const lh_shape shard_shape =
        make_shape(step, is_wide ? step->sequences : (step->sequences + cut.shards - 1) / cut.shards);
    size_t partial = cuda->partial_bytes(&shard_shape), workspace = cuda->workspace_bytes(&shard_shape, LH_MODE_TRAIN);
    unsigned arrivals = 0;
    lh_cuda_replica replica = {
        .parameters = out.parameters = memcpy(lh_model_reserve(out.bytes), parameters, out.bytes),
        .moment1 = out.moment1 = spec->optimizer.states > 0 ? lh_model_reserve(out.bytes) : NULL,
        .moment2 = out.moment2 = spec->optimizer.states > 1 ? lh_model_reserve(out.bytes) : NULL,
        .gradient = out.gradient = is_wide ? make_old_gradient(spec, out.bytes) : reserve_poisoned(out.bytes),
        .partials = lh_model_reserve((size_t)cut.shards * partial),
        .shared = reserve_poisoned(cuda->shared_bytes(&batch_shape)),
        .piece_sums = reserve_poisoned(3 * pieces * sizeof(double)),
        .shard_sums = reserve_poisoned((size_t)cut.shards * sizeof(lh_cuda_sums)),
        .arrivals = &arrivals,
    };
    char *workspaces = reserve_poisoned((size_t)cut.team * workspace);
    int parts = cuda->parts > 0 ? cuda->parts : 1;
    lh_cuda_step *steps = lh_model_reserve((size_t)(count * parts) * sizeof *steps);
    lh_cuda_result *results = lh_model_reserve((size_t)count * sizeof *results);
    for (int i = 0; i < count; i++) steps[i * parts] = *step;
    lh_cuda_train arguments = {&replica,           steps, results,  tables,    workspaces, (long long)workspace,
                               (long long)partial, count, cut.team, cut.shards};
    lh_emulation emulation = {.order = cut.order, .multiprocessors = cut.team};
    lh_emulation_set(&emulation);
    const model_pass pass = {.shape = batch_shape,
                             .passes = read_passes(spec, step),
                             .mode = LH_MODE_TRAIN,
                             .blocks = cut.team,
                             .without_epilogue = cut.order % 2 == 1,
                             .earlier = earlier,
                             .workspace = workspaces,
                             .gradient = out.gradient,
                             .arguments = &arguments,
                             .parameters = out.parameters,
                             .arrivals = &arrivals};
    if (is_wide) run_launches(spec, &pass);
    else launch(spec, cuda->train_kernel, cut.team, &arguments, (lh_cuda_place){0});
    out.result = results[count - 1];
    free(results);
    free(steps);
    free(workspaces);
    free(replica.partials);
    free(replica.shared);
    free(replica.piece_sums);
    free(replica.shard_sums);
    return out;
}

void lh_model_step_free(lh_model_step *step) {
    free(step->parameters);
    free(step->moment1);
    free(step->moment2);
    free(step->gradient);
}

/* Evaluates a wide model, one group of sequences after the other. */
static void evaluate_wide(const lh_spec *spec, lh_cuda_evaluate *arguments, unsigned order, void *workspace) {
    const lh_cuda_step *step = arguments->steps;
    for (int first = 0; first < step->sequences; first += arguments->group) {
        int remaining = step->sequences - first;
        const model_pass pass = {.shape = make_shape(step, remaining < arguments->group ? remaining : arguments->group),
                                 .passes = read_passes(spec, step),
                                 .mode = LH_MODE_EVALUATE,
                                 .first = first,
                                 .blocks = arguments->team,
                                 .without_epilogue = order % 2 == 1,
                                 .workspace = workspace,
                                 .arguments = arguments,
                                 .parameters = arguments->parameters[0],
                                 .arrivals = arguments->arrivals};
        run_launches(spec, &pass);
    }
}

/* Runs the evaluation kernel with models side by side. arguments: contains the destinations of results, and whether and
 * how the kernel decodes; all other fields are set here. */
static void evaluate(const lh_spec *spec, const void *const *parameters, const void *tables, const lh_cuda_step *steps,
                     int models, lh_model_cut cut, lh_cuda_evaluate arguments) {
    const lh_cuda_program *cuda = spec->cuda;
    const lh_shape batch_shape = make_shape(steps, steps->sequences), shard_shape = make_shape(steps, cut.shards);
    size_t workspace =
        arguments.decodes ? cuda->decode_bytes(&shard_shape) : cuda->workspace_bytes(&shard_shape, LH_MODE_EVALUATE);
    size_t stride = (cuda->shared_bytes(&batch_shape) + 63) / 64 * 64;
    size_t count = (size_t)(models * steps->sequences * steps->label_count);
    unsigned *arrivals = lh_model_reserve((size_t)models * sizeof *arrivals);
    char *workspaces = reserve_poisoned((size_t)(models * cut.team) * workspace);
    char *shared = reserve_poisoned((size_t)models * stride);
    memset(arguments.logits, 0xff, count * (size_t)(spec->classes * cuda->real_bytes));
    if (arguments.classes != NULL) memset(arguments.classes, 0xff, count * sizeof(int));
    arguments.parameters = parameters;
    arguments.steps = steps;
    arguments.tables = tables;
    arguments.shared = shared;
    arguments.shared_stride = (long long)stride;
    arguments.arrivals = arrivals;
    arguments.workspace = workspaces;
    arguments.workspace_stride = (long long)workspace;
    arguments.team = cut.team;
    arguments.group = cut.shards;
    arguments.sequences = arguments.end = steps->sequences;
    lh_emulation emulation = {.order = cut.order, .multiprocessors = models * cut.team};
    lh_emulation_set(&emulation);
    if (cuda->launches != NULL) evaluate_wide(spec, &arguments, cut.order, workspaces);
    else launch(spec, cuda->evaluate_kernel, models * cut.team, &arguments, (lh_cuda_place){0});
    free(arrivals);
    free(workspaces);
    free(shared);
}

void lh_model_evaluate_several(const lh_spec *spec, const void *const *parameters, const void *tables,
                               const lh_cuda_step *steps, int models, lh_model_cut cut, lh_cuda_loop_answer *answers,
                               void *logits) {
    size_t count = (size_t)(models * steps->sequences);
    void *written = reserve_poisoned(count * lh_cuda_get_answer_bytes(spec));
    evaluate(spec, parameters, tables, steps, models, cut, (lh_cuda_evaluate){.answers = written, .logits = logits});
    for (size_t i = 0; i < count; i++) answers[i] = lh_cuda_read_answer(spec, written, i);
    free(written);
}

void lh_model_decode(const lh_spec *spec, const void *const *parameters, const void *tables, const lh_cuda_step *steps,
                     int models, lh_model_cut cut, int ending, int *classes, void *logits) {
    evaluate(spec, parameters, tables, steps, models, cut,
             (lh_cuda_evaluate){.logits = logits, .classes = classes, .decodes = 1, .ending = ending});
}

void lh_model_evaluate(const lh_spec *spec, const void *parameters, const void *tables, const lh_cuda_step *step,
                       int blocks, int group, unsigned order, lh_cuda_loop_answer *answers, void *logits) {
    const lh_model_cut cut = {.shards = group, .team = blocks, .order = order};
    lh_model_evaluate_several(spec, &parameters, tables, step, 1, cut, answers, logits);
}
