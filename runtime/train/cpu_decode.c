/* Decoding on the CPU: blocks of sequences, token after token, by what the program keeps of those before. Sequences that
 * have ended leave their block. */
#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "base/team.h"
#include "train/cpu_engine.h"

/* Sequences of a block, at most: weights are read once for so many rows. Fewer where they would take more memory than
 * this: long sequences have work enough of their own. */
enum { BLOCK = 16, BLOCK_BYTES = 64 << 20 };

/* What a thread has for itself: one block at a time. */
typedef struct lane {
    void *memory, *logits;
    lh_batch batch;
    int of[BLOCK]; /* row of the block -> sequence of the query */
} lane;

typedef struct decoding {
    const lh_cpu_engine *cpu;
    const lh_query *query;
    const lh_answers *to;
    lh_cpu_step step; /* of a whole block */
    lane *lanes;      /* [threads] */
    int count, blocks;
    atomic_int next;
    atomic_bool stopped; /* some answers are missing */
} decoding;

static lh_status open_lane(const decoding *job, lane *l, lh_error *error) {
    const lh_spec *spec = job->cpu->engine.spec;
    size_t labels = (size_t)job->step.shape.sequences * (size_t)job->step.shape.labels;
    l->memory = lh_engine_memory(job->cpu->program->decode_bytes(&job->step.shape), "keys and values", error);
    if (l->memory == NULL) return LH_ERR_ENVIRONMENT;
    l->logits = lh_engine_memory(labels * (size_t)spec->classes * (size_t)job->cpu->engine.real_bytes,
                                 "a thread's logits", error);
    if (l->logits == NULL) return LH_ERR_ENVIRONMENT;
    return lh_batch_open(&l->batch, spec, job->query->n, job->step.shape.sequences, error);
}

/* A sequence's row of the block, with the answers so far for its target. */
static void put_row(const decoding *job, lane *l, int row) {
    const lh_spec *spec = job->cpu->engine.spec;
    size_t inputs = (size_t)lh_input_length(spec, job->query->n), labels = (size_t)job->step.shape.labels;
    lh_batch_put(&l->batch, spec, job->query->n, row, job->query->input + (size_t)l->of[row] * inputs,
                 job->to->answers + (size_t)l->of[row] * labels);
}

/* The label whose answer token t of a row gives; -1: none. */
static int label_of(const decoding *job, const lh_cpu_block *block, int row, int t) {
    const lh_spec *spec = job->cpu->engine.spec;
    int labels = job->step.shape.labels, first = job->step.shape.length[spec->format->label_stream] - labels;
    if (block->place == NULL) return t - first;
    for (int i = 0; i < labels; i++)
        if (block->place[row * labels + i] == t) return i;
    return -1;
}

/* Takes the answer of a label from the block's logits; whether the sequence ends with it. */
static bool take_answer(const decoding *job, const lane *l, int row, int label) {
    const lh_spec *spec = job->cpu->engine.spec;
    size_t labels = (size_t)job->step.shape.labels, classes = (size_t)spec->classes;
    size_t from = ((size_t)row * labels + (size_t)label) * classes;
    size_t at = (size_t)l->of[row] * labels + (size_t)label;
    double largest = 0;
    int best = 0;
    for (size_t c = 0; c < classes; c++) {
        double logit = lh_real_at(l->logits, job->cpu->engine.real_bytes, (int64_t)(from + c));
        if (c == 0 || logit > largest) {
            largest = logit;
            best = (int)c;
        }
        if (job->to->logits != NULL) job->to->logits[at * classes + c] = logit;
    }
    job->to->answers[at] = (uint16_t)best;
    return lh_ends(spec, best);
}

/* Behind its end a sequence has that symbol again. */
static void end_sequence(const decoding *job, int sequence, int length) {
    int labels = job->step.shape.labels;
    uint16_t *answers = job->to->answers + (size_t)sequence * (size_t)labels;
    for (int i = length; i < labels; i++) answers[i] = answers[length - 1];
    if (job->to->lengths != NULL) job->to->lengths[sequence] = length;
}

/* The answers of token t; rows that have ended leave the block to the last ones. */
static void take_answers(const decoding *job, lane *l, const lh_cpu_step *step, lh_cpu_block *block, int t) {
    for (int row = block->sequences - 1; row >= 0; row--) {
        int label = label_of(job, block, row, t);
        bool last = label >= 0 && (take_answer(job, l, row, label) || label + 1 == step->shape.labels);
        if (!last) {
            if (label >= 0) put_row(job, l, row);
            continue;
        }
        end_sequence(job, l->of[row], label + 1);
        block->sequences--;
        if (row == block->sequences) continue;
        l->of[row] = l->of[block->sequences];
        job->cpu->program->decode_move(step, row, block->sequences, l->memory);
        put_row(job, l, row);
    }
}

/* Whether decoding ends here, unfinished. */
static bool gives_up(decoding *job) {
    if (lh_is_stopped(&job->cpu->engine)) atomic_store(&job->stopped, true);
    return atomic_load(&job->stopped);
}

static void decode_block(decoding *job, lane *l, int index) {
    const lh_cpu_program *program = job->cpu->program;
    int first = index * job->step.shape.sequences, left = job->count - first, from = 0;
    lh_cpu_step step = job->step;
    if (left < step.shape.sequences) step.shape.sequences = left;
    for (int row = 0; row < step.shape.sequences; row++) {
        l->of[row] = first + row;
        put_row(job, l, row);
    }
    lh_cpu_block block = lh_batch_block(&l->batch, 0, step.shape.sequences);
    block.first_example = job->query->example + (uint32_t)first;
    block.loss_scale = 1.0;
    block.logits = l->logits;
    int length = step.shape.length[job->cpu->engine.spec->format->label_stream];
    int known = block.place == NULL ? length - step.shape.labels : 0; /* tokens that no answer is awaited for */
    if (program->decode_begin != NULL) program->decode_begin(&step, &block, l->memory);
    for (int to; from < known && !gives_up(job); from = to) {
        to = from + LH_DECODE_TOKENS < known ? from + LH_DECODE_TOKENS : known;
        program->decode_step(&step, &block, from, to, l->memory);
    }
    for (; block.sequences > 0 && !gives_up(job); from++) {
        program->decode_step(&step, &block, from, from + 1, l->memory);
        take_answers(job, l, &step, &block, from);
    }
}

static void decode_work(void *argument, int index, int count) {
    decoding *job = argument;
    job->cpu->program->begin_step(&job->step, index, count);
    lh_team_barrier();
    int block;
    while ((block = atomic_fetch_add(&job->next, 1)) < job->blocks && !gives_up(job))
        decode_block(job, &job->lanes[index], block);
}

static int block_sequences(const lh_cpu_engine *cpu, int n, int count) {
    lh_shape shape = lh_shape_at(cpu->engine.spec, n, count < BLOCK ? count : BLOCK);
    while (shape.sequences > 1 && cpu->program->decode_bytes(&shape) > BLOCK_BYTES) shape.sequences /= 2;
    return shape.sequences;
}

static lh_status decode(const lh_cpu_engine *cpu, const lh_query *query, int count, const lh_answers *to,
                        lh_error *error) {
    const lh_engine *engine = &cpu->engine;
    decoding job = {.cpu = cpu, .query = query, .to = to, .count = count};
    int block = block_sequences(cpu, query->n, count);
    job.step = lh_cpu_query_step(cpu, query, block);
    job.blocks = (count + block - 1) / block;
    atomic_init(&job.next, 0);
    atomic_init(&job.stopped, false);
    int threads = engine->threads < job.blocks ? engine->threads : job.blocks;
    size_t labels = (size_t)count * (size_t)job.step.shape.labels;
    memset(to->answers, 0, labels * sizeof *to->answers);
    if (to->logits != NULL) memset(to->logits, 0, labels * (size_t)engine->spec->classes * sizeof *to->logits);
    job.lanes = lh_engine_memory((size_t)threads * sizeof *job.lanes, "threads", error);
    lh_status status = job.lanes != NULL ? LH_OK : LH_ERR_ENVIRONMENT;
    for (int i = 0; status == LH_OK && i < threads; i++) status = open_lane(&job, &job.lanes[i], error);
    if (status == LH_OK) lh_team_run(threads, decode_work, &job);
    if (atomic_load(&job.stopped)) status = LH_STOPPED;
    for (int i = 0; job.lanes != NULL && i < threads; i++) {
        free(job.lanes[i].memory);
        free(job.lanes[i].logits);
        lh_batch_close(&job.lanes[i].batch);
    }
    free(job.lanes);
    return status;
}

lh_status lh_cpu_decode(lh_engine *engine, const lh_query *query, int count, const lh_answers *to, lh_error *error) {
    lh_cpu_engine *cpu = (lh_cpu_engine *)engine;
    lh_status status = lh_cpu_enter(cpu, error);
    if (status != LH_OK) return status;
    status = decode(cpu, query, count, to, error);
    lh_cpu_leave(cpu, true); /* activations are in lanes of its own */
    return status;
}
