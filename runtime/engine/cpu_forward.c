/* Evaluation, answers and logits on the CPU: threads take the parts of a condition or query in order.
 *
 * Each block of lh_cpu_program.block_sequences sequences has its own sums, which are added in order. A thread takes one
 * part at a time. A part is either one or more whole blocks, computed in one call of forward_block, or one block,
 * computed in several calls that add to the block's sums. So the sums do not depend on the number of sequences per
 * call.
 */
#include <math.h>
#include <string.h>

#include "base/real.h"
#include "base/team.h"
#include "engine/cpu_decode.h"

static int min_int(int a, int b) { return a < b ? a : b; }

/* Sizes of the parts of an evaluation, in sequences. */
typedef struct call_sizes {
    int per_sum;  /* sequences of a block, whose results are added to one sum */
    int per_call; /* sequences of one call of forward_block */
    int per_part; /* sequences of one part, which one thread processes */
} call_sizes;

/* Number of parts per thread if there are enough blocks, so that threads finish at about the same time. */
enum { PARTS_PER_THREAD = 4 };

static call_sizes choose_sizes(const lh_cpu_engine *cpu, const int length[LH_MAX_STREAMS], int examples) {
    int per_sum = cpu->program->block_sequences(length), per_call = per_sum;
    if (cpu->program->forward_sequences != NULL) per_call = cpu->program->forward_sequences(length);
    per_call = min_int(per_call, lh_max_int(per_sum, examples / (PARTS_PER_THREAD * cpu->engine.threads)));
    if (per_call > per_sum) per_call -= per_call % per_sum;
    return (call_sizes){.per_sum = per_sum,
                        .per_call = min_int(per_call, examples),
                        .per_part = min_int(lh_max_int(per_sum, per_call), examples)};
}

/* Raises *memory_needs and max_length so that they suffice for evaluations at task length n. */
static void raise_needs(const lh_cpu_engine *cpu, int n, int examples, lh_cpu_forward_needs *memory_needs,
                        int max_length[LH_MAX_STREAMS]) {
    const lh_spec *spec = cpu->engine.spec;
    lh_shape shape = lh_make_shape(spec, n, examples);
    call_sizes sizes = choose_sizes(cpu, shape.length, examples);
    memory_needs->shared = lh_max_size(memory_needs->shared, cpu->program->shared_bytes(&shape));
    lh_raise_lengths(max_length, shape.length);
    shape.sequences = sizes.per_call;
    memory_needs->workspace =
        lh_max_size(memory_needs->workspace, cpu->program->workspace_bytes(&shape, LH_MODE_EVALUATE));
    size_t logits = (size_t)shape.labels * (size_t)spec->classes * (size_t)cpu->engine.real_bytes;
    memory_needs->logits = lh_max_size(memory_needs->logits, logits);
    memory_needs->words = lh_max_size(memory_needs->words, lh_count_batch_words(spec, n));
    memory_needs->max_n = lh_max_int(memory_needs->max_n, n);
    memory_needs->part_sequences = lh_max_int(memory_needs->part_sequences, sizes.per_part);
}

lh_status lh_cpu_reserve(lh_engine *engine, const lh_lengths *lengths, int examples, lh_error *error) {
    lh_cpu_engine *cpu = (lh_cpu_engine *)engine;
    lh_cpu_forward_needs memory_needs = {.examples = examples}, old_needs = cpu->forward;
    int max_length[LH_MAX_STREAMS] = {0};
    lh_status status = lh_check_limit(engine->spec, lengths, error);
    if (status != LH_OK) return status;
    for (int i = 0; i < lh_lengths_count(lengths); i++)
        raise_needs(cpu, lh_lengths_get(lengths, i), examples, &memory_needs, max_length);
    status = lh_cpu_grow_tables(cpu, max_length, error);
    if (status != LH_OK) return status;
    cpu->forward = lh_cpu_combine_needs(&old_needs, &memory_needs);
    status = lh_cpu_begin_call(cpu, error);
    if (status == LH_OK) lh_cpu_end_call(cpu, true);
    else cpu->forward = old_needs;
    return status;
}

/* A pass over the examples of a condition, or over the sequences of a query. */
typedef struct evaluation {
    lh_cpu_engine *cpu;
    const lh_condition *condition; /* NULL: query */
    const lh_query *query;
    int examples;
    lh_cpu_step step;
    call_sizes sizes;
    int parts;
    atomic_int next;        /* index of the next part */
    atomic_bool stopped;    /* some sequences were left out */
    lh_sums *sequence_sums; /* [examples]; NULL: not requested */
    uint16_t *answers;      /* [examples][labels]; NULL: not requested */
    lh_decode_lane *lanes;  /* [threads] buffers for the pass and for decoding after it; NULL: no decoding */
} evaluation;

/* Writes sequences first .. first + count - 1 of the job to a batch. */
static lh_status fill_batch(const evaluation *job, lh_batch *batch, int first, int count, lh_error *error) {
    const lh_condition *condition = job->condition;
    if (condition != NULL)
        return lh_batch_fill(batch, job->cpu->engine.spec, &condition->source, condition->n,
                             (uint32_t)(condition->first + first), count, error);
    lh_put_queries(batch, job->cpu->engine.spec, job->query, first, count);
    return LH_OK;
}

/* Evaluates `sequences` sequences of a part on thread `thread`. first: index of the first of these sequences in the
 * job; start: its index in the part. */
static lh_status evaluate_call(evaluation *job, int thread, int first, int start, int sequences, lh_sums *sums,
                               lh_error *error) {
    lh_cpu_engine *cpu = job->cpu;
    lh_cpu_forward_lane *lane = &cpu->workspace->forward_lanes[thread];
    if (job->lanes != NULL)
        return lh_decode_examples(job->lanes, thread, job->condition, first, sequences, job->sizes.per_sum, sums,
                                  job->sequence_sums != NULL ? job->sequence_sums + first : NULL, error);
    int labels = job->step.shape.labels;
    lh_cpu_block block = lh_batch_make_block(&lane->batch, start, sequences);
    block.first_example = (uint32_t)first + (job->query != NULL ? job->query->example : 0);
    block.loss_scale = 1.0 / ((double)job->step.shape.sequences * labels);
    block.sequence_sums = job->sequence_sums != NULL ? job->sequence_sums + first : NULL;
    if (job->answers != NULL) block.answers = job->answers + (size_t)first * (size_t)labels;
    block.sequences_per_sum = job->sizes.per_sum;
    cpu->program->forward_block(&job->step, &block, lane->workspace, sums);
    return LH_OK;
}

/* Evaluates part `index` on thread `thread`. */
static void evaluate_part(evaluation *job, int thread, int index) {
    lh_cpu_engine *cpu = job->cpu;
    lh_cpu_forward_lane *lane = &cpu->workspace->forward_lanes[thread];
    const call_sizes *sizes = &job->sizes;
    int first = index * sizes->per_part, count = min_int(job->examples - first, sizes->per_part);
    lh_error error;
    lh_status status = job->lanes != NULL ? LH_OK : fill_batch(job, &lane->batch, first, count, &error);
    lh_sums *sums = &cpu->workspace->block_sums[first / sizes->per_sum];
    memset(sums, 0, (size_t)((count + sizes->per_sum - 1) / sizes->per_sum) * sizeof *sums);
    for (int start = 0; status == LH_OK && start < count; start += sizes->per_call) {
        if (lh_is_stopped(&cpu->engine)) status = LH_STOPPED;
        else
            status = evaluate_call(job, thread, first + start, start, min_int(count - start, sizes->per_call),
                                   &sums[start / sizes->per_sum], &error);
    }
    if (status == LH_STOPPED) atomic_store(&job->stopped, true);
    else if (status != LH_OK && lane->failure.status == LH_OK) lane->failure = (lh_cpu_failure){status, index, error};
}

/* The work of thread `index` of `count`: evaluates parts until none is left. */
static void evaluate_work(void *argument, int index, int count) {
    evaluation *job = argument;
    lh_cpu_engine *cpu = job->cpu;
    cpu->program->begin_step(&job->step, index, count);
    lh_team_barrier();
    int part_index;
    while (!atomic_load(&job->stopped) && (part_index = atomic_fetch_add(&job->next, 1)) < job->parts)
        evaluate_part(job, index, part_index);
}

/* Takes the failure of the part with the lowest index. */
static lh_status take_failure(const lh_cpu_engine *cpu, lh_error *error) {
    lh_cpu_failure first = {.status = LH_OK};
    for (int i = 0; i < cpu->engine.threads; i++)
        lh_cpu_keep_first_failure(&first, &cpu->workspace->forward_lanes[i].failure);
    if (first.status != LH_OK) *error = first.error;
    return first.status;
}

static lh_status run_evaluation(evaluation *job, lh_sums *sums, lh_error *error) {
    lh_cpu_engine *cpu = job->cpu;
    job->parts = (job->examples + job->sizes.per_part - 1) / job->sizes.per_part;
    atomic_init(&job->next, 0);
    atomic_init(&job->stopped, false);
    lh_team_run(cpu->engine.threads, evaluate_work, job);
    lh_status status = take_failure(cpu, error);
    if (status == LH_OK && atomic_load(&job->stopped)) status = LH_STOPPED;
    if (status != LH_OK) return status;
    memset(sums, 0, sizeof *sums);
    int blocks = (job->examples + job->sizes.per_sum - 1) / job->sizes.per_sum;
    for (int i = 0; i < blocks; i++) lh_sums_add(sums, &cpu->workspace->block_sums[i]);
    return LH_OK;
}

/* Opens lanes for decoding, and chooses sizes so that the sequences of a call fit a lane. */
static lh_status open_lanes(evaluation *job, lh_error *error) {
    call_sizes *sizes = &job->sizes;
    int n = job->condition->n, count = lh_decode_count_sequences(job->cpu, n, job->examples);
    sizes->per_call = count > sizes->per_sum ? count - count % sizes->per_sum : count;
    sizes->per_part = min_int(lh_max_int(sizes->per_sum, sizes->per_call), job->examples);
    return lh_decode_open(job->cpu, &job->step, n, sizes->per_call, job->cpu->engine.threads, &job->lanes, error);
}

lh_status lh_cpu_evaluate(lh_engine *engine, const lh_condition *condition, lh_sums *sums, lh_sums *sequence_sums,
                          lh_error *error) {
    lh_cpu_engine *cpu = (lh_cpu_engine *)engine;
    lh_status status = lh_cpu_begin_call(cpu, error);
    if (status != LH_OK) return status;
    evaluation job = {
        .cpu = cpu, .condition = condition, .examples = condition->examples, .sequence_sums = sequence_sums};
    job.step = lh_cpu_make_forward_step(cpu, condition->n, condition->examples, &condition->draw);
    job.step.noise = condition->noise;
    if (condition->passes > 0) job.step.passes = condition->passes;
    job.answers = condition->answers;
    job.sizes = choose_sizes(cpu, job.step.shape.length, job.examples);
    if (condition->decoded_count > 0) status = open_lanes(&job, error);
    if (status == LH_OK) status = run_evaluation(&job, sums, error);
    lh_decode_close(job.lanes, engine->threads);
    lh_cpu_end_call(cpu, status == LH_OK && isfinite(sums->loss));
    return status;
}

lh_status lh_cpu_answer(lh_engine *engine, const lh_query *query, int count, uint16_t *answers, lh_error *error) {
    lh_cpu_engine *cpu = (lh_cpu_engine *)engine;
    lh_sums sums;
    lh_status status = lh_cpu_begin_call(cpu, error);
    if (status != LH_OK) return status;
    evaluation job = {.cpu = cpu, .query = query, .examples = count, .answers = answers};
    job.step = lh_cpu_make_query_step(cpu, query, count);
    job.sizes = choose_sizes(cpu, job.step.shape.length, job.examples);
    status = run_evaluation(&job, &sums, error);
    lh_cpu_end_call(cpu, status == LH_OK && isfinite(sums.loss));
    return status;
}

void lh_cpu_begin_query(lh_cpu_engine *cpu, const lh_query *query, lh_cpu_step *step, lh_cpu_block *block) {
    lh_cpu_forward_lane *lane = &cpu->workspace->forward_lanes[0];
    *step = lh_cpu_make_query_step(cpu, query, 1);
    lh_put_queries(&lane->batch, cpu->engine.spec, query, 0, 1);
    *block = lh_batch_make_block(&lane->batch, 0, 1);
    block->first_example = query->example;
    block->loss_scale = 1.0;
    block->logits = lane->logits;
    cpu->program->begin_step(step, 0, 1);
}

void lh_cpu_copy_logits(const lh_cpu_engine *cpu, int labels, double *logits) {
    for (size_t i = 0; i < (size_t)labels * (size_t)cpu->engine.spec->classes; i++)
        logits[i] = lh_real_read(cpu->workspace->forward_lanes[0].logits, cpu->engine.real_bytes, (int64_t)i);
}

lh_status lh_cpu_predict(lh_engine *engine, const lh_query *query, double *logits, lh_error *error) {
    lh_cpu_engine *cpu = (lh_cpu_engine *)engine;
    lh_cpu_step step;
    lh_cpu_block block;
    lh_sums sums = {0};
    lh_status status = lh_cpu_begin_call(cpu, error);
    if (status != LH_OK) return status;
    lh_cpu_begin_query(cpu, query, &step, &block);
    cpu->program->forward_block(&step, &block, cpu->workspace->forward_lanes[0].workspace, &sums);
    lh_cpu_copy_logits(cpu, step.shape.labels, logits);
    lh_cpu_end_call(cpu, isfinite(sums.loss));
    return LH_OK;
}
