/* Engines: what trains and evaluates a model. The training loop and the verbs see a model only through this.
 *
 * An engine owns its parameters, optimiser state and step counter, and the memory for them. Every call is made by one
 * thread; what happens in parallel inside is the engine's own affair and never changes a bit of the result.
 */
#ifndef LONGHAND_ENGINE_H
#define LONGHAND_ENGINE_H

#include <signal.h>
#include <stdbool.h>

#include "data/batch.h"
#include "engine/checkpoint.h"
#include "longhand/spec.h"
#include "longhand/status.h"

typedef struct lh_engine_config {
    const lh_spec *spec;
    uint64_t seed;
    double learning_rate;
    int threads;         /* at least 1 */
    bool trains;         /* false: no optimiser state and no gradients; step must not be called */
    bool keeps_gradient; /* for read_gradient */
    int fixed_length;    /* > 0: task length of every step, in place of the drawn one */
    int distinct;        /* > 0: these many examples of step 0, again and again */
} lh_engine_config;

typedef struct lh_step_metrics {
    lh_sums sums;          /* of the batch, dropout on, before the update */
    double gradient_norm;  /* before clipping */
    double parameter_norm; /* after the update */
    double update_norm;    /* of the change of the parameters */
    int64_t heavy_chunk;   /* the LH_CHUNK elements that hold most of gradient_norm's square ... */
    double heavy_share;    /* ... and how much of it, 0..1 */
    bool clipped;
    int length; /* task length */
} lh_step_metrics;

/* One batch to evaluate: which examples, under which position draw. */
typedef struct lh_condition {
    int n;        /* task length */
    int first;    /* of the examples, as the source numbers them */
    int examples; /* how many */
    lh_source source;
    lh_draw draw;
    double noise;      /* on embeddings: its standard deviation; 0: none */
    uint16_t *answers; /* [examples][labels] evaluate writes the class with the greatest logit; NULL: not wanted */
    /* > 0: with these, where engine->decodes and noise is 0, the answers of the first `decoded` examples are the model's
     * own (lh_decode with target and mask), and lengths[decoded] says how many there are. Sums are the pass's. */
    int decoded;
    int *lengths;
} lh_condition;

/* One sequence to run forward, or several side by side: their input tokens, and what stands in place of the position
 * draws. */
typedef struct lh_query {
    int n;                  /* task length */
    const uint16_t *input;  /* [sequences][task input length] */
    const uint16_t *target; /* [sequences][task output length] for streams that read it; NULL: all 0. To decode: right
                             * answers; NULL: none is known */
    const uint8_t *asked; /* like target, to decode: 0 where the target's token stands and no answer is asked for; NULL:
                             * all are */
    /* By stream, [length] of it, or NULL: drawn; distances are for tokens 0, 1, ... apart. */
    const int32_t *positions[LH_MAX_STREAMS], *distances[LH_MAX_STREAMS];
    lh_draw draw;
    double noise;     /* as of a condition; decode has none */
    uint32_t example; /* the first sequence's number within the batch that it stands for */
} lh_query;

/* Destination of the answers of `count` sequences. */
typedef struct lh_answers {
    uint16_t *answers; /* [count][labels]; behind the end of a sequence its symbol again */
    int *lengths;      /* [count] answers up to the end, that included; NULL: not wanted */
    double *logits;    /* [count][labels][classes], 0 behind the end and before `known`; NULL: not wanted */
    const int *known;  /* [count] so many of `answers` are there already; NULL: none. engine->ops->decode has none */
    const int *until;  /* [count] so many are wanted, at most; NULL: labels, as engine->ops->decode has it */
} lh_answers;

typedef struct lh_engine lh_engine;

typedef struct lh_engine_ops {
    /* Runs up to count steps and writes metrics[0 .. *done - 1]. Fewer than count, with LH_OK: ask again; none: this
     * engine steps together with others, which have to ask first. LH_ERR_INPUT, naming step, length and tensors, at the
     * first step whose loss or gradient is not finite, before anything is updated, or whose update leaves parameters
     * that are not finite, or that has no examples (lh_batch_fill); such a step is not counted. Without examples its
     * metrics have no positions. LH_ERR_ENVIRONMENT where the device fails; the engine is then of no more use. */
    lh_status (*step)(lh_engine *engine, int count, lh_step_metrics *metrics, int *done, lh_error *error);

    /* Makes room to evaluate any of these task lengths with up to this many examples. LH_ERR_INPUT beyond the
     * encoding's limit, LH_ERR_ENVIRONMENT without memory. */
    lh_status (*reserve)(lh_engine *engine, const lh_lengths *lengths, int examples, lh_error *error);

    /* Sums over a condition that lies within what was reserved; each: [examples], one by one, or NULL. LH_ERR_INPUT
     * where the task's examples cannot be had (lh_batch_fill). LH_STOPPED, between two of the parts that sequences go
     * through the layers in, where engine->stop asks for it; the sums are then of no use. */
    lh_status (*evaluate)(lh_engine *engine, const lh_condition *condition, lh_sums *sums, lh_sums *each,
                          lh_error *error);

    /* Logits of one sequence at a reserved length, [labels][classes]. LH_ERR_ENVIRONMENT without memory; a device may
     * give LH_STOPPED, as evaluate has it. */
    lh_status (*predict)(lh_engine *engine, const lh_query *query, double *logits, lh_error *error);

    /* The class with the greatest logit of every label, [count][labels], for `count` sequences of a query, at most as many
     * as were reserved; passes like those of evaluate, with its errors. */
    lh_status (*answer)(lh_engine *engine, const lh_query *query, int count, uint16_t *answers, lh_error *error);

    /* Answers token by token, where a stream holds the target: as lh_decode (eval/decode.h) has them. Only where
     * engine->decodes. LH_ERR_ENVIRONMENT without memory. LH_STOPPED, between two tokens, as evaluate has it. */
    lh_status (*decode)(lh_engine *engine, const lh_query *query, int count, const lh_answers *to, lh_error *error);

    /* A pass that also writes the sites that to[site] of spec->sites requests; logits may be NULL. Only for a spec with
     * sites; NULL on a device. LH_ERR_ENVIRONMENT without memory. */
    lh_status (*trace)(lh_engine *engine, const lh_query *query, const lh_trace *to, double *logits, lh_error *error);

    /* Copies parameters and, where both sides have it, optimiser state to or from vectors of spec->parameter_storage
     * elements of engine->real_bytes; engine->own may be given, where nothing needs to be copied. LH_ERR_ENVIRONMENT
     * where the device fails: the vectors are then of no use. */
    lh_status (*read_state)(lh_engine *engine, lh_state *state, lh_error *error);
    lh_status (*write_state)(lh_engine *engine, const lh_state *state, int64_t step, lh_error *error);

    /* Copies the gradient of the last step, as it was before clipping, to a vector like those of read_state. Only where
     * the engine keeps_gradient and has made a step. LH_ERR_ENVIRONMENT where the device fails. */
    lh_status (*read_gradient)(lh_engine *engine, void *gradient, lh_error *error);

    void (*close)(lh_engine *engine);
} lh_engine_ops;

struct lh_engine {
    const lh_engine_ops *ops;
    const lh_spec *spec;
    const char *level; /* "x86-64-v4", "sm_90 chip": bits are the same where this and the compiler are */
    int real_bytes;
    int threads;                       /* at most this many of the processor's work */
    int64_t step;                      /* steps done, those that were handed out */
    const char *compiler;              /* of the code that computes */
    const char *variant;               /* "cpu", "chip", "replicas" */
    const char *device;                /* "NVIDIA H200"; NULL: the processor */
    double seconds;                    /* that the steps took, without what happens between calls */
    lh_state *own;                     /* its vectors where they are the host's; NULL: they are on a device */
    bool decodes;                      /* decode is there: it costs a token, where predict costs a pass */
    const volatile sig_atomic_t *stop; /* set: what takes long and keeps nothing gives up; NULL: never */
    int ready; /* steps that are done and wait to be handed out; the state is that of step + ready */
};

/* The compiler of this program: its kind and version. */
const char *lh_compiler(void);

/* An engine over one level's generated functions; parameters start as lh_initialise(seed). */
lh_status lh_cpu_engine_open(const lh_engine_config *config, const lh_cpu_program *program, lh_engine **engine,
                             lh_error *error);

/* Engines that differ in seed and learning rate alone, and share working memory; different threads may call different
 * ones at the same time. On an error none is open. */
lh_status lh_cpu_engines_open(const lh_engine_config *configs, int count, const lh_cpu_program *program,
                              lh_engine **engines, lh_error *error);

/* Host vectors for read_state and write_state; optimizer vectors too where asked. */
lh_status lh_state_open(lh_state *state, const lh_engine *engine, bool optimizer, lh_error *error);
void lh_state_close(lh_state *state);

/* The vectors that a checkpoint of the engine is written from and read to: its own, or on a device, with optimizer
 * vectors, a copy, whose values are read_state's and write_state's to move. Whatever the outcome, copy is for
 * lh_state_close. */
lh_status lh_state_of(const lh_engine *engine, lh_state *copy, lh_state **state, lh_error *error);

/* The standard evaluation condition: examples and draws of an evaluation seed. Draw d of every task length shares its
 * examples with draw 0. */
lh_condition lh_condition_at(int n, int examples, uint64_t seed, int draw);

/* A condition of the validation stream: no example and no draw is one of training or of the standard condition. */
lh_condition lh_validation_at(int n, int examples, uint64_t seed, int draw);

/* Adds every field of part to sums. */
void lh_sums_add(lh_sums *sums, const lh_sums *part);

/* The sums of one sequence of so many labels; loss: over those that are in the loss. */
lh_sums lh_sums_of(const lh_spec *spec, int labels, int64_t counted, int64_t correct, double loss);

/* Nats per label that is in the loss; 0 where none is. */
double lh_mean_loss(const lh_sums *sums);

/* LH_OK where a step made its update and loss, gradient and parameters are finite; else LH_ERR_INPUT, naming the step
 * (counted from 1) and what is not. */
lh_status lh_check_step(const lh_step_metrics *metrics, int64_t step, bool updated, lh_error *error);

/* LH_ERR_INPUT, naming the reason, when a sequence at some of these task lengths is longer than the encoding allows. */
lh_status lh_check_limit(const lh_spec *spec, const lh_lengths *lengths, lh_error *error);

/* Whether a signal asks for an end. */
static inline bool lh_is_stopped(const lh_engine *engine) { return engine->stop != NULL && *engine->stop; }

/* Makes sequences first .. first + count - 1 of a query rows 0, 1, ... of a batch. */
void lh_put_queries(lh_batch *batch, const lh_spec *spec, const lh_query *query, int first, int count);

/* Whether what a pass computes for a sequence depends on the sequence's number within its batch. */
static inline bool lh_depends_on_number(const lh_spec *spec, double noise) {
    return spec->eval.dropout || spec->draws_by_sequence || noise > 0;
}

/* The class with the greatest logit, the first of equals. */
int lh_best_class(const double *logits, int classes);

/* Whether an answer ends its sequence. */
static inline bool lh_ends(const lh_spec *spec, int answer) {
    return spec->task->end != NULL && *spec->task->end == answer;
}

/* Whether an answer ends a sequence, whose target may be known: an answer that the target has there, too, does not. */
static inline bool lh_ends_at(const lh_spec *spec, const lh_query *query, size_t at, int answer) {
    return lh_ends(spec, answer) && (query->target == NULL || query->target[at] != answer);
}

/* How many answers a target asks for: up to the last that counts. */
int lh_answers_until(const uint8_t *mask, int labels);

/* How many answers of a pass over a target are the model's own, of `until`: those up to its first error, that included.
 * What is not counted takes the target's token. */
int lh_answers_of_pass(const uint16_t *target, const uint8_t *mask, int until, uint16_t *answers);

/* Whether a sequence of a query misses answers, whose answers begin at `at` and are `known`. */
static inline bool lh_misses_answers(const lh_spec *spec, const lh_query *query, size_t at, int known, int until,
                                     const uint16_t *answers) {
    size_t last = at + (size_t)known - 1;
    return known < until && !(known > 0 && lh_ends_at(spec, query, last, answers[last]));
}

/* Zeroed memory, 64-byte aligned, for free(). NULL and a message with the bytes when there is none. */
void *lh_engine_memory(size_t bytes, const char *what, lh_error *error);

#endif
