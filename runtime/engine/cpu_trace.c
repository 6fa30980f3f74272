/* Traces a forward pass on the CPU: one sequence, one thread. */
#include <math.h>

#include "engine/cpu_engine.h"

lh_status lh_cpu_trace(lh_engine *engine, const lh_query *query, const lh_trace *to, double *logits, lh_error *error) {
    lh_cpu_engine *cpu = (lh_cpu_engine *)engine;
    lh_cpu_step step;
    lh_cpu_block block;
    lh_sums sums = {0};
    lh_status status = lh_cpu_begin_call(cpu, error);
    if (status != LH_OK) return status;
    lh_cpu_begin_query(cpu, query, &step, &block);
    cpu->program->trace_block(&step, &block, cpu->workspace->forward_lanes[0].workspace, to, &sums);
    if (logits != NULL) lh_cpu_copy_logits(cpu, step.shape.labels, logits);
    lh_cpu_end_call(cpu, isfinite(sums.loss));
    return LH_OK;
}
