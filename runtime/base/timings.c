/* See longhand/timings.h. */
#include "longhand/timings.h"

#include <stdatomic.h>
#include <string.h>

_Thread_local lh_timings lh_timings_here = {.part = LH_PART_REST};
bool lh_timings_fine;

static _Atomic uint64_t totals[LH_PARTS];

void lh_timings_begin(void) {
    memset(lh_timings_here.ticks, 0, sizeof lh_timings_here.ticks);
    lh_timings_here.part = LH_PART_REST;
    lh_timings_here.since = lh_read_ticks();
}

void lh_timings_end(void) {
    lh_timings_enter(LH_PART_REST);
    for (int part = 0; part < LH_PARTS; part++)
        atomic_fetch_add_explicit(&totals[part], lh_timings_here.ticks[part], memory_order_relaxed);
}

void lh_timings_read(uint64_t ticks[LH_PARTS]) {
    for (int part = 0; part < LH_PARTS; part++) ticks[part] = atomic_load_explicit(&totals[part], memory_order_relaxed);
}
