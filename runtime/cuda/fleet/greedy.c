/* Greedy decoding of all replicas that evaluate a condition together; see fleet_parts.h. A program that caches keys and
 * values decodes all answers in one pass; other programs make one pass after another. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "engine/decode_passes.h"
#include "runtime/cuda/fleet/fleet_parts.h"

/* The answers of one replica. */
typedef struct model_answers {
    lh_answers results;
    lh_decode_passes passes; /* count 0: there was no memory for the replica's answers */
    int rows;                /* sequences in the current pass */
} model_answers;

typedef struct greedy_job {
    lh_cuda_engine *engine; /* the requesting engine */
    const lh_condition *condition;
    lh_examples examples;
    lh_query query;        /* all examples */
    model_answers *models; /* [replicas] */
    /* [replicas][decoded_count] the number of answers that decoding takes from the pass over the targets */
    int *known_counts;
    uint16_t *pass_answers; /* [decoded_count][labels] classes of a replica in the current pass */
    int replicas;
    bool has_caches; /* keys and values are cached, and one pass gives all answers */
} greedy_job;

/* Begins the decoding of a replica. Each example's first answers, up to and including the first error, are taken from
 * the pass over the targets. */
static lh_status begin_model(greedy_job *g, int index, lh_error *error) {
    lh_cuda_early_answers *early_answers = g->engine->fleet->evaluated_answers[index];
    const lh_examples *e = &g->examples;
    model_answers *model = &g->models[index];
    int *known_counts = g->known_counts + (size_t)index * (size_t)e->count;
    if (early_answers == NULL) return LH_OK;
    for (int i = 0; i < e->count; i++) {
        size_t first = (size_t)i * e->labels;
        known_counts[i] =
            lh_take_pass_answers(e->target + first, e->mask + first, e->limits[i], early_answers->classes + first);
    }
    model->results = (lh_answers){.answers = early_answers->classes,
                                  .lengths = early_answers->lengths,
                                  .known_counts = known_counts,
                                  .limits = e->limits};
    return lh_decode_passes_open(&model->passes, g->engine->fleet->spec, &g->query, e->count, &model->results, error);
}

static lh_status begin_decoding(greedy_job *g, lh_error *error) {
    const lh_condition *condition = g->condition;
    const lh_spec *spec = g->engine->fleet->spec;
    lh_examples *e = &g->examples;
    size_t replicas = (size_t)g->replicas, count = (size_t)condition->decoded_count;
    lh_status status = lh_examples_open(e, spec, condition->n, condition->decoded_count, error);
    if (status == LH_OK) status = lh_make_examples(e, spec, condition, error);
    if (status != LH_OK) return status;
    g->models = lh_engine_allocate(replicas * sizeof *g->models, "answers", error);
    g->known_counts = lh_engine_allocate(replicas * count * sizeof *g->known_counts, "answers", error);
    g->pass_answers = lh_engine_allocate(count * e->labels * sizeof *g->pass_answers, "answers", error);
    if (g->models == NULL || g->known_counts == NULL || g->pass_answers == NULL) return LH_ERR_ENVIRONMENT;
    g->query = (lh_query){.n = condition->n,
                          .input = e->input,
                          .target = e->target,
                          .wants_answer = e->mask,
                          .line_positions = e->line_positions,
                          .draw = condition->draw,
                          .noise = condition->noise};
    for (int i = 0; status == LH_OK && i < g->replicas; i++) status = begin_model(g, i, error);
    return status;
}

/* The unfinished sequences of a replica, which threads write to `memory`. */
typedef struct put_job {
    lh_cuda_fleet *fleet;
    const lh_decode_passes *passes;
    lh_cuda_layout layout;
    char *memory;
    int rows;
    bool has_caches;
    atomic_int next; /* the next row that no thread has taken */
} put_job;

/* Sets the mask of a row to 1 for the answers that its sequence still needs, else to 0. Copies the target to the labels
 * of the row. */
static void request_answers(const lh_decode_passes *passes, lh_batch *batch, int row) {
    size_t sequence = (size_t)passes->row[row], first = sequence * passes->labels;
    memcpy(batch->labels, passes->query->target + first, passes->labels * sizeof *batch->labels);
    for (size_t i = 0; i < passes->labels; i++)
        batch->mask[i] = !passes->has_ended[sequence] && (int)i >= passes->length[sequence] &&
                         (int)i < passes->results->limits[sequence] && passes->query->wants_answer[first + i];
}

static void put_row(const put_job *job, lh_batch *batch, int row) {
    const lh_query *examples = job->passes->query;
    const lh_query query = {.n = examples->n,
                            .input = lh_decode_passes_get_input(job->passes, row),
                            .target = lh_decode_passes_get_target(job->passes, row),
                            .line_positions = examples->line_positions + job->passes->row[row]};
    lh_put_queries(batch, job->fleet->spec, &query, 0, 1);
    if (job->has_caches) request_answers(job->passes, batch, row);
    lh_cuda_put_rows(&job->layout, job->memory, row, batch);
}

static void put_rows(void *argument, int index, int count) {
    put_job *job = argument;
    lh_batch *batch = &job->fleet->forward.lanes.lane[index].batch;
    int first;
    (void)count;
    while ((first = atomic_fetch_add(&job->next, LH_CUDA_ROWS)) < job->rows)
        for (int row = first; row < job->rows && row < first + LH_CUDA_ROWS; row++) put_row(job, batch, row);
}

/* Writes the unfinished sequences of a replica to host_batch, from byte `first` on. */
static void put_model(const greedy_job *g, const lh_cuda_models *models, const model_answers *model,
                      const lh_shape *shape, size_t first, const lh_draw *draw) {
    lh_cuda_fleet *fleet = g->engine->fleet;
    const int32_t *const no_values[LH_MAX_STREAMS] = {NULL};
    int parts = (model->rows + LH_CUDA_ROWS - 1) / LH_CUDA_ROWS, threads = fleet->forward.lanes.count;
    put_job job = {.fleet = fleet,
                   .passes = &model->passes,
                   .layout = lh_cuda_make_layout(fleet, shape),
                   .memory = (char *)fleet->forward.host_batch + first,
                   .rows = model->rows,
                   .has_caches = g->has_caches};
    atomic_init(&job.next, 0);
    lh_team_run(threads < parts ? threads : parts, put_rows, &job);
    lh_cuda_make_forward_draws(fleet, models, shape, first, draw, no_values, no_values);
}

/* Adds the unfinished sequences of a replica to a pass; false: the pass has no room for the sequences. */
static bool add_model(greedy_job *g, int index, lh_cuda_models *models) {
    lh_cuda_fleet *fleet = g->engine->fleet;
    model_answers *model = &g->models[index];
    lh_draw draw = g->query.draw;
    model->rows = model->passes.count > 0 ? lh_decode_passes_choose(&model->passes) : 0;
    if (model->rows == 0) return true;
    lh_shape shape = lh_make_shape(fleet->spec, g->query.n, model->rows);
    size_t first = models->bytes, bytes = lh_cuda_make_layout(fleet, &shape).bytes;
    if (models->count > 0 && first + bytes > fleet->forward.batch_bytes) {
        model->rows = 0;
        return false;
    }
    draw.first = (uint32_t)model->passes.row[0];
    put_model(g, models, model, &shape, first, &draw);
    lh_cuda_add_model(models, fleet->evaluated_engines[index], &shape, first, &draw, g->query.noise);
    return true;
}

/* Takes the classes of the replicas first .. end - 1 that had sequences in the pass. */
static void take_pass(greedy_job *g, int first, int end, const lh_cuda_models *models) {
    size_t labels = g->examples.labels, rows = (size_t)models->shape.sequences;
    const int *classes = g->engine->fleet->forward.host_classes;
    for (int i = first; i < end; i++) {
        model_answers *model = &g->models[i];
        if (model->rows == 0) continue;
        lh_cuda_convert_classes(classes, &(lh_shape){.sequences = model->rows, .labels = (int)labels}, g->pass_answers);
        lh_decode_passes_take(&model->passes, model->rows, g->pass_answers, g->has_caches);
        classes += rows * labels;
    }
}

/* Runs a pass for as many replicas from *first on as fit, and advances *first beyond these replicas. Sets
 * *has_unfinished if a replica had unfinished sequences. */
static lh_status run_pass(greedy_job *g, int *first, bool *has_unfinished, lh_error *error) {
    lh_cuda_models models = {.passes.count = lh_count_passes(g->engine->fleet->spec, g->query.n)};
    int end = *first;
    if (lh_is_stopped(&g->engine->engine)) return LH_STOPPED;
    while (end < g->replicas && add_model(g, end, &models)) end++;
    lh_cuda_output output = g->has_caches ? LH_CUDA_DECODED : LH_CUDA_CLASSES;
    lh_status status = models.count > 0 ? lh_cuda_run_pass(g->engine, &models, output, error) : LH_OK;
    if (status == LH_OK) take_pass(g, *first, end, &models);
    *has_unfinished = *has_unfinished || models.count > 0;
    *first = end;
    return status;
}

lh_status lh_cuda_answer_greedily(lh_cuda_engine *engine, int replicas, const lh_condition *condition,
                                  lh_error *error) {
    bool has_caches = engine->fleet->program->decode_bytes != NULL;
    greedy_job g = {.engine = engine, .condition = condition, .replicas = replicas, .has_caches = has_caches};
    lh_status status = begin_decoding(&g, error);
    for (bool has_unfinished = true; status == LH_OK && has_unfinished;) {
        has_unfinished = false;
        for (int first = 0; status == LH_OK && first < replicas;) status = run_pass(&g, &first, &has_unfinished, error);
    }
    for (int i = 0; g.models != NULL && i < replicas; i++) lh_decode_passes_close(&g.models[i].passes);
    lh_examples_close(&g.examples);
    free(g.models);
    free(g.known_counts);
    free(g.pass_answers);
    return status;
}
