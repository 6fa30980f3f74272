/* Evaluates a model on each condition (results.h): on fixed examples, in one batch or several, with one or several
 * random draws of positions and noise. Writes lines of eval.jsonl and, on request, lines for single examples. */
#ifndef LONGHAND_EVALUATE_H
#define LONGHAND_EVALUATE_H

#include <stdio.h>

#include "eval/results.h"

typedef struct lh_eval_request {
    lh_lengths lengths;      /* sampled task: the task lengths */
    const lh_groups *groups; /* dataset: the groups; NULL: `lengths` has the conditions */
    lh_noise noise;          /* every condition is evaluated at each level of noise; count 0: no noise */
    lh_lengths passes;       /* every condition is evaluated at each number of passes; 0: as many as in training */
    int examples;            /* examples per length; ignored for groups, whose examples are already chosen */
    int draws;               /* draws per condition; counts as 1 if nothing in a pass is random */
    int batch;               /* > 0: examples per batch, each batch with random draws of its own; 0: one batch */
    bool teacher_forced;     /* a generative model is not decoded */
    int greedy_examples;     /* maximum number of decoded examples per condition; 0: all */
    uint64_t seed;
    bool is_validation; /* sampled task: use the validation stream */
    bool has_places;    /* lines also have accuracies by place (by_place.h) */
    const char *split;  /* split of all results; NULL: the name of the group's set; for sampled tasks "validation" or
                        * the result of lh_find_split */
    int64_t step;       /* step of the parameters, for the lines */
    const char *path;   /* file to which lines are appended; NULL: none */
    bool only_missing;  /* reuse results that lines of path already have (lh_eval_find) */
    FILE *per_example;  /* one line per example and draw; NULL: none */
    FILE *wrong;        /* file of some wrong answers (wrong_answers.h); NULL: none */
    const char *per_example_path, *wrong_path; /* paths of the two files, for messages */
    /* Called after each condition; `completed` of `count` conditions are finished; NULL: none. */
    void (*watch)(void *context, const lh_eval_result *result, int completed, int count);
    void *context;
} lh_eval_request;

/* The number of conditions: task lengths or groups, times levels of noise, times numbers of passes. Conditions are
 * ordered by passes, in the order of the request, then by noise, the least first. */
int lh_count_eval_conditions(const lh_eval_request *request);

/* Evaluates every condition in order; results: [lh_count_eval_conditions]. Reserves the engine's memory. After
 * LH_STOPPED or an error, the files have only lines of completed conditions. LH_STOPPED: engine->stop was set.
 * LH_ERR_INPUT, in addition to errors of the engine:
 * - lh_check_passes fails;
 * - a condition has more than LH_MOST_DRAWS draws; with request->batch, draws of all batches count;
 * - with request->has_places, a condition has more than LH_MAX_TARGET_PLACES labels. */
lh_status lh_evaluate(lh_engine *engine, const lh_eval_request *request, lh_eval_result *results, lh_error *error);

/* LH_ERR_INPUT if a target at one of these lengths, or in the dataset, has too many labels for accuracies by place. */
lh_status lh_check_places(const lh_spec *spec, const lh_lengths *lengths, lh_error *error);

/* *is_complete: whether request->path already has a line for every condition. */
lh_status lh_evaluation_is_complete(const lh_spec *spec, const lh_eval_request *request, bool *is_complete,
                                    lh_error *error);

/* Whether passes of an evaluation have random positions or distances, or dropout, or start from noise. */
bool lh_draws_anything(const lh_spec *spec);

#endif
