/* Accuracy by condition. A condition is a task length or a group of a dataset (data/datasets/example_groups.h). It is
 * evaluated on fixed examples, in one batch or several, with one or several random draws of positions and noise. */
#ifndef LONGHAND_EVALUATE_H
#define LONGHAND_EVALUATE_H

#include <stdio.h>

#include "engine/engine.h"

/* Two ways to evaluate a model whose stream holds its target: each answer follows the model's own answers (greedy), or
 * the target's tokens (teacher-forced). */
extern const char lh_greedy[], lh_teacher_forced[];

typedef struct lh_eval_result {
    const char *split;       /* static text */
    int n;                   /* task length; with a dataset the value on the first axis */
    const char *axis;        /* name of the axis of n, the key in `by` */
    const lh_groups *groups; /* dataset: the groups, with this condition; else NULL */
    const lh_group *group;
    bool noisy; /* embeddings have noise with this standard deviation, which is also in `by` */
    double noise;
    int examples, draws;
    int64_t total;    /* number of all examples of the condition if only some of them are evaluated; else 0 */
    bool in_order;    /* the chosen examples are the first examples of the file */
    const char *data; /* SHA-256 of the examples' file; NULL: no file */
    bool taken_over;  /* read from an existing line of the file */
    int batch;        /* sequences that share a draw; 0: all examples share one */
    const char
        *decoding;   /* kind total decoding total a generative model's counted answers: lh_greedy, lh_teacher_forced;
                           * NULL: an encoder */
    double accuracy; /* correct / counted label positions over all draws; with several batches the mean of the batches'
                      * accuracies. With greedy decoding it is the accuracy of the model's own answers, otherwise the
                      * accuracy of the pass */
    double teacher_forced; /* accuracy of a generative model's teacher-forced pass */
    int greedy_examples;   /* number of decoded examples; accuracy and the next two fields are for these */
    bool ends;             /* the task has an end symbol: the next two fields are valid */
    double ended_early,
        not_ended;      /* shares of decoded sequences: the end symbol came before the target's own, or not at
                                    * all */
    int64_t counted;    /* label positions with mask 1 over all draws; 0: accuracy and exact match are undefined */
    double exact_match; /* share of sequences whose counted positions are all correct, among those with a counted one */
    double exact_match_low,
        exact_match_high;     /* its 95% interval, by the sequences of one draw; NAN: unknown, as in older lines */
    double loss;              /* nats per label position in the loss; NAN: there is none */
    double sd_over_draws;     /* standard deviation of the accuracy, n - 1; 0 for one draw */
    double sd_over_sequences; /* standard deviation of sequences' right shares, n - 1; NAN for fewer than two */
} lh_eval_result;

typedef struct lh_eval_request {
    lh_lengths lengths;      /* lengths, if there are no groups */
    const lh_groups *groups; /* dataset: the groups */
    lh_noise noise;          /* every condition is evaluated at each level of noise; count 0: without noise */
    int examples;            /* examples per length; ignored for groups, whose examples are already chosen */
    int draws;               /* counts as 1 if the model has nothing random */
    int batch;               /* > 0: examples per batch, each batch with random draws of its own */
    bool teacher_forced;     /* a generative model is not decoded */
    int greedy_examples;     /* > 0: most decoded examples */
    uint64_t seed;
    bool validation;   /* sampled task: use the validation stream */
    const char *split; /* NULL: the set, or for sampled tasks "validation" or the result of lh_split_of_length */
    int64_t step;      /* step of the parameters, for the lines */
    const char *path;  /* JSON lines are appended here; NULL: none */
    bool only_missing; /* take over lines of path for this step, seed, split, condition, examples, batch and draws */
    FILE *per_example; /* one line per example and draw; NULL: none */
    FILE *wrong;       /* some wrong answers (wrong_answers.h); NULL: none */
    const char *per_example_path, *wrong_path; /* paths of these files, for messages */
    void (*watch)(void *context, const lh_eval_result *result, int done, int count); /* NULL: none */
    void *context;
} lh_eval_request;

/* Number of conditions: task lengths or groups, times levels of noise. They are ordered by noise, the least first. */
int lh_count_eval_conditions(const lh_eval_request *request);

/* Evaluates every condition in order; results: [lh_count_eval_conditions]. Reserves the engine's memory. LH_STOPPED if
 * engine->stop is set, which is checked also within a condition. After LH_STOPPED or an error the files keep the lines
 * of completed conditions and have none of an incomplete condition. LH_ERR_INPUT if a condition has more than
 * LH_MOST_DRAWS draws. */
lh_status lh_evaluate(lh_engine *engine, const lh_eval_request *request, lh_eval_result *results, lh_error *error);

/* Whether request->path has a line for every condition already. */
lh_status lh_evaluation_is_complete(const lh_spec *spec, const lh_eval_request *request, bool *complete,
                                    lh_error *error);

/* Unweighted means over the results of one split that have counted labels and the noise of the first result; count is
 * the number of these results. */
typedef struct lh_eval_means {
    int count, first, last; /* task lengths, or values on the first axis */
    double accuracy, teacher_forced, exact_match, loss;
} lh_eval_means;

lh_eval_means lh_eval_compute_means(const lh_eval_result *results, int count, const char *split);

/* "length 5", "validation, vectors 3, puzzle 99, noise 0.5" */
enum { LH_EVAL_NAME = 256 };
const char *lh_eval_name(const lh_eval_result *result, char text[LH_EVAL_NAME]);

/* Whether a pass has random positions or distances, or dropout. */
bool lh_draws_anything(const lh_spec *spec);

/* The split of a sampled task's length: "in_distribution" (a training length), "between" (another length below the
 * longest one) or "beyond". */
const char *lh_split_of_length(const lh_spec *spec, int n);

/* Names of splits in the order in which their means are printed: sets of a dataset, then splits of sampled tasks.
 */
enum { LH_SPLITS = 6 };
extern const char *const lh_split_name[LH_SPLITS];

#endif
