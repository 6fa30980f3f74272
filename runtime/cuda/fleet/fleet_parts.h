/* Inside a fleet: shared by fleet.c (memory and state), calls.c (to the device), ring.c (batches ahead of their steps),
 * launch.c (steps), forward.c (passes without a way back), conditions.c (evaluation), early_answers.c (evaluations
 * ahead of their time) and phases.c (wide models). */
#ifndef LONGHAND_CUDA_FLEET_PARTS_H
#define LONGHAND_CUDA_FLEET_PARTS_H

#include <assert.h>

#include "data/datasets/epoch.h"
#include "longhand/cuda_interface.h"
#include "runtime/cuda/fleet/fleet.h"
#include "runtime/cuda/fleet/grid.h"
#include "runtime/cuda/library.h"

enum { LH_CUDA_MOST_STEPS = 64 /* started together */ };

static_assert((int)LH_CUDA_STREAMS == (int)LH_MAX_STREAMS, "the device has the streams of the host");

/* Places of a batch's arrays in its piece of memory. */
typedef struct lh_cuda_layout {
    size_t tokens[LH_MAX_STREAMS], labels, mask, place, draws, bytes;
    bool has_places; /* the format has `locate` */
} lh_cuda_layout;

/* Memory of a host thread that makes examples. */
typedef struct lh_cuda_lane {
    lh_batch batch;
    int *scratch; /* for draws */
} lh_cuda_lane;

typedef struct lh_cuda_lanes {
    lh_cuda_lane *lane; /* [count] */
    int count;
    int rows; /* sequences that a lane's batch holds */
} lh_cuda_lanes;

/* A step of one replica, ahead of its time. */
typedef struct lh_cuda_prepared {
    lh_cuda_step step;    /* pointers: of the device */
    const uint32_t *pick; /* finite data: its examples; NULL: those in the file's order */
    int n;                /* task length */
    int asked;            /* sequences with a label that counts */
    lh_status status;     /* of its batch; not LH_OK: there is none, and lh_cuda_ring_why knows why */
} lh_cuda_prepared;

/* Batches of the steps to come. A slot has a column for every replica that steps: its next step, the one after that,
 * ... Slots are numbered on and on; slot i lies at i % capacity. */
typedef struct lh_cuda_ring {
    int capacity, columns;
    size_t piece;               /* bytes of one replica's batch */
    void *host;                 /* [capacity][columns] pieces, pinned */
    CUdeviceptr device;         /* the same */
    lh_cuda_prepared *prepared; /* [capacity][columns] */
    uint32_t *picks;            /* [capacity][columns][batch]; NULL without finite data */
    int64_t first, end;         /* slots that are filled and not yet used; slot `first` is every replica's next step */
    CUstream stream;            /* copies to the device */
    lh_cuda_lanes lanes;
} lh_cuda_ring;

/* Memory that a replica's team shares while it steps, for as many as step at once. All on the device. */
typedef struct lh_cuda_room {
    int shards, blocks;                                    /* blocks: of the largest grid */
    size_t partial, shared, workspace;                     /* bytes of one */
    size_t partials_bytes, arrivals_bytes;                 /* of all */
    CUdeviceptr partials;                                  /* [at once][shards], zero between steps */
    CUdeviceptr shareds, piece_sums, shard_sums, arrivals; /* [at once] */
    CUdeviceptr workspaces;                                /* [blocks] */
    CUdeviceptr replicas, steps, results;                  /* tables: [replicas], [replicas][steps] */
    lh_cuda_replica *host_replicas;                        /* pinned, as the three above */
    lh_cuda_step *host_steps;
    lh_cuda_result *host_results;
} lh_cuda_room;

/* Room for evaluation, grown by reserve. */
typedef struct lh_cuda_forward {
    int longest_n, examples;                           /* largest request so far */
    int together;                                      /* replicas that one pass may evaluate */
    size_t batch, workspaces, shared, logits, classes; /* bytes; shared, classes: of one replica */
    size_t words;                                      /* lh_batch_words */
    CUdeviceptr device_batch, device_workspaces, device_shared, device_logits, device_classes, device_answers,
        device_step;
    void *host_batch, *host_answers, *host_logits, *host_classes, *host_step; /* pinned */
    lh_cuda_lanes lanes;
} lh_cuda_forward;

/* The answers of a condition for a replica that has not asked for it yet. */
typedef struct lh_cuda_early_answers {
    struct lh_cuda_early_answers *next;
    lh_condition condition;  /* answers: NULL */
    int64_t step;            /* of the parameters */
    size_t bytes;            /* of this */
    const int *classes;      /* [examples][labels] behind the answers; NULL: nobody wanted them */
    lh_cuda_answer answer[]; /* [examples] */
} lh_cuda_early_answers;

typedef struct lh_cuda_engine {
    lh_engine engine;
    struct lh_cuda_fleet *fleet;
    uint64_t seed;
    double learning_rate;
    lh_key key;
    CUdeviceptr vectors; /* parameter_storage real each, see lh_cuda_vector_at */
    lh_epoch epoch;      /* finite data */
    bool steps;          /* takes part in launches */
    bool closed;
    lh_cuda_early_answers *early_answers; /* in the order in which they will be asked for */
    int unasked_in_a_row;                 /* how often in a row what was kept was not asked for */
    int wish;                             /* steps that it was last asked for and waits for; 0: none */
    double ready_seconds;
    lh_step_metrics metrics[LH_CUDA_MOST_STEPS]; /* of the last launch */
    int taken;                                   /* of them, handed out */
    lh_status failure;                           /* of the step after those that are ready */
    lh_step_metrics failed;
    lh_error why;
} lh_cuda_engine;

typedef struct lh_cuda_fleet {
    const lh_cuda_device *device;
    const lh_cuda_driver *driver;
    const lh_cuda_program *program;
    const lh_cuda_variant *variant;
    const lh_spec *spec;
    lh_engine_config config; /* of them all: seed and learning rate are the engines' own */
    char level[64];
    char compiler[160];      /* of the device code, and the library */
    lh_cuda_engine *engines; /* [count] */
    int count, open;         /* engines in all, and those that are not closed */
    lh_cuda_engine **active; /* those that step; a replica's place in it is its column */
    int active_count;
    lh_cuda_grid grid; /* of the active ones, once they are arranged */
    bool arranged;     /* grid and the device's table of replicas are those of the active ones */
    CUstream stream;
    CUdeviceptr tables;
    int tables_longest[LH_MAX_STREAMS]; /* sequences that tables serve */
    lh_cuda_room room;
    lh_cuda_ring ring;
    lh_cuda_forward forward;
    lh_cuda_engine **together; /* [count] whom a pass evaluates, the one that asked first */
    size_t early_bytes;        /* of all engines */
    lh_cuda_library *library;  /* of a wide model; NULL otherwise */
    lh_cuda_launch *launches;  /* room for the list of a step's or evaluation's */
    double step_seconds;       /* of one step of all, lately (watchdog: at most so far); 0: not known */
    int launched;              /* steps that were started together last */
    lh_status lost;            /* the device failed, for good */
    lh_error loss;
} lh_cuda_fleet;

/* --- calls.c ---------------------------------------------------------------------------------------------------- */

/* Takes note of a failure of the device; returns status. */
lh_status lh_cuda_lose(lh_cuda_fleet *fleet, lh_status status, lh_error *error);

/* Every operation of an engine begins with it: the device is still there, and current for the calling thread. */
lh_status lh_cuda_enter(lh_cuda_fleet *fleet, lh_error *error);

/* Copies between the host and the device, done on return. */
lh_status lh_cuda_copy_in(lh_cuda_fleet *fleet, CUdeviceptr to, const void *from, size_t bytes, lh_error *error);
lh_status lh_cuda_copy_out(lh_cuda_fleet *fleet, void *to, CUdeviceptr from, size_t bytes, lh_error *error);

/* Zeroes memory of the device, and takes memory that is all zero: in the order of the stream. */
lh_status lh_cuda_clear(lh_cuda_fleet *fleet, CUdeviceptr memory, size_t bytes, lh_error *error);
lh_status lh_cuda_allocate_clear(lh_cuda_fleet *fleet, size_t bytes, const char *what, CUdeviceptr *memory,
                                 lh_error *error);

/* Position tables for sequences of up to so many tokens in each stream. */
lh_status lh_cuda_need_tables(lh_cuda_fleet *fleet, const int longest[LH_MAX_STREAMS], lh_error *error);

/* --- fleet.c ---------------------------------------------------------------------------------------------------- */

/* Bytes of a vector of parameters. */
static inline size_t lh_cuda_vector(const lh_cuda_fleet *fleet) {
    return (size_t)fleet->spec->parameter_storage * (size_t)fleet->program->real_bytes;
}

/* An engine's vectors in their order; from LH_CUDA_STATE on as many as the optimiser has. Without training there are
 * the parameters alone. */
enum { LH_CUDA_PARAMETERS, LH_CUDA_GRADIENT, LH_CUDA_STATE };

static inline CUdeviceptr lh_cuda_vector_at(const lh_cuda_engine *engine, int i) {
    return engine->vectors + (size_t)i * lh_cuda_vector(engine->fleet);
}

/* The task lengths that a step may have; the list, if it is one, is the spec's. */
static inline lh_lengths lh_cuda_training_lengths(const lh_cuda_fleet *fleet) {
    int fixed = fleet->config.fixed_length;
    return fixed > 0 ? (lh_lengths){NULL, 0, fixed, fixed, 1} : fleet->spec->train.lengths;
}

/* This replica makes no further steps; the others share the device among themselves from the next launch on. */
void lh_cuda_leave(lh_cuda_engine *engine);

/* Shares the device among the active replicas where they have changed. */
lh_status lh_cuda_arrange(lh_cuda_fleet *fleet, lh_error *error);

/* --- ring.c ----------------------------------------------------------------------------------------------------- */

lh_cuda_layout lh_cuda_layout_of(const lh_cuda_fleet *fleet, const lh_shape *shape);

lh_status lh_cuda_lanes_open(lh_cuda_lanes *lanes, const lh_cuda_fleet *fleet, int longest_n, int rows,
                             lh_error *error);
void lh_cuda_lanes_close(lh_cuda_lanes *lanes);

/* Copies the rows of a lane's batch to rows first, first + 1, ... of a batch in memory. */
void lh_cuda_put_rows(const lh_cuda_layout *layout, char *memory, int first, const lh_batch *batch);

/* A step's description for the device, for a batch that lies there at `at`. */
lh_cuda_step lh_cuda_step_of(const lh_cuda_layout *layout, const lh_shape *shape, CUdeviceptr at, const lh_draw *draw);

/* The draws of a step or evaluation, where the model has any; what the caller gives in their place as in lh_cpu_step.
 */
void lh_cuda_make_draws(const lh_cuda_program *program, const lh_draw *draw, const lh_shape *shape,
                        const int32_t *const positions[LH_MAX_STREAMS], const int32_t *const distances[LH_MAX_STREAMS],
                        int *scratch, int *out);

lh_status lh_cuda_ring_open(lh_cuda_fleet *fleet, lh_error *error);
void lh_cuda_ring_close(lh_cuda_fleet *fleet);

/* Forgets what lies ahead: replicas have changed. */
void lh_cuda_ring_clear(lh_cuda_fleet *fleet);

/* Makes what is missing of the slots first .. end - 1 and starts its copy to the device. The steps of a running launch
 * are those of the first slots. */
lh_status lh_cuda_ring_fill(lh_cuda_fleet *fleet, int64_t end, lh_error *error);

/* The step of a column at a slot. */
lh_cuda_prepared *lh_cuda_ring_at(const lh_cuda_ring *ring, int64_t slot, int column);

/* Why the batch of a column at slot `first` could not be had. */
lh_status lh_cuda_ring_why(lh_cuda_fleet *fleet, int column, lh_error *error);

/* --- early_answers.c
 * ----------------------------------------------------------------------------------------------------- */

/* Replicas of a fleet reach their evaluations at the same step and ask for the same conditions, one replica after the
 * other: the first one's pass evaluates the others, too, and their answers are kept until they ask. */

/* Fills fleet->together with the replicas that a condition is evaluated for, and gives their number: the engine, and up
 * to most - 1 others whose parameters are of the same step. A replica that twice in a row did not ask for its answers
 * is left out; while more than 256 MB are kept, all others are. */
int lh_cuda_gather(lh_cuda_engine *engine, int most);

/* Keeps an engine's answers to a condition; classes: NULL where nobody wants them. Without memory nothing is kept. */
void lh_cuda_keep_early_answers(lh_cuda_engine *engine, const lh_condition *condition, const lh_cuda_answer *answers,
                                const int *classes, size_t labels);

/* The answers that are kept for this condition, which the caller gives to lh_cuda_free_early_answers; NULL: there are
 * none. If the next ones are of another condition or of other parameters, all that the engine has are dropped. */
lh_cuda_early_answers *lh_cuda_take_early_answers(lh_cuda_engine *engine, const lh_condition *condition);
void lh_cuda_free_early_answers(lh_cuda_engine *engine, lh_cuda_early_answers *kept);
void lh_cuda_drop_early_answers(lh_cuda_engine *engine);

/* --- phases.c --------------------------------------------------------------------------------------------------- */

/* A step of one replica, or the evaluation of a group of examples, of a wide model. */
typedef struct lh_cuda_pass {
    CUfunction kernel;
    int blocks;
    lh_mode mode;
    lh_shape shape; /* of the batch, or of the group */
    int first;      /* of the examples; 0 in training */
    CUdeviceptr workspace, parameters, gradient, arrivals;
    void *arguments;              /* of the kernel: lh_cuda_train, lh_cuda_evaluate */
    const lh_cuda_result *before; /* as in lh_cuda_place */
} lh_cuda_pass;

/* The library, where the program's products are its; fleet_close closes it. */
lh_status lh_cuda_phases_open(lh_cuda_fleet *fleet, lh_error *error);

/* Once a training fleet has its room: what the bits of the library's products depend on, multiprocessors and
 * algorithms, becomes part of what run files and checkpoints name as compiler. Nothing for programs without such
 * products. */
lh_status lh_cuda_name_products(lh_cuda_fleet *fleet, lh_error *error);

/* Starts all launches of a pass; returns while they run. */
lh_status lh_cuda_run_phases(lh_cuda_fleet *fleet, const lh_cuda_pass *pass, lh_error *error);

/* --- forward.c -------------------------------------------------------------------------------------------------- */

enum { LH_CUDA_ROWS = 32 /* sequences that a thread makes at a time */ };

/* The results of a pass besides its sequences' sums. */
typedef enum lh_cuda_output { LH_CUDA_SUMS, LH_CUDA_LOGITS, LH_CUDA_CLASSES } lh_cuda_output;

/* Sends host_batch through the models of `replicas` of fleet->together, with noise on its embeddings; sums of
 * sequences, and the results that are wanted, are in the host's memory on return. */
lh_status lh_cuda_run(lh_cuda_engine *engine, int replicas, const lh_shape *shape, const lh_draw *draw, double noise,
                      lh_cuda_output wanted, lh_error *error);

/* The draws of host_batch; positions and distances as of lh_cuda_make_draws. */
void lh_cuda_forward_draws(const lh_cuda_fleet *fleet, const lh_cuda_layout *layout, const lh_shape *shape,
                           const lh_draw *draw, const int32_t *const positions[LH_MAX_STREAMS],
                           const int32_t *const distances[LH_MAX_STREAMS]);

/* Classes of [sequences][labels] as the caller has them. */
void lh_cuda_take_classes(const int *classes, const lh_shape *shape, uint16_t *to);

/* --- launch.c, forward.c, conditions.c ---------------------------------------------------------------------------- */

lh_status lh_cuda_engine_step(lh_engine *engine, int count, lh_step_metrics *metrics, int *done, lh_error *error);

lh_status lh_cuda_reserve(lh_engine *engine, const lh_lengths *lengths, int examples, lh_error *error);
lh_status lh_cuda_evaluate_condition(lh_engine *engine, const lh_condition *condition, lh_sums *sums, lh_sums *each,
                                     lh_error *error);
lh_status lh_cuda_answer_queries(lh_engine *engine, const lh_query *query, int count, uint16_t *answers,
                                 lh_error *error);
lh_status lh_cuda_predict(lh_engine *engine, const lh_query *query, double *logits, lh_error *error);
void lh_cuda_forward_close(lh_cuda_fleet *fleet);

#endif
