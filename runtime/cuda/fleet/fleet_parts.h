/* Internal declarations of a fleet, shared by fleet.c (memory and state), calls.c (driver calls), ring.c (batches
 * prepared in advance), launch.c (training steps), forward.c (forward passes), conditions.c (evaluation),
 * early_answers.c (results computed before they are requested), greedy.c (models' own answers) and phases.c (wide
 * models). */
#ifndef LONGHAND_CUDA_FLEET_PARTS_H
#define LONGHAND_CUDA_FLEET_PARTS_H

#include <assert.h>

#include "data/datasets/epoch.h"
#include "data/train_lengths.h"
#include "longhand/cuda_interface.h"
#include "longhand/cuda_loops.h"
#include "runtime/cuda/fleet/fleet.h"
#include "runtime/cuda/fleet/grid.h"
#include "runtime/cuda/library.h"

enum { LH_CUDA_MAX_STEPS = 64 /* maximum number of steps of one launch */ };

static_assert((int)LH_CUDA_STREAMS == (int)LH_MAX_STREAMS, "the device has the streams of the host");

/* Byte offsets of a batch's arrays in the memory of the batch, and the size of this memory. */
typedef struct lh_cuda_layout {
    size_t tokens[LH_MAX_STREAMS], labels, mask, place, draws;
    size_t positions[LH_MAX_STREAMS]; /* positions of tokens, in the memory of `draws` (cuda.h) */
    size_t bytes;                     /* size of the batch */
    bool has_places;                  /* the format has `locate` */
} lh_cuda_layout;

/* Buffers of one host thread that makes examples. */
typedef struct lh_cuda_lane {
    lh_batch batch;
    int *scratch; /* [draw_scratch] workspace of lh_cuda_program.draw */
} lh_cuda_lane;

typedef struct lh_cuda_lanes {
    lh_cuda_lane *lane; /* [count] */
    int count;
} lh_cuda_lanes;

/* A step of one replica, prepared before it runs. */
typedef struct lh_cuda_prepared_step {
    lh_batch_parts parts;             /* task lengths, and the number of sequences of each */
    lh_cuda_step *steps;              /* [lh_cuda_count_parts] one for each part; pointers are device addresses */
    const uint32_t *indices_in_shape; /* lh_source.indices_in_shape of the batch */
    lh_key data_key;                  /* key of the examples */
    int n;                            /* task length; of mixed lengths the greatest */
    lh_cuda_passes passes;            /* passes of sequences of length n */
    int64_t labels;                   /* labels of the batch */
    int counted_sequences;            /* sequences with a counted label */
    lh_status status; /* status of making the batch; if not LH_OK, lh_cuda_ring_get_failure has the message */
} lh_cuda_prepared_step;

/* Prepared batches of future steps. A slot has one column per active replica. Consecutive slots hold consecutive steps
 * of each replica. Indices of slots only increase; slot i is stored at index i % capacity of the arrays. */
typedef struct lh_cuda_ring {
    int capacity, columns;
    size_t batch_bytes;              /* maximum bytes of one replica's batch */
    void *host;                      /* [capacity][columns] batches, pinned */
    CUdeviceptr device;              /* [capacity][columns] batches on the device */
    lh_cuda_prepared_step *prepared; /* [capacity][columns] */
    lh_cuda_step *steps;             /* [capacity][columns][lh_cuda_count_parts] */
    uint32_t *indices_in_shape;      /* [capacity][columns][batch]; NULL without a dataset */
    int64_t first, end; /* range of filled, unused slots; slot `first` holds the next step of every replica */
    CUstream stream;    /* copies to the device */
    lh_cuda_lanes lanes;
} lh_cuda_ring;

/* Device memory of training steps, for all replicas that step at once. */
typedef struct lh_cuda_arena {
    int shards, blocks; /* blocks: largest grid; 1 for a wide model */
    int max_shards;     /* largest number of shards of a step; more than `shards` only with mixed lengths */
    /* Bytes of one element of partials, of shared_values and of workspaces: */
    size_t partial_stride, shared_stride, workspace_stride;
    size_t partials_bytes, arrivals_bytes; /* bytes of the whole arrays partials and arrivals */
    CUdeviceptr partials;                  /* [at_once][max_shards], cleared if the replicas change */
    CUdeviceptr shared_values, piece_sums, shard_sums, arrivals; /* [at_once] (lh_cuda_grid); arrivals: at barriers */
    CUdeviceptr workspaces;                                      /* [blocks] */
    CUdeviceptr replicas, steps, results; /* [count], [count][LH_CUDA_MAX_STEPS][parts], [count][LH_CUDA_MAX_STEPS] */
    lh_cuda_replica *host_replicas;       /* pinned host copies of replicas, steps and results */
    lh_cuda_step *host_steps;
    lh_cuda_result *host_results;
} lh_cuda_arena;

/* Needs of an evaluation, in bytes unless another unit is named. */
enum {
    LH_CUDA_NEED_BATCH,      /* batch of one model */
    LH_CUDA_NEED_WORKSPACES, /* workspaces of all blocks */
    LH_CUDA_NEED_SHARED,     /* shared values of one model */
    LH_CUDA_NEED_LOGITS,     /* logits of one sequence */
    LH_CUDA_NEED_CLASSES,    /* classes of one model */
    LH_CUDA_NEED_ANSWERS,    /* answers of one model */
    LH_CUDA_NEED_WORDS,      /* 16-bit words of one sequence (lh_count_batch_words) */
    LH_CUDA_NEED_LENGTH,     /* task length */
    LH_CUDA_NEEDS
};

/* Memory for evaluation, enlarged by reserve. */
typedef struct lh_cuda_forward {
    size_t reserved[LH_CUDA_NEEDS]; /* largest needs so far */
    int replicas_per_pass;          /* replicas that one pass may evaluate */
    size_t batch_bytes;             /* bytes of host_batch, and of device_batch */
    CUdeviceptr device_batch, device_workspaces, device_shared, device_logits, device_classes, device_answers,
        device_models;
    void *host_batch, *host_answers, *host_logits, *host_classes, *host_models; /* pinned */
    lh_cuda_lanes lanes;
} lh_cuda_forward;

/* The models of a forward pass. All models process the same sequences, or each model processes its own. */
typedef struct lh_cuda_models {
    int count;
    lh_shape shape; /* lengths, equal for all models; sequences: the largest number of sequences of one model, which is
                     * also the number of rows in the results of every model */
    lh_cuda_passes passes;
    size_t bytes; /* used bytes of host_batch */
} lh_cuda_models;

/* Bytes of an answer on the device. */
static inline size_t lh_cuda_get_answer_bytes(const lh_spec *spec) {
    return spec->passes > 0 ? sizeof(lh_cuda_loop_answer) : sizeof(lh_cuda_answer);
}

/* Reads an answer in the device's form; its uncertainty is 0 if the model has no loops. */
static inline lh_cuda_loop_answer lh_cuda_read_answer(const lh_spec *spec, const void *answers, size_t index) {
    if (spec->passes > 0) return ((const lh_cuda_loop_answer *)answers)[index];
    const lh_cuda_answer *answer = (const lh_cuda_answer *)answers + index;
    return (lh_cuda_loop_answer){answer->loss, answer->counted, answer->correct, 0};
}

/* The answers of a replica to a condition. */
typedef struct lh_cuda_early_answers {
    struct lh_cuda_early_answers *next; /* answers that the engine is expected to request next */
    lh_condition condition;             /* its pointers `answers` and `lengths` are NULL */
    int64_t step;                       /* step of the parameters */
    size_t bytes;                       /* bytes of this struct with its arrays */
    int *lengths;                       /* [condition.decoded_count], stored after the answers */
    uint16_t *classes;                  /* [examples][labels], stored after the lengths; NULL: not requested */
    lh_cuda_loop_answer answer[];       /* [examples] */
} lh_cuda_early_answers;

typedef struct lh_cuda_engine {
    lh_engine engine;
    struct lh_cuda_fleet *fleet;
    uint64_t seed;
    lh_separate_seeds separate_seeds;
    double learning_rate;
    lh_key data_key, draws_key; /* keys of LH_SEED_DATA and LH_SEED_DRAWS */
    CUdeviceptr vectors;        /* vectors, each of parameter_storage numbers; see lh_cuda_get_vector */
    lh_epoch epoch;             /* dataset */
    bool is_active;             /* the engine takes part in training launches */
    bool is_closed;
    lh_cuda_early_answers *early_answers;       /* list in the expected order of requests */
    int unused_in_a_row;                        /* number of successive requests that dropped stored answers */
    int64_t request_step;                       /* step of the parameters to which the next two counts belong */
    int request_count, stored_count;            /* numbers of requests and stored answers at request_step */
    int requested_steps;                        /* number of steps that are requested and not launched yet */
    double launch_seconds;                      /* duration of the last launch's steps that are not yet returned */
    lh_step_metrics metrics[LH_CUDA_MAX_STEPS]; /* metrics of the last launch */
    int reported_count;                         /* number of metrics that were returned */
    lh_status failure;                          /* status of the failed step, the one after the finished steps */
    lh_step_metrics failed_metrics;
    lh_error failure_message;
} lh_cuda_engine;

typedef struct lh_cuda_fleet {
    const lh_cuda_device *device;
    const lh_cuda_driver *driver;
    const lh_cuda_program *program;
    const lh_cuda_variant *variant;
    const lh_spec *spec;
    lh_engine_config config; /* configuration of all engines; seeds and learning_rate are in the engines */
    char level[64];
    char compiler[160];      /* compiler of the device code, and the library's version */
    lh_cuda_engine *engines; /* [count] */
    int count, open;         /* count: number of engines; open: number of engines that are not closed */
    lh_cuda_engine **active; /* active engines; the index is the replica's column */
    int active_count;
    lh_cuda_grid grid;    /* grid of the active replicas, valid if is_grid_current is set */
    bool is_grid_current; /* grid and the device's array of replicas match `active` */
    CUstream stream;
    CUdeviceptr tables;
    int tables_length[LH_MAX_STREAMS]; /* length of the longest sequences for which tables are made */
    lh_cuda_arena arena;
    lh_cuda_ring ring;
    lh_cuda_forward forward;
    lh_cuda_engine **evaluated_engines;        /* [count] engines that a pass evaluates, the requesting engine first */
    lh_cuda_early_answers **evaluated_answers; /* [count] their answers; NULL: memory was short */
    size_t early_bytes;                        /* bytes of stored answers of all engines */
    lh_cuda_library *library;                  /* wide models only, else NULL */
    lh_cuda_launch *launches;                  /* [launch_count] launches of a step or of an evaluated group */
    int launch_count;
    double step_seconds; /* recent duration of one step of all replicas (watchdog: the maximum so far); 0: unknown */
    int last_step_count; /* steps of the last launch */
    lh_status device_failure; /* permanent failure of the device */
    lh_error device_message;
} lh_cuda_fleet;

/* ---- calls.c ---- */

/* Records the first failure of the device, with the message in *error, and adds a hint to that message. Does nothing if
 * status is LH_OK. Returns the status for the caller. */
lh_status lh_cuda_record_failure(lh_cuda_fleet *fleet, lh_status status, lh_error *error);

/* Begins an operation of an engine: checks that the device has not failed, and makes the device's context current for
 * the calling thread. */
lh_status lh_cuda_begin_call(lh_cuda_fleet *fleet, lh_error *error);

/* lh_cuda_copy_in copies to the device, lh_cuda_copy_out to the host. A copy is complete on return. */
lh_status lh_cuda_copy_in(lh_cuda_fleet *fleet, CUdeviceptr to, const void *from, size_t bytes, lh_error *error);
lh_status lh_cuda_copy_out(lh_cuda_fleet *fleet, void *to, CUdeviceptr from, size_t bytes, lh_error *error);

/* lh_cuda_clear sets device memory to zero; lh_cuda_allocate_zeroed also allocates it. Both work in the order of the
 * stream. */
lh_status lh_cuda_clear(lh_cuda_fleet *fleet, CUdeviceptr memory, size_t bytes, lh_error *error);
lh_status lh_cuda_allocate_zeroed(lh_cuda_fleet *fleet, size_t bytes, const char *purpose, CUdeviceptr *memory,
                                  lh_error *error);

/* Makes position tables for sequences of up to length[stream] tokens, if the program has tables and the present tables
 * are shorter. */
lh_status lh_cuda_grow_tables(lh_cuda_fleet *fleet, const int length[LH_MAX_STREAMS], lh_error *error);

/* ---- fleet.c ---- */

/* The largest number of parts of a step's batch, each of which has sequences of one length. */
static inline int lh_cuda_count_parts(const lh_cuda_fleet *fleet) {
    return fleet->program->parts > 0 ? fleet->program->parts : 1;
}

/* Bytes of one vector of parameters. */
static inline size_t lh_cuda_get_vector_bytes(const lh_cuda_fleet *fleet) {
    return (size_t)fleet->spec->parameter_storage * (size_t)fleet->program->real_bytes;
}

/* Indices of an engine's vectors; the optimiser's states begin at LH_CUDA_STATE. An engine that does not train has only
 * the parameters. */
enum { LH_CUDA_PARAMETERS, LH_CUDA_GRADIENT, LH_CUDA_STATE };

static inline CUdeviceptr lh_cuda_get_vector(const lh_cuda_engine *engine, int i) {
    return engine->vectors + (size_t)i * lh_cuda_get_vector_bytes(engine->fleet);
}

/* The possible task lengths of a step. If they are a list, the spec owns the list. */
static inline lh_lengths lh_cuda_get_training_lengths(const lh_cuda_fleet *fleet) {
    int fixed = fleet->config.fixed_length;
    return fixed > 0 ? (lh_lengths){.first = fixed, .last = fixed} : fleet->spec->train.lengths;
}

/* Removes a replica from training; from the next launch on, the other replicas share the device. */
void lh_cuda_deactivate(lh_cuda_engine *engine);

/* Divides the device among the active replicas if they have changed. */
lh_status lh_cuda_divide_device(lh_cuda_fleet *fleet, lh_error *error);

/* ---- ring.c ---- */

lh_cuda_layout lh_cuda_make_layout(const lh_cuda_fleet *fleet, const lh_shape *shape);

/* Opens a lane for each of config.threads threads, with a batch of `rows` sequences of task lengths up to max_n. */
lh_status lh_cuda_lanes_open(lh_cuda_lanes *lanes, const lh_cuda_fleet *fleet, int max_n, int rows, lh_error *error);
void lh_cuda_lanes_close(lh_cuda_lanes *lanes);

/* Copies the rows of a lane's batch to rows first, first + 1, ... of a batch in memory. */
void lh_cuda_put_rows(const lh_cuda_layout *layout, char *memory, int first, const lh_batch *batch);

/* Describes a step for the device, for a batch at device address `address`. */
lh_cuda_step lh_cuda_make_step(const lh_cuda_layout *layout, const lh_shape *shape, CUdeviceptr address,
                               const lh_draw *draw);

/* Writes the passes of a step or an evaluation, if the model has loops. Then makes the random draws, if the model
 * has any; positions and distances given by the caller replace the draws (lh_cpu_step). out: the memory of
 * lh_cuda_step.draws; lh_cuda_put_rows writes the positions of tokens there. */
void lh_cuda_make_draws(const lh_cuda_fleet *fleet, lh_cuda_passes passes, const lh_draw *draw, const lh_shape *shape,
                        const int32_t *const positions[LH_MAX_STREAMS], const int32_t *const distances[LH_MAX_STREAMS],
                        int *scratch, int *out);

lh_status lh_cuda_ring_open(lh_cuda_fleet *fleet, lh_error *error);
void lh_cuda_ring_close(lh_cuda_fleet *fleet);

/* Drops all prepared batches, after the active replicas or the step of one of them have changed. */
void lh_cuda_ring_clear(lh_cuda_fleet *fleet);

/* Makes the missing batches of slots ring->first .. end - 1 and starts their copies to the device. A running launch
 * may read the slots from ring->first on; their batches are not missing and stay unchanged. */
lh_status lh_cuda_ring_fill(lh_cuda_fleet *fleet, int64_t end, lh_error *error);

/* The prepared step of a column in a slot. */
lh_cuda_prepared_step *lh_cuda_ring_get(const lh_cuda_ring *ring, int64_t slot, int column);

/* The status and message of a column whose batch in slot `first` could not be made. */
lh_status lh_cuda_ring_get_failure(lh_cuda_fleet *fleet, int column, lh_error *error);

/* ---- early_answers.c ---- */

/* Replicas of a fleet reach an evaluation at the same step and request the same conditions one after another. The first
 * request evaluates the condition for the other replicas too; the answers of a replica are stored until it requests
 * them. */

/* Fills fleet->evaluated_engines with at most max_count replicas to evaluate, and returns their number. The first is
 * `engine`. The further replicas, in their order, are open, have no failed step and have parameters of the same step.
 * At this step, each further replica has as many requests and stored answers together as `engine` had before its
 * present request. A replica is left out permanently once two requests in a row dropped its stored answers; while more
 * than 256 MB are stored, all replicas but `engine` are left out. */
int lh_cuda_choose_evaluated_engines(lh_cuda_engine *engine, int max_count);

/* Copies an engine's answers to a condition from `answers`, an array in the device's form, from index `first` on.
 * classes: [labels], for all examples together, or NULL if not requested. The lengths remain unset. Returns NULL if
 * there is not enough memory. */
lh_cuda_early_answers *lh_cuda_copy_early_answers(const lh_cuda_engine *engine, const lh_condition *condition,
                                                  const void *answers, size_t first, const int *classes, size_t labels);

/* Stores answers until the engine requests them; NULL: does nothing. */
void lh_cuda_store_early_answers(lh_cuda_engine *engine, lh_cuda_early_answers *answers);

/* Counts a request of the engine and takes the stored answers of its condition, which the caller frees; NULL: there are
 * none. If the engine's next stored answers belong to another condition or other parameters, or lack requested classes,
 * all its stored answers are dropped. */
lh_cuda_early_answers *lh_cuda_take_early_answers(lh_cuda_engine *engine, const lh_condition *condition);
void lh_cuda_drop_early_answers(lh_cuda_engine *engine);

/* ---- greedy.c ---- */

/* Decodes the first condition->decoded_count examples with the first `replicas` models of fleet->evaluated_engines.
 * In fleet->evaluated_answers, the models' own answers replace the classes of the pass over the targets; lengths are
 * set. Each pass has the unfinished sequences of as many models as fit; with cached keys and values, one pass gives
 * all answers. Fails as evaluate does. */
lh_status lh_cuda_answer_greedily(lh_cuda_engine *engine, int replicas, const lh_condition *condition, lh_error *error);

/* ---- phases.c ---- */

/* A training step of one replica, or the evaluation of one group of examples, of a wide model. */
typedef struct lh_cuda_pass {
    CUfunction kernel;
    int blocks;
    lh_mode mode;
    lh_shape shape; /* shape of the batch or group */
    lh_cuda_passes passes;
    int first; /* index of the first example; 0 in training */
    CUdeviceptr workspace, parameters, gradient, arrivals;
    void *arguments;                        /* arguments of the kernel: lh_cuda_train or lh_cuda_evaluate */
    const lh_cuda_result *preceding_result; /* lh_cuda_place.before */
} lh_cuda_pass;

/* Opens the library if the program uses a library for its products; fleet_close closes it. */
lh_status lh_cuda_phases_open(lh_cuda_fleet *fleet, lh_error *error);

/* Adds the number of multiprocessors and a digest of the library's algorithms to fleet->compiler, since the bits of
 * products depend on them; run files and checkpoints record this text. Called after the memory of a training fleet is
 * allocated; does nothing for programs without a library. */
lh_status lh_cuda_describe_products(lh_cuda_fleet *fleet, lh_error *error);

/* Starts all launches of a pass; returns before they finish. */
lh_status lh_cuda_run_phases(lh_cuda_fleet *fleet, const lh_cuda_pass *pass, lh_error *error);

/* ---- forward.c ---- */

enum { LH_CUDA_ROWS = 32 /* sequences that a host thread makes per batch */ };

/* The results of a pass. */
typedef enum lh_cuda_output {
    LH_CUDA_SUMS,    /* sums of sequences */
    LH_CUDA_LOGITS,  /* sums, and logits */
    LH_CUDA_CLASSES, /* sums, and for each label the class with the greatest logit */
    LH_CUDA_DECODED  /* no sums; classes of greedy decoding with cached keys and values, for labels with mask 1 */
} lh_cuda_output;

/* Adds a model to a pass, with the sequences of `shape`, whose batch begins at byte `offset` of host_batch. The models
 * of a pass have equal lengths. */
void lh_cuda_add_model(lh_cuda_models *models, const lh_cuda_engine *model, const lh_shape *shape, size_t offset,
                       const lh_draw *draw, double noise);

/* Runs a pass, which `engine` requests. On return sums of sequences and the requested results are in host memory,
 * models->shape.sequences rows for each model. Logits can be requested only for one sequence of one model.
 * LH_STOPPED: the engine's flag `stop` was set. */
lh_status lh_cuda_run_pass(lh_cuda_engine *engine, const lh_cuda_models *models, lh_cuda_output requested,
                           lh_error *error);

/* Makes the draws of a batch at byte `offset` of host_batch, for models->passes; see lh_cuda_make_draws for positions
 * and distances. */
void lh_cuda_make_forward_draws(const lh_cuda_fleet *fleet, const lh_cuda_models *models, const lh_shape *shape,
                                size_t offset, const lh_draw *draw, const int32_t *const positions[LH_MAX_STREAMS],
                                const int32_t *const distances[LH_MAX_STREAMS]);

/* Converts classes, [sequences][labels] of `shape`, to uint16_t. */
void lh_cuda_convert_classes(const int *classes, const lh_shape *shape, uint16_t *to);

/* ---- launch.c, forward.c, conditions.c ---- */

lh_status lh_cuda_engine_step(lh_engine *engine, int count, lh_step_metrics *metrics, int *steps_done, lh_error *error);

lh_status lh_cuda_reserve(lh_engine *engine, const lh_lengths *lengths, int examples, lh_error *error);
lh_status lh_cuda_evaluate_condition(lh_engine *engine, const lh_condition *condition, lh_sums *sums,
                                     lh_sums *sequence_sums, lh_error *error);
lh_status lh_cuda_answer_queries(lh_engine *engine, const lh_query *query, int count, uint16_t *answers,
                                 lh_error *error);
lh_status lh_cuda_predict(lh_engine *engine, const lh_query *query, double *logits, lh_error *error);
void lh_cuda_forward_close(lh_cuda_fleet *fleet);

#endif
