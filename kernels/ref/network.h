/* An interpreter of networks in double precision, for tests only. It executes the operations of a network's description
 * in order, with the functions of ref.h.
 *
 * The interpreter and the generator share only the description (tests/support/reference_network.lua prints it as a
 * table). The forward pass records its operations, and the backward pass executes the record in reverse. There are no
 * fused operations, no rules that make backward operations, no shared buffers and no packed weights.
 */
#ifndef LONGHAND_KERNELS_REF_NETWORK_H
#define LONGHAND_KERNELS_REF_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/ref/ref.h"

/* ---- the description ---- */

typedef enum lh_ref_kind {
    LH_REF_EMBED,      /* scale * table[token] (+ shift) (+ noise) (+ positions), with dropout */
    LH_REF_ZEROS,      /* zeros, without an input */
    LH_REF_NOISE,      /* scale * normal numbers, without an input */
    LH_REF_PLACE,      /* x0 + positions, with dropout */
    LH_REF_PRODUCT,    /* x0 W + b, with several weights side by side */
    LH_REF_ACTIVATION, /* f(x0), with dropout */
    LH_REF_GATE,       /* f(first half of x0) * second half of x0, with dropout */
    LH_REF_NORM,       /* norm of the rows of x0 */
    LH_REF_ADD,        /* x0 + x1, x1 with dropout */
    LH_REF_ATTENTION,  /* queries from x0, keys and values from x1; weights with dropout; x2: gates of lh_ref_forget, or
                        * lh_ref_geometric.direction */
    LH_REF_RECUR,      /* the states of all steps of a recurrence over the tokens */
    LH_REF_BLOCK,      /* all repetitions of a block, applied to x0 */
    LH_REF_CLASSIFY    /* logits of the labelled tokens of x0, and the loss */
} lh_ref_kind;

typedef enum lh_ref_additive { LH_REF_NONE, LH_REF_SINUSOID, LH_REF_LEARNED } lh_ref_additive;

/* Kinds of recurrence. A step computes the new state from an input x and the old state h:
 *   RNN        h = relu(W x + b + U h + b')
 *   LSTM       i, g, f, o = W x + b + U h; c = sigmoid(f + 1) c + sigmoid(i) tanh(g); h = sigmoid(o) tanh(c)
 *   STACK_RNN  h = relu(W x + b + U h + b' + R m), m the first cell of a memory
 *              written value: a linear layer of h
 *              probabilities of the actions: the softmax of a linear layer of h
 *              actions: push the written value; pop; keep
 *   TAPE_RNN   state and probabilities as in STACK_RNN; the memory is a circular tape
 *              written value: three layers of h; the value replaces the first cell
 *              actions: stay; move left or right by one cell; move left or right by the number of tokens before the
 *              labels
 * A cell of a memory becomes a weighted mean of its contents after each action. The weights are the probabilities. */
typedef enum lh_ref_cell { LH_REF_NO_CELL, LH_REF_RNN, LH_REF_LSTM, LH_REF_STACK_RNN, LH_REF_TAPE_RNN } lh_ref_cell;

typedef enum lh_ref_relative {
    LH_REF_NO_RELATIVE,
    LH_REF_TRANSFORMER_XL, /* r_ij = sinusoid(distance_ij) W, biases u and v */
    LH_REF_SHAW,           /* r_ij = table[clip(distance_ij)], shared by the heads */
    LH_REF_COPE            /* lh_ref_cope */
} lh_ref_relative;

/* Indices in lh_ref_operation.tensor, by kind of operation. */
enum { LH_REF_PARTS = 3 };                              /* largest number of parts of a product */
enum { LH_REF_TENSORS = 13 };                           /* largest number of tensors of an operation */
enum { LH_REF_WEIGHT = 0, LH_REF_BIAS = LH_REF_PARTS }; /* classify, product; part i of a product: this + i */
enum { LH_REF_SCALE, LH_REF_OFFSET };                   /* norm */
enum { LH_REF_TABLE, LH_REF_POSITIONS, LH_REF_SHIFT };  /* embed, place; shift: a vector added to every token's row */
enum {                                                  /* recur */
       LH_REF_INPUT,                                    /* W */
       LH_REF_INPUT_BIAS,
       LH_REF_RECURRENT, /* U */
       LH_REF_RECURRENT_BIAS,
       LH_REF_READ, /* R */
       LH_REF_ACTIONS,
       LH_REF_ACTIONS_BIAS,
       LH_REF_VALUE /* weight and bias of the first layer, then weights and biases of the further layers */
};
enum {                  /* attention */
       LH_REF_RELATIVE, /* Transformer-XL: projection of sinusoids; Shaw, CoPE: table of rows */
       LH_REF_CONTENT_BIAS,
       LH_REF_POSITION_BIAS,
       LH_REF_LOGIT_SCALE, /* lh_ref_geometric */
       LH_REF_LOGIT_OFFSET,
       LH_REF_DIRECTION_SCALE,
       LH_REF_KEY_VECTOR, /* lh_ref_grape */
       LH_REF_QUERY_VECTOR,
       LH_REF_STRENGTH,
       LH_REF_SHARPNESS, /* lh_ref_row_sums */
       LH_REF_SLOPE
};

typedef struct lh_ref_operation {
    lh_ref_kind kind;
    int out;                    /* index of the output among the scope's values */
    int x[3];                   /* indices of the inputs among the scope's values; -1: none */
    int tensor[LH_REF_TENSORS]; /* indices of tensors in the scope; -1: none */
    int parts;                  /* parts of a product */
    lh_ref_nonlinearity f;
    lh_ref_cell cell; /* recur: kind of recurrence */
    int cells;        /* recur: number of cells of the memory; 0: no limit */
    bool is_rms;      /* norm: RMS norm, else layer norm */
    bool is_tied;     /* classify: the weight of the logits is the table of tokens */
    int first_class;  /* row of the tied table that belongs to class 0 */
    double scale;     /* factor of embedded vectors, and of noise */
    int blanks;       /* tokens 0 to blanks - 1 have zero vectors, without rows of the table */
    int embedding;    /* index of an embed operation among all embed operations */
    int stream;       /* stream of the output */
    lh_ref_additive additive;
    bool interleaved;  /* sinusoids: sines in even channels, cosines in odd channels; else in halves */
    int period;        /* sinusoids: positions are taken modulo this number; 0: unchanged */
    int grid;          /* sinusoids: tokens in a row of a grid; 0: no grid. First half of the channels: column;
                        * second half: row */
    double rate;       /* dropout rate; 0: no dropout */
    int dropout_site;  /* index of the operation's dropout site in the scope */
    int family, block; /* indices in lh_ref_network.families and .scopes */
} lh_ref_operation;

typedef struct lh_ref_value {
    int width, stream;
    int outside; /* index of the value in the enclosing scope; -1: the scope's own value */
} lh_ref_value;

/* A scope: the network itself, a block, or a group of blocks. A group has no tensors of its own. */
typedef struct lh_ref_scope {
    int value_count, operation_count;
    const lh_ref_value *values;
    const lh_ref_operation *operations;
    int input, output;      /* indices of a block's input and output among its values */
    int repetitions, loops; /* each repetition has its own tensors; loops share them */
    int times;              /* in a group: runs of a block in each repetition of the group; else 0 */
    bool is_group;
    bool has_pass_losses; /* the training loss is the mean of the losses after each loop */
    int first_tensor;     /* index of the scope's first tensor in the network's list */
    int tensor_count;     /* tensors of one repetition */
    int dropout_layer;    /* `layer` of lh_site for dropout in training, in the first repetition */
} lh_ref_scope;

/* A line: all pairs of query i and key j (of S keys) that have this `number`:
 *   direction 1                                j - i
 *   direction -1                               (S - 1) - (i + j)
 *   direction 0                                j
 *   direction 0 with lh_ref_family.from_right  (S - 1) - j */
typedef struct lh_ref_line {
    int head, direction, number;
    double value; /* added to the scaled logit */
} lh_ref_line;

/* The heads that see the corner, the pair of the first query and the last key. */
typedef enum lh_ref_corner { LH_REF_NO_CORNER, LH_REF_WITH_LINES, LH_REF_ALL_HEADS } lh_ref_corner;

typedef struct lh_ref_family {
    int heads;
    int rotated_heads; /* the number of heads, from the first on, that rotate; 0: none */
    lh_ref_rope rotation;
    int period; /* period of the positions in rotations; 0: unchanged */
    lh_ref_relative relative;
    int clip, farthest;               /* Shaw: distances -clip .. farthest have rows of the table */
    bool divided;                     /* lh_ref_cope.divided */
    lh_ref_cope_mistake cope_mistake; /* a deliberate mistake, which a test sets, as all `_mistake` */
    bool has_score;                   /* the batch's score is added to the logits */
    int gate_sign;  /* `sign` of lh_ref_forget; 0: no gates. With -1 (CABLE), products are not divided */
    bool has_grape; /* terms of additive GRAPE (lh_ref_grape) are added to the logits */
    lh_ref_grape_mistake grape_mistake;
    bool sums_rows; /* terms with sums over keys (lh_ref_row_sums) are added to the logits */
    lh_ref_row_sums_mistake sums_mistake;
    double temperature;      /* divisor of the softmax's logits */
    bool is_geometric;       /* lh_ref_geometric, without rotation, relative vectors or score */
    bool normalised;         /* lh_ref_geometric.normalised */
    bool breaks_stick;       /* lh_ref_stick, without relative vectors or score */
    bool own_key, own_value; /* fields of lh_ref_stick */
    lh_ref_stick_mistake stick_mistake;
    int left, right;          /* number of visible keys before and after the query, -1: all */
    int stride;               /* of S keys, query i sees S - stride * (i + 1) to S - 1 - stride * i; 0: all */
    int width;                /* with a stride: further visible keys on either side */
    bool left_only;           /* the further visible keys are only on the left side */
    const lh_ref_line *lines; /* a query sees the keys on lines */
    int line_count;
    bool from_right; /* see lh_ref_line */
    bool causal;     /* with lines: keys after the query are hidden; a causal mask without lines has right = 0 */
    lh_ref_corner corner;
} lh_ref_family;

typedef struct lh_ref_shape {
    const char *name;  /* name in a trainer's files */
    int rows, columns; /* rows is 1 for vectors */
} lh_ref_shape;

typedef enum lh_ref_noise {
    LH_REF_NO_NOISE,
    LH_REF_ABSOLUTE,      /* lh_ref_batch.noise is the standard deviation */
    LH_REF_RELATIVE_NOISE /* the standard deviation is lh_ref_batch.noise times the root mean square of the vector */
} lh_ref_noise;

typedef struct lh_ref_network {
    const char *id; /* id of the spec */
    lh_ref_noise noise;
    int classes;
    int dropout_sites; /* the largest number of dropout sites in a scope */
    int tensor_count, family_count, scope_count;
    const lh_ref_shape *tensors;
    const lh_ref_family *families;
    const lh_ref_scope *scopes; /* the first scope is the network itself */
} lh_ref_network;

/* ---- a model: a network with parameters ---- */

typedef struct lh_ref_tensor {
    const char *name;
    int rows, columns;
    double *value;    /* [rows][columns] set by the caller, zero at first */
    double *gradient; /* [rows][columns] lh_ref_run adds to it */
} lh_ref_tensor;

typedef struct lh_ref_model {
    const lh_ref_network *network;
    lh_ref_tensor *tensors;
    int tensor_count;
} lh_ref_model;

/* Values that a repetition of a block computed for one sequence. */
typedef struct lh_ref_layer_values {
    const double *input, *output; /* [tokens][width] */
    const double *scores;         /* [heads][tokens][tokens] logits of the first attention */
    const double *attention;      /* [heads][tokens][tokens] weights of the first attention */
    const double *cross;          /* [heads][queries][keys] weights of the second attention, or NULL */
} lh_ref_layer_values;

/* A function that gets the values of every repetition of a block. layer: number of earlier repetitions. */
typedef struct lh_ref_observer {
    void (*observe)(void *context, int sequence, int layer, const lh_ref_layer_values *values);
    void *context;
} lh_ref_observer;

/* Positions of a family's tokens, in place of the batch's positions and distances. Streams with separate random
 * positions need them. */
typedef struct lh_ref_family_positions {
    int layers;                 /* number of rows of positions; 1: all layers share the row */
    const int32_t *query, *key; /* query: [layers][queries]; key: [layers][keys] */
    const int32_t *distances;   /* [layers][query][key] signed; NULL: index of the key - index of the query */
    const double *score;        /* [layers][heads][query][key] replaces the batch's score; NULL: no replacement */
} lh_ref_family_positions;

/* The random numbers of dropout: rng.h has a domain for training and another for evaluation. */
typedef enum lh_ref_dropping { LH_REF_NO_DROPOUT, LH_REF_IN_TRAINING, LH_REF_IN_EVALUATION } lh_ref_dropping;

typedef struct lh_ref_batch {
    int sequences;          /* number of sequences */
    int tokens;             /* of each sequence, in the first stream */
    int labels;             /* of each sequence */
    const uint16_t *token;  /* [sequences][tokens] */
    int target_tokens;      /* tokens of the second stream, if any */
    const uint16_t *target; /* [sequences][target_tokens] */
    const uint16_t *label;  /* [sequences][labels] */
    const uint16_t *place;  /* [sequences][labels] index of each label's token, all different; NULL: the last tokens */
    const uint8_t *mask;    /* [sequences][labels] 0: the label is not in the loss; NULL: all are */
    const int32_t *positions; /* [position_rows][tokens]; two streams: [1][tokens of the longer stream] */
    int position_rows;        /* 1: all layers share the row; else a row per layer, the first also for embeddings */
    const int32_t *distances; /* [query][key] signed, for all layers; NULL: index of the key - index of the query */
    const lh_ref_family_positions *family_positions; /* [families] replaces positions and distances; NULL: nothing */
    const int32_t *input_positions[2]; /* [streams][tokens] for vectors that are added to tokens; NULL: `positions` */
    const double *score;               /* [heads][query][key] added to the scaled logits of every layer; NULL: none */
    const double *const *scores;       /* [families] used in place of score if lengths of families differ; or NULL */
    double *score_gradient;            /* [heads][query][key] the backward pass adds to it; NULL: not requested */
    lh_ref_dropping dropping;          /* dropout at the rates of the network */
    lh_key key;
    uint32_t step, first_example;
    int passes;                      /* replaces lh_ref_scope.loops of blocks with loops; 0: no replacement */
    int free_passes;                 /* the first free_passes loops of a block get no gradient */
    uint32_t draw;                   /* evaluation: index of the draw */
    double noise;                    /* evaluation: standard deviation of the noise on embeddings in this draw */
    double loss_scale;               /* derivative of the objective with respect to the summed loss */
    bool backward;                   /* run the backward pass, which adds to the gradients */
    const lh_ref_observer *observer; /* called for every layer of every sequence; NULL: none */
} lh_ref_batch;

/* Makes a model whose tensors are zero; lh_ref_model_free frees it. The network must outlive the model. If
 * memory runs out, the functions abort. */
lh_ref_model *lh_ref_model_new(const lh_ref_network *network);
void lh_ref_model_free(lh_ref_model *model);

/* Returns the tensor of this name, or NULL. */
lh_ref_tensor *lh_ref_model_find(const lh_ref_model *model, const char *name);

/* Sets all gradients to zero. */
void lh_ref_model_clear(lh_ref_model *model);

/* Runs a batch; returns the summed cross-entropy in nats, and writes logits [sequences][labels][classes] unless it is
 * NULL. */
double lh_ref_run(lh_ref_model *model, const lh_ref_batch *batch, double *logits);

#endif
