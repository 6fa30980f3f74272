/* Decoding on the CPU: blocks of sequences, token by token, with cached keys and values of earlier tokens.
 *
 * An evaluation first runs a pass over the targets. The pass gives the answers up to the first wrong answer, and caches
 * keys and values. Decoding then gives the answers after the wrong answer. */
#include "engine/cpu_decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "base/team.h"
#include "engine/decode_passes.h"

enum {
    BLOCK = 16,            /* maximum sequences of a block; the weights are read once for all of them */
    BLOCK_BYTES = 64 << 20 /* maximum bytes of a block's memory: blocks of long sequences have fewer sequences */
};

/* In an evaluation, a row waits until decoding reaches the end of the row's known answers. A row may start this number
 * of tokens earlier: decoding these tokens again costs less than moving the row later. */
enum { EARLY_TOKENS = 16 };

/* A row of a block: a sequence that is decoded, with its state. */
typedef struct decoded_row {
    int sequence;    /* index of the sequence in the query */
    int known_count; /* number of answers taken from the pass over the targets; 0 without such a pass */
    int limit;       /* maximum number of answers; the sequence may end earlier */
    bool waits;      /* the row waits for the token after its last known answer */
} decoded_row;

/* A lane decodes one lh_cpu_block at a time. The first lh_cpu_block.sequences rows are being decoded. The rows after
 * these wait or have ended. */
struct lh_decode_lane {
    const lh_cpu_engine *cpu;
    lh_cpu_step step;            /* constants of the calls; step.shape.sequences counts the spare row, too */
    int n;                       /* task length */
    int sequences;               /* maximum of a block, without the spare row */
    int labels;                  /* labels of a sequence */
    size_t inputs;               /* input tokens of a sequence */
    void *memory;                /* cached keys and values */
    void *logits;                /* [sequences][labels][classes] */
    lh_batch batch;              /* the rows; their targets are the answers so far */
    decoded_row rows[BLOCK + 1]; /* rows[sequences] is spare */
    lh_query query;              /* the query that is decoded; evaluation: points to `examples` */
    lh_answers results;          /* buffers of the query's answers */
    lh_examples examples;        /* evaluation: the block's examples */
};

static int get_first_label_token(const lh_decode_lane *lane) {
    return lane->step.shape.length[lane->cpu->engine.spec->format->label_stream] - lane->labels;
}

/* The token from which a label is predicted. */
static int find_token(const lh_decode_lane *lane, int row, int label) {
    return lane->batch.place != NULL ? lane->batch.place[row * lane->labels + label]
                                     : get_first_label_token(lane) + label;
}

/* The label that is predicted from token t of a row; negative: none. */
static int find_label(const lh_decode_lane *lane, int row, int t) {
    if (lane->batch.place == NULL) return t - get_first_label_token(lane);
    for (int i = 0; i < lane->labels; i++)
        if (lane->batch.place[row * lane->labels + i] == t) return i;
    return -1;
}

/* Writes the tokens of a row: its input, and its answers so far. */
static void put_row(lh_decode_lane *lane, int row) {
    size_t sequence = (size_t)lane->rows[row].sequence;
    lh_batch_put(&lane->batch, lane->cpu->engine.spec, lane->n, row, lane->query.input + sequence * lane->inputs,
                 lane->results.answers + sequence * (size_t)lane->labels,
                 lane->query.line_positions != NULL ? lane->query.line_positions[sequence] : NULL);
}

static void move_row(lh_decode_lane *lane, int to, int from) {
    lane->cpu->program->decode_move(&lane->step, to, from, lane->memory);
    lane->rows[to] = lane->rows[from];
    put_row(lane, to);
}

/* Sets the answer of a label to the class with the greatest logit, or to the target's token if no answer is requested.
 * Returns whether the sequence ends there. */
static bool take_answer(const lh_decode_lane *lane, int row, int label) {
    const lh_spec *spec = lane->cpu->engine.spec;
    size_t labels = (size_t)lane->labels, classes = (size_t)spec->classes;
    size_t first_logit = ((size_t)row * labels + (size_t)label) * classes;
    size_t answer = (size_t)lane->rows[row].sequence * labels + (size_t)label;
    double best_logit = 0;
    int best_class = 0;
    for (size_t c = 0; c < classes; c++) {
        double logit = lh_real_read(lane->logits, lane->cpu->engine.real_bytes, (int64_t)(first_logit + c));
        if (c == 0 || logit > best_logit) {
            best_logit = logit;
            best_class = (int)c;
        }
        if (lane->results.logits != NULL) lane->results.logits[answer * classes + c] = logit;
    }
    if (lane->query.wants_answer != NULL && !lane->query.wants_answer[answer]) best_class = lane->query.target[answer];
    lane->results.answers[answer] = (uint16_t)best_class;
    return lh_is_last_answer(spec, &lane->query, answer, best_class) || label + 1 == lane->rows[row].limit;
}

/* Ends a sequence: fills the remaining answers with the last one. */
static void end_sequence(const lh_decode_lane *lane, int sequence, int length) {
    uint16_t *answers = lane->results.answers + (size_t)sequence * (size_t)lane->labels;
    for (int i = length; i < lane->labels; i++) answers[i] = length > 0 ? answers[length - 1] : 0;
    if (lane->results.lengths != NULL) lane->results.lengths[sequence] = length;
}

/* Takes the answers predicted from token t; an ended row is replaced by the block's last row. */
static void take_answers(lh_decode_lane *lane, lh_cpu_block *block, int t) {
    for (int row = block->sequences - 1; row >= 0; row--) {
        int label = find_label(lane, row, t);
        if (label < lane->rows[row].known_count) continue;
        if (!take_answer(lane, row, label)) {
            put_row(lane, row);
            continue;
        }
        end_sequence(lane, lane->rows[row].sequence, label + 1);
        block->sequences--;
        if (row != block->sequences) move_row(lane, row, block->sequences);
    }
}

/* The first token that a waiting row must decode. From this token on, the cache has keys and values of the target. */
static int find_start(const lh_decode_lane *lane, int row) {
    return find_token(lane, row, lane->rows[row].known_count - 1) + 1;
}

/* The earliest start of a waiting row; -1: no row waits. */
static int find_earliest_start(const lh_decode_lane *lane, const lh_cpu_block *block, int rows) {
    int earliest = -1;
    for (int row = block->sequences; row < rows; row++)
        if (lane->rows[row].waits && (earliest < 0 || find_start(lane, row) < earliest))
            earliest = find_start(lane, row);
    return earliest;
}

/* Starts the waiting rows whose start is at token t or soon after t. */
static void start_waiting_rows(lh_decode_lane *lane, lh_cpu_block *block, int rows, int t) {
    int spare = lane->sequences;
    for (int row = block->sequences; row < rows; row++) {
        int to = block->sequences;
        if (!lane->rows[row].waits || find_start(lane, row) > t + EARLY_TOKENS) continue;
        bool is_occupied = row != to && lane->rows[to].waits;
        lane->rows[row].waits = false;
        if (is_occupied) move_row(lane, spare, to);
        if (row != to) move_row(lane, to, row);
        if (is_occupied) move_row(lane, row, spare);
        block->sequences++;
    }
}

/* Decodes from token t until all rows have ended; false: stopped. */
static bool decode_to_end(lh_decode_lane *lane, lh_cpu_block *block, int rows, int t) {
    for (;; t++) {
        if (lh_is_stopped(&lane->cpu->engine)) return false;
        int next = block->sequences > 0 ? t : find_earliest_start(lane, block, rows);
        if (next < 0) return true;
        if (next > t) t = next;
        start_waiting_rows(lane, block, rows, t);
        lane->cpu->program->decode_step(&lane->step, block, t, t + 1, lane->memory);
        take_answers(lane, block, t);
    }
}

/* Processes the tokens before `end` of all rows; false: stopped. */
static bool read_tokens(lh_decode_lane *lane, const lh_cpu_block *block, int end) {
    const lh_cpu_program *program = lane->cpu->program;
    if (program->decode_begin != NULL) program->decode_begin(&lane->step, block, lane->memory);
    for (int from = 0, to; from < end; from = to) {
        if (lh_is_stopped(&lane->cpu->engine)) return false;
        to = from + LH_DECODE_TOKENS < end ? from + LH_DECODE_TOKENS : end;
        program->decode_step(&lane->step, block, from, to, lane->memory);
    }
    return true;
}

static lh_cpu_block make_block(const lh_decode_lane *lane, int rows, uint32_t first_example) {
    lh_cpu_block block = lh_batch_make_block(&lane->batch, 0, rows);
    block.first_example = first_example;
    block.loss_scale = 1.0;
    block.logits = lane->logits;
    return block;
}

/* Decodes sequences first .. first + count - 1 of the lane's query; false: stopped. */
static bool decode_sequences(lh_decode_lane *lane, int first, int count) {
    int start = lane->step.shape.length[lane->cpu->engine.spec->format->label_stream];
    for (int i = 0; i < count; i++) {
        lane->rows[i] = (decoded_row){.sequence = first + i, .limit = lane->labels};
        put_row(lane, i);
        if (find_token(lane, i, 0) < start) start = find_token(lane, i, 0);
    }
    lh_cpu_block block = make_block(lane, count, lane->query.example + (uint32_t)first);
    return read_tokens(lane, &block, start) && decode_to_end(lane, &block, count, start);
}

/* Makes examples of a condition, and writes their inputs and targets to rows. */
static lh_status fill_rows(lh_decode_lane *lane, const lh_condition *condition, int first, int count, lh_error *error) {
    lh_examples *e = &lane->examples;
    lh_condition block = *condition;
    block.first += first;
    e->count = count;
    lh_status status = lh_make_examples(e, lane->cpu->engine.spec, &block, error);
    for (int i = 0; status == LH_OK && i < count; i++) {
        size_t row = (size_t)i;
        lh_batch_put(&lane->batch, lane->cpu->engine.spec, lane->n, i, e->input + row * e->inputs,
                     e->target + row * e->labels, e->line_positions[i]);
        memcpy(lane->batch.mask + row * e->labels, e->mask + row * e->labels, e->labels);
    }
    return status;
}

/* Takes a sequence's answers from the pass, up to the first wrong answer. The row waits if answers are missing. */
static void begin_row(lh_decode_lane *lane, int i) {
    const lh_examples *e = &lane->examples;
    size_t first = (size_t)i * e->labels;
    decoded_row *r = &lane->rows[i];
    *r = (decoded_row){.sequence = i, .limit = e->limits[i]};
    r->known_count = lh_take_pass_answers(e->target + first, e->mask + first, r->limit, lane->results.answers + first);
    r->waits =
        lh_needs_answers(lane->cpu->engine.spec, &lane->query, first, r->known_count, r->limit, lane->results.answers);
    lane->results.lengths[i] = r->known_count;
    if (r->waits) put_row(lane, i);
}

lh_status lh_decode_examples(lh_decode_lane *lanes, int index, const lh_condition *condition, int first, int count,
                             int sequences_per_sum, lh_sums *sums, lh_sums *sequence_sums, lh_error *error) {
    lh_decode_lane *lane = &lanes[index];
    int decoded = condition->decoded_count - first < count ? condition->decoded_count - first : count;
    lh_status status = fill_rows(lane, condition, first, count, error);
    if (status != LH_OK) return status;
    lane->results.answers = condition->answers + (size_t)first * (size_t)lane->labels;
    lane->results.lengths = condition->lengths + first;
    lh_cpu_block block = make_block(lane, count, (uint32_t)first);
    block.answers = lane->results.answers;
    block.sequence_sums = sequence_sums;
    block.sequences_per_sum = sequences_per_sum;
    if (!read_tokens(lane, &block, lane->step.shape.length[lane->cpu->engine.spec->format->label_stream]))
        return LH_STOPPED;
    lane->cpu->program->score_block(&lane->step, &block, sums);
    for (int i = 0; i < decoded; i++) begin_row(lane, i);
    block.sequences = 0;
    return decode_to_end(lane, &block, decoded, 0) ? LH_OK : LH_STOPPED;
}

int lh_decode_count_sequences(const lh_cpu_engine *cpu, int n, int count) {
    lh_shape shape = lh_make_shape(cpu->engine.spec, n, count < BLOCK ? count : BLOCK);
    while (shape.sequences > 1 && cpu->program->decode_bytes(&shape) > BLOCK_BYTES) shape.sequences /= 2;
    return shape.sequences;
}

static lh_status open_lane(lh_decode_lane *lane, lh_error *error) {
    const lh_spec *spec = lane->cpu->engine.spec;
    size_t labels = (size_t)lane->sequences * (size_t)lane->labels;
    lane->memory = lh_engine_allocate(lane->cpu->program->decode_bytes(&lane->step.shape), "keys and values", error);
    if (lane->memory == NULL) return LH_ERR_ENVIRONMENT;
    lane->logits = lh_engine_allocate(labels * (size_t)spec->classes * (size_t)lane->cpu->engine.real_bytes,
                                      "a thread's logits", error);
    if (lane->logits == NULL) return LH_ERR_ENVIRONMENT;
    lh_examples *e = &lane->examples;
    lh_status status = lh_examples_open(e, spec, lane->n, lane->sequences, error);
    lane->query = (lh_query){
        .input = e->input, .target = e->target, .wants_answer = e->mask, .line_positions = e->line_positions};
    return status == LH_OK ? lh_batch_open(&lane->batch, spec, lane->n, lane->sequences + 1, error) : status;
}

lh_status lh_decode_open(const lh_cpu_engine *cpu, const lh_cpu_step *step, int n, int sequences, int count,
                         lh_decode_lane **lanes, lh_error *error) {
    lh_status status = LH_OK;
    *lanes = lh_engine_allocate((size_t)count * sizeof **lanes, "threads", error);
    if (*lanes == NULL) return LH_ERR_ENVIRONMENT;
    for (int i = 0; status == LH_OK && i < count; i++) {
        lh_decode_lane *lane = &(*lanes)[i];
        lane->cpu = cpu;
        lane->step = *step;
        lane->step.shape.sequences = sequences + 1;
        lane->n = n;
        lane->sequences = sequences;
        lane->labels = step->shape.labels;
        lane->inputs = (size_t)lh_get_input_length(cpu->engine.spec, n);
        status = open_lane(lane, error);
    }
    if (status == LH_OK) return LH_OK;
    lh_decode_close(*lanes, count);
    *lanes = NULL;
    return status;
}

void lh_decode_close(lh_decode_lane *lanes, int count) {
    for (int i = 0; lanes != NULL && i < count; i++) {
        free(lanes[i].memory);
        free(lanes[i].logits);
        lh_batch_close(&lanes[i].batch);
        lh_examples_close(&lanes[i].examples);
    }
    free(lanes);
}

/* The sequences of a query, decoded block by block. */
typedef struct decoding {
    const lh_cpu_engine *cpu;
    lh_cpu_step step;
    lh_decode_lane *lanes; /* [threads] */
    int count;             /* number of sequences */
    int sequences;         /* maximum of a block */
    atomic_int next;       /* index of the next block */
    atomic_bool stopped;   /* some answers are missing */
} decoding;

/* The work of thread `index` of `count`: decodes blocks until none is left. */
static void decode_work(void *argument, int index, int count) {
    decoding *job = argument;
    job->cpu->program->begin_step(&job->step, index, count);
    lh_team_barrier();
    int first;
    while (!atomic_load(&job->stopped) && (first = atomic_fetch_add(&job->next, 1) * job->sequences) < job->count) {
        int remaining = job->count - first;
        if (!decode_sequences(&job->lanes[index], first, remaining < job->sequences ? remaining : job->sequences))
            atomic_store(&job->stopped, true);
    }
}

static lh_status decode(const lh_cpu_engine *cpu, const lh_query *query, int count, const lh_answers *to,
                        lh_error *error) {
    decoding job = {.cpu = cpu, .count = count, .sequences = lh_decode_count_sequences(cpu, query->n, count)};
    int blocks = (count + job.sequences - 1) / job.sequences;
    int threads = cpu->engine.threads < blocks ? cpu->engine.threads : blocks;
    size_t answers = (size_t)count * (size_t)lh_make_shape(cpu->engine.spec, query->n, 1).labels;
    job.step = lh_cpu_make_query_step(cpu, query, job.sequences);
    atomic_init(&job.next, 0);
    atomic_init(&job.stopped, false);
    memset(to->answers, 0, answers * sizeof *to->answers);
    if (to->logits != NULL) memset(to->logits, 0, answers * (size_t)cpu->engine.spec->classes * sizeof *to->logits);
    lh_status status = lh_decode_open(cpu, &job.step, query->n, job.sequences, threads, &job.lanes, error);
    if (status != LH_OK) return status;
    for (int i = 0; i < threads; i++) {
        job.lanes[i].query = *query;
        job.lanes[i].results = *to;
    }
    lh_team_run(threads, decode_work, &job);
    lh_decode_close(job.lanes, threads);
    return atomic_load(&job.stopped) ? LH_STOPPED : LH_OK;
}

lh_status lh_cpu_decode(lh_engine *engine, const lh_query *query, int count, const lh_answers *to, lh_error *error) {
    lh_cpu_engine *cpu = (lh_cpu_engine *)engine;
    lh_status status = lh_cpu_begin_call(cpu, error);
    if (status != LH_OK) return status;
    status = decode(cpu, query, count, to, error);
    lh_cpu_end_call(cpu, true); /* true: decoding leaves no activations in the workspace */
    return status;
}
