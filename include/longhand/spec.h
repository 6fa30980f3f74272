/* The runtime's view of a model: one constant lh_spec, written by the generator into spec.c.
 *
 * What a model lacks is NULL, not a flag. Nothing here assumes one paper's set-up. Two specs link into one program.
 */
#ifndef LONGHAND_SPEC_H
#define LONGHAND_SPEC_H

#include <stdbool.h>

#include "longhand/cpu.h"
#include "longhand/cuda.h"
#include "longhand/task.h"

#define LH_ABI 7

typedef enum lh_init_kind {
    LH_INIT_CONSTANT,         /* value */
    LH_INIT_VALUES,           /* lh_spec.initial_values, row-major, from index `value` on */
    LH_INIT_NORMAL,           /* sd = value */
    LH_INIT_TRUNCATED_NORMAL, /* normal of sd = value cut at +-2 value, not rescaled (Haiku's) */
    LH_INIT_UNIFORM           /* in [-value, value) */
} lh_init_kind;

/* One named tensor. Element (r, c) of its row-major view lies at offset + r * stride + c in the parameter vector, where
 * rows is the product of all dimensions but the last: fused products interleave tensors that files keep apart.
 * Elements of the vector that no tensor covers are zero and stay zero. */
typedef struct lh_tensor {
    const char *name;
    int rank; /* 1 or 2 */
    int64_t shape[2];
    int64_t offset; /* elements */
    int64_t stride; /* elements between rows; shape[0] for rank 1 */
    lh_init_kind init;
    double value;
    bool learned; /* false: keeps its initial values bit for bit; its gradient counts nowhere, no optimiser state in
                   * files */
} lh_tensor;

typedef struct lh_stream {
    const char *name;     /* "source", "target" */
    int (*length)(int n); /* tokens per sequence at task length n */
} lh_stream;

/* From a task's example to the model's streams and labels. With finite data the sizes come from `shape`, and the
 * functions of n are NULL. */
typedef struct lh_format {
    lh_stream stream[LH_MAX_STREAMS];
    int streams;
    int label_stream;     /* whose tokens the labels are of */
    bool teacher_forced;  /* a stream holds the target; a label sees what is before it */
    int (*labels)(int n); /* label positions per sequence */
    void (*shape)(int input, int output, lh_shape *shape); /* lengths and labels; NULL: by n */
    /* Writes the tokens of every stream; labels and mask are the example's target and mask. Where nothing is known of
     * the target it is 0. */
    void (*assemble)(const lh_example *example, uint16_t *const tokens[LH_MAX_STREAMS]);
    /* Writes, for every label, the place of its token in the labelled stream; false where the input does not say it.
     * NULL: they are the last of it. */
    bool (*locate)(const lh_example *example, uint16_t *place);
    const char *located; /* what an example has that says it: "one ? in the input" */
} lh_format;

/* Finite data in place of a sampler; see data/datasets/corpus.h. */
typedef struct lh_data {
    const char *train, *eval; /* paths as the spec gives them; train NULL: the task makes its examples; eval NULL: there
                               * is no such file */
    int longest;              /* tokens of an input and its target together */
    const char *validation;   /* likewise; NULL: none */
    uint64_t seed;            /* of a task that makes its examples */
    const char *validation_digest; /* of the bytes that such a task was planned with, 16 digits; NULL: any do */
} lh_data;

/* A place of the forward pass that can be traced: an activation, or an attention's scores and weights. */
typedef struct lh_trace_site {
    const char *name; /* "layers.0.output"; of an attention its place, "layers.0": files add what it is */
    int channels;     /* of an activation; 0: an attention */
    int heads;        /* of an attention */
    int query, key;   /* streams of its two sides; an activation is as long as the first */
} lh_trace_site;

/* An inclusive strided range, or a list. */
typedef struct lh_lengths {
    const int32_t *list; /* NULL: the range */
    int count;
    int first, last, step;
} lh_lengths;

/* Axes of an evaluation of dataset files: each combination of values that a set has is a condition. */
enum {
    LH_BY_LENGTH = -1,
    LH_BY_TRAINED = LH_MOST_AXES /* of files: 1 for examples that are among those of training, else 0 */
};
typedef struct lh_by {
    int count; /* 0: by length, all there are */
    struct {
        int axis; /* of the task, or one of the two above */
        bool all; /* else these values */
        lh_lengths values;
    } of[LH_MOST_AXES];
} lh_by;

/* Standard deviations of the noise on embeddings, ascending: an evaluation has all its conditions under each. */
typedef struct lh_noise {
    int count; /* 0: there is none */
    const double *deviation;
} lh_noise;

typedef enum lh_schedule_kind {
    LH_SCHEDULE_CONSTANT,
    LH_SCHEDULE_LINEAR, /* these two fall until the last step of the spec: train.steps */
    LH_SCHEDULE_COSINE
} lh_schedule_kind;

/* How the learning rate changes over the steps; see engine/schedule.h. All 0: it does not. */
typedef struct lh_schedule {
    lh_schedule_kind kind;
    int64_t warmup; /* steps */
    double final;   /* share of the rate that it falls to */
} lh_schedule;

typedef struct lh_train_defaults {
    int batch;
    int shards;         /* part of the digest: fixes the order of sums */
    lh_lengths lengths; /* a step draws one of them uniformly */
    lh_schedule schedule;
    /* From here on, default. */
    int64_t steps;        /* flag --steps */
    int64_t epochs;       /* > 0: with finite data, in place of steps */
    double learning_rate; /* flag --learning-rate; with a schedule the highest */
    bool by_epochs; /* the next two, during_every and keep_steps count epochs; lh_corpus_bind makes steps of them */
    int64_t log_every;
    int64_t checkpoint_every;  /* steps */
    double checkpoint_minutes; /* 0: by steps alone */
    bool keep_all;             /* every checkpoint stays, under its step's name */
    const int64_t *keep_steps; /* these stay too; NULL: none */
    int keep_steps_count;
    int64_t keep_unit;         /* steps that one of them stands for; 0: as 1 */
    const char *init;          /* flag --init: the checkpoint whose parameters a run begins with; NULL: none */
    const char *init_checksum; /* its, where the plan hangs on it; NULL: any will do */
} lh_train_defaults;

/* The step of a checkpoint that stays. */
static inline int64_t lh_kept_step(const lh_train_defaults *train, int index) {
    return train->keep_steps[index] * (train->keep_unit > 0 ? train->keep_unit : 1);
}

typedef struct lh_eval_defaults {
    const char *axis; /* "length": the key in `by` */
    bool dropout;     /* dropout stays on */
    /* From here on, default. */
    lh_lengths lengths;
    int examples;        /* per condition; 0: all there are, of finite data */
    bool in_order;       /* of finite data the first ones of the file; else chosen by the seed (data/datasets/pick.h) */
    int batch;           /* of them in a batch, which has draws of its own; 0: one batch */
    int draws;           /* per condition, of what is random in a pass; 1 where nothing is */
    bool teacher_forced; /* of a generative model: the target stands before every answer, not its own answers */
    lh_by by;            /* of finite data */
    lh_noise noise;      /* of the evaluation at the end; none unless generated code has it */
    unsigned sets;       /* likewise, 1 << lh_set for each; 0: those held out from training, if there are any */
    bool with_trained;   /* likewise: also examples that were trained on */
    lh_lengths validation_lengths; /* of a sampled task, after training, in its validation stream */
    int validation_examples;       /* per condition; 0: no such evaluation */
    int64_t during_every;          /* steps; 0: no evaluation during training */
    lh_lengths during_lengths;
    int during_examples; /* 0: all there are */
    lh_by during_by;
    unsigned during_sets;
} lh_eval_defaults;

typedef struct lh_optimizer {
    const char *kind; /* as the spec names it */
    int states;
    const char *state_name[LH_MAX_STATES]; /* "first_moment" and "second_moment"; "momentum" */
    double clip_norm;                      /* global L2 norm; 0: no clipping */
} lh_optimizer;

typedef struct lh_limit {
    int tokens;          /* longest sequence the encoding allows; 0: any */
    const char *because; /* "encoding.positions.max_position = 2048" */
} lh_limit;

typedef struct lh_spec {
    int abi;
    const char *id;
    const char *plan_digest, *model_digest, *source_digest; /* 16 hexadecimal digits each */
    /* Values that flags, or another spec with the same code, may change: a text (training/defaults.h) and its bytes.
     * The runtime reads it into the fields marked "default" of a copy. NULL: they have their values. */
    const char *defaults;
    int defaults_room;
    const char *resolved;  /* default: the resolved spec as one line of JSON */
    const char *precision; /* "float32", "float64" */

    const lh_tensor *tensors;
    int tensor_count;
    const double *initial_values; /* of tensors that begin with given numbers; NULL: none do */
    int64_t parameter_count;      /* elements of learned tensors */
    int64_t parameter_storage;    /* elements of the vector, a multiple of LH_CHUNK */

    const lh_task *task;            /* sampler; with finite data its functions are NULL */
    const lh_data *data;            /* NULL: the task samples */
    const struct lh_corpus *corpus; /* what data names, once it was read (lh_corpus_bind) */
    const lh_format *format;
    const lh_trace_site *sites; /* in the order of trace_block; NULL: no traces */
    int site_count;
    int classes; /* width of the output layer */
    /* By stream: */
    int position_range
        [LH_MAX_STREAMS]; /* drawn positions are first_position .. position_range - 1; 0: none are drawn */
    int first_position[LH_MAX_STREAMS]; /* 0 or 1 */
    int distance_range[LH_MAX_STREAMS]; /* drawn distances are 1 .. distance_range - 1; 0: none are drawn */
    bool draws_by_sequence;             /* of these, each sequence of a batch has its own */
    lh_limit limit;

    /* Nominal floating-point operations of one training step (mode train) or one forward pass, for this shape:
     * dense products and attention, two per multiply-add, backward twice the forward; see docs/performance.md. */
    double (*nominal_flops)(const lh_shape *shape, lh_mode mode);
    /* Operations that this code computes, before lh_cpu_program.skipped_flops is subtracted. */
    double (*executed_flops)(const lh_shape *shape, lh_mode mode);

    lh_train_defaults train;
    lh_eval_defaults eval;
    lh_optimizer optimizer;

    const lh_cpu_program *const *cpu; /* levels from plainest to widest, NULL at the end; NULL: no CPU half */
    const lh_cuda_program *cuda;      /* NULL: no CUDA half */
} lh_spec;

#endif
