/* Decoding on the CPU: one sequence, token after token, by what the program keeps of those before. */
#include "train/cpu_engine.h"

/* Takes the logits of the labels that are of token t; their answers are the target of what comes behind. Returns how
 * many these are. */
static int take_answers(lh_cpu_engine *cpu, const lh_query *query, const lh_cpu_block *block, int t, double *logits) {
    const lh_spec *spec = cpu->engine.spec;
    lh_batch *batch = &cpu->forward.lanes[0].batch;
    int labels = batch->shape.labels, first = batch->shape.length[spec->format->label_stream] - labels, taken = 0;
    for (int i = 0; i < labels; i++) {
        if ((block->place != NULL ? block->place[i] : first + i) != t) continue;
        double *row = logits + (size_t)i * (size_t)spec->classes;
        lh_cpu_take_logits(cpu, i, 1, row);
        batch->labels[i] = (uint16_t)lh_best_class(row, spec->classes);
        taken++;
    }
    if (taken > 0) lh_batch_put(batch, spec, query->n, batch->input, batch->labels);
    return taken;
}

void lh_cpu_decode(lh_engine *engine, const lh_query *query, double *logits) {
    lh_cpu_engine *cpu = (lh_cpu_engine *)engine;
    lh_cpu_step step;
    lh_cpu_block block;
    lh_cpu_begin_query(cpu, query, &step, &block);
    cpu->program->decode_begin(&step, &block, cpu->forward.decode);
    for (int t = 0, left = step.shape.labels; left > 0; t++) {
        cpu->program->decode_step(&step, &block, t, cpu->forward.decode);
        left -= take_answers(cpu, query, &block, t, logits);
    }
}
