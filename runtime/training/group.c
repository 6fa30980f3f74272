/* See group.h. Jobs wait in a queue. A thread takes the first job, does a piece of it and appends the job at the end.
 * If the queue is empty, the thread ends: other threads work on all remaining jobs. */
#include "training/group.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/team.h"

typedef struct group {
    lh_group_advance *advance;
    void **queue; /* [capacity], a ring of jobs */
    int capacity;
    int first;   /* index of the first job */
    int waiting; /* number of jobs in the queue */
    pthread_mutex_t mutex;
} group;

static void *take_job(group *g) {
    void *job = NULL;
    pthread_mutex_lock(&g->mutex);
    if (g->waiting > 0) {
        job = g->queue[g->first];
        g->first = (g->first + 1) % g->capacity;
        g->waiting--;
    }
    pthread_mutex_unlock(&g->mutex);
    return job;
}

static void put_back(group *g, void *job) {
    pthread_mutex_lock(&g->mutex);
    g->queue[(g->first + g->waiting) % g->capacity] = job;
    g->waiting++;
    pthread_mutex_unlock(&g->mutex);
}

static void run_jobs(void *argument, int index, int count) {
    group *g = argument;
    (void)index, (void)count;
    for (void *job; (job = take_job(g)) != NULL;)
        if (g->advance(job)) put_back(g, job);
}

lh_status lh_group_run(int threads, void *const *jobs, int count, lh_group_advance *advance, lh_error *error) {
    group g = {.advance = advance, .capacity = count, .waiting = count, .mutex = PTHREAD_MUTEX_INITIALIZER};
    if (count == 0) return LH_OK;
    g.queue = malloc((size_t)count * sizeof *g.queue);
    if (g.queue == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for %d runs", count);
    for (int i = 0; i < count; i++) g.queue[i] = jobs[i];
    lh_team_run(threads < count ? threads : count, run_jobs, &g);
    free(g.queue);
    return LH_OK;
}
