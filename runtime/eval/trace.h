/* Writes intermediate values of forward passes, on examples of the task or a user's own inputs, as tensors of a file.
 *
 * Tensors of task length n of a model with one stream (docs/trace.md):
 *
 *     n<n>.tokens               [examples][T]             I32, the model's input tokens
 *     n<n>.embedding            [examples][T][channels]
 *     n<n>.layers.L.output      [examples][T][channels]
 *     n<n>.layers.L.scores      [examples][heads][T][T]   query by key: scaled, with all positional terms
 *     n<n>.layers.L.attention   [examples][heads][T][T]   weights: softmax, geometric or stick-breaking
 *     n<n>.layers.L.entropy     [heads]                   mean over draws, examples, queries of -sum p ln p, in nats
 *
 * and for a user's own inputs
 *
 *     n<n>.answers              [examples][labels]        I32, the model's answers, -1 after the end symbol
 *     n<n>.targets              [examples][labels]        I32, the right answers; -1: unknown, or does not count
 *
 * With several random draws, tensors get a first dimension [draws]. Exceptions are entropy, targets, and tokens of a
 * stream that holds no decoded answers. With averaging, the mean over draws and examples replaces both
 * dimensions, and there are no tokens; with only_exact the mean is over passes with every counted answer right. Answers
 * and targets are never averaged. With a dataset, n in a name is the input length; if the traced examples of one input
 * length have different output lengths, the name begins with n<n>o<outputs>.
 *
 * A model with several streams has tokens n<n>.tokens.<stream>. The dimension T of a tensor is then the length of
 * the stream of its site; scores and attention are [queries][keys] in place of [T][T]. A stream that holds the target
 * has the example's target or, for a user's own input, the model's answers (eval/decode.h).
 */
#ifndef LONGHAND_TRACE_H
#define LONGHAND_TRACE_H

#include "base/safetensors.h"
#include "engine/engine.h"

typedef enum lh_trace_kind {
    LH_TRACE_ATTENTION,
    LH_TRACE_SCORES,
    LH_TRACE_ACTIVATIONS,
    LH_TRACE_ENTROPY,
    /* The remaining kinds cannot be requested. A file with values of single examples also has tokens; a file for a
     * user's own inputs also has answers and targets. */
    LH_TRACE_TOKENS,
    LH_TRACE_ANSWERS,
    LH_TRACE_TARGETS,
    LH_TRACE_KINDS
} lh_trace_kind;

/* The right answer to a user's own input. */
typedef struct lh_right_answer {
    const uint16_t *target; /* [task output length]; NULL: unknown */
    const uint8_t *mask;    /* [task output length] 0: not counted; NULL: all count */
} lh_right_answer;

typedef struct lh_trace_request {
    bool kinds[LH_TRACE_KINDS]; /* requested kinds */
    bool is_averaged;           /* write means over draws and examples */
    bool only_exact;  /* take means only over passes with every counted answer right; not for values of single examples,
                       * and not with inputs */
    bool is_shuffled; /* dataset: take the examples of each shape in a random order */
    int draws;        /* draws per input; 1 if the model draws nothing */
    uint64_t seed;
    /* Sampled task: task lengths; at each length, the first `examples` examples of an evaluation are traced. Dataset:
     * input lengths; at each length, the examples that an evaluation would choose are traced (data/datasets/pick.h). */
    lh_lengths lengths;
    const lh_dataset *set;  /* dataset: set of the examples; NULL: the set of an evaluation */
    int examples;           /* maximum number of examples per length */
    const lh_query *inputs; /* inputs of a user, in place of lengths; their draws are ignored; NULL: none */
    const lh_right_answer *right_answers; /* [input_count]; NULL: unknown */
    int input_count;
    /* Called after each pass; n: the length that users see; count: number of all passes; NULL: none. */
    void (*watch)(void *context, int n, int64_t finished_passes, int64_t count);
    void *context;
} lh_trace_request;

/* One tensor of the file. */
typedef struct lh_trace_tensor {
    char name[80];
    lh_trace_kind kind;
    int n;                  /* task length */
    int group;              /* index in lh_traces.groups */
    int site;               /* index in lh_traces.sites; -1: tokens, answers and targets, which are 32-bit integers */
    int stream;             /* stream of tokens */
    bool is_mean;           /* mean over draws and examples */
    int64_t elements;       /* elements per pass */
    double uniform_entropy; /* only of entropy: mean of lh_compute_uniform_entropy over heads, draws and examples */
    lh_st_tensor file;      /* the tensor in the file */
    void *data;             /* elements of the file's type; during the computation of a mean: [elements] double */
} lh_trace_tensor;

/* The passes of one task length. */
typedef struct lh_trace_group {
    int n, examples;           /* n: task length; examples: number of examples */
    int first_tensor, tensors; /* first_tensor: index in lh_traces.tensors; tensors: number */
    /* [examples] dataset: see lh_source; NULL: the first examples, or with is_shuffled the first of the random order */
    uint32_t *indices_in_shape;
    int64_t counted_passes; /* finished passes, without those that only_exact leaves out */
    char label[32];         /* first part of the tensors' names: "n41" */
} lh_trace_group;

typedef struct lh_traces {
    const lh_spec *spec;
    lh_trace_request request;
    int real_bytes;
    int64_t passes; /* number of forward passes of all groups */
    /* Sites at the longest task length: lh_spec.sites, then, with passes_by_length, the sites of later passes through
     * the layers of the model. */
    lh_trace_site *sites;
    char *site_names;         /* names of the sites of these later passes */
    lh_trace_tensor *tensors; /* [count] */
    int count;
    lh_trace_group *groups; /* groups in the order of lengths, or of the first input of each length */
    int group_count;
    double bytes;  /* bytes of all tensors in the file */
    double memory; /* peak memory in bytes, in addition to the memory of evaluation */
} lh_traces;

/* Plans the tensors and their memory; computes nothing. LH_ERR_INPUT: the model has no traces, a length is duplicate or
 * too long for the encoding, or a dataset has no examples to trace; LH_ERR_STALE: an older
 * Longhand, which had no traces of models with passes_by_length, generated the sources; LH_ERR_ENVIRONMENT: not enough
 * memory on this machine. Call lh_traces_close also after an error. */
lh_status lh_traces_open(lh_traces *traces, const lh_engine *engine, const lh_trace_request *request, lh_error *error);

/* Computes all tensors. One thread runs the examples in order, so results do not depend on the engine's threads.
 * LH_ERR_INPUT: only_exact is set and no pass of a length has all answers right. LH_STOPPED: engine->stop was set. */
lh_status lh_traces_run(lh_traces *traces, lh_engine *engine, lh_error *error);

/* Writes all tensors with this metadata, atomically. */
lh_status lh_traces_write(const lh_traces *traces, const char *path, const lh_st_meta *meta, int meta_count,
                          lh_error *error);

void lh_traces_close(lh_traces *traces);

/* The first tensor of a kind in a group; NULL: there is none. */
const lh_trace_tensor *lh_traces_find(const lh_traces *traces, const lh_trace_group *group, lh_trace_kind kind);

/* The number of sites at task length n, which are the first sites in lh_traces.sites. */
int lh_count_trace_sites(const lh_spec *spec, int n);

/* The index in request->inputs of the input with index i among the inputs of task length n. */
int lh_find_trace_input(const lh_trace_request *request, int n, int i);

/* Element i of a computed tensor. */
double lh_read_trace_element(const lh_trace_tensor *tensor, int64_t i);

/* The mean over queries of -sum over keys of p ln p, in nats; weights [queries][keys] real; terms with p = 0 are 0. */
double lh_compute_entropy(const void *weights, int real_bytes, int64_t queries, int64_t keys);

/* The mean over queries of the entropy of equal weights of all keys that a query sees, in nats; 0 for a query that sees
 * none. scores [queries][keys] real: -infinity for keys that the query does not see. */
double lh_compute_uniform_entropy(const void *scores, int real_bytes, int64_t queries, int64_t keys);

/* The number of bytes that one pass at task length n writes at a site for activation, scores or attention; 0: the
 * values are neither requested nor needed for entropy. */
size_t lh_count_trace_scratch(const lh_traces *traces, int n, int site, lh_trace_kind kind);

/* The name of a kind: "attention", "scores", "activations", "entropy", ... */
const char *lh_get_trace_kind_name(lh_trace_kind kind);

#endif
