/* Why a training on a few fixed examples (--overfit K) did not get them all right: what was measured, and the likely
 * cause. A cause is named only where the facts show it; otherwise it is LH_OVERFIT_UNKNOWN. */
#ifndef LONGHAND_OVERFIT_H
#define LONGHAND_OVERFIT_H

#include "engine/engine.h"

typedef struct lh_overfit_run {
    int examples; /* K */
    int length;   /* task length of all of them */
    uint64_t seed;
    double learning_rate;
    const char *metrics; /* path of the run's metrics.jsonl */
    const char *init;    /* path of the checkpoint that the run began with, or NULL: drawn parameters */
} lh_overfit_run;

typedef struct lh_overfit_facts {
    /* Facts of the examples; the first LH_OVERFIT_EXAMPLES of them were compared. */
    int64_t counted;        /* positions that count towards accuracy */
    double data_attainable; /* accuracy that no model can exceed, because equal inputs have different targets */

    /* Facts of metrics.jsonl. `recent` is the last quarter of its windows, `before` the quarter before that. */
    int windows;
    double first_loss, before_loss, recent_loss;                       /* dropout on */
    double apart;                                                      /* steps from before to recent */
    double before_accuracy, recent_accuracy;                           /* dropout on */
    double gradient_norm;                                              /* the largest of the windows */
    double recent_gradient_norm, clipped, update_norm, parameter_norm; /* recent */
    double moved;                                                      /* sum of the lengths of all updates */

    /* Facts of the model. */
    int64_t steps;
    double start_norm;                       /* of the initial parameters */
    double start_attainable, end_attainable; /* accuracy possible as long as equal outputs stay equal, at the initial
                                                and the present parameters */
    double accuracy, loss;                   /* now, dropout off */
    double guess_loss;                       /* of all classes being equally likely */
} lh_overfit_facts;

enum { LH_OVERFIT_EXAMPLES = 4096 };

typedef enum lh_overfit_cause {
    LH_OVERFIT_NOTHING_COUNTED,   /* the mask is all zero */
    LH_OVERFIT_CONFLICT,          /* equal inputs, different targets */
    LH_OVERFIT_SHORT,             /* fewer than two windows */
    LH_OVERFIT_NO_GRADIENT,       /* nothing to follow */
    LH_OVERFIT_RATE_LOW,          /* the parameters hardly moved */
    LH_OVERFIT_RATE_HIGH,         /* loss above guessing, or parameters far from where they began */
    LH_OVERFIT_INDISTINGUISHABLE, /* equal outputs for different answers from the first step on */
    LH_OVERFIT_COLLAPSED,         /* outputs have become equal */
    LH_OVERFIT_DROPOUT,           /* much better with dropout off */
    LH_OVERFIT_FALLING,           /* the loss still falls */
    LH_OVERFIT_UNKNOWN
} lh_overfit_cause;

/* The task length of the examples: the longest training length. */
int lh_overfit_length(const lh_spec *spec);

/* Sums over the examples, dropout off, positions held. LH_ERR_INPUT where the engine's evaluate says so. */
lh_status lh_overfit_evaluate(const lh_overfit_run *run, lh_engine *engine, lh_sums *sums, lh_error *error);

/* Measures everything. engine: reserved for these examples at this length; its parameters are left as they were.
 * LH_ERR_ENVIRONMENT without memory, LH_ERR_INPUT where the metrics or `init` cannot be read. */
lh_status lh_overfit_measure(const lh_overfit_run *run, lh_engine *engine, lh_overfit_facts *facts, lh_error *error);

/* The facts of metrics.jsonl alone; a missing file has no windows. */
lh_status lh_overfit_read_metrics(const char *path, lh_overfit_facts *facts, lh_error *error);

lh_overfit_cause lh_overfit_judge(const lh_overfit_facts *facts);

/* Steps after which the loss reaches a tenth of that of guessing, if it goes on falling as it does. */
double lh_overfit_steps_needed(const lh_overfit_facts *facts);

/* The message: accuracy, cause, facts, hint. Returns LH_ERR_INPUT. */
lh_status lh_overfit_tell(const lh_overfit_run *run, const lh_spec *spec, const lh_overfit_facts *facts,
                          lh_error *error);

/* lh_overfit_measure and lh_overfit_tell: the status and message of a training that failed. */
lh_status lh_overfit_explain(const lh_overfit_run *run, lh_engine *engine, lh_error *error);

#endif
