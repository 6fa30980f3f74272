/* See cpu_room.h. */
#include "engine/cpu_room.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

void lh_cpu_take_failure(lh_cpu_failure *first, lh_cpu_failure *one) {
    if (one->status != LH_OK && (first->status == LH_OK || one->at < first->at)) *first = *one;
    one->status = LH_OK;
}

static size_t vector_bytes(const lh_cpu_rooms *rooms) {
    return (size_t)rooms->spec->parameter_storage * (size_t)rooms->real_bytes;
}

static lh_status open_lane(const lh_cpu_rooms *rooms, lh_cpu_lane *lane, lh_error *error) {
    lane->workspace = lh_engine_memory(rooms->train.workspace, "a thread's activations", error);
    if (lane->workspace == NULL) return LH_ERR_ENVIRONMENT;
    lane->gradient = lh_engine_memory(vector_bytes(rooms), "a thread's gradient", error);
    if (lane->gradient == NULL) return LH_ERR_ENVIRONMENT;
    return lh_batch_open(&lane->batch, rooms->spec, rooms->train.longest_n, rooms->train.shard, error);
}

static lh_status open_training(const lh_cpu_rooms *rooms, lh_cpu_room *room, lh_error *error) {
    size_t threads = (size_t)rooms->threads, shards = (size_t)rooms->spec->train.shards;
    size_t chunks = (size_t)(rooms->spec->parameter_storage / LH_CHUNK);
    room->shared = lh_engine_memory(rooms->train.shared, "what a batch shares", error);
    room->lanes = lh_engine_memory(threads * sizeof *room->lanes, "threads", error);
    room->shard_sums = lh_engine_memory(shards * sizeof *room->shard_sums, "sums", error);
    room->chunk_norms = lh_engine_memory(chunks * sizeof *room->chunk_norms, "sums", error);
    room->chunk_updates = lh_engine_memory(chunks * sizeof *room->chunk_updates, "sums", error);
    bool whole = room->shared != NULL && room->lanes != NULL && room->shard_sums != NULL && room->chunk_norms != NULL &&
                 room->chunk_updates != NULL;
    lh_status status = whole ? LH_OK : LH_ERR_ENVIRONMENT;
    for (size_t i = 0; status == LH_OK && i < threads; i++) status = open_lane(rooms, &room->lanes[i], error);
    return status;
}

static lh_status open_forward_lane(const lh_cpu_rooms *rooms, lh_cpu_forward_lane *lane,
                                   const lh_cpu_forward_needs *needs, lh_error *error) {
    lane->workspace = lh_engine_memory(needs->workspace, "a thread's activations", error);
    if (lane->workspace == NULL) return LH_ERR_ENVIRONMENT;
    lane->logits = lh_engine_memory(needs->logits, "a thread's logits", error);
    if (lane->logits == NULL) return LH_ERR_ENVIRONMENT;
    return lh_batch_open(&lane->batch, rooms->spec, needs->longest_n, needs->part, error);
}

static void close_forward(const lh_cpu_rooms *rooms, lh_cpu_room *room) {
    for (int i = 0; room->forward_lanes != NULL && i < rooms->threads; i++) {
        free(room->forward_lanes[i].workspace);
        free(room->forward_lanes[i].logits);
        lh_batch_close(&room->forward_lanes[i].batch);
    }
    free(room->forward_lanes);
    free(room->forward_shared);
    free(room->block_sums);
    room->forward_lanes = NULL;
    room->forward_shared = room->block_sums = NULL;
    room->forward = (lh_cpu_forward_needs){0};
}

static lh_status open_forward(const lh_cpu_rooms *rooms, lh_cpu_room *room, const lh_cpu_forward_needs *needs,
                              lh_error *error) {
    size_t threads = (size_t)rooms->threads;
    room->forward_lanes = lh_engine_memory(threads * sizeof *room->forward_lanes, "threads", error);
    room->forward_shared = lh_engine_memory(needs->shared, "what a batch shares", error);
    room->block_sums = lh_engine_memory((size_t)needs->examples * sizeof *room->block_sums, "sums", error);
    bool whole = room->forward_lanes != NULL && room->forward_shared != NULL && room->block_sums != NULL;
    lh_status status = whole ? LH_OK : LH_ERR_ENVIRONMENT;
    for (size_t i = 0; status == LH_OK && i < threads; i++)
        status = open_forward_lane(rooms, &room->forward_lanes[i], needs, error);
    if (status == LH_OK) room->forward = *needs;
    else close_forward(rooms, room);
    return status;
}

static void close_room(const lh_cpu_rooms *rooms, lh_cpu_room *room) {
    for (int i = 0; room->lanes != NULL && i < rooms->threads; i++) {
        free(room->lanes[i].workspace);
        free(room->lanes[i].gradient);
        lh_batch_close(&room->lanes[i].batch);
    }
    close_forward(rooms, room);
    free(room->lanes);
    free(room->shared);
    free(room->shard_sums);
    free(room->chunk_norms);
    free(room->chunk_updates);
    free(room);
}

static lh_status open_room(const lh_cpu_rooms *rooms, lh_cpu_room **to, lh_error *error) {
    lh_cpu_room *room = lh_engine_memory(sizeof *room, "working memory", error);
    if (room == NULL) return LH_ERR_ENVIRONMENT;
    lh_status status = rooms->train.workspace > 0 ? open_training(rooms, room, error) : LH_OK;
    if (status == LH_OK) *to = room;
    else close_room(rooms, room);
    return status;
}

lh_status lh_cpu_rooms_open(const lh_spec *spec, int threads, int real_bytes, const lh_cpu_train_needs *train,
                            lh_cpu_rooms **to, lh_error *error) {
    lh_cpu_rooms *rooms = lh_engine_memory(sizeof *rooms, "working memory", error);
    if (rooms == NULL) return LH_ERR_ENVIRONMENT;
    rooms->spec = spec;
    rooms->threads = threads;
    rooms->real_bytes = real_bytes;
    if (train != NULL) rooms->train = *train;
    pthread_mutex_init(&rooms->mutex, NULL);
    *to = rooms;
    return LH_OK;
}

void lh_cpu_rooms_join(lh_cpu_rooms *rooms) {
    pthread_mutex_lock(&rooms->mutex);
    rooms->engines++;
    pthread_mutex_unlock(&rooms->mutex);
}

void lh_cpu_rooms_leave(lh_cpu_rooms *rooms) {
    pthread_mutex_lock(&rooms->mutex);
    bool last = --rooms->engines == 0;
    pthread_mutex_unlock(&rooms->mutex);
    if (!last) return;
    while (rooms->free != NULL) {
        lh_cpu_room *room = rooms->free;
        rooms->free = room->next;
        close_room(rooms, room);
    }
    pthread_mutex_destroy(&rooms->mutex);
    free(rooms);
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static int more(int a, int b) { return a > b ? a : b; }

lh_cpu_forward_needs lh_cpu_more_forward(const lh_cpu_forward_needs *a, const lh_cpu_forward_needs *b) {
    return (lh_cpu_forward_needs){
        .workspace = larger(a->workspace, b->workspace),
        .shared = larger(a->shared, b->shared),
        .logits = larger(a->logits, b->logits),
        .words = larger(a->words, b->words),
        .longest_n = more(a->longest_n, b->longest_n),
        .part = more(a->part, b->part),
        .examples = more(a->examples, b->examples),
    };
}

/* Whether two are the same: of the larger of both and one of them this says that it suffices. */
static bool equal(const lh_cpu_forward_needs *a, const lh_cpu_forward_needs *b) {
    return a->workspace == b->workspace && a->shared == b->shared && a->logits == b->logits && a->words == b->words &&
           a->longest_n == b->longest_n && a->part == b->part && a->examples == b->examples;
}

static lh_status grow_forward(const lh_cpu_rooms *rooms, lh_cpu_room *room, const lh_cpu_forward_needs *needs,
                              lh_error *error) {
    lh_cpu_forward_needs all = lh_cpu_more_forward(&room->forward, needs);
    if (room->forward_lanes != NULL && equal(&all, &room->forward)) return LH_OK;
    close_forward(rooms, room);
    return open_forward(rooms, room, &all, error);
}

lh_status lh_cpu_room_take(lh_cpu_rooms *rooms, const lh_cpu_forward_needs *needs, lh_cpu_room **to, lh_error *error) {
    pthread_mutex_lock(&rooms->mutex);
    lh_cpu_room *room = rooms->free;
    if (room != NULL) rooms->free = room->next;
    pthread_mutex_unlock(&rooms->mutex);
    lh_status status = room != NULL ? LH_OK : open_room(rooms, &room, error);
    if (status == LH_OK && needs != NULL) status = grow_forward(rooms, room, needs, error);
    if (status == LH_OK) *to = room;
    else if (room != NULL) lh_cpu_room_give_back(rooms, room, true);
    return status;
}

void lh_cpu_room_give_back(lh_cpu_rooms *rooms, lh_cpu_room *room, bool clean) {
    if (!clean) {
        close_room(rooms, room);
        return;
    }
    pthread_mutex_lock(&rooms->mutex);
    room->next = rooms->free;
    rooms->free = room;
    pthread_mutex_unlock(&rooms->mutex);
}
