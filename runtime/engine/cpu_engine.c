/* Owns memory and state of the CPU engine. Steps are in cpu_step.c, evaluation in cpu_forward.c.
 *
 * Memory for training is allocated when the engine is opened, for the longest training length; reserve allocates memory
 * for evaluation. Engines that share workspaces allocate the first workspace when they are opened, and another one
 * whenever more engines run at the same time than there are workspaces (cpu_workspace.h). Steps allocate nothing else.
 */
#include "engine/cpu_engine.h"

#include <stdlib.h>
#include <string.h>

#include "data/initialise.h"

lh_status lh_cpu_grow_tables(lh_cpu_engine *cpu, const int length[LH_MAX_STREAMS], lh_error *error) {
    const lh_cpu_program *program = cpu->program;
    int max_length[LH_MAX_STREAMS];
    memcpy(max_length, cpu->tables_length, sizeof max_length);
    if (program->tables_bytes == NULL || !lh_raise_lengths(max_length, length)) return LH_OK;
    void *tables = lh_engine_allocate(program->tables_bytes(max_length), "position tables", error);
    if (tables == NULL) return LH_ERR_ENVIRONMENT;
    program->make_tables(tables, max_length);
    free(cpu->tables);
    cpu->tables = tables;
    memcpy(cpu->tables_length, max_length, sizeof max_length);
    return LH_OK;
}

/* The greatest number of sequences of one length in a shard. */
static int get_largest_shard(const lh_spec *spec) {
    if (spec->train.mixes_lengths)
        return spec->train.batch; /* a shard of short sequences may have almost the whole batch */
    return (spec->train.batch + spec->train.shards - 1) / spec->train.shards;
}

/* Raises *memory_needs and max_length so that they suffice for training length n. */
static void raise_needs(const lh_cpu_engine *cpu, int n, lh_cpu_train_needs *memory_needs,
                        int max_length[LH_MAX_STREAMS]) {
    const lh_spec *spec = cpu->engine.spec;
    lh_shape shape = lh_make_shape(spec, n, spec->train.batch);
    size_t shared = cpu->program->shared_bytes(&shape);
    int block = cpu->program->block_sequences(shape.length);
    shape.sequences = block < memory_needs->shard_sequences ? block : memory_needs->shard_sequences;
    size_t workspace = cpu->program->workspace_bytes(&shape, LH_MODE_TRAIN);
    if (shared > memory_needs->shared) memory_needs->shared = shared;
    if (workspace > memory_needs->workspace) memory_needs->workspace = workspace;
    lh_raise_lengths(max_length, shape.length);
    if (n > memory_needs->max_n) memory_needs->max_n = n;
}

/* Computes the memory needs of training; makes position tables and the lists of a step's lengths and shards; with a
 * dataset also opens the epoch. */
static lh_status open_training(lh_cpu_engine *cpu, lh_cpu_train_needs *memory_needs, lh_error *error) {
    const lh_spec *spec = cpu->engine.spec;
    lh_lengths fixed = {.first = cpu->config.fixed_length, .last = cpu->config.fixed_length};
    const lh_lengths *lengths = cpu->config.fixed_length > 0 ? &fixed : &spec->train.lengths;
    int max_length[LH_MAX_STREAMS] = {0};
    lh_status status = lh_check_training_lengths(spec, lengths, error);
    if (status != LH_OK) return status;
    memory_needs->shard_sequences = get_largest_shard(spec);
    for (int i = 0; i < lh_lengths_count(lengths); i++)
        raise_needs(cpu, lh_lengths_get(lengths, i), memory_needs, max_length);
    status = lh_cpu_grow_tables(cpu, max_length, error);
    if (status == LH_OK) status = lh_batch_parts_open(&cpu->parts, spec, error);
    if (status == LH_OK) {
        size_t bytes = (size_t)(spec->train.shards + 1) * sizeof *cpu->shard_starts;
        cpu->shard_starts = lh_engine_allocate(bytes, "the shards", error);
        if (cpu->shard_starts == NULL) status = LH_ERR_ENVIRONMENT;
    }
    if (status == LH_OK && spec->corpus != NULL)
        status = lh_epoch_open(&cpu->epoch, spec->corpus, spec->train.batch, error);
    return status;
}

/* Describes the engine's vectors as a state, for checkpoints. */
static void set_host_state(lh_cpu_engine *cpu) {
    cpu->host_state = (lh_state){.real_bytes = cpu->engine.real_bytes, .parameters = cpu->parameters};
    memcpy(cpu->host_state.optimizer, cpu->state, sizeof cpu->host_state.optimizer);
    cpu->engine.host_state = &cpu->host_state;
}

/* Allocates all vectors in one piece: lh_engine_allocate would round up each separate vector to whole large pages. */
static lh_status open_vectors(lh_cpu_engine *cpu, lh_error *error) {
    const lh_spec *spec = cpu->engine.spec;
    size_t bytes = (size_t)spec->parameter_storage * (size_t)cpu->engine.real_bytes;
    size_t states = cpu->config.trains ? (size_t)spec->optimizer.states : 0;
    char *vectors = lh_engine_allocate((cpu->config.trains ? 2 + states : 1) * bytes,
                                       "parameters and their optimiser's state", error);
    if (vectors == NULL) return LH_ERR_ENVIRONMENT;
    cpu->parameters = vectors;
    lh_initialise(spec, lh_get_part_seed(cpu->config.seed, &cpu->config.separate_seeds, LH_SEED_INIT),
                  cpu->engine.real_bytes, cpu->parameters);
    if (!cpu->config.trains) return LH_OK;
    cpu->total = vectors + bytes;
    for (size_t i = 0; i < states; i++) cpu->state[i] = vectors + (2 + i) * bytes;
    set_host_state(cpu);
    if (cpu->config.keeps_gradient) cpu->last_gradient = lh_engine_allocate(bytes, "the gradient", error);
    return cpu->config.keeps_gradient && cpu->last_gradient == NULL ? LH_ERR_ENVIRONMENT : LH_OK;
}

lh_status lh_cpu_begin_call(lh_cpu_engine *cpu, lh_error *error) {
    return lh_cpu_workspace_take(cpu->workspaces, cpu->forward.examples > 0 ? &cpu->forward : NULL, &cpu->workspace,
                                 error);
}

void lh_cpu_end_call(lh_cpu_engine *cpu, bool is_clean) {
    lh_cpu_workspace_give_back(cpu->workspaces, cpu->workspace, is_clean);
    cpu->workspace = NULL;
}

/* Shares the workspaces of an open engine, or creates new ones; one workspace is allocated now, so that a lack of
 * memory is reported before training starts. */
static lh_status open_workspaces(lh_cpu_engine *cpu, const lh_cpu_train_needs *memory_needs, lh_cpu_engine *previous,
                                 lh_error *error) {
    const lh_engine *engine = &cpu->engine;
    lh_status status = LH_OK;
    if (previous != NULL) cpu->workspaces = previous->workspaces;
    else
        status =
            lh_cpu_workspaces_open(engine->spec, cpu->program, engine->threads, memory_needs, &cpu->workspaces, error);
    if (status != LH_OK) return status;
    lh_cpu_workspaces_join(cpu->workspaces);
    status = lh_cpu_begin_call(cpu, error);
    if (status == LH_OK) lh_cpu_end_call(cpu, true);
    return status;
}

static void engine_close(lh_engine *engine) {
    lh_cpu_engine *cpu = (lh_cpu_engine *)engine;
    if (cpu->workspaces != NULL) lh_cpu_workspaces_leave(cpu->workspaces);
    lh_epoch_close(&cpu->epoch);
    lh_batch_parts_close(&cpu->parts);
    free(cpu->shard_starts);
    free(cpu->parameters); /* frees all vectors, which lie in one piece */
    free(cpu->last_gradient);
    free(cpu->tables);
    free(cpu);
}

/* Copies the engine's vectors to state or, if to_state is false, state to the vectors. */
static void copy_state(lh_cpu_engine *cpu, lh_state *state, bool to_state) {
    const lh_spec *spec = cpu->engine.spec;
    size_t bytes = (size_t)spec->parameter_storage * (size_t)cpu->engine.real_bytes;
    memcpy(to_state ? state->parameters : cpu->parameters, to_state ? cpu->parameters : state->parameters, bytes);
    for (int i = 0; i < spec->optimizer.states; i++)
        if (cpu->state[i] != NULL && state->optimizer[i] != NULL)
            memcpy(to_state ? state->optimizer[i] : cpu->state[i], to_state ? cpu->state[i] : state->optimizer[i],
                   bytes);
}

static lh_status engine_read_state(lh_engine *engine, lh_state *state, lh_error *error) {
    (void)error;
    if (state != engine->host_state) copy_state((lh_cpu_engine *)engine, state, true);
    return LH_OK;
}

static lh_status engine_write_state(lh_engine *engine, const lh_state *state, int64_t step, lh_error *error) {
    lh_state source = *state;
    (void)error;
    if (state != engine->host_state) copy_state((lh_cpu_engine *)engine, &source, false);
    engine->step = step;
    return LH_OK;
}

static lh_status engine_read_gradient(lh_engine *engine, void *gradient, lh_error *error) {
    (void)error;
    memcpy(gradient, ((lh_cpu_engine *)engine)->last_gradient,
           (size_t)engine->spec->parameter_storage * (size_t)engine->real_bytes);
    return LH_OK;
}

lh_cpu_step lh_cpu_make_forward_step(const lh_cpu_engine *cpu, int n, int sequences, const lh_draw *draw) {
    lh_cpu_step step = {
        .mode = LH_MODE_EVALUATE,
        .shape = lh_make_shape(cpu->engine.spec, n, sequences),
        .key = draw->key,
        .step = draw->step,
        .draw = *draw,
        .passes = lh_count_passes(cpu->engine.spec, n),
        .parameters = cpu->parameters,
        .tables = cpu->tables,
        .shared = cpu->workspace->forward_shared,
        .panels = cpu->workspace->panels,
    };
    return step;
}

lh_cpu_step lh_cpu_make_query_step(const lh_cpu_engine *cpu, const lh_query *query, int sequences) {
    lh_cpu_step step = lh_cpu_make_forward_step(cpu, query->n, sequences, &query->draw);
    memcpy(step.positions, query->positions, sizeof step.positions);
    memcpy(step.distances, query->distances, sizeof step.distances);
    step.noise = query->noise;
    return step;
}

static const lh_engine_ops cpu_ops = {
    .step = lh_cpu_engine_step,
    .reserve = lh_cpu_reserve,
    .evaluate = lh_cpu_evaluate,
    .predict = lh_cpu_predict,
    .answer = lh_cpu_answer,
    .decode = lh_cpu_decode,
    .trace = lh_cpu_trace,
    .read_state = engine_read_state,
    .write_state = engine_write_state,
    .read_gradient = engine_read_gradient,
    .close = engine_close,
};

/* previous: an open engine that differs only in seed and learning rate, with which this engine shares workspaces; NULL:
 * none. */
static lh_status open_engine(const lh_engine_config *config, const lh_cpu_program *program, lh_engine *previous,
                             lh_engine **engine, lh_error *error) {
    *engine = NULL;
    lh_cpu_engine *cpu = lh_engine_allocate(sizeof *cpu, "the engine", error);
    if (cpu == NULL) return LH_ERR_ENVIRONMENT;
    cpu->engine = (lh_engine){
        .ops = &cpu_ops,
        .spec = config->spec,
        .level = program->level,
        .real_bytes = program->real_bytes,
        .threads = config->threads,
        .compiler = lh_get_compiler(),
        .variant = "cpu",
        .decodes = program->decode_step != NULL,
    };
    cpu->config = *config;
    cpu->program = program;
    cpu->data_key = lh_get_part_key(config->seed, &config->separate_seeds, LH_SEED_DATA);
    cpu->draws_key = lh_get_part_key(config->seed, &config->separate_seeds, LH_SEED_DRAWS);
    if (config->trains && cpu->engine.threads > config->spec->train.shards)
        cpu->engine.threads = config->spec->train.shards; /* a thread without a shard would be idle */
    lh_cpu_train_needs memory_needs = {0};
    lh_status status = open_vectors(cpu, error);
    if (status == LH_OK && config->trains) status = open_training(cpu, &memory_needs, error);
    if (status == LH_OK) status = open_workspaces(cpu, &memory_needs, (lh_cpu_engine *)previous, error);
    if (status != LH_OK) {
        engine_close(&cpu->engine);
        return status;
    }
    *engine = &cpu->engine;
    return LH_OK;
}

lh_status lh_cpu_engine_open(const lh_engine_config *config, const lh_cpu_program *program, lh_engine **engine,
                             lh_error *error) {
    return lh_cpu_engines_open(config, 1, program, engine, error);
}

lh_status lh_cpu_engines_open(const lh_engine_config *configs, int count, const lh_cpu_program *program,
                              lh_engine **engines, lh_error *error) {
    for (int i = 0; i < count; i++) {
        lh_status status = open_engine(&configs[i], program, i > 0 ? engines[0] : NULL, &engines[i], error);
        if (status == LH_OK) continue;
        while (i-- > 0) engine_close(engines[i]);
        return status;
    }
    return LH_OK;
}
