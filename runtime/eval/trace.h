/* Traces: what a model computes on its way, on examples of the task or on inputs of one's own, as tensors of a file.
 *
 * Tensors of task length n, one sequence after another (docs/trace.md):
 *
 *     n<n>.tokens               [examples][T]             I32, what the model reads
 *     n<n>.embedding            [examples][T][channels]
 *     n<n>.layers.L.output      [examples][T][channels]
 *     n<n>.layers.L.scores      [examples][heads][T][T]   query by key: scaled, every positional term included
 *     n<n>.layers.L.attention   [examples][heads][T][T]   their softmax
 *     n<n>.layers.L.entropy     [heads]                   mean over examples and queries of -sum p ln p, in nats
 *
 * and of inputs of one's own
 *
 *     n<n>.answers              [examples][labels]        I32, the model's, -1 behind the end symbol
 *     n<n>.targets              [examples][labels]        I32, the right ones, -1 where that is not known or not
 *     counted
 *
 * A first dimension [draws] is added where there is more than one position draw, to reals and answers; of tokens only
 * to those of a stream that holds answers that were decoded. Averaged: the mean over draws and examples in place of
 * both dimensions, and no tokens; of those alone that come out right where `exact` asks for it. Answers and targets
 * stay, each. With finite data n in a name is the input length, and where the traced examples of one input length
 * differ in their outputs, n<n>o<outputs> stands in its place.
 *
 * Of a model with several streams tokens are n<n>.tokens.<stream>; a site is as long as its streams, scores
 * [queries][keys]. A stream that holds the target has the example's; of an input of one's own, the model's answers
 * (eval/decode.h).
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
    LH_TRACE_TOKENS, /* not asked for, as the next: comes with what is kept per example */
    LH_TRACE_ANSWERS,
    LH_TRACE_TARGETS,
    LH_TRACE_KINDS
} lh_trace_kind;

/* The right answer to an input of one's own. */
typedef struct lh_right_answer {
    const uint16_t *target; /* [task output length]; NULL: it is not known */
    const uint8_t *mask;    /* of it, 0: does not count; NULL: all do */
} lh_right_answer;

typedef struct lh_trace_request {
    bool wanted[LH_TRACE_KINDS];
    bool average;
    bool exact;   /* means are over passes with every counted answer right; kept is nothing. Not with inputs */
    bool shuffle; /* of finite data: the first of each shape in an order drawn by the seed */
    int draws;    /* counts as 1 where the model draws nothing */
    uint64_t seed;
    lh_lengths lengths;    /* `examples` examples of the task at each: those that an evaluation sees first; with finite
                            * data input lengths, and those that an evaluation of so many of the length takes
                            * (data/datasets/pick.h) */
    const lh_dataset *set; /* of finite data, whose they are; NULL: of what an evaluation sees */
    int examples;
    const lh_query *inputs;       /* or these, those of one length together; their draw is filled in here; NULL: none */
    const lh_right_answer *right; /* [input_count]; NULL: none is known */
    int input_count;
    void (*watch)(void *context, int n, int64_t done, int64_t count); /* passes; NULL: none */
    void *context;
} lh_trace_request;

/* One tensor of the file. */
typedef struct lh_traced {
    char name[80];
    lh_trace_kind kind;
    int n;        /* task length */
    int group;    /* of the list in lh_traces */
    int site;     /* of the spec; -1: tokens */
    int stream;   /* of tokens, whose elements are 32-bit integers, as those of answers and targets */
    bool mean;    /* over draws and examples */
    int64_t each; /* elements of one pass */
    lh_st_tensor file;
    void *data; /* mean: [each] double until the end; then, and otherwise, as in the file */
} lh_traced;

/* The passes of one task length. */
typedef struct lh_trace_group {
    int n, examples, first_tensor, tensors;
    uint32_t *pick;  /* [examples] of finite data, which of the shape's; NULL: the first, or shuffled ones */
    int64_t counted; /* passes that count, once they are done: all but those that `exact` leaves out */
    char label[32];  /* what its tensors' names begin with: "n41" */
} lh_trace_group;

typedef struct lh_traces {
    const lh_spec *spec;
    lh_trace_request request;
    int real_bytes;
    int64_t passes;
    lh_traced *tensors;
    int count;
    lh_trace_group *groups; /* in the order of the lengths, or of the first input of each */
    int group_count;
    double bytes;  /* of all tensors in the file */
    double memory; /* at most in use at a time, beside what evaluation takes */
} lh_traces;

/* Plans the tensors and what they need; computes nothing. LH_ERR_INPUT: the model has no traces, a length is too long
 * for its encoding or there twice; LH_ERR_ENVIRONMENT: more than this machine has memory for. `traces` is for
 * lh_traces_close, whatever the outcome. */
lh_status lh_traces_open(lh_traces *traces, const lh_engine *engine, const lh_trace_request *request, lh_error *error);

/* Computes them all. One thread, examples in order: nothing depends on the engine's threads. LH_ERR_INPUT where no
 * example of a length is exact and that is asked for. */
lh_status lh_traces_run(lh_traces *traces, lh_engine *engine, lh_error *error);

/* Writes them with this metadata, whole or not at all. */
lh_status lh_traces_write(const lh_traces *traces, const char *path, const lh_st_meta *meta, int meta_count,
                          lh_error *error);

void lh_traces_close(lh_traces *traces);

/* The tensor of a kind that a group has, if any; of tokens that of the first stream. */
const lh_traced *lh_traces_find(const lh_traces *traces, const lh_trace_group *group, lh_trace_kind kind);

/* The number of the input that is the i-th of those of a task length. */
int lh_trace_input(const lh_trace_request *request, int n, int i);

/* Element i of a tensor that was computed. */
double lh_traced_at(const lh_traced *tensor, int64_t i);

/* Mean over queries of -sum over keys of p ln p, in nats; weights [queries][keys] real. A p of 0 adds nothing. */
double lh_entropy(const void *weights, int real_bytes, int64_t queries, int64_t keys);

/* Bytes that one pass writes at a site: its activation, its scores or its attention. 0: not needed. */
size_t lh_trace_scratch(const lh_traces *traces, int n, int site, lh_trace_kind kind);

/* "attention", "scores", "activations", "entropy" */
const char *lh_trace_kind_name(lh_trace_kind kind);

#endif
