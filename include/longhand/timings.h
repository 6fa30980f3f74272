/* Measures the time of a step by parts: each thread of a team counts ticks for each part.
 *
 * A thread is in one part at a time. LH_TIMED(part) reads the processor's counter, adds the elapsed ticks to the part
 * that ends, and begins `part`; at the end of the enclosing C block it returns to the earlier part. One reading costs
 * about 10 ns, so LH_TIMED is for coarse operations (a matrix product, the attention of a block of sequences).
 * base/team.c times every thread's part of a parallel region, and its wait at a barrier. LH_TIMED_FINELY is for shorter
 * operations and counts only while lh_timings_fine is set. No result of a run depends on these times.
 */
#ifndef LONGHAND_TIMINGS_H
#define LONGHAND_TIMINGS_H

#include <stdbool.h>
#include <stdint.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <time.h>
#endif

typedef enum lh_part {
    LH_PART_SAMPLING,     /* examples and positions */
    LH_PART_ATTENTION,    /* scores, softmax, weighted sums, rotations; not the projections */
    LH_PART_EXPONENTIALS, /* exponentials of the softmax; part of attention unless lh_timings_fine is set */
    LH_PART_PRODUCTS,     /* matrix products of the layers */
    LH_PART_OPTIMISER,    /* norm of the gradient, clipping, update */
    LH_PART_WAITING,      /* waiting for other threads */
    LH_PART_REST,         /* normalisation, dropout, loss, embedding, packing, folding gradients, ... */
    LH_PARTS
} lh_part;

typedef struct lh_timings {
    uint64_t ticks[LH_PARTS];
    uint64_t part_start; /* tick at which the current part began */
    lh_part current_part;
} lh_timings;

extern _Thread_local lh_timings lh_timings_here;
extern bool lh_timings_fine; /* whether LH_TIMED_FINELY counts; changes only while no team runs */

/* The processor's counter: constant rate, equal on all processors. Its unit is unspecified; reports contain only shares
 * of the total. */
static inline uint64_t lh_read_ticks(void) {
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

/* Ends the current part and begins new_part; returns the part that ended. */
static inline lh_part lh_timings_enter(lh_part new_part) {
    lh_timings *timings = &lh_timings_here;
    uint64_t now = lh_read_ticks();
    lh_part ended_part = timings->current_part;
    timings->ticks[ended_part] += now - timings->part_start;
    timings->part_start = now;
    timings->current_part = new_part;
    return ended_part;
}

static inline void lh_timings_return(const lh_part *earlier_part) { lh_timings_enter(*earlier_part); }

/* Counts the time from here to the end of the enclosing C block for this part. */
#define LH_TIMED(this_part) \
    __attribute__((cleanup(lh_timings_return))) const lh_part lh_earlier_part = lh_timings_enter(this_part)

static inline void lh_timings_return_finely(const lh_part *earlier_part) {
    if (*earlier_part != LH_PARTS) lh_timings_enter(*earlier_part);
}

/* Counts the time as LH_TIMED does if lh_timings_fine is set; if not, the time counts for the enclosing part. */
#define LH_TIMED_FINELY(this_part) \
    __attribute__((cleanup(lh_timings_return_finely))) const lh_part lh_enclosing_part = \
        lh_timings_fine ? lh_timings_enter(this_part) : LH_PARTS

/* Sets the calling thread's counts to zero and begins LH_PART_REST. */
void lh_timings_begin(void);

/* Adds the calling thread's counts to the totals of this process. */
void lh_timings_end(void);

/* Reads the totals of this process: the ticks in each part of all threads that called lh_timings_end. */
void lh_timings_read(uint64_t ticks[LH_PARTS]);

#endif
