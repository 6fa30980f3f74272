/* Engines train and evaluate a model. The training loop and the verbs access a model only through this interface.
 *
 * An engine owns its parameters, optimiser state and step counter, and their memory. One thread at a time calls an
 * engine. Results are bit-identical for any number of threads in an engine.
 */
#ifndef LONGHAND_ENGINE_H
#define LONGHAND_ENGINE_H

#include <signal.h>
#include <stdbool.h>

#include "data/batch.h"
#include "data/seeds.h"
#include "engine/checkpoint.h"
#include "longhand/spec.h"
#include "longhand/status.h"

typedef struct lh_engine_config {
    const lh_spec *spec;
    uint64_t seed;
    lh_separate_seeds separate_seeds; /* own seeds of some parts of the run's random numbers (data/seeds.h) */
    double learning_rate;
    int threads;           /* at least 1 */
    bool trains;           /* false: no optimiser state and no gradients; step must not be called */
    bool keeps_gradient;   /* stores gradients for read_gradient */
    int fixed_length;      /* task length of every step; 0: the length of a step is random */
    int distinct_examples; /* --overfit: number of examples that all steps share; 0: each step has its own */
} lh_engine_config;

typedef struct lh_step_metrics {
    lh_sums sums;          /* sums over the batch, dropout on, before the update */
    double gradient_norm;  /* norm of the gradient before clipping */
    double parameter_norm; /* norm of the parameters after the update */
    double update_norm;    /* norm of the change of the parameters */
    int64_t heavy_chunk;   /* chunk of LH_CHUNK elements with the largest sum of squared gradients */
    double heavy_share;    /* share of heavy_chunk in gradient_norm^2, 0..1 */
    bool is_clipped;       /* the gradient was clipped */
    int length;            /* task length that users see; with mixed lengths the greatest length */
} lh_step_metrics;

/* A condition of an evaluation under one draw: one batch of examples, and its random positions. */
typedef struct lh_condition {
    int n;        /* task length */
    int first;    /* index of the batch's first example in the source */
    int examples; /* number of examples of the batch */
    lh_source source;
    lh_draw draw;      /* draw of positions and noise */
    double noise;      /* standard deviation of the noise on embeddings; 0: none */
    int passes;        /* passes of a model with loops (decoding ignores them); 0: as many as in training */
    uint16_t *answers; /* [examples][labels] evaluate writes the classes with the greatest logit; NULL: not requested */
    /* The first decoded_count examples are also decoded (lh_decode with target and mask). `answers` gets their decoded
     * answers. The sums still come from a pass over the targets. Must be 0 if lh_decodes_condition is false. */
    int decoded_count;
    int *lengths; /* [decoded_count] evaluate writes the number of answers of each decoded example */
} lh_condition;

/* Inputs of a forward pass over one or more sequences: tokens, and positions or distances that replace random draws. */
typedef struct lh_query {
    int n;                 /* task length */
    const uint16_t *input; /* [sequences][task input length] */
    /* [sequences][task output length]
     * In a pass: the tokens of streams that hold the target; NULL: all 0.
     * In decoding: the right answers; NULL: unknown. */
    const uint16_t *target;
    /* [sequences][task output length], for decoding. Where it is 0, the target's token replaces the model's answer.
     * NULL: 1 everywhere. */
    const uint8_t *wants_answer;
    /* [sequences] positions of each sequence, see lh_dataset.positions; NULL unless the spec has positions of
     * lines. */
    int32_t *const *line_positions;
    /* Arrays of [length] for each stream; NULL: random values. distances[i][d]: the distance between two tokens of
     * stream i whose indices differ by d. */
    const int32_t *positions[LH_MAX_STREAMS], *distances[LH_MAX_STREAMS];
    lh_draw draw;
    double noise;     /* see lh_condition.noise; decode ignores it */
    uint32_t example; /* batch index of the first sequence, part of the counters of random numbers */
} lh_query;

/* Output buffers for answers of `count` sequences. */
typedef struct lh_answers {
    uint16_t *answers; /* [count][labels] classes; after its end a sequence repeats its last answer */
    int *lengths;      /* [count] number of answers, the end symbol included; NULL: not requested */
    double *logits;    /* [count][labels][classes], 0 after the end and for known answers; NULL: not requested */
    /* Both of the following are NULL for engine->ops->decode. */
    const int *known_counts; /* [count] number of answers that each sequence has on entry; NULL: 0 */
    const int *limits;       /* [count] maximum number of answers; NULL: all labels */
} lh_answers;

typedef struct lh_engine lh_engine;

/* Every function that returns a status may return LH_ERR_ENVIRONMENT: out of memory, or the device failed. */
typedef struct lh_engine_ops {
    /* Runs up to count steps and writes metrics[0 .. *steps_done - 1].
     * LH_OK and *steps_done < count: call again for the remaining steps.
     * LH_OK and *steps_done = 0: the engine waits for its fleet; call `step` of the other engines, then call again.
     * LH_ERR_INPUT: a step failed and is not counted; the error names the step, its length and tensors. Reasons:
     * - its loss or gradient is not finite: nothing is updated;
     * - it makes parameters non-finite;
     * - its examples cannot be made (lh_batch_fill): sums.positions of its metrics is 0.
     * LH_ERR_ENVIRONMENT: the engine can only be closed. */
    lh_status (*step)(lh_engine *engine, int count, lh_step_metrics *metrics, int *steps_done, lh_error *error);

    /* Allocates memory to evaluate up to `examples` examples at these task lengths. LH_ERR_INPUT: as lh_check_limit. */
    lh_status (*reserve)(lh_engine *engine, const lh_lengths *lengths, int examples, lh_error *error);

    /* Computes sums over a condition, within the reserved lengths and examples. sequence_sums: [examples] sums of
     * single examples, or NULL. LH_ERR_INPUT: the task's examples cannot be made (lh_batch_fill). LH_STOPPED:
     * engine->stop was set; the sums are invalid. */
    lh_status (*evaluate)(lh_engine *engine, const lh_condition *condition, lh_sums *sums, lh_sums *sequence_sums,
                          lh_error *error);

    /* Computes the logits of one sequence at a reserved length, [labels][classes]. LH_STOPPED: as for evaluate, on a
     * device only. */
    lh_status (*predict)(lh_engine *engine, const lh_query *query, double *logits, lh_error *error);

    /* Computes the class with the greatest logit for every label, [count][labels], of `count` sequences of a query, at
     * most the reserved number of examples. Fails as evaluate does. */
    lh_status (*answer)(lh_engine *engine, const lh_query *query, int count, uint16_t *answers, lh_error *error);

    /* Decodes answers token by token, with the results of lh_decode (eval/decode.h). Only if engine->decodes.
     * LH_STOPPED: engine->stop was set. */
    lh_status (*decode)(lh_engine *engine, const lh_query *query, int count, const lh_answers *results,
                        lh_error *error);

    /* Runs a forward pass that also writes every traced site (spec->sites) that buffers[site] requests; logits may be
     * NULL. Only for a spec with sites; the function is NULL on a device. */
    lh_status (*trace)(lh_engine *engine, const lh_query *query, const lh_trace *buffers, double *logits,
                       lh_error *error);

    /* Copies parameters and, if both sides have it, optimiser state from the engine to `state`. Copies nothing if state
     * is engine->host_state. After an error `state` is invalid. */
    lh_status (*read_state)(lh_engine *engine, lh_state *state, lh_error *error);

    /* Copies parameters and, if both sides have it, optimiser state from `state` to the engine. Copies nothing if state
     * is engine->host_state. Sets the engine's step. After an error the engine's vectors are invalid. */
    lh_status (*write_state)(lh_engine *engine, const lh_state *state, int64_t step, lh_error *error);

    /* Copies the gradient of the last step, before clipping, to a vector like the vectors of read_state. Only if
     * config.keeps_gradient is set and a step was made. */
    lh_status (*read_gradient)(lh_engine *engine, void *gradient, lh_error *error);

    void (*close)(lh_engine *engine);
} lh_engine_ops;

struct lh_engine {
    const lh_engine_ops *ops;
    const lh_spec *spec;
    const char *level; /* "x86-64-v4", "sm_90 chip"; results are bit-identical for equal level and compiler */
    int real_bytes;
    int threads;                       /* maximum number of threads that compute; on a device, that make batches */
    int64_t step;                      /* number of steps whose metrics were returned */
    const char *compiler;              /* compiler of the executed code */
    const char *variant;               /* "cpu"; on a device lh_cuda_variant.name */
    const char *device;                /* "NVIDIA H200"; NULL: the processor */
    double seconds;                    /* duration of all steps; the time between calls does not count */
    lh_state *host_state;              /* vectors in host memory; NULL: on a device, or the engine does not train */
    bool decodes;                      /* ops->decode is available: a token costs less than a pass of predict */
    bool answers_greedily;             /* evaluate also decodes, for all engines of a fleet at once */
    const volatile sig_atomic_t *stop; /* nonzero: training, evaluation, decoding and traces stop soon; NULL: never */
    /* Number of finished steps whose metrics were not returned. The parameters include these steps. */
    int unreported_steps;
};

/* The compiler of this program: its kind and version. */
const char *lh_get_compiler(void);

/* Opens an engine for one CPU program; initial parameters are lh_initialise(seed of LH_SEED_INIT). */
lh_status lh_cpu_engine_open(const lh_engine_config *config, const lh_cpu_program *program, lh_engine **engine,
                             lh_error *error);

/* Opens engines that share workspaces and differ only in seeds and learning rate. Different threads may call different
 * engines at the same time. After an error no engine is open. */
lh_status lh_cpu_engines_open(const lh_engine_config *configs, int count, const lh_cpu_program *program,
                              lh_engine **engines, lh_error *error);

/* Allocates host vectors for read_state and write_state; has_optimizer: for the optimiser's state, too. */
lh_status lh_state_open(lh_state *state, const lh_engine *engine, bool has_optimizer, lh_error *error);
void lh_state_close(lh_state *state);

/* Sets *state to host vectors for a checkpoint: engine->host_state if it is set; otherwise `copy`, with new memory. The
 * caller copies the values with read_state or write_state. Call lh_state_close(copy) also after an error. */
lh_status lh_state_prepare(const lh_engine *engine, lh_state *copy, lh_state **state, lh_error *error);

/* The standard evaluation condition: examples and random draws of an evaluation seed. All draws of a task length have
 * the same examples. */
lh_condition lh_make_condition(int n, int examples, uint64_t seed, int draw);

/* A condition of the validation stream, whose examples and draws are independent of training and of the standard
 * condition. */
lh_condition lh_make_validation(int n, int examples, uint64_t seed, int draw);

/* Adds every field of addend to sums. */
void lh_sums_add(lh_sums *sums, const lh_sums *addend);

/* The sums of one sequence. labels: number of labels; counted: number of labels that count; correct: number of labels
 * that count and have right answers; loss: sum over the labels in the loss. */
lh_sums lh_make_sums(const lh_spec *spec, int labels, int64_t counted, int64_t correct, double loss);

/* The mean loss in nats per label in the loss; 0: no label is in the loss. */
double lh_compute_mean_loss(const lh_sums *sums);

/* LH_OK: the step made its update, and loss, gradient and parameters are finite; else LH_ERR_INPUT with the step (from
 * 1) and the non-finite value. */
lh_status lh_check_step(const lh_step_metrics *metrics, int64_t step, bool is_updated, lh_error *error);

/* LH_ERR_INPUT with the reason if a sequence at any of these task lengths is longer than the encoding allows. */
lh_status lh_check_limit(const lh_spec *spec, const lh_lengths *lengths, lh_error *error);

/* Fails as lh_check_limit does for these task lengths of training, and also if a length has more passes than training
 * has memory for. */
lh_status lh_check_training_lengths(const lh_spec *spec, const lh_lengths *lengths, lh_error *error);

/* Whether a signal has requested a stop. */
static inline bool lh_is_stopped(const lh_engine *engine) { return engine->stop != NULL && *engine->stop; }

/* Whether evaluate decodes examples of a condition with this noise. */
static inline bool lh_decodes_condition(const lh_engine *engine, double noise) {
    return engine->answers_greedily || (engine->decodes && noise == 0);
}

/* Copies sequences first .. first + count - 1 of a query to rows 0, 1, ... of a batch; all labels count. */
void lh_put_queries(lh_batch *batch, const lh_spec *spec, const lh_query *query, int first, int count);

/* Whether the results of a sequence depend on its index in the batch. */
static inline bool lh_depends_on_batch_index(const lh_spec *spec, double noise) {
    return spec->eval.dropout || spec->draws_by_sequence || spec->draws_start || noise > 0;
}

/* The class with the greatest logit; the first one wins a tie. */
int lh_find_best_class(const double *logits, int classes);

/* Whether an answer is the task's end symbol; false if the task has none. */
static inline bool lh_is_end_symbol(const lh_spec *spec, int answer) {
    return spec->task->end != NULL && *spec->task->end == answer;
}

/* Whether an answer ends its sequence: it is an end symbol, and the target, if known, has another token at `index`. */
static inline bool lh_is_last_answer(const lh_spec *spec, const lh_query *query, size_t index, int answer) {
    return lh_is_end_symbol(spec, answer) && (query->target == NULL || query->target[index] != answer);
}

/* The number of labels up to the last label with mask 1: decoding must give answers for these. */
int lh_count_requested_answers(const uint8_t *mask, int labels);

/* Returns the number of answers of a pass over `target` that decoding would also give. These are the answers up to and
 * including the first wrong answer, at most `limit`. An answer with mask 0 becomes the target's token. */
int lh_take_pass_answers(const uint16_t *target, const uint8_t *mask, int limit, uint16_t *answers);

/* Whether a sequence needs more answers: it has fewer than `limit` answers, and no answer has ended it.
 *   first        index of the sequence's first answer in `answers`
 *   known_count  number of answers that the sequence has */
static inline bool lh_needs_answers(const lh_spec *spec, const lh_query *query, size_t first, int known_count,
                                    int limit, const uint16_t *answers) {
    size_t last = first + (size_t)known_count - 1;
    return known_count < limit && !(known_count > 0 && lh_is_last_answer(spec, query, last, answers[last]));
}

/* Allocates zeroed memory, 64-byte aligned, which the caller frees. Out of memory: NULL, and a message with the bytes
 * and their purpose. */
void *lh_engine_allocate(size_t bytes, const char *purpose, lh_error *error);

#endif
