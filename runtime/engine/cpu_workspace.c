/* See cpu_workspace.h. */
#include "engine/cpu_workspace.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

void lh_cpu_keep_first_failure(lh_cpu_failure *first, lh_cpu_failure *failure) {
    if (failure->status != LH_OK && (first->status == LH_OK || failure->index < first->index)) *first = *failure;
    failure->status = LH_OK;
}

static size_t get_vector_bytes(const lh_cpu_workspaces *workspaces) {
    return (size_t)workspaces->spec->parameter_storage * (size_t)workspaces->program->real_bytes;
}

static lh_status open_lane(const lh_cpu_workspaces *workspaces, lh_cpu_lane *lane, lh_error *error) {
    lane->workspace = lh_engine_allocate(workspaces->train.workspace, "a thread's activations", error);
    if (lane->workspace == NULL) return LH_ERR_ENVIRONMENT;
    lane->gradient = lh_engine_allocate(get_vector_bytes(workspaces), "a thread's gradient", error);
    if (lane->gradient == NULL) return LH_ERR_ENVIRONMENT;
    if (workspaces->program->begin_length != NULL) {
        lane->shared = lh_engine_allocate(workspaces->train.shared, "the shared values of a length", error);
        if (lane->shared == NULL) return LH_ERR_ENVIRONMENT;
    }
    return lh_batch_open(&lane->batch, workspaces->spec, workspaces->train.max_n, workspaces->train.shard_sequences,
                         error);
}

static lh_status open_training(const lh_cpu_workspaces *workspaces, lh_cpu_workspace *workspace, lh_error *error) {
    size_t threads = (size_t)workspaces->threads, shards = (size_t)workspaces->spec->train.shards;
    size_t chunks = (size_t)(workspaces->spec->parameter_storage / LH_CHUNK);
    bool has_lane_values = workspaces->program->begin_length != NULL;
    if (!has_lane_values)
        workspace->shared = lh_engine_allocate(workspaces->train.shared, "the shared values of a batch", error);
    workspace->lanes = lh_engine_allocate(threads * sizeof *workspace->lanes, "threads", error);
    workspace->shard_sums = lh_engine_allocate(shards * sizeof *workspace->shard_sums, "sums", error);
    workspace->chunk_squares = lh_engine_allocate(chunks * sizeof *workspace->chunk_squares, "sums", error);
    workspace->chunk_updates = lh_engine_allocate(chunks * sizeof *workspace->chunk_updates, "sums", error);
    bool is_complete = (has_lane_values || workspace->shared != NULL) && workspace->lanes != NULL &&
                       workspace->shard_sums != NULL && workspace->chunk_squares != NULL &&
                       workspace->chunk_updates != NULL;
    lh_status status = is_complete ? LH_OK : LH_ERR_ENVIRONMENT;
    for (size_t i = 0; status == LH_OK && i < threads; i++) status = open_lane(workspaces, &workspace->lanes[i], error);
    return status;
}

static lh_status open_forward_lane(const lh_cpu_workspaces *workspaces, lh_cpu_forward_lane *lane,
                                   const lh_cpu_forward_needs *memory_needs, lh_error *error) {
    lane->workspace = lh_engine_allocate(memory_needs->workspace, "a thread's activations", error);
    if (lane->workspace == NULL) return LH_ERR_ENVIRONMENT;
    lane->logits = lh_engine_allocate(memory_needs->logits, "a thread's logits", error);
    if (lane->logits == NULL) return LH_ERR_ENVIRONMENT;
    return lh_batch_open(&lane->batch, workspaces->spec, memory_needs->max_n, memory_needs->part_sequences, error);
}

static void close_forward(const lh_cpu_workspaces *workspaces, lh_cpu_workspace *workspace) {
    for (int i = 0; workspace->forward_lanes != NULL && i < workspaces->threads; i++) {
        free(workspace->forward_lanes[i].workspace);
        free(workspace->forward_lanes[i].logits);
        lh_batch_close(&workspace->forward_lanes[i].batch);
    }
    free(workspace->forward_lanes);
    free(workspace->forward_shared);
    free(workspace->block_sums);
    workspace->forward_lanes = NULL;
    workspace->forward_shared = workspace->block_sums = NULL;
    workspace->forward = (lh_cpu_forward_needs){0};
}

static lh_status open_forward(const lh_cpu_workspaces *workspaces, lh_cpu_workspace *workspace,
                              const lh_cpu_forward_needs *memory_needs, lh_error *error) {
    size_t threads = (size_t)workspaces->threads;
    workspace->forward_lanes = lh_engine_allocate(threads * sizeof *workspace->forward_lanes, "threads", error);
    workspace->forward_shared = lh_engine_allocate(memory_needs->shared, "the shared values of a batch", error);
    workspace->block_sums =
        lh_engine_allocate((size_t)memory_needs->examples * sizeof *workspace->block_sums, "sums", error);
    bool is_complete =
        workspace->forward_lanes != NULL && workspace->forward_shared != NULL && workspace->block_sums != NULL;
    lh_status status = is_complete ? LH_OK : LH_ERR_ENVIRONMENT;
    for (size_t i = 0; status == LH_OK && i < threads; i++)
        status = open_forward_lane(workspaces, &workspace->forward_lanes[i], memory_needs, error);
    if (status == LH_OK) workspace->forward = *memory_needs;
    else close_forward(workspaces, workspace);
    return status;
}

static void close_workspace(const lh_cpu_workspaces *workspaces, lh_cpu_workspace *workspace) {
    for (int i = 0; workspace->lanes != NULL && i < workspaces->threads; i++) {
        free(workspace->lanes[i].workspace);
        free(workspace->lanes[i].gradient);
        free(workspace->lanes[i].shared);
        lh_batch_close(&workspace->lanes[i].batch);
    }
    close_forward(workspaces, workspace);
    free(workspace->panels);
    free(workspace->lanes);
    free(workspace->shared);
    free(workspace->shard_sums);
    free(workspace->chunk_squares);
    free(workspace->chunk_updates);
    free(workspace);
}

static lh_status open_workspace(const lh_cpu_workspaces *workspaces, lh_cpu_workspace **to, lh_error *error) {
    lh_cpu_workspace *workspace = lh_engine_allocate(sizeof *workspace, "working memory", error);
    if (workspace == NULL) return LH_ERR_ENVIRONMENT;
    lh_status status = LH_OK;
    if (workspaces->program->panels_bytes > 0) {
        workspace->panels = lh_engine_allocate(workspaces->program->panels_bytes, "the packed weights", error);
        if (workspace->panels == NULL) status = LH_ERR_ENVIRONMENT;
    }
    if (status == LH_OK && workspaces->train.workspace > 0) status = open_training(workspaces, workspace, error);
    if (status == LH_OK) *to = workspace;
    else close_workspace(workspaces, workspace);
    return status;
}

lh_status lh_cpu_workspaces_open(const lh_spec *spec, const lh_cpu_program *program, int threads,
                                 const lh_cpu_train_needs *train, lh_cpu_workspaces **to, lh_error *error) {
    lh_cpu_workspaces *workspaces = lh_engine_allocate(sizeof *workspaces, "working memory", error);
    if (workspaces == NULL) return LH_ERR_ENVIRONMENT;
    workspaces->spec = spec;
    workspaces->program = program;
    workspaces->threads = threads;
    if (train != NULL) workspaces->train = *train;
    pthread_mutex_init(&workspaces->mutex, NULL);
    *to = workspaces;
    return LH_OK;
}

void lh_cpu_workspaces_join(lh_cpu_workspaces *workspaces) {
    pthread_mutex_lock(&workspaces->mutex);
    workspaces->engines++;
    pthread_mutex_unlock(&workspaces->mutex);
}

void lh_cpu_workspaces_leave(lh_cpu_workspaces *workspaces) {
    pthread_mutex_lock(&workspaces->mutex);
    bool was_last_engine = --workspaces->engines == 0;
    pthread_mutex_unlock(&workspaces->mutex);
    if (!was_last_engine) return;
    while (workspaces->free != NULL) {
        lh_cpu_workspace *workspace = workspaces->free;
        workspaces->free = workspace->next;
        close_workspace(workspaces, workspace);
    }
    pthread_mutex_destroy(&workspaces->mutex);
    free(workspaces);
}

lh_cpu_forward_needs lh_cpu_combine_needs(const lh_cpu_forward_needs *a, const lh_cpu_forward_needs *b) {
    return (lh_cpu_forward_needs){
        .workspace = lh_max_size(a->workspace, b->workspace),
        .shared = lh_max_size(a->shared, b->shared),
        .logits = lh_max_size(a->logits, b->logits),
        .words = lh_max_size(a->words, b->words),
        .max_n = lh_max_int(a->max_n, b->max_n),
        .part_sequences = lh_max_int(a->part_sequences, b->part_sequences),
        .examples = lh_max_int(a->examples, b->examples),
    };
}

static bool are_equal_needs(const lh_cpu_forward_needs *a, const lh_cpu_forward_needs *b) {
    return a->workspace == b->workspace && a->shared == b->shared && a->logits == b->logits && a->words == b->words &&
           a->max_n == b->max_n && a->part_sequences == b->part_sequences && a->examples == b->examples;
}

/* Makes the buffers for evaluation large enough for memory_needs. */
static lh_status grow_forward(const lh_cpu_workspaces *workspaces, lh_cpu_workspace *workspace,
                              const lh_cpu_forward_needs *memory_needs, lh_error *error) {
    lh_cpu_forward_needs combined_needs = lh_cpu_combine_needs(&workspace->forward, memory_needs);
    if (workspace->forward_lanes != NULL && are_equal_needs(&combined_needs, &workspace->forward))
        return LH_OK; /* large enough */
    close_forward(workspaces, workspace);
    return open_forward(workspaces, workspace, &combined_needs, error);
}

lh_status lh_cpu_workspace_take(lh_cpu_workspaces *workspaces, const lh_cpu_forward_needs *memory_needs,
                                lh_cpu_workspace **to, lh_error *error) {
    pthread_mutex_lock(&workspaces->mutex);
    lh_cpu_workspace *workspace = workspaces->free;
    if (workspace != NULL) workspaces->free = workspace->next;
    pthread_mutex_unlock(&workspaces->mutex);
    lh_status status = workspace != NULL ? LH_OK : open_workspace(workspaces, &workspace, error);
    if (status == LH_OK && memory_needs != NULL) status = grow_forward(workspaces, workspace, memory_needs, error);
    if (status == LH_OK) *to = workspace;
    else if (workspace != NULL) lh_cpu_workspace_give_back(workspaces, workspace, true);
    return status;
}

void lh_cpu_workspace_give_back(lh_cpu_workspaces *workspaces, lh_cpu_workspace *workspace, bool is_clean) {
    if (!is_clean) {
        close_workspace(workspaces, workspace);
        return;
    }
    pthread_mutex_lock(&workspaces->mutex);
    workspace->next = workspaces->free;
    workspaces->free = workspace;
    pthread_mutex_unlock(&workspaces->mutex);
}
