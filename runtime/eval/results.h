/* Results of an evaluation: their names, and means over results. Each result is of one condition: a task length or a
 * group of a dataset (data/datasets/example_groups.h), at one level of noise and one number of passes. */
#ifndef LONGHAND_RESULTS_H
#define LONGHAND_RESULTS_H

#include "engine/engine.h"

/* Two ways to evaluate a generative model, whose stream holds its target: each answer follows the model's own answers
 * (greedy), or the target's tokens (teacher-forced). */
extern const char lh_greedy[], lh_teacher_forced[];

typedef struct lh_eval_result {
    /* The condition: */
    const char *split;       /* static text */
    int n;                   /* task length; with a dataset the value on the first axis */
    const char *axis;        /* name of the axis of n, the key in `by` of eval.jsonl */
    const lh_groups *groups; /* dataset: all groups; else NULL */
    const lh_group *group;   /* dataset: the condition's group; else NULL */
    bool has_noise;          /* the evaluation has levels of noise, and `by` has this level */
    double noise;            /* standard deviation of the noise in embeddings */
    int passes;              /* passes of a model with loops; 0: as many as in training, and `by` has no passes */
    bool is_oracle;          /* the task length sets the number of passes, so the model does not decide when to stop */
    int examples, draws;     /* examples: number of examples; draws: draws of each */
    int64_t total;           /* number of all examples of the condition if only some of them are evaluated; else 0 */
    bool in_order;           /* the chosen examples are the first examples of the file */
    const char *data;        /* SHA-256 of the examples' file; NULL: no file */
    int batch;               /* sequences that share a draw; 0: all examples share a draw */
    const char *decoding;    /* lh_greedy or lh_teacher_forced; NULL: the model is an encoder, which has no decoding */
    int greedy_examples;     /* lh_greedy: number of decoded examples */
    bool has_places;         /* the line also has accuracies by place (by_place.h) */
    bool has_end_symbol;     /* decoding is not NULL, and the task has an end symbol */
    /* The values. Labels with mask 1 are counted. */
    bool was_in_file; /* the values are read from an existing line of eval.jsonl */
    int64_t counted;  /* counted labels over all draws; 0: no accuracy, no exact match. With was_in_file, 1 stands
                         * for any positive number */
    /* The share of the counted labels with right answers, over all draws; with several batches, the mean of the
     * shares of the batches. With greedy decoding, the answers are the model's own answers to greedy_examples;
     * otherwise, they are the answers of the pass. */
    double accuracy;
    double teacher_forced;         /* accuracy of a generative model's teacher-forced pass */
    double ended_early, not_ended; /* shares of decoded sequences (greedy.h), with lh_greedy and has_end_symbol */
    /* The share of sequences in which every counted label has a right answer; sequences without a counted label are
     * left out. With greedy decoding, only labels of the final result are counted. */
    double exact_match;
    double exact_match_low, exact_match_high; /* 95% interval over the sequences of one draw; NAN: there is none */
    double loss;                              /* mean in nats over the label positions of the loss; NAN: none */
    double uncertainty;                       /* model with loops: mean of lh_sums.uncertainty; else NAN */
    double sd_over_draws;                     /* standard deviation of the accuracy over draws; 0 for one draw */
    /* Standard deviation over sequences of the share of right answers of a sequence; NAN for fewer than two sequences.
     * Both deviations divide the sum of squares by the number of values - 1. */
    double sd_over_sequences;
} lh_eval_result;

/* Unweighted means over results of one split. Results without counted labels are left out, and so are results whose
 * noise or number of passes differs from that of the first averaged result. */
typedef struct lh_eval_means {
    int count;       /* number of averaged results */
    int first, last; /* n of the first and the last averaged result */
    double accuracy, teacher_forced, exact_match, loss;
} lh_eval_means;

/* Computes the means of a split; results: in the order of lh_evaluate. */
lh_eval_means lh_eval_compute_means(const lh_eval_result *results, int count, const char *split);

/* Whether groups come from several sets: then results are named by set, and lines of single examples have "split". */
static inline bool lh_has_several_sets(const lh_groups *groups) { return (groups->sets & (groups->sets - 1)) != 0; }

/* Writes the name of a result's condition, such as "length 5" or "validation, vectors 3, puzzle 99, noise 0.5". Returns
 * text. */
enum { LH_EVAL_NAME = 256 }; /* bytes of the text of a name */
const char *lh_eval_write_name(const lh_eval_result *result, char text[LH_EVAL_NAME]);

/* LH_ERR_INPUT if an engine cannot evaluate at these numbers of passes (lh_eval_request.passes). */
lh_status lh_check_passes(const lh_engine *engine, const lh_lengths *passes, bool teacher_forced, lh_error *error);

/* The split of length n of a sampled task: "in_distribution" (a training length), "between" (another length below the
 * longest training length) or "beyond". */
const char *lh_find_split(const lh_spec *spec, int n);

/* Names of splits in the order in which their means are printed: sets of a dataset, then splits of sampled tasks. */
enum { LH_SPLITS = 6 };
extern const char *const lh_split_name[LH_SPLITS];

#endif
