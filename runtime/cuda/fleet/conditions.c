/* Evaluates conditions on a CUDA device. A condition is evaluated for all replicas that are expected to request it
 * (early_answers.c). The host adds the sums of the examples in their order. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "runtime/cuda/fleet/fleet_parts.h"

/* The batch of a condition, which threads make in pieces of LH_CUDA_ROWS examples. */
typedef struct fill_job {
    lh_cuda_fleet *fleet;
    const lh_condition *condition;
    lh_cuda_layout layout;
    int pieces;
    atomic_int next;         /* next piece that no thread has taken */
    atomic_int first_failed; /* first piece whose examples could not be made; `pieces`: all could be made */
    const lh_engine *engine;
} fill_job;

static int count_rows(const fill_job *job, int piece) {
    int remaining = job->condition->examples - piece * LH_CUDA_ROWS;
    return remaining < LH_CUDA_ROWS ? remaining : LH_CUDA_ROWS;
}

static lh_status fill_piece(const fill_job *job, lh_batch *batch, int piece, lh_error *error) {
    const lh_condition *condition = job->condition;
    return lh_batch_fill(batch, job->fleet->spec, &condition->source, condition->n,
                         (uint32_t)(condition->first + piece * LH_CUDA_ROWS), count_rows(job, piece), error);
}

static void fill_pieces(void *argument, int index, int count) {
    fill_job *job = argument;
    lh_cuda_forward *forward = &job->fleet->forward;
    lh_batch *batch = &forward->lanes.lane[index].batch;
    int piece;
    (void)count;
    while (!lh_is_stopped(job->engine) && (piece = atomic_fetch_add(&job->next, 1)) < job->pieces) {
        if (fill_piece(job, batch, piece, NULL) == LH_OK) {
            lh_cuda_put_rows(&job->layout, forward->host_batch, piece * LH_CUDA_ROWS, batch);
            continue;
        }
        int first = atomic_load(&job->first_failed);
        while (piece < first && !atomic_compare_exchange_weak(&job->first_failed, &first, piece)) continue;
    }
}

static lh_status fill_batch(const lh_cuda_engine *engine, const lh_condition *condition, const lh_cuda_models *models,
                            const lh_shape *shape, lh_error *error) {
    lh_cuda_fleet *fleet = engine->fleet;
    int pieces = (condition->examples + LH_CUDA_ROWS - 1) / LH_CUDA_ROWS, threads = fleet->forward.lanes.count;
    fill_job job = {.fleet = fleet,
                    .condition = condition,
                    .layout = lh_cuda_make_layout(fleet, shape),
                    .pieces = pieces,
                    .engine = &engine->engine};
    atomic_init(&job.next, 0);
    atomic_init(&job.first_failed, pieces);
    lh_team_run(threads < pieces ? threads : pieces, fill_pieces, &job);
    int first_failed = atomic_load(&job.first_failed);
    if (first_failed < pieces) return fill_piece(&job, &fleet->forward.lanes.lane[0].batch, first_failed, error);
    if (atomic_load(&job.next) < pieces) return LH_STOPPED;
    const int32_t *const no_values[LH_MAX_STREAMS] = {NULL};
    lh_cuda_make_forward_draws(fleet, models, shape, 0, &condition->draw, no_values, no_values);
    return LH_OK;
}

/* Sums over the answers of one replica. */
static void sum_answers(const lh_spec *spec, const lh_shape *shape, const lh_cuda_loop_answer *answers, lh_sums *sums,
                        lh_sums *sequence_sums) {
    memset(sums, 0, sizeof *sums);
    for (int i = 0; i < shape->sequences; i++) {
        lh_sums sequence = lh_make_sums(spec, shape->labels, answers[i].counted, answers[i].correct, answers[i].loss);
        sequence.uncertainty = answers[i].uncertainty;
        lh_sums_add(sums, &sequence);
        if (sequence_sums != NULL) sequence_sums[i] = sequence;
    }
}

/* Copies the answers of a pass to fleet->evaluated_answers. */
static lh_status take_answers(const lh_cuda_fleet *fleet, int replicas, const lh_condition *condition,
                              const lh_shape *shape, lh_error *error) {
    const lh_cuda_forward *forward = &fleet->forward;
    size_t sequences = (size_t)shape->sequences, labels = sequences * (size_t)shape->labels;
    for (int i = 0; i < replicas; i++) {
        const int *classes = (const int *)forward->host_classes + (size_t)i * labels;
        fleet->evaluated_answers[i] =
            lh_cuda_copy_early_answers(fleet->evaluated_engines[i], condition, forward->host_answers,
                                       (size_t)i * sequences, condition->answers != NULL ? classes : NULL, labels);
    }
    return fleet->evaluated_answers[0] != NULL ? LH_OK
                                               : lh_fail(error, LH_ERR_ENVIRONMENT, "out of memory for the answers");
}

/* Evaluates a condition for the engine and other engines, whose answers are stored; *answers: the engine's answers. */
static lh_status evaluate_for_engines(lh_cuda_engine *engine, const lh_condition *condition, const lh_shape *shape,
                                      lh_cuda_early_answers **answers, lh_error *error) {
    lh_cuda_fleet *fleet = engine->fleet;
    lh_cuda_models models = {.passes.count = condition->passes > 0 ? condition->passes
                                                                   : lh_count_passes(fleet->spec, condition->n)};
    lh_status status = fill_batch(engine, condition, &models, shape, error);
    if (status != LH_OK) return status;
    int replicas = lh_cuda_choose_evaluated_engines(engine, fleet->forward.replicas_per_pass);
    for (int i = 0; i < replicas; i++)
        lh_cuda_add_model(&models, fleet->evaluated_engines[i], shape, 0, &condition->draw, condition->noise);
    status = lh_cuda_run_pass(engine, &models, condition->answers != NULL ? LH_CUDA_CLASSES : LH_CUDA_SUMS, error);
    if (status != LH_OK) return status;
    status = take_answers(fleet, replicas, condition, shape, error);
    if (status == LH_OK && condition->decoded_count > 0)
        status = lh_cuda_answer_greedily(engine, replicas, condition, error);
    *answers = status == LH_OK ? fleet->evaluated_answers[0] : NULL;
    if (status == LH_OK)
        for (int i = 1; i < replicas; i++)
            lh_cuda_store_early_answers(fleet->evaluated_engines[i], fleet->evaluated_answers[i]);
    else
        for (int i = 0; i < replicas; i++) free(fleet->evaluated_answers[i]);
    return status;
}

lh_status lh_cuda_evaluate_condition(lh_engine *handle, const lh_condition *condition, lh_sums *sums,
                                     lh_sums *sequence_sums, lh_error *error) {
    lh_cuda_engine *engine = (lh_cuda_engine *)handle;
    const lh_spec *spec = engine->fleet->spec;
    lh_shape shape = lh_make_shape(spec, condition->n, condition->examples);
    size_t labels = (size_t)shape.sequences * (size_t)shape.labels;
    lh_status status = lh_cuda_begin_call(engine->fleet, error);
    if (status != LH_OK) return status;
    lh_cuda_early_answers *answers = lh_cuda_take_early_answers(engine, condition);
    if (answers == NULL) status = evaluate_for_engines(engine, condition, &shape, &answers, error);
    if (status != LH_OK) return status;
    sum_answers(spec, &shape, answers->answer, sums, sequence_sums);
    if (condition->answers != NULL) memcpy(condition->answers, answers->classes, labels * sizeof *answers->classes);
    if (condition->decoded_count > 0)
        memcpy(condition->lengths, answers->lengths, (size_t)condition->decoded_count * sizeof *answers->lengths);
    free(answers);
    return LH_OK;
}
