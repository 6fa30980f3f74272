/* The time of a step by parts: every thread of a team counts its own ticks, part by part.
 *
 * A thread is in one part at a time. LH_TIMED(part) reads the processor's counter, books what has passed to the part
 * that ends here, and does the same at the end of the block it stands in. It belongs into coarse operations (a matrix
 * product, the attention of a block of sequences): a lap costs some 10 ns. base/team.c books whole regions and the
 * meetings of threads. What is too short for laps in every run stands in LH_TIMED_FINELY, which counts only while
 * lh_laps_fine is set. No number of a run depends on any of this.
 */
#ifndef LONGHAND_LAPS_H
#define LONGHAND_LAPS_H

#include <stdbool.h>
#include <stdint.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <time.h>
#endif

typedef enum lh_part {
    LH_PART_SAMPLING,     /* examples and positions */
    LH_PART_ATTENTION,    /* logits, softmax, weighted sums, rotations; not the products around them */
    LH_PART_EXPONENTIALS, /* those of the softmax, which belong to attention where laps are not fine */
    LH_PART_PRODUCTS,     /* matrix products of the layers */
    LH_PART_OPTIMISER,    /* norm of the gradient, clipping, update */
    LH_PART_WAITING,      /* for other threads */
    LH_PART_REST,         /* normalisation, dropout, loss, embedding, packing, folding gradients, ... */
    LH_PARTS
} lh_part;

typedef struct lh_laps {
    uint64_t ticks[LH_PARTS];
    uint64_t since; /* when the part began */
    lh_part part;   /* the running one */
} lh_laps;

extern _Thread_local lh_laps lh_laps_here;
extern bool lh_laps_fine; /* changes only while no team is at work */

/* The processor's counter: constant rate, the same on all processors. Its unit matters to nobody: only shares of it
 * are told. */
static inline uint64_t lh_ticks(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

/* Ends the running part and begins this one; returns the one that ended. */
static inline lh_part lh_lap(lh_part part) {
    lh_laps *laps = &lh_laps_here;
    uint64_t now = lh_ticks();
    lh_part ended = laps->part;
    laps->ticks[ended] += now - laps->since;
    laps->since = now;
    laps->part = part;
    return ended;
}

static inline void lh_lap_back(const lh_part *before) { lh_lap(*before); }

/* From here to the end of the block the time belongs to this part. */
#define LH_TIMED(this_part) __attribute__((cleanup(lh_lap_back))) const lh_part lh_part_before = lh_lap(this_part)

static inline void lh_fine_lap_back(const lh_part *before) {
    if (*before != LH_PARTS) lh_lap(*before);
}

/* LH_TIMED where laps are fine; otherwise the time stays with the part around it. */
#define LH_TIMED_FINELY(this_part) \
    __attribute__((cleanup(lh_fine_lap_back))) const lh_part lh_part_around = \
        lh_laps_fine ? lh_lap(this_part) : LH_PARTS

/* The calling thread counts from zero, now, in LH_PART_REST. */
void lh_laps_begin(void);

/* Adds what the calling thread has counted to the totals of this process. */
void lh_laps_end(void);

/* Totals of this process: the ticks that all threads spent in each part, for those that have ended. */
void lh_laps_read(uint64_t ticks[LH_PARTS]);

#endif
