/* The CPU engine: memory and state. Steps are in cpu_step.c, evaluation in cpu_forward.c.
 *
 * Everything is sized when the engine is opened, for the longest training length, and by reserve, for evaluation; a
 * step allocates nothing.
 */
#include "train/cpu_engine.h"

#include <stdlib.h>
#include <string.h>

#include "data/initialise.h"

lh_status lh_cpu_need_tables(lh_cpu_engine *cpu, const int longest[LH_MAX_STREAMS], lh_error *error) {
    const lh_cpu_program *program = cpu->program;
    int all[LH_MAX_STREAMS];
    memcpy(all, cpu->tables_longest, sizeof all);
    if (program->tables_bytes == NULL || !lh_longer_streams(all, longest)) return LH_OK;
    void *tables = lh_engine_memory(program->tables_bytes(all), "position tables", error);
    if (tables == NULL) return LH_ERR_ENVIRONMENT;
    program->make_tables(tables, all);
    free(cpu->tables);
    cpu->tables = tables;
    memcpy(cpu->tables_longest, all, sizeof all);
    return LH_OK;
}

/* What one training length needs, and the most over all lengths. */
typedef struct needs {
    size_t workspace, shared;
    int longest[LH_MAX_STREAMS], longest_n;
} needs;

static int largest_shard(const lh_spec *spec) {
    return (spec->train.batch + spec->train.shards - 1) / spec->train.shards;
}

static void need_length(const lh_cpu_engine *cpu, int n, needs *most) {
    const lh_spec *spec = cpu->engine.spec;
    lh_shape shape = lh_shape_at(spec, n, spec->train.batch);
    size_t shared = cpu->program->shared_bytes(&shape, LH_MODE_TRAIN);
    int block = cpu->program->block_sequences(shape.length), shard = largest_shard(spec);
    shape.sequences = block < shard ? block : shard;
    size_t workspace = cpu->program->workspace_bytes(&shape, LH_MODE_TRAIN);
    if (shared > most->shared) most->shared = shared;
    if (workspace > most->workspace) most->workspace = workspace;
    lh_longer_streams(most->longest, shape.length);
    if (n > most->longest_n) most->longest_n = n;
}

static lh_status open_lane(lh_cpu_engine *cpu, lh_cpu_lane *lane, const needs *most, lh_error *error) {
    const lh_spec *spec = cpu->engine.spec;
    size_t vector = (size_t)spec->parameter_storage * (size_t)cpu->engine.real_bytes;
    lane->workspace = lh_engine_memory(most->workspace, "a thread's activations", error);
    if (lane->workspace == NULL) return LH_ERR_ENVIRONMENT;
    lane->gradient = lh_engine_memory(vector, "a thread's gradient", error);
    if (lane->gradient == NULL) return LH_ERR_ENVIRONMENT;
    return lh_batch_open(&lane->batch, spec, most->longest_n, largest_shard(spec), error);
}

static lh_status open_arrays(lh_cpu_engine *cpu, const needs *most, lh_error *error) {
    size_t chunks = (size_t)lh_cpu_chunks(cpu), shards = (size_t)cpu->engine.spec->train.shards;
    cpu->shared = lh_engine_memory(most->shared, "what a batch shares", error);
    cpu->lanes = lh_engine_memory((size_t)cpu->engine.threads * sizeof *cpu->lanes, "threads", error);
    cpu->shard_sums = lh_engine_memory(shards * sizeof *cpu->shard_sums, "sums", error);
    cpu->chunk_norms = lh_engine_memory(chunks * sizeof *cpu->chunk_norms, "sums", error);
    cpu->chunk_updates = lh_engine_memory(chunks * sizeof *cpu->chunk_updates, "sums", error);
    bool whole = cpu->shared != NULL && cpu->lanes != NULL && cpu->shard_sums != NULL && cpu->chunk_norms != NULL &&
                 cpu->chunk_updates != NULL;
    return whole ? LH_OK : LH_ERR_ENVIRONMENT;
}

static lh_status open_training(lh_cpu_engine *cpu, lh_error *error) {
    const lh_spec *spec = cpu->engine.spec;
    lh_lengths fixed = {NULL, 1, cpu->config.fixed_length, cpu->config.fixed_length, 1};
    const lh_lengths *lengths = cpu->config.fixed_length > 0 ? &fixed : &spec->train.lengths;
    lh_status status = lh_check_limit(spec, lengths, error);
    if (status != LH_OK) return status;
    needs most = {0};
    for (int i = 0; i < lh_lengths_count(lengths); i++) need_length(cpu, lh_lengths_at(lengths, i), &most);
    status = lh_cpu_need_tables(cpu, most.longest, error);
    if (status == LH_OK) status = open_arrays(cpu, &most, error);
    if (status == LH_OK && spec->corpus != NULL)
        status = lh_epoch_open(&cpu->epoch, spec->corpus, spec->train.batch, error);
    for (int i = 0; status == LH_OK && i < cpu->engine.threads; i++)
        status = open_lane(cpu, &cpu->lanes[i], &most, error);
    return status;
}

static lh_status open_vectors(lh_cpu_engine *cpu, lh_error *error) {
    const lh_spec *spec = cpu->engine.spec;
    size_t bytes = (size_t)spec->parameter_storage * (size_t)cpu->engine.real_bytes;
    cpu->parameters = lh_engine_memory(bytes, "the parameters", error);
    if (cpu->parameters == NULL) return LH_ERR_ENVIRONMENT;
    lh_initialise(spec, cpu->config.seed, cpu->engine.real_bytes, cpu->parameters);
    if (!cpu->config.trains) return LH_OK;
    cpu->total = lh_engine_memory(bytes, "the gradient", error);
    if (cpu->config.keeps_gradient) cpu->kept = lh_engine_memory(bytes, "the gradient", error);
    if (cpu->total == NULL || (cpu->config.keeps_gradient && cpu->kept == NULL)) return LH_ERR_ENVIRONMENT;
    for (int i = 0; i < spec->optimizer.states; i++) {
        cpu->state[i] = lh_engine_memory(bytes, "the optimiser state", error);
        if (cpu->state[i] == NULL) return LH_ERR_ENVIRONMENT;
    }
    return open_training(cpu, error);
}

static void engine_close(lh_engine *engine) {
    lh_cpu_engine *cpu = (lh_cpu_engine *)engine;
    for (int i = 0; cpu->lanes != NULL && i < engine->threads; i++) {
        free(cpu->lanes[i].workspace);
        free(cpu->lanes[i].gradient);
        lh_batch_close(&cpu->lanes[i].batch);
    }
    lh_cpu_forward_close(&cpu->forward, engine->threads);
    lh_epoch_close(&cpu->epoch);
    free(cpu->lanes);
    free(cpu->shard_sums);
    free(cpu->chunk_norms);
    free(cpu->chunk_updates);
    free(cpu->parameters);
    free(cpu->total);
    free(cpu->kept);
    for (int i = 0; i < LH_MAX_STATES; i++) free(cpu->state[i]);
    free(cpu->tables);
    free(cpu->shared);
    free(cpu);
}

static void copy_state(lh_cpu_engine *cpu, lh_state *state, bool out) {
    const lh_spec *spec = cpu->engine.spec;
    size_t bytes = (size_t)spec->parameter_storage * (size_t)cpu->engine.real_bytes;
    memcpy(out ? state->parameters : cpu->parameters, out ? cpu->parameters : state->parameters, bytes);
    for (int i = 0; i < spec->optimizer.states; i++)
        if (cpu->state[i] != NULL && state->optimizer[i] != NULL)
            memcpy(out ? state->optimizer[i] : cpu->state[i], out ? cpu->state[i] : state->optimizer[i], bytes);
}

static lh_status engine_read_state(lh_engine *engine, lh_state *state, lh_error *error) {
    (void)error;
    copy_state((lh_cpu_engine *)engine, state, true);
    return LH_OK;
}

static lh_status engine_write_state(lh_engine *engine, const lh_state *state, int64_t step, lh_error *error) {
    lh_state source = *state;
    (void)error;
    copy_state((lh_cpu_engine *)engine, &source, false);
    engine->step = step;
    return LH_OK;
}

static lh_status engine_read_gradient(lh_engine *engine, void *gradient, lh_error *error) {
    (void)error;
    memcpy(gradient, ((lh_cpu_engine *)engine)->kept,
           (size_t)engine->spec->parameter_storage * (size_t)engine->real_bytes);
    return LH_OK;
}

static const lh_engine_ops cpu_ops = {
    .step = lh_cpu_engine_step,
    .reserve = lh_cpu_reserve,
    .evaluate = lh_cpu_evaluate,
    .predict = lh_cpu_predict,
    .decode = lh_cpu_decode,
    .trace = lh_cpu_trace,
    .read_state = engine_read_state,
    .write_state = engine_write_state,
    .read_gradient = engine_read_gradient,
    .close = engine_close,
};

lh_status lh_cpu_engine_open(const lh_engine_config *config, const lh_cpu_program *program, lh_engine **engine,
                             lh_error *error) {
    *engine = NULL;
    lh_cpu_engine *cpu = lh_engine_memory(sizeof *cpu, "the engine", error);
    if (cpu == NULL) return LH_ERR_ENVIRONMENT;
    cpu->engine = (lh_engine){
        .ops = &cpu_ops,
        .spec = config->spec,
        .level = program->level,
        .real_bytes = program->real_bytes,
        .threads = config->threads,
        .compiler = lh_compiler(),
        .variant = "cpu",
        .decodes = program->decode_step != NULL,
    };
    cpu->config = *config;
    cpu->program = program;
    cpu->key = lh_key_of_seed(config->seed);
    if (config->trains && cpu->engine.threads > config->spec->train.shards)
        cpu->engine.threads = config->spec->train.shards; /* a thread without a shard has nothing to do */
    lh_status status = open_vectors(cpu, error);
    if (status != LH_OK) {
        engine_close(&cpu->engine);
        return status;
    }
    *engine = &cpu->engine;
    return LH_OK;
}
