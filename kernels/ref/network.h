/* Any network in double, forward and backward: an interpreter of the operations of a model's description, one after the
 * other as they stand there, composed of the operations in ref.h. For tests only.
 *
 * It shares with the generator the description alone (tests/support/reference_network.lua prints it as a table): what is
 * computed is written down, and gradients are found by walking the record backwards. There are no fused operations, no
 * rules of derivation, no buffers that two values share, no packed weights.
 *
 * Dropout is training's unless the batch evaluates: rng.h has the sites of both. A batch that evaluates may have noise on
 * its embeddings.
 */
#ifndef LONGHAND_KERNELS_REF_NETWORK_H
#define LONGHAND_KERNELS_REF_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/ref/ref.h"

/* ---- the description ---- */

typedef enum lh_ref_kind {
    LH_REF_EMBED,      /* scale table[token] (+ bias) (+ positions), dropped out */
    LH_REF_PLACE,      /* x0 + positions, dropped out */
    LH_REF_PRODUCT,    /* x0 W + b, of several weights side by side */
    LH_REF_ACTIVATION, /* f(x0), dropped out */
    LH_REF_GATE,       /* f(first half of x0) second half, dropped out */
    LH_REF_NORM,       /* of the rows of x0 */
    LH_REF_ADD,        /* x0 + x1, x1 dropped out */
    LH_REF_ATTENTION,  /* queries of x0, keys and values of x1, weights dropped out; x2: directions */
    LH_REF_BLOCK,      /* x0 through all repetitions of a block */
    LH_REF_CLASSIFY    /* logits of the labelled tokens of x0, and their loss */
} lh_ref_kind;

typedef enum lh_ref_additive { LH_REF_NONE, LH_REF_SINUSOID, LH_REF_LEARNED } lh_ref_additive;

typedef enum lh_ref_relative {
    LH_REF_NO_RELATIVE,
    LH_REF_TRANSFORMER_XL, /* r_ij = sinusoid(distance_ij) W, biases u and v */
    LH_REF_SHAW            /* r_ij = table[clip(distance_ij)], shared by the heads */
} lh_ref_relative;

/* Places of an operation's tensors in its list; others are free for other operations. */
enum { LH_REF_PARTS = 3, LH_REF_TENSORS = 2 * LH_REF_PARTS };
enum { LH_REF_WEIGHT = 0, LH_REF_BIAS = LH_REF_PARTS }; /* product: of each part; classify: a bias or the tied table */
enum { LH_REF_SCALE, LH_REF_OFFSET };                   /* norm */
enum { LH_REF_TABLE, LH_REF_POSITIONS, LH_REF_SHIFT };  /* embed, place; shift: what is added to every token's row */
enum {                                                  /* attention; of its family, what there is: */
       LH_REF_RELATIVE,                                 /* the map of sinusoids, or the table of rows */
       LH_REF_CONTENT_BIAS,
       LH_REF_POSITION_BIAS,
       LH_REF_LOGIT_SCALE,
       LH_REF_LOGIT_OFFSET,
       LH_REF_DIRECTION_SCALE
};

typedef struct lh_ref_operation {
    lh_ref_kind kind;
    int out, x[3];              /* values of the scope; x: those that are read, -1: none */
    int tensor[LH_REF_TENSORS]; /* numbers within the scope, -1: none */
    int parts;                  /* of a product */
    lh_ref_nonlinearity f;
    bool rms, tied;  /* a norm; the weight of the logits is the table of tokens, */
    int first_class; /* from this row on */
    double scale;    /* of embedded vectors */
    int blanks;      /* the first tokens, which have no row: zero */
    int embedding;   /* of an embed: how many come before */
    int stream;      /* of what it gives */
    lh_ref_additive additive;
    bool interleaved; /* sinusoids: sines in even channels, cosines in odd ones; else in halves */
    int period;       /* sinusoids: positions are taken modulo this; 0: as they are */
    int grid;         /* tokens of a row: half the channels have the column, half the row; 0: all have the position */
    double rate;      /* dropout at this place of the scope; 0: none */
    int place;
    int family, block; /* numbers in the network */
} lh_ref_operation;

typedef struct lh_ref_value {
    int width, stream;
    int outside; /* the network's value that this is within a block, -1: its own */
} lh_ref_value;

/* The network itself, or a block. */
typedef struct lh_ref_scope {
    int value_count, operation_count;
    const lh_ref_value *values;
    const lh_ref_operation *operations;
    int entry, last;                /* a block's input and output */
    int repetitions, loops;         /* each repetition has tensors of its own; loops share them */
    int first_tensor, tensor_count; /* tensors of the first repetition, in the network's list */
    int site;                       /* of dropout: the layer in the counter, that of the first repetition */
} lh_ref_scope;

/* Pairs of a query i and a key j of S: j - i, (S - 1) - (i + j) or j is `line`, where the direction is 1, -1 or 0. */
typedef struct lh_ref_line {
    int head, direction, line;
    double value; /* added to the scaled logit */
} lh_ref_line;

typedef enum lh_ref_corner { LH_REF_NO_CORNER, LH_REF_WITH_LINES, LH_REF_ALL_HEADS } lh_ref_corner;

typedef struct lh_ref_family {
    int heads;
    bool rotates;
    lh_ref_rope rotation;
    int period; /* of positions that queries and keys turn by; 0: as they are */
    lh_ref_relative relative;
    int clip, farthest;                      /* Shaw: -clip .. farthest have rows */
    bool scored;                             /* the batch's score is added to the logits */
    double temperature;                      /* of a softmax: divides all that */
    bool geometric, directional, normalised; /* without rotation, relative, score */
    int left, right;                         /* keys before and behind the query that are seen, -1: all */
    int stride, width;                       /* the anti-diagonal and keys on either side of it are seen; 0: all */
    bool left_only;                          /* none to the right of it */
    const lh_ref_line *lines;                /* a query sees what they open, or all where they open nothing to it */
    int line_count;
    bool from_right;      /* lines of the direction 0 count keys from the last one on, leftwards */
    bool causal;          /* whatever lines open, nothing behind the query */
    lh_ref_corner corner; /* heads whose first query sees the last key at 0 */
} lh_ref_family;

typedef struct lh_ref_shape {
    const char *name;  /* as in a trainer's files */
    int rows, columns; /* rows is 1 for vectors */
} lh_ref_shape;

typedef enum lh_ref_noise {
    LH_REF_NO_NOISE,
    LH_REF_ABSOLUTE,      /* a batch's noise on embeddings is a standard deviation, */
    LH_REF_RELATIVE_NOISE /* or that divided by the root mean square of each token's */
} lh_ref_noise;

typedef struct lh_ref_network {
    const char *id; /* of the spec */
    lh_ref_noise noise;
    int classes, places; /* places: dropout sites of a scope, at most */
    int tensor_count, family_count, scope_count;
    const lh_ref_shape *tensors;
    const lh_ref_family *families;
    const lh_ref_scope *scopes; /* the network itself comes first */
} lh_ref_network;

/* ---- a model: the network with numbers ---- */

typedef struct lh_ref_tensor {
    const char *name;
    int rows, columns;
    double *value;    /* [rows][columns] set by the caller, zero at first */
    double *gradient; /* [rows][columns] added to by lh_ref_run */
} lh_ref_tensor;

typedef struct lh_ref_model {
    const lh_ref_network *network;
    lh_ref_tensor *tensors;
    int tensor_count;
} lh_ref_model;

/* Values that a repetition of a block computed for one sequence; scores and attention are its first attention's. */
typedef struct lh_ref_seen {
    const double *input, *output;     /* [tokens][width] */
    const double *scores, *attention; /* [heads][tokens][tokens] */
    const double *cross;              /* [heads][queries][keys] what its second attention gives, or NULL */
} lh_ref_seen;

typedef struct lh_ref_observer {
    void (*see)(void *context, int sequence, int layer, const lh_ref_seen *seen);
    void *context;
} lh_ref_observer;

/* Positions of a family's tokens, in place of a batch's positions and distances where streams have samples of their
 * own. */
typedef struct lh_ref_places {
    int layers;                 /* that have rows of their own; 1: all share one */
    const int32_t *query, *key; /* [layers][queries], [layers][keys] */
    const int32_t *distances;   /* [layers][query][key] signed; NULL: key - query of the indices */
    const double *score;        /* [layers][heads][query][key] in the place of the batch's; NULL: that */
} lh_ref_places;

typedef enum lh_ref_dropping { LH_REF_NO_DROPOUT, LH_REF_IN_TRAINING, LH_REF_IN_EVALUATION } lh_ref_dropping;

typedef struct lh_ref_batch {
    int sequences, tokens, labels; /* tokens T and label places per sequence; labels <= tokens */
    const uint16_t *token;         /* [sequences][tokens] */
    int target_tokens;             /* of the second stream, where there is one */
    const uint16_t *target;        /* [sequences][target_tokens] */
    const uint16_t *label;         /* [sequences][labels] */
    const uint16_t *place;         /* [sequences][labels] their tokens, which differ; NULL: the last ones */
    const uint8_t *mask;           /* [sequences][labels] 0: in no loss; NULL: all labels are in it */
    const int32_t *positions;      /* [draws][tokens]; of two streams, which share them, those of the longer one */
    int draws;                     /* 1: one row for all layers; else a row for each, the first also for the addition */
    const int32_t *distances;      /* [query][key] signed, for all layers; NULL: key - query */
    const lh_ref_places *places;   /* by family, in place of both; NULL: those */
    const int32_t *input_positions[2]; /* by stream, [tokens]: of what is added to them; NULL: positions */
    const double *score;         /* [heads][query][key] added to the scaled logits of every layer; NULL: nothing */
    const double *const *scores; /* the same by family, in its place where their lengths differ; NULL: score */
    double *score_gradient;      /* [heads][query][key] added to by the backward pass; NULL: nobody asks */
    lh_ref_dropping dropping;    /* at the rates of the network, with: */
    lh_key key;
    uint32_t step, first_example;
    uint32_t draw;                   /* of an evaluation */
    double noise;                    /* likewise: standard deviation of what is added to embeddings, in that draw */
    double loss_scale;               /* d(objective) / d(summed loss) */
    bool backward;                   /* add to the gradients */
    const lh_ref_observer *observer; /* is shown every layer of every sequence; NULL: nobody */
} lh_ref_batch;

/* A model with its tensors, all zero; lh_ref_model_free frees it. The network outlives it. Out of memory aborts. */
lh_ref_model *lh_ref_model_new(const lh_ref_network *network);
void lh_ref_model_free(lh_ref_model *model);

/* The tensor of this name, or NULL. */
lh_ref_tensor *lh_ref_model_find(const lh_ref_model *model, const char *name);

/* All gradients become zero. */
void lh_ref_model_clear(lh_ref_model *model);

/* Runs a batch; returns the summed cross-entropy in nats. logits [sequences][labels][classes] written, or NULL. */
double lh_ref_run(lh_ref_model *model, const lh_ref_batch *batch, double *logits);

#endif
