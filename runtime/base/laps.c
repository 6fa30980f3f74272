/* Timings of parts; see longhand/laps.h. */
#include "longhand/laps.h"

#include <stdatomic.h>
#include <string.h>

_Thread_local lh_laps lh_laps_here = {.part = LH_PART_REST};
bool lh_laps_fine;

static _Atomic uint64_t totals[LH_PARTS];

void lh_laps_begin(void) {
    memset(lh_laps_here.ticks, 0, sizeof lh_laps_here.ticks);
    lh_laps_here.part = LH_PART_REST;
    lh_laps_here.since = lh_ticks();
}

void lh_laps_end(void) {
    lh_lap(LH_PART_REST);
    for (int part = 0; part < LH_PARTS; part++)
        atomic_fetch_add_explicit(&totals[part], lh_laps_here.ticks[part], memory_order_relaxed);
}

void lh_laps_read(uint64_t ticks[LH_PARTS]) {
    for (int part = 0; part < LH_PARTS; part++) ticks[part] = atomic_load_explicit(&totals[part], memory_order_relaxed);
}
