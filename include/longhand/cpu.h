/* The functions that the generator writes for the CPU, one lh_cpu_program per instruction-set level.
 *
 * The generated code computes; it allocates nothing, starts no threads and keeps no state. The CPU engine
 * (runtime/engine/cpu_engine.c) owns memory, threads and order:
 *
 *     once            make_tables
 *     training step   begin_step by all threads | barrier
 *                     per shard: for each of its lengths begin_length (unless the thread has
 *                     called it for this length), begin_shard, train_block over blocks, end_shard;
 *                     then fold in shard order | barrier
 *                     scale and squared_norm per chunk | barrier | update per chunk
 *     evaluation      begin_step | barrier | forward_block over blocks
 *
 * `real` below is float, or double in a float64 build (lh_cpu_program.real_bytes). Vectors of parameters, gradients
 * and optimiser state have lh_spec.parameter_storage elements and are 64-byte aligned.
 */
#ifndef LONGHAND_CPU_H
#define LONGHAND_CPU_H

#include <stdbool.h>
#include <stddef.h>

#include "longhand/rng.h"

enum {
    LH_MAX_STREAMS = 2, /* token streams of a model: the source, and the decoder's input if the model has an encoder
                         * and a decoder */
    LH_CHUNK = 4096, /* elements of a parameter vector that are reduced and updated together; fixes the order of sums */
    LH_MAX_STATES = 2,    /* vectors of optimiser state */
    LH_DECODE_TOKENS = 16 /* maximum number of tokens of a sequence that one call decodes */
};

typedef enum lh_mode { LH_MODE_TRAIN, LH_MODE_EVALUATE } lh_mode;

typedef struct lh_shape {
    int sequences;              /* number of sequences in the block or batch */
    int length[LH_MAX_STREAMS]; /* tokens per sequence of each stream */
    int labels;                 /* labelled positions per sequence */
} lh_shape;

/* The key and three counter words of random positions and distances (rng.h). In training, `example` is LH_SHARED; in
 * evaluation it is the index of the draw. */
typedef struct lh_draw {
    lh_key key;
    uint32_t step, example, domain;
    /* Only on a device: batch index of the shape's first sequence, as lh_cpu_block.first_example. */
    uint32_t first;
} lh_draw;

/* Values that stay constant during one training step or one evaluation batch. */
typedef struct lh_cpu_step {
    lh_mode mode;
    lh_shape shape;  /* shape.sequences counts the whole batch */
    lh_key key;      /* key of dropout */
    uint32_t step;   /* counter word 3 of dropout */
    lh_draw draw;    /* counter words of random positions; noise uses the same words in a domain of its own */
    int passes;      /* passes through the layers of a model with loops; training: at most lh_spec.passes */
    int free_passes; /* training: number of first passes without gradient (lh_spec.progressive) */
    double noise;    /* evaluation: standard deviation of noise on embeddings, in the unit of eval.noise; 0: none */
    /* Positions and distances from the caller, which replace all draws of a stream: an array of [length] for each
     * stream, or NULL. distances[i][d] is the distance of two tokens whose indices differ by d in either direction;
     * distances[i][0] is 0. */
    const int32_t *positions[LH_MAX_STREAMS], *distances[LH_MAX_STREAMS];
    const void *parameters; /* [parameter_storage] real */
    const void *tables;     /* written by make_tables */
    void *shared;           /* written by begin_step or begin_length, read by block functions */
    /* [panels_bytes] weights packed for matrix products; written by begin_step, read by block functions; NULL: `shared`
     * holds these weights */
    void *panels;
    const lh_shape *tables_shape; /* the shape for which begin_length wrote `shared`; NULL: `shape` */
} lh_cpu_step;

typedef struct lh_sums {
    double loss;       /* sum of the cross-entropy in nats over the label positions in the loss (lh_task.loss) */
    int64_t positions; /* number of label positions in the loss */
    int64_t counted;   /* label positions with mask 1 */
    int64_t correct;   /* counted positions whose arg max is the label; the first index wins a tie */
    int64_t sequences; /* sequences with any counted position */
    int64_t exact;     /* sequences that have counted positions, all of them correct */
    /* Evaluation of a model with loops: sum of -log(greatest probability) over the label positions in the loss. */
    double uncertainty;
} lh_sums;

typedef struct lh_cpu_block {
    int sequences;
    uint32_t first_example; /* batch index of the block's first sequence; the counters of dropout and of positions by
                             * sequence contain the index of a sequence */
    const uint16_t *tokens[LH_MAX_STREAMS]; /* [sequences][length] */
    /* [sequences][length] positions that depend on tokens (lh_format.positions); NULL: there are none */
    const int32_t *positions[LH_MAX_STREAMS];
    const uint16_t *labels; /* [sequences][labels] */
    const uint8_t *mask;    /* [sequences][labels] */
    /* [sequences][labels] index of each label's token in stream lh_format.label_stream; NULL: the last `labels` tokens
     * of the stream, in order */
    const uint16_t *place;
    /* Factor of the gradient, which makes the objective a mean. For a mean over labels, it is 1 / (label positions of
     * the batch), masked positions included; afterwards lh_cpu_program.scale multiplies the gradient by the factor
     * that leaves them out. For a mean over sequences, it is 1 / (sequences of the batch * labels), or 1 / (sequences
     * of the batch) if the program itself divides by the counted labels of each sequence. */
    double loss_scale;
    void *logits;           /* [sequences][labels][classes] real, written by forward_block; or NULL */
    uint16_t *answers;      /* [sequences][labels] classes with the greatest logit, written by forward_block; or NULL */
    lh_sums *sequence_sums; /* [sequences] sums of single sequences, written by forward_block; or NULL */
    /* forward_block: number of consecutive sequences that share one element of sums; 0: all sequences share one */
    int sequences_per_sum;
} lh_cpu_block;

/* The output buffers of one traced site of a forward pass (lh_spec.sites). Elements are real; NULL: not requested. */
typedef struct lh_trace {
    void *activation; /* [sequences][length][channels] */
    void *scores;     /* [sequences][heads][queries][keys] inputs of softmax, or of sigmoid in geometric attention */
    void *attention;  /* attention weights, of the same shape */
} lh_trace;

typedef struct lh_update {
    void *parameters;           /* real, updated in place */
    void *state[LH_MAX_STATES]; /* real, updated in place; lh_optimizer.state_name names each */
    void *gradient;             /* real, the folded gradient; zero on return */
    double gradient_norm;       /* global L2 norm, for clipping */
    double learning_rate;       /* learning rate of this step */
    int64_t step;               /* number of this update, from 1 */
} lh_update;

typedef struct lh_update_sums {
    double parameters; /* sum of squares after the update */
    double update;     /* sum of squares of the change */
} lh_update_sums;

/* An implementation choice made when an instruction-set level was compiled. Choices change no bit of a result; see
 * docs/tuning.md. */
typedef struct lh_choice {
    const char *name, *value;
    const char *origin; /* "model", or "tuned" and the date */
} lh_choice;

typedef struct lh_cpu_program {
    const char *level; /* "x86-64-v4" */
    int real_bytes;
    const lh_choice *choices; /* an array that ends with a NULL name; NULL: none */

    /* Number of sequences in one block for sequences of these lengths. A block may have fewer, for example the last
     * block of a shard. */
    int (*block_sequences)(const int length[LH_MAX_STREAMS]);
    /* Number of sequences that one call of forward_block takes. Each sum is still over as many sequences as
     * block_sequences returns, so the order of addition does not depend on this number. NULL: as many as
     * block_sequences returns. */
    int (*forward_sequences)(const int length[LH_MAX_STREAMS]);

    /* Bytes of the position tables; max_length: length of the longest sequence of the process in each stream. NULL: no
     * tables. */
    size_t (*tables_bytes)(const int max_length[LH_MAX_STREAMS]);
    void (*make_tables)(void *tables, const int max_length[LH_MAX_STREAMS]);

    /* Bytes of shared memory (for all modes) and of a thread's workspace (for one mode), enough for every shape up to
     * `max_shape`. The caller provides memory that is 64-byte aligned and zeroed once. */
    size_t (*shared_bytes)(const lh_shape *max_shape);
    size_t (*workspace_bytes)(const lh_shape *max_shape, lh_mode mode);

    /* Makes the random draws of a step and the other data that all blocks of the step share. Each of `threads` threads
     * calls it once with its own index, thread, and makes its part of the data. */
    void (*begin_step)(const lh_cpu_step *step, int thread, int threads);
    /* Makes the random draws for the lengths of a step's shape, and tables of these draws, in step->shared. In
     * training, the caller calls this function after begin_step, with the same arguments, and may give each length
     * separate memory; in evaluation, begin_step calls it. NULL: step->shared is for all lengths. */
    void (*begin_length)(const lh_cpu_step *step, int thread, int threads);
    bool slices; /* the output of begin_length for a shape also serves shorter shapes (lh_cpu_step.tables_shape) */
    size_t panels_bytes; /* bytes of step->panels; 0 without begin_length */

    /* Clears the sums that blocks accumulate in the workspace; called once for each length of a shard, before its first
     * block. NULL: there are no such sums. */
    void (*begin_shard)(const lh_cpu_step *step, void *workspace);
    /* Forward and backward pass with dropout; adds gradients to gradient, losses and counts to sums. */
    void (*train_block)(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                        lh_sums *sums);
    /* Adds the sums accumulated in the workspace to the gradient; called once for each length of a shard, after its
     * last block. NULL if begin_shard is NULL. */
    void (*end_shard)(const lh_cpu_step *step, void *workspace, void *gradient);
    /* Forward pass; dropout is off unless the spec keeps it on (eval.dropout). Sequence s is counted in sums[s /
     * block->sequences_per_sum], or in sums[0] if sequences_per_sum is 0. */
    void (*forward_block)(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, lh_sums *sums);

    /* Forward pass that also writes every site of lh_spec.sites that buffers[site] requests; workspace as for
     * forward_block. NULL: this model has no traces. */
    void (*trace_block)(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, const lh_trace *buffers,
                        lh_sums *sums);

    /* Decoding: the functions from decode_bytes to decode_move process the labelled stream a few tokens at a time, in
     * place of one pass over all of it. All are NULL unless the labelled stream holds the target, its tokens attend
     * only to earlier tokens and themselves, every attention uses softmax, and evaluation has no dropout. In other
     * models every answer takes a whole pass (eval/decode.h).
     *
     * Order of calls: begin_step, for a shape that has the full lengths and at least as many sequences as the block;
     * decode_begin once; decode_step from token 0 on. The first calls may take several tokens each; after a call of one
     * token, every call takes one token. A call may go back to an earlier token; tokens and label places from that
     * token on are then read again. Logits are bit-identical to those of forward_block for the same tokens. A token of
     * the labelled stream is read only by the call that processes it, so the caller may choose it by earlier logits. */

    /* Bytes of memory for decoding, enough for every shape up to `max_shape`: cached keys and values, and the
     * activations of LH_DECODE_TOKENS tokens of each sequence. The caller provides memory that is 64-byte aligned and
     * zeroed once. */
    size_t (*decode_bytes)(const lh_shape *max_shape);
    /* Processes the streams without labels, before any decode_step. NULL also if the model has only one stream. */
    void (*decode_begin)(const lh_cpu_step *step, const lh_cpu_block *block, void *memory);
    /* Processes tokens [from, to) of every sequence, at most LH_DECODE_TOKENS; tokens before `from` must have been
     * processed. Writes the block's logits for labels whose tokens lie in [from, to). The block may consist of only the
     * first sequences of decode_begin's block. */
    void (*decode_step)(const lh_cpu_step *step, const lh_cpu_block *block, int from, int to, void *memory);
    /* Computes the outputs of forward_block from logits that decode_step has written for all labels of the block. */
    void (*score_block)(const lh_cpu_step *step, const lh_cpu_block *block, lh_sums *sums);
    /* Copies the cached keys and values of sequence `from`, and its positions if each sequence has positions of its
     * own, to sequence `to`, so that an unfinished sequence can replace a finished one. The caller moves the tokens. */
    void (*decode_move)(const lh_cpu_step *step, int to, int from, void *memory);

    /* Adds gradient to total and sets gradient to 0, for count elements of each. */
    void (*fold)(void *total, void *gradient, size_t count);
    /* Multiplies the folded gradient of a batch by factor: the number of its label positions, divided by the number of
     * positions in the loss; for a mean over sequences, the number of sequences, divided by the number of sequences
     * with a label in the loss. NULL: all labels are in the loss. */
    void (*scale)(void *gradient, double factor, size_t count);
    /* Sum of squares of count elements, in an order that does not depend on the number of threads. */
    double (*squared_norm)(const void *gradient, size_t count);
    /* Clips the gradient of elements [first, first + count), at most LH_CHUNK of them, updates the elements and clears
     * their gradient. Tensors that are not learned have zero gradient and state, and their elements must not change; an
     * optimiser that changes parameters without a gradient must skip them. */
    void (*update)(const lh_update *update, size_t first, size_t count, lh_update_sums *sums);

    /* Floating-point operations that lh_spec.executed_flops counts and this code skips: operations for keys that a mask
     * hides from all queries of one SIMD vector, and for unused rows of the last layer. NULL: none. */
    double (*skipped_flops)(const lh_shape *shape, lh_mode mode);
} lh_cpu_program;

#endif
