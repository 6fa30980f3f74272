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

/* Some sequences of the order. */
typedef struct span {
    int first, count;
} span;

typedef struct decoding {
    const lh_cpu_engine *cpu;
    const lh_query *query;
    const lh_answers *to;
    lh_cpu_step step; /* of a whole block */
    lane *lanes;      /* [threads] */
    int *order;       /* sequences that miss an answer, those with as many answers next to each other */
    span *spans;      /* [blocks] of the order */
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

static int known_of(const lh_answers *to, int sequence) { return to->known != NULL ? to->known[sequence] : 0; }

/* Answers that a sequence has in the end, unless it ends itself. */
static int until_of(const decoding *job, int sequence) {
    return job->to->until != NULL ? job->to->until[sequence] : job->step.shape.labels;
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

/* Takes the answer of a label from the block's logits, or the target's token where none is asked for; whether the
 * sequence ends with it. */
static bool take_answer(const decoding *job, const lane *l, int row, int label) {
    const lh_spec *spec = job->cpu->engine.spec;
    const lh_query *query = job->query;
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
    if (query->asked != NULL && !query->asked[at]) best = query->target[at];
    job->to->answers[at] = (uint16_t)best;
    return lh_ends_at(spec, query, at, best) || label + 1 == until_of(job, l->of[row]);
}

/* Behind its end a sequence has that symbol again. */
static void end_sequence(const decoding *job, int sequence, int length) {
    int labels = job->step.shape.labels;
    uint16_t *answers = job->to->answers + (size_t)sequence * (size_t)labels;
    for (int i = length; i < labels; i++) answers[i] = length > 0 ? answers[length - 1] : 0;
    if (job->to->lengths != NULL) job->to->lengths[sequence] = length;
}

/* The answers of token t; rows that have ended leave the block to the last ones. */
static void take_answers(const decoding *job, lane *l, const lh_cpu_step *step, lh_cpu_block *block, int t) {
    for (int row = block->sequences - 1; row >= 0; row--) {
        int label = label_of(job, block, row, t);
        if (label < known_of(job->to, l->of[row])) continue;
        if (!take_answer(job, l, row, label)) {
            put_row(job, l, row);
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

/* Tokens of a block that no answer is awaited for. */
static int tokens_to_read(const decoding *job, const lane *l, const lh_cpu_block *block) {
    int labels = job->step.shape.labels, least = labels;
    for (int row = 0; row < block->sequences; row++) {
        int known = known_of(job->to, l->of[row]);
        if (known < least) least = known;
    }
    if (block->place == NULL)
        return job->step.shape.length[job->cpu->engine.spec->format->label_stream] - labels + least;
    int first = block->place[least];
    for (int row = 1; row < block->sequences; row++)
        if (block->place[row * labels + least] < first) first = block->place[row * labels + least];
    return first;
}

static void decode_block(decoding *job, lane *l, int index) {
    const lh_cpu_program *program = job->cpu->program;
    const span *rows = &job->spans[index];
    lh_cpu_step step = job->step;
    step.shape.sequences = rows->count;
    for (int row = 0; row < rows->count; row++) {
        l->of[row] = job->order[rows->first + row];
        put_row(job, l, row);
    }
    lh_cpu_block block = lh_batch_block(&l->batch, 0, rows->count);
    block.first_example = job->query->example + (uint32_t)l->of[0];
    block.loss_scale = 1.0;
    block.logits = l->logits;
    int read = tokens_to_read(job, l, &block), from = 0;
    if (program->decode_begin != NULL) program->decode_begin(&step, &block, l->memory);
    for (int to; from < read && !gives_up(job); from = to) {
        to = from + LH_DECODE_TOKENS < read ? from + LH_DECODE_TOKENS : read;
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

static bool is_whole(const decoding *job, int sequence) {
    const lh_answers *to = job->to;
    int known = known_of(to, sequence);
    size_t last = (size_t)sequence * (size_t)job->step.shape.labels + (size_t)known - 1;
    return known >= until_of(job, sequence) ||
           (known > 0 && lh_ends_at(job->cpu->engine.spec, job->query, last, to->answers[last]));
}

/* Sequences in the order of their known answers, each number of them in the query's order (counting sort); where a pass
 * depends on a sequence's number, in that order alone. Those that miss nothing are ended and left out. Returns how many
 * there are. */
static int order_sequences(decoding *job, int *places) {
    int labels = job->step.shape.labels, left = 0;
    bool by_number = job->cpu->engine.spec->draws_by_sequence;
    memset(places, 0, (size_t)(labels + 1) * sizeof *places);
    for (int i = 0; i < job->count; i++) {
        if (is_whole(job, i)) end_sequence(job, i, known_of(job->to, i));
        else places[by_number ? 0 : known_of(job->to, i)]++;
    }
    for (int known = 0, next; known <= labels; known++, left += next) {
        next = places[known];
        places[known] = left;
    }
    for (int i = 0; i < job->count; i++)
        if (!is_whole(job, i)) job->order[places[by_number ? 0 : known_of(job->to, i)]++] = i;
    return left;
}

/* Cuts the order into blocks, whose sequences follow each other where their numbers count. */
static void cut_blocks(decoding *job, int sequences, int most) {
    bool by_number = job->cpu->engine.spec->draws_by_sequence;
    job->blocks = 0;
    for (int first = 0, next; first < sequences; first = next) {
        for (next = first + 1; next < sequences && next - first < most;) {
            if (by_number && job->order[next] != job->order[next - 1] + 1) break;
            next++;
        }
        job->spans[job->blocks++] = (span){first, next - first};
    }
}

static void clear_answers(const decoding *job) {
    const lh_answers *to = job->to;
    size_t labels = (size_t)job->step.shape.labels, all = (size_t)job->count * labels;
    for (int i = 0; i < job->count; i++)
        for (size_t label = (size_t)known_of(to, i); label < labels; label++)
            to->answers[(size_t)i * labels + label] = 0;
    if (to->logits != NULL) memset(to->logits, 0, all * (size_t)job->cpu->engine.spec->classes * sizeof *to->logits);
}

static lh_status run_blocks(decoding *job, lh_error *error) {
    int threads = job->cpu->engine.threads < job->blocks ? job->cpu->engine.threads : job->blocks;
    job->lanes = lh_engine_memory((size_t)threads * sizeof *job->lanes, "threads", error);
    lh_status status = job->lanes != NULL ? LH_OK : LH_ERR_ENVIRONMENT;
    for (int i = 0; status == LH_OK && i < threads; i++) status = open_lane(job, &job->lanes[i], error);
    if (status == LH_OK) lh_team_run(threads, decode_work, job);
    if (atomic_load(&job->stopped)) status = LH_STOPPED;
    for (int i = 0; job->lanes != NULL && i < threads; i++) {
        free(job->lanes[i].memory);
        free(job->lanes[i].logits);
        lh_batch_close(&job->lanes[i].batch);
    }
    free(job->lanes);
    return status;
}

static lh_status decode(const lh_cpu_engine *cpu, const lh_query *query, int count, const lh_answers *to,
                        lh_error *error) {
    decoding job = {.cpu = cpu, .query = query, .to = to, .count = count};
    int block = block_sequences(cpu, query->n, count);
    job.step = lh_cpu_query_step(cpu, query, block);
    atomic_init(&job.next, 0);
    atomic_init(&job.stopped, false);
    clear_answers(&job);
    job.order = lh_engine_memory((size_t)count * sizeof *job.order, "the order of decoding", error);
    job.spans = lh_engine_memory((size_t)count * sizeof *job.spans, "the order of decoding", error);
    int *places =
        lh_engine_memory(((size_t)job.step.shape.labels + 1) * sizeof *places, "the order of decoding", error);
    lh_status status = LH_ERR_ENVIRONMENT;
    if (job.order != NULL && job.spans != NULL && places != NULL) {
        cut_blocks(&job, order_sequences(&job, places), block);
        status = job.blocks > 0 ? run_blocks(&job, error) : LH_OK;
    }
    free(job.order);
    free(job.spans);
    free(places);
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
