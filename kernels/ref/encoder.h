/* The whole encoder in double, forward and backward, composed of the operations in ref.h. For tests only.
 *
 *   h = sqrt(C) token[x] (+ additive(position), then dropout at layer 0, place 0)
 *   per layer l: a = attend(h Wq, h Wk, h Wv) Wo          q and k rotated where the model rotates; r_ij from distances
 *                g = norm1(h + drop(a))                    dropout at layer l + 1, place 0
 *                f = relu(g Wup + bup) Wdown + bdown
 *                h = norm2(g + drop(f))                    dropout at layer l + 1, place 1
 *   logits = h Wout + bout                                 at the last `labels` places
 *
 * Dropout is training's unless the batch evaluates: rng.h has the sites of both.
 *
 * Source: Ruoss et al. 2023 and its official code. The embedding is dropped out only after an addition, as there.
 */
#ifndef LONGHAND_KERNELS_REF_ENCODER_H
#define LONGHAND_KERNELS_REF_ENCODER_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/ref/ref.h"

typedef enum lh_ref_additive { LH_REF_NONE, LH_REF_SINUSOID, LH_REF_LEARNED } lh_ref_additive;

typedef enum lh_ref_relative {
    LH_REF_NO_RELATIVE,
    LH_REF_TRANSFORMER_XL, /* r_ij = sinusoid(distance_ij) W, biases u and v */
    LH_REF_SHAW            /* r_ij = table[clip(distance_ij)], shared by the heads */
} lh_ref_relative;

typedef struct lh_ref_sizes {
    int vocabulary, classes, width, heads, feedforward, layers;
    int rows; /* of the learned table */
    lh_ref_additive additive;
    const lh_ref_rope *rotation; /* of queries and keys, outlives the encoder; NULL: none */
    lh_ref_relative relative;
    int clip; /* Shaw: -clip .. clip have rows */
    /* Attention is geometric, with directions from the layer's input, weights divided by their sum. Without rotation,
     * relative and score. */
    bool geometric, directional, normalised;
} lh_ref_sizes;

/* One parameter tensor, named as in a trainer's files. */
typedef struct lh_ref_tensor {
    char name[48];
    int rows, columns; /* rows is 1 for vectors */
    double *value;     /* [rows][columns] set by the caller, zero at first */
    double *gradient;  /* [rows][columns] added to by lh_ref_encode */
} lh_ref_tensor;

typedef struct lh_ref_encoder {
    lh_ref_sizes sizes;
    lh_ref_tensor *tensors;
    int tensor_count;
} lh_ref_encoder;

/* What a layer computed for one sequence. */
typedef struct lh_ref_seen {
    const double *input, *output;     /* [tokens][width] */
    const double *scores, *attention; /* [heads][tokens][tokens] */
} lh_ref_seen;

typedef struct lh_ref_observer {
    void (*see)(void *context, int sequence, int layer, const lh_ref_seen *seen);
    void *context;
} lh_ref_observer;

typedef struct lh_ref_batch {
    int sequences, tokens, labels; /* tokens T and label places per sequence; labels <= tokens */
    const uint16_t *token;         /* [sequences][tokens] */
    const uint16_t *label;         /* [sequences][labels] */
    const int32_t *positions;      /* [draws][tokens] */
    int draws;                     /* 1: one row for all layers; else `layers` rows, the first also for the addition */
    const int32_t *distances;      /* [query][key] signed, for all layers; NULL: key - query */
    const double *score;           /* [heads][query][key] added to the scaled logits of every layer; NULL: nothing */
    double *score_gradient;        /* [heads][query][key] added to by the backward pass; NULL: nobody asks */
    double dropout;                /* rate; 0: off */
    lh_key key;                    /* of dropout, with: */
    uint32_t step, first_example;
    bool evaluates; /* dropout is an evaluation's, of this draw: */
    uint32_t draw;
    double loss_scale;               /* d(objective) / d(summed loss) */
    bool backward;                   /* add to the gradients */
    const lh_ref_observer *observer; /* is shown every layer of every sequence; NULL: nobody */
} lh_ref_batch;

/* An encoder with its tensors, all zero; lh_ref_encoder_free frees it. Out of memory aborts. */
lh_ref_encoder *lh_ref_encoder_new(const lh_ref_sizes *sizes);
void lh_ref_encoder_free(lh_ref_encoder *encoder);

/* The tensor of this name, or NULL. */
lh_ref_tensor *lh_ref_encoder_find(const lh_ref_encoder *encoder, const char *name);

/* All gradients become zero. */
void lh_ref_encoder_clear(lh_ref_encoder *encoder);

/* Runs a batch; returns the summed cross-entropy in nats. logits [sequences][labels][classes] written, or NULL. */
double lh_ref_encode(lh_ref_encoder *encoder, const lh_ref_batch *batch, double *logits);

#endif
