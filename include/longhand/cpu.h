/* The functions that the generator writes for the CPU, one lh_cpu_program per instruction-set level.
 *
 * The generated code computes; it allocates nothing, starts no threads and keeps no state. The CPU engine
 * (runtime/engine/cpu_engine.c) owns memory, threads and order:
 *
 *     once            make_tables
 *     training step   begin_step by all threads in parts | barrier
 *                     per shard: begin_shard, train_block over its blocks, end_shard, fold in shard order | barrier
 *                     squared_norm per chunk | barrier | update per chunk
 *     evaluation      begin_step | barrier | forward_block over blocks
 *
 * `real` below is float, or double in a float64 build (lh_cpu_program.real_bytes). Vectors of parameters, gradients
 * and optimiser state have lh_spec.parameter_storage elements and are 64-byte aligned.
 */
#ifndef LONGHAND_CPU_H
#define LONGHAND_CPU_H

#include <stddef.h>

#include "longhand/rng.h"

enum {
    LH_MAX_STREAMS = 2, /* token streams that feed a model: source; decoder input where there are two stacks */
    LH_CHUNK = 4096,   /* elements of a parameter vector that are reduced and updated as one: fixes the order of sums */
    LH_MAX_STATES = 2, /* vectors of optimiser state beside the parameters */
    LH_DECODE_TOKENS = 16 /* of a sequence, at most, that one call decodes */
};

typedef enum lh_mode { LH_MODE_TRAIN, LH_MODE_EVALUATE } lh_mode;

typedef struct lh_shape {
    int sequences;              /* in the block or batch */
    int length[LH_MAX_STREAMS]; /* tokens per sequence of each stream */
    int labels;                 /* labelled positions per sequence */
} lh_shape;

/* The source of random positions and distances; places: rng.h. */
typedef struct lh_draw {
    lh_key key;
    uint32_t step, example, domain;
    uint32_t first; /* on a device: lh_cpu_block.first_example */
} lh_draw;

/* Constant during one step or one evaluation batch. */
typedef struct lh_cpu_step {
    lh_mode mode;
    lh_shape shape; /* sequences: of the whole batch */
    lh_key key;     /* dropout */
    uint32_t step;  /* dropout counter */
    lh_draw draw;   /* positions; noise by its numbers, in a domain of its own */
    double noise;   /* evaluation: standard deviation of what is added to embeddings; 0: nothing */
    /* By stream, [length] of it: given by the caller in place of every draw of that stream, or NULL; distances are those
     * of pairs 0, 1, ... tokens apart, to both sides, from 0. */
    const int32_t *positions[LH_MAX_STREAMS], *distances[LH_MAX_STREAMS];
    const void *parameters; /* [parameter_storage] real */
    const void *tables;     /* written by make_tables */
    void *shared;           /* written by begin_step, read by the blocks */
} lh_cpu_step;

typedef struct lh_sums {
    double loss;       /* summed cross-entropy in nats over label positions: all, or those with mask 1 (lh_task.loss) */
    int64_t positions; /* label positions summed in loss */
    int64_t counted;   /* positions with mask 1 */
    int64_t correct;   /* of these, those whose arg max is the label; the first index wins a tie */
    int64_t sequences; /* with any counted position */
    int64_t exact;     /* of these, those with every counted position correct */
} lh_sums;

typedef struct lh_cpu_block {
    int sequences;
    uint32_t first_example;                 /* index in the batch: the counter's example of dropout and own positions */
    const uint16_t *tokens[LH_MAX_STREAMS]; /* [sequences][length] */
    const uint16_t *labels;                 /* [sequences][labels] */
    const uint8_t *mask;                    /* [sequences][labels] */
    const uint16_t *place;                  /* [sequences][labels] a label's token in lh_format.label_stream; NULL: the
                                             * last `labels` tokens of it, in order */
    double loss_scale;                      /* d(objective) / d(summed loss): 1 / label positions of the batch, also
                                             * where some are masked: lh_cpu_program.scale */
    void *logits;                           /* [sequences][labels][classes] real, written by forward_block; or NULL */
    uint16_t *answers;                      /* [sequences][labels] classes with the greatest logit, likewise */
    lh_sums *each;                          /* [sequences] sums of single sequences, likewise */
    int summed;                             /* forward_block: so many sequences have one of the sums; 0: all of them */
} lh_cpu_block;

/* The destination of one site of a forward pass (lh_spec.sites); real, sequence after sequence. NULL: not wanted. */
typedef struct lh_trace {
    void *activation; /* [sequences][length][channels] */
    void *scores;     /* [sequences][heads][queries][keys] what the softmax sees */
    void *attention;  /* the same shape: what it gives */
} lh_trace;

typedef struct lh_update {
    void *parameters;           /* real, updated in place */
    void *state[LH_MAX_STATES]; /* real, updated in place: lh_optimizer.state_name says what each is */
    void *gradient;             /* real, the folded gradient; zero on return */
    double gradient_norm;       /* global L2 norm, for clipping */
    double learning_rate;       /* of this step */
    int64_t step;               /* 1 for the first update */
} lh_update;

typedef struct lh_update_sums {
    double parameters; /* sum of squares after the update */
    double update;     /* sum of squares of the change */
} lh_update_sums;

/* A choice for a level that was made when it was compiled and changes no bit; see docs/tuning.md. */
typedef struct lh_choice {
    const char *name, *value;
    const char *from; /* "model", or "tuned" and the date */
} lh_choice;

typedef struct lh_cpu_program {
    const char *level; /* "x86-64-v4" */
    int real_bytes;
    const lh_choice *choices; /* ends with a NULL name; NULL: none */

    /* Sequences in one block at these lengths, by the tokens of all streams together; a block of fewer (the last one of
     * a shard) is legal. */
    int (*block_sequences)(const int length[LH_MAX_STREAMS]);
    /* Sequences that an evaluation takes together; its sums are still of as many as a block has, so that the order of
     * sums does not depend on it. NULL: a block. */
    int (*forward_sequences)(const int length[LH_MAX_STREAMS]);

    /* Bytes for the position tables; longest: the longest sequence of the process in each stream. NULL: no tables. */
    size_t (*tables_bytes)(const int longest[LH_MAX_STREAMS]);
    void (*make_tables)(void *tables, const int longest[LH_MAX_STREAMS]);

    /* Bytes that suffice for every shape up to this one: in all modes, in this one. Memory is 64-byte aligned and zeroed
     * once. */
    size_t (*shared_bytes)(const lh_shape *longest);
    size_t (*workspace_bytes)(const lh_shape *longest, lh_mode mode);

    /* Draws, and what every block of the step shares. Each of `parts` threads calls it once with its own part. */
    void (*begin_step)(const lh_cpu_step *step, int part, int parts);

    /* Once per shard before its first block: clears what its blocks add up in the workspace; NULL where nothing is. */
    void (*begin_shard)(const lh_cpu_step *step, void *workspace);
    /* Forward and backward; gradients are added to gradient, losses and counts to sums. Dropout on. */
    void (*train_block)(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                        lh_sums *sums);
    /* Once per shard after its last block: adds to the gradient what begin_shard cleared; NULL where that is. */
    void (*end_shard)(const lh_cpu_step *step, void *workspace, void *gradient);
    /* Forward only; dropout is off unless the spec keeps it on (eval.dropout). Sequence s is counted in
     * sums[s / block->summed]. */
    void (*forward_block)(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, lh_sums *sums);

    /* A forward pass that also writes the sites that to[site] requests; NULL: this model has no traces. Memory as for
     * forward_block. */
    void (*trace_block)(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, const lh_trace *to,
                        lh_sums *sums);

    /* Decoding: the labelled stream a few tokens at a time, in place of one pass over all of it. All are NULL where a
     * model does not have it: one whose labelled stream does not hold the target, or whose tokens look behind them, or
     * that drops out in evaluation; answers then take a pass each (eval/decode.h). After begin_step of a step whose shape
     * holds the whole streams and at least as many sequences as the block, decode_begin once and then decode_step from 0
     * on: several tokens at a time at first, and one at a time from the first call of one token on; later calls may go
     * back to an earlier token, whose place and those behind it are then read anew. The logits are, bit for bit, those
     * that forward_block gives for the same tokens. Tokens of the labelled stream are read when their turn comes, so that
     * the caller may choose them by the logits before. */

    /* Bytes that suffice for every shape up to this one: the kept keys and values, and the activations of LH_DECODE_TOKENS
     * tokens of each sequence. Memory is 64-byte aligned and zeroed once. */
    size_t (*decode_bytes)(const lh_shape *longest);
    /* Reads the other streams of the block. NULL also where there are none. */
    void (*decode_begin)(const lh_cpu_step *step, const lh_cpu_block *block, void *memory);
    /* Tokens [from, to) of every sequence, at most LH_DECODE_TOKENS, behind those of the calls before; writes the block's
     * logits of the labels whose place is there. The block may have fewer sequences than it began with: the first ones. */
    void (*decode_step)(const lh_cpu_step *step, const lh_cpu_block *block, int from, int to, void *memory);
    /* As forward_block, of logits that decode_step has written for all labels of the block. */
    void (*score_block)(const lh_cpu_step *step, const lh_cpu_block *block, lh_sums *sums);
    /* Sequence `to` goes on as `from` would, so that those that have ended need not: the caller moves its tokens. */
    void (*decode_move)(const lh_cpu_step *step, int to, int from, void *memory);

    /* total += gradient; gradient = 0; count elements from both pointers. */
    void (*fold)(void *total, void *gradient, size_t count);
    /* gradient *= factor. What a batch's folded gradient is scaled by where some labels are in no loss: label positions
     * over those that count. NULL: all labels are in the loss. */
    void (*scale)(void *gradient, double factor, size_t count);
    /* Sum of squares of count elements, in the order that every thread count uses. */
    double (*squared_norm)(const void *gradient, size_t count);
    /* Clips, updates elements [first, first + count), at most LH_CHUNK of them, and clears their gradient. Gradient and
     * state of a tensor that is not learned are 0, and its elements stay as they are; an optimiser that changes
     * parameters without a gradient must leave them out. */
    void (*update)(const lh_update *update, size_t first, size_t count, lh_update_sums *sums);

    /* Operations among lh_spec.executed_flops that this code leaves out, because a mask hides a pair of tokens from all
     * queries that lie in a vector together, or a row of the last layer is unused. NULL: none. */
    double (*skipped_flops)(const lh_shape *shape, lh_mode mode);
} lh_cpu_program;

#endif
