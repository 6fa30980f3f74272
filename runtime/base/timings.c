/* See longhand/timings.h. */
#include "longhand/timings.h"

#include <stdatomic.h>
#include <string.h>

_Thread_local lh_timings lh_timings_here = {.current_part = LH_PART_REST};
bool lh_timings_fine; /* whether LH_TIMED_FINELY counts */

static _Atomic uint64_t totals[LH_PARTS];

void lh_timings_begin(void) {
    memset(lh_timings_here.ticks, 0, sizeof lh_timings_here.ticks);
    lh_timings_here.current_part = LH_PART_REST;
    lh_timings_here.part_start = lh_read_ticks();
}

void lh_timings_end(void) {
    lh_timings_enter(LH_PART_REST);
    for (int i = 0; i < LH_PARTS; i++)
        atomic_fetch_add_explicit(&totals[i], lh_timings_here.ticks[i], memory_order_relaxed);
}

void lh_timings_read(uint64_t ticks[LH_PARTS]) {
    for (int i = 0; i < LH_PARTS; i++) ticks[i] = atomic_load_explicit(&totals[i], memory_order_relaxed);
}
