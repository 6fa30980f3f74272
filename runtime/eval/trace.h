/* Writes intermediate values of forward passes as tensors of a file. The passes read examples or a user's own inputs.
 *
 * Tensors of task length n of a model with one stream (docs/trace.md):
 *
 *     n<n>.tokens               [examples][T]             I32, the model's input tokens
 *     n<n>.embedding            [examples][T][channels]
 *     n<n>.layers.L.output      [examples][T][channels]
 *     n<n>.layers.L.scores      [examples][heads][T][T]   query by key: scaled, with all positional terms
 *     n<n>.layers.L.attention   [examples][heads][T][T]   query by key: softmax, geometric or stick-breaking weights
 *     n<n>.layers.L.entropy     [heads]                   in nats, mean over draws, examples and queries
 *
 * Only for a user's own inputs:
 *
 *     n<n>.answers              [examples][labels]        I32, the model's answers, -1 after the end symbol
 *     n<n>.targets              [examples][labels]        I32, the right answers; -1: unknown, or does not count
 *
 * Several random draws add a first dimension [draws]. Entropy and targets never have this dimension. Tokens have it
 * only in a stream with decoded answers.
 *
 * Averaging takes means over draws and examples, and removes these dimensions. Tokens are then left out. Answers and
 * targets are never averaged.
 *
 * With a dataset, n in a name is the input length. If the traced examples of one input length have different output
 * lengths, the name begins with n<n>o<outputs>. If an axis sets the number of passes, p<passes> follows.
 *
 * A model with several streams has tokens n<n>.tokens.<stream>. T is then the length of the layer's stream. Scores
 * and attention are then [queries][keys]. For a user's own input, the stream of the target holds the model's
 * answers (eval/decode.h).
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
    /* The remaining kinds cannot be requested. */
    LH_TRACE_TOKENS,  /* only with values of single examples */
    LH_TRACE_ANSWERS, /* only for a user's own inputs */
    LH_TRACE_TARGETS, /* only for a user's own inputs */
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
    bool only_exact;            /* leave out passes with a wrong counted answer; only for means, not with inputs */
    bool is_shuffled;           /* dataset: take the examples of each shape in a random order */
    int draws;                  /* random draws per input; ignored if the model draws nothing */
    uint64_t seed;
    /* Lengths of the traced examples; ignored with inputs.
     * Sampled task: task lengths, with the first examples of an evaluation.
     * Dataset: input lengths, with the examples that an evaluation chooses (data/datasets/pick.h), unless
     * is_shuffled. */
    lh_lengths lengths;
    const lh_dataset *set;  /* dataset: set of the examples; NULL: the set of an evaluation */
    int examples;           /* maximum number of examples per length */
    const lh_query *inputs; /* [input_count] a user's own inputs, whose field `draw` is ignored; NULL: none */
    const lh_right_answer *right_answers; /* [input_count]; NULL: unknown */
    int input_count;
    /* Called after each pass; NULL: none. n: the length that users see. */
    void (*watch)(void *context, int n, int64_t finished_passes, int64_t total_passes);
    void *context;
} lh_trace_request;

/* One tensor of the file. */
typedef struct lh_trace_tensor {
    char name[80];
    lh_trace_kind kind;
    int n;                  /* task length */
    int group;              /* index in lh_traces.groups */
    int site;               /* index in lh_traces.sites; -1: tokens, answers and targets */
    int stream;             /* only of tokens: index of the stream */
    bool is_mean;           /* mean over draws and examples */
    int64_t elements;       /* elements per pass */
    double uniform_entropy; /* only of entropy: mean of lh_compute_uniform_entropy over heads, draws and examples */
    lh_st_tensor file;      /* the tensor in the file */
    void *data;             /* elements of the file's type; during the computation of a mean: [elements] double */
} lh_trace_tensor;

/* The passes of one task length. */
typedef struct lh_trace_group {
    int n;                      /* task length */
    int examples;               /* number of examples */
    int first_tensor;           /* index in lh_traces.tensors */
    int tensors;                /* number of tensors */
    uint32_t *indices_in_shape; /* [examples] dataset, unless is_shuffled: see lh_source; else NULL */
    int64_t counted_passes;     /* finished passes that only_exact does not leave out */
    char label[32];             /* first part of the tensors' names: "n41" */
} lh_trace_group;

typedef struct lh_traces {
    const lh_spec *spec;
    lh_trace_request request;
    int real_bytes;
    int64_t passes; /* number of forward passes of all groups */
    /* Sites at the longest task length. They begin with lh_spec.sites. A model that runs its layers several times
     * (passes_by_length) adds the sites of each further run of the layers. */
    lh_trace_site *sites;
    char *site_names;         /* names of the added sites */
    lh_trace_tensor *tensors; /* [count] */
    int count;
    lh_trace_group *groups; /* groups in the order of lengths, or of the first input of each length */
    int group_count;
    double bytes;  /* bytes of all tensors in the file */
    double memory; /* peak memory in bytes, in addition to the memory of evaluation */
} lh_traces;

/* Plans the tensors and their memory; computes nothing. Call lh_traces_close also after an error.
 *
 *     LH_ERR_INPUT        the model has no traces, or a length is duplicate, too long or without examples
 *     LH_ERR_STALE        an older Longhand generated the sources, which cannot trace passes_by_length
 *     LH_ERR_ENVIRONMENT  not enough memory on this machine
 */
lh_status lh_traces_open(lh_traces *traces, const lh_engine *engine, const lh_trace_request *request, lh_error *error);

/* Computes all tensors. One thread runs the examples in order, so results do not depend on the engine's threads.
 *
 *     LH_ERR_INPUT  only_exact leaves out all passes of a length
 *     LH_STOPPED    engine->stop was set
 */
lh_status lh_traces_run(lh_traces *traces, lh_engine *engine, lh_error *error);

/* Writes all tensors with this metadata, atomically. */
lh_status lh_traces_write(const lh_traces *traces, const char *path, const lh_st_meta *meta, int meta_count,
                          lh_error *error);

void lh_traces_close(lh_traces *traces);

/* The first tensor of a kind in a group; NULL: there is none. */
const lh_trace_tensor *lh_traces_find(const lh_traces *traces, const lh_trace_group *group, lh_trace_kind kind);

/* The number of sites at task length n. They are the first sites in lh_traces.sites. */
int lh_count_trace_sites(const lh_spec *spec, int n);

/* The index in request->inputs of an input of task length n. i: its index among the inputs of this length. */
int lh_find_trace_input(const lh_trace_request *request, int n, int i);

/* Element i of a computed tensor. */
double lh_read_trace_element(const lh_trace_tensor *tensor, int64_t i);

/* The entropy of attention weights p in nats, -sum p ln p over keys, as a mean over queries. Weights of 0 add nothing.
 * weights: [queries][keys] real. */
double lh_compute_entropy(const void *weights, int real_bytes, int64_t queries, int64_t keys);

/* The entropy of equal weights on all keys that a query sees, in nats, as a mean over queries. A query that sees no key
 * adds 0. scores: [queries][keys] real, -infinity for keys that the query does not see. */
double lh_compute_uniform_entropy(const void *scores, int real_bytes, int64_t queries, int64_t keys);

/* The number of bytes that one pass at task length n writes at a site. kind: activations, scores or attention.
 * 0: the site has no such values, or the request does not need them. */
size_t lh_count_trace_scratch(const lh_traces *traces, int n, int site, lh_trace_kind kind);

/* The name of a kind: "attention", "scores", "activations", "entropy", ... */
const char *lh_get_trace_kind_name(lh_trace_kind kind);

#endif
