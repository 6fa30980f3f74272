/* The runtime's view of an experiment: one constant lh_spec, which the generator writes into spec.c.
 *
 * A function or table that a model lacks is NULL. Two specs can be linked into one program.
 */
#ifndef LONGHAND_SPEC_H
#define LONGHAND_SPEC_H

#include <stdbool.h>

#include "longhand/cpu.h"
#include "longhand/cuda.h"
#include "longhand/task.h"

/* Number of the binary interface between generated code and the runtime; any change of a public struct raises it. */
#define LH_ABI 8

typedef enum lh_init_kind {
    LH_INIT_CONSTANT,         /* every element is `value` */
    LH_INIT_VALUES,           /* lh_spec.initial_values, row-major, from index (int64_t)value on */
    LH_INIT_NORMAL,           /* standard deviation `value` */
    LH_INIT_TRUNCATED_NORMAL, /* standard deviation `value`, cut off at +-2 `value`, not rescaled, as in Haiku */
    LH_INIT_UNIFORM           /* uniform in [-value, value) */
} lh_init_kind;

/* One named tensor. Element (r, c) of the tensor's row-major view lies at offset + r * stride + c in the parameter
 * vector. The view has as many rows as the product of all dimensions but the last. Fused products interleave tensors
 * that files store separately. Elements of the vector that no tensor covers are always zero. */
typedef struct lh_tensor {
    const char *name;
    int rank; /* 1 or 2 */
    int64_t shape[2];
    int64_t offset; /* offset in elements */
    int64_t stride; /* elements between rows; shape[0] for rank 1 */
    lh_init_kind init;
    double value; /* parameter of init */
    bool learned; /* false: keeps its initial values bit for bit, has no gradient and no optimiser state in files */
} lh_tensor;

static inline int64_t lh_count_tensor_rows(const lh_tensor *tensor) { return tensor->rank == 2 ? tensor->shape[0] : 1; }

static inline int64_t lh_count_tensor_columns(const lh_tensor *tensor) {
    return tensor->shape[tensor->rank == 2 ? 1 : 0];
}

static inline int64_t lh_count_tensor_elements(const lh_tensor *tensor) {
    return lh_count_tensor_rows(tensor) * lh_count_tensor_columns(tensor);
}

typedef struct lh_stream {
    const char *name;     /* "source", "target" */
    int (*length)(int n); /* tokens per sequence at task length n */
} lh_stream;

/* The names "0", "1", ... of symbols that a spec or a task gives by their number. */
enum { LH_NUMBER_NAMES = 65000 };
extern const char *const lh_number_names[LH_NUMBER_NAMES];

/* Positions that depend on a sequence's tokens, as integers from 0; 0 means that a token has no position. */
typedef struct lh_token_positions {
    /* digit[t]: whether token t of the alphabet is a digit. The position of a digit is 1 plus the number of digits
     * directly before it in its stream; other tokens have no position. */
    const bool *digit; /* NULL: lh_task.place or the lines give the positions */
    bool by_line;      /* the lines of dataset files give the positions (lh_dataset.positions) */
    /* Training adds a random number to positions above 0: if `digit` is set, one for each batch, from 0 to offset; else
     * one for each sequence, from 0 to `greatest` minus the sequence's greatest position. */
    int offset, greatest;
} lh_token_positions;

/* The conversion of a task's example to the model's token streams and labels. With a dataset, a fixed set of examples
 * (lh_data), `shape` sets the sizes, and the functions of n are NULL. */
typedef struct lh_format {
    lh_stream stream[LH_MAX_STREAMS];
    int streams;
    int label_stream;     /* index of the stream whose tokens have the labels */
    bool teacher_forced;  /* a stream holds the target; each label sees the target tokens before it */
    int (*labels)(int n); /* label positions per sequence */
    /* Sets lengths and labels for an input and an output of these lengths; NULL: the functions of n return them. */
    void (*shape)(int input, int output, lh_shape *shape);
    /* Writes the tokens of every stream; a stream that holds the target reads example->target. */
    void (*assemble)(const lh_example *example, uint16_t *const tokens[LH_MAX_STREAMS]);
    /* Writes, for every label, the index of its token in the labelled stream; returns false if the input does not
     * determine this token. NULL: the labels belong to the last tokens of the stream. */
    bool (*locate)(const lh_example *example, uint16_t *place);
    const char *located; /* the input that `locate` needs, for messages: "one ? in the input" */
    /* Number of outputs of an input with this many tokens. Set if examples come from a file and answers are read at
     * tokens of the input. NULL: examples of files have any number of outputs, other examples lh_task.output_length. */
    int (*outputs)(int input);
    const lh_token_positions *positions; /* NULL: positions do not depend on tokens */
} lh_format;

/* The source of a dataset, which takes the place of a sampler; see data/datasets/corpus.h. */
typedef struct lh_data {
    const char *train;      /* path of the training examples, also for messages; NULL: the task makes all examples */
    const char *eval;       /* path of the examples for evaluation; NULL: none */
    const char *validation; /* path of the validation file; NULL: none */
    /* First 16 digits of the validation file's SHA-256 when the plan was made; NULL: any file is accepted. */
    const char *validation_digest;
    int longest;   /* maximum number of tokens of an input and its target together */
    uint64_t seed; /* task.seed, for a task that makes its examples */
} lh_data;

/* A traceable value of the forward pass: an activation, or the scores and weights of an attention. */
typedef struct lh_trace_site {
    const char *name; /* activation: "layers.0.output"; attention: "layers.0", to which files append ".scores",
                       * ".attention" or ".entropy" */
    int channels;     /* width of an activation; 0: the site is an attention */
    int heads;        /* heads of an attention */
    int query, key;   /* streams of queries and keys; an activation has the length of stream `query` */
} lh_trace_site;

/* Task lengths: an inclusive range with a step, or a list. */
typedef struct lh_lengths {
    const int32_t *list; /* NULL: the range */
    int count;
    int first, last, step; /* step: 0 counts as 1 */
} lh_lengths;

/* Axes by which an evaluation of a dataset groups examples: each combination of values that occurs in a set is a
 * condition. An axis is an index in lh_task.axis (at most LH_MAX_AXES - 1) or one of these two numbers. */
enum {
    LH_BY_LENGTH = -1,          /* the length of the input */
    LH_BY_TRAINED = LH_MAX_AXES /* value 1: the example is also a training example; else 0 */
};
typedef struct lh_by {
    int count; /* number of axes; 0: all lengths are conditions */
    struct {
        int axis; /* index in lh_task.axis, LH_BY_LENGTH or LH_BY_TRAINED */
        bool all; /* true: all values of the axis count; false: only the numbers in `values` */
        lh_lengths values;
    } axes[LH_MAX_AXES];
} lh_by;

/* Standard deviations of the noise on embeddings, ascending. An evaluation runs all its conditions with each
 * deviation. */
typedef struct lh_noise {
    int count;               /* 0: no noise */
    const double *deviation; /* [count] */
} lh_noise;

typedef enum lh_schedule_kind {
    LH_SCHEDULE_CONSTANT,
    LH_SCHEDULE_LINEAR, /* the rate falls until step train.steps of the spec */
    LH_SCHEDULE_COSINE  /* the same end, along a cosine */
} lh_schedule_kind;

/* The learning rate as a function of the step; see engine/schedule.h. All fields 0: constant. */
typedef struct lh_schedule {
    lh_schedule_kind kind;
    int64_t warmup; /* steps */
    double final;   /* final rate as a share of the highest rate */
} lh_schedule;

/* Lengths of the first steps of training. */
typedef struct lh_curriculum_stage {
    int64_t until_step; /* the stage ends after this number of steps */
    int longest;        /* greatest task length; at least the first of the training lengths */
} lh_curriculum_stage;

typedef struct lh_train_defaults {
    int batch;
    int shards;         /* parts of a batch; their number fixes the order of sums, so the plan digest covers it */
    lh_lengths lengths; /* each step draws one length uniformly; dataset: set by lh_corpus_bind */
    const lh_curriculum_stage *curriculum; /* [curriculum_count] in ascending order of until_step; NULL: none */
    int curriculum_count;
    bool mixes_lengths; /* each sequence of a batch draws its own length; without a dataset */
    /* true: the loss is the mean over sequences of each sequence's mean over its labels; false: the mean over all
     * labels */
    bool weighs_sequences;
    lh_schedule schedule;
    /* The fields from here on are "default": flags may change them (lh_spec.defaults). */
    int64_t steps;             /* flag --steps */
    int64_t epochs;            /* dataset only: epochs to train, in place of `steps`; 0: `steps` counts */
    double learning_rate;      /* flag --learning-rate; the highest rate of the schedule */
    bool by_epochs;            /* log_every, checkpoint_every, during_every and keep_steps count epochs; lh_corpus_bind
                                * converts them to steps, and sets keep_unit for keep_steps */
    int64_t log_every;         /* steps between lines of metrics.jsonl */
    int64_t checkpoint_every;  /* steps between checkpoints */
    double checkpoint_minutes; /* 0: checkpoints by steps alone */
    bool keep_all;             /* keep every checkpoint, under a name with its step */
    const int64_t *keep_steps; /* [keep_steps_count] steps whose checkpoints are also kept; NULL: none */
    int keep_steps_count;
    int64_t keep_unit;  /* steps of a unit of keep_steps; 0: the unit is a step */
    const char *best;   /* metric of the best checkpoint: "accuracy", "exact_match" or "loss"; NULL: none is kept */
    bool best_earliest; /* true: the earliest of checkpoints with equal scores is the best; false: the latest */
    int64_t patience;   /* number of evaluations without a better score after which training ends; 0: no such end */
    const char *init;   /* flag --init: checkpoint with the initial parameters; NULL: none */
    const char *init_checksum; /* checksum of the init file, if the plan depends on it; NULL: any file is accepted */
} lh_train_defaults;

/* The step of the checkpoint that entry `index` of keep_steps keeps. */
static inline int64_t lh_get_kept_step(const lh_train_defaults *train, int index) {
    return train->keep_steps[index] * (train->keep_unit > 0 ? train->keep_unit : 1);
}

typedef struct lh_eval_defaults {
    const char *axis; /* name of the axis of lengths, a key in the object "by" of result lines: "length" */
    bool dropout;     /* evaluations apply dropout */
    /* The fields from here on are "default": flags may change them (lh_spec.defaults). */
    lh_lengths lengths;
    int examples;        /* examples per condition; 0: all, for datasets only */
    bool in_order;       /* dataset: take the file's first examples; else the seed chooses (data/datasets/pick.h) */
    int batch;           /* examples per batch, each batch with its own draws; 0: one batch */
    int draws;           /* random draws per condition; 1 if a pass draws nothing */
    bool teacher_forced; /* generative model: each answer is predicted from the target's tokens, not from the model's
                          * own answers */
    bool places;         /* lines of the final evaluation have accuracies by place (eval/by_place.h) */
    lh_by by;            /* dataset: axes of the conditions */
    lh_noise noise;      /* noise of the final evaluation; none unless the generated code supports noise */
    lh_lengths passes;   /* passes in the final evaluation of a model with loops; 0: as many as in training */
    unsigned sets;       /* sets of the final evaluation, 1 << lh_set for each; 0: held-out sets, if any, else train */
    bool with_trained;   /* evaluations include held-out examples that are also training examples */
    /* Validation of a sampled task: the evaluation after training on examples of LH_DOMAIN_VALIDATION. */
    lh_lengths validation_lengths;
    int validation_examples; /* examples per condition; 0: no validation */
    /* Evaluation during training, whose fields mean what the fields of the final evaluation mean: */
    int64_t during_every; /* steps between evaluations; 0: no evaluation during training */
    lh_lengths during_lengths;
    int during_examples;
    lh_by during_by;
    unsigned during_sets;
} lh_eval_defaults;

typedef struct lh_optimizer {
    const char *kind; /* name of the optimiser in the spec */
    int states;
    const char *state_name[LH_MAX_STATES]; /* "first_moment" and "second_moment"; "momentum" */
    double clip_norm;                      /* global L2 norm; 0: no clipping */
} lh_optimizer;

typedef struct lh_limit {
    int tokens;          /* length of the longest sequence that the encoding allows; 0: any */
    const char *because; /* the setting that causes the limit, for messages: "encoding.positions.max_position = 2048" */
} lh_limit;

typedef struct lh_spec {
    int abi;
    const char *id;
    const char *plan_digest, *model_digest, *source_digest; /* 16 hexadecimal digits each */
    /* A text with the values of the fields that comments in this file call "default": flags may change them, and specs
     * with the same code may differ in them. The text lies in a buffer of defaults_capacity bytes; training/defaults.h
     * describes its format. The runtime parses it into a copy of this struct. NULL: the fields already hold their
     * values. */
    const char *defaults;
    int defaults_capacity;
    const char *resolved;  /* the spec with all its fields, as one line of JSON ("default") */
    const char *precision; /* "float32", "tf32", "bf16", "float64" */

    const lh_tensor *tensors;
    int tensor_count;
    const double *initial_values; /* values of LH_INIT_VALUES tensors; NULL: no such tensors */
    int64_t parameter_count;      /* elements of learned tensors */
    int64_t parameter_storage;    /* elements of the parameter vector, a multiple of LH_CHUNK */

    const lh_task *task;            /* the task; with a dataset, task->sample and the functions of n are NULL */
    const lh_data *data;            /* NULL: the task is sampled */
    const struct lh_corpus *corpus; /* examples of `data`, set by lh_corpus_bind */
    const lh_format *format;
    const lh_trace_site *sites; /* [site_count] in the order of trace_block's `buffers`; NULL: no traces */
    int site_count;
    /* With passes_by_length: the number of sites in one pass. The last pass_sites entries of `sites` belong to the
     * first pass, and trace_block has pass_sites more `buffers` for each further pass. Otherwise 0. */
    int pass_sites;
    int classes; /* width of the output layer */
    /* Arrays over streams: */
    int position_range[LH_MAX_STREAMS]; /* random positions are first_position .. position_range - 1; 0: none */
    int first_position[LH_MAX_STREAMS]; /* least random position, 0 or 1 */
    int distance_range[LH_MAX_STREAMS]; /* random distances are 1 .. distance_range - 1; 0: none */
    int passes;                         /* passes through the layers in training (model.loops); 0: no loops */
    /* Examples of task length n take n passes, or, with pass_axis, as many as their value on an axis; `passes` is the
     * largest number in training. */
    bool passes_by_length;
    int pass_axis;          /* 1 + the index of this axis of the task; 0: none */
    bool progressive;       /* each training step draws its number of passes (data/train_lengths.h), at most `passes` */
    bool draws_start;       /* passes start from noise */
    int start_width;        /* with draws_start, the channels of this noise; else 0 */
    bool draws_by_sequence; /* each sequence of a batch has its own draw */
    lh_limit limit;

    /* Nominal floating-point operations of one training step (LH_MODE_TRAIN) or one forward pass for this shape: dense
     * products except the output layer, and attention; a multiply-add is two operations; the backward pass counts as
     * two forward passes; see docs/performance.md. A model with loops has `passes` passes. */
    double (*nominal_flops)(const lh_shape *shape, lh_mode mode);
    /* Floating-point operations that this code executes, before lh_cpu_program.skipped_flops is subtracted. */
    double (*executed_flops)(const lh_shape *shape, lh_mode mode);

    lh_train_defaults train;
    lh_eval_defaults eval;
    lh_optimizer optimizer;

    /* Programs from the lowest to the highest instruction-set level, then NULL; NULL: there is no code for the CPU. */
    const lh_cpu_program *const *cpu;
    const lh_cuda_program *cuda; /* NULL: there is no code for GPUs */
} lh_spec;

#endif
