/* Explains why a model trained on a few fixed examples (--overfit K) does not answer all of them correctly. The message
 * has the measured facts and the likely cause. */
#ifndef LONGHAND_OVERFIT_H
#define LONGHAND_OVERFIT_H

#include "engine/engine.h"

typedef struct lh_overfit_run {
    int examples; /* K */
    int length;   /* task length of the examples */
    uint64_t seed;
    lh_separate_seeds separate_seeds;
    double learning_rate;
    const char *metrics; /* path of the run's metrics.jsonl */
    const char *init;    /* path of the checkpoint with the initial parameters; NULL: random parameters */
} lh_overfit_run;

typedef struct lh_overfit_facts {
    /* Facts of the first LH_OVERFIT_EXAMPLES examples. */
    int64_t counted;        /* number of labels that count towards accuracy */
    double data_attainable; /* highest accuracy if examples with equal tokens get equal answers */

    /* Facts of metrics.jsonl. A window is a line of this file: means over the steps since the previous line. `recent`
     * is the last quarter of the windows, `earlier` the quarter before it. */
    int windows;
    double first_loss, earlier_loss, recent_loss;             /* dropout on; first_loss: mean over the first quarter */
    double steps_between;                                     /* steps between the middles of `earlier` and `recent` */
    double earlier_accuracy, recent_accuracy;                 /* dropout on */
    double gradient_norm;                                     /* largest mean gradient norm of a window */
    double recent_gradient_norm, update_norm, parameter_norm; /* means over `recent` */
    double clipped;         /* share of the steps of `recent` whose gradient was clipped */
    double update_norm_sum; /* sum of the norms of all updates */

    /* Facts of the model. */
    int64_t steps;     /* steps of the run so far */
    double start_norm; /* norm of the initial parameters */
    /* Highest accuracy if positions with equal outputs get equal answers, over at most 512 counted positions: */
    double start_attainable; /* with the initial parameters */
    double end_attainable;   /* with the current parameters */
    double accuracy, loss;   /* current values, dropout off */
    double guess_loss;       /* loss of equally likely classes */
} lh_overfit_facts;

enum { LH_OVERFIT_EXAMPLES = 4096 /* maximum number of compared examples */ };

typedef enum lh_overfit_cause {
    LH_OVERFIT_NOTHING_COUNTED,   /* the mask is all zero */
    LH_OVERFIT_CONFLICT,          /* equal inputs, different targets */
    LH_OVERFIT_SHORT,             /* fewer than two windows */
    LH_OVERFIT_NO_GRADIENT,       /* the gradient is nearly zero */
    LH_OVERFIT_RATE_LOW,          /* the parameters hardly moved */
    LH_OVERFIT_RATE_HIGH,         /* loss above guessing, or parameters much larger than at first */
    LH_OVERFIT_INDISTINGUISHABLE, /* equal outputs for different targets, also with the initial parameters */
    LH_OVERFIT_COLLAPSED,         /* equal outputs for different targets, but not with the initial parameters */
    LH_OVERFIT_DROPOUT,           /* much better with dropout off */
    LH_OVERFIT_FALLING,           /* the loss still falls */
    LH_OVERFIT_UNKNOWN            /* the facts show no cause */
} lh_overfit_cause;

/* The task length of the examples: the longest training length. */
int lh_overfit_get_length(const lh_spec *spec);

/* Evaluates the examples, with dropout off and fixed positions. Fails as lh_engine_ops.evaluate does. */
lh_status lh_overfit_evaluate(const lh_overfit_run *run, lh_engine *engine, lh_sums *sums, lh_error *error);

/* Measures all facts. On return the engine's parameters are unchanged.
 *   engine   has reserved memory for the run's examples
 * LH_ERR_ENVIRONMENT: out of memory, or the device failed; LH_ERR_INPUT: faulty examples, metrics or `init`. */
lh_status lh_overfit_measure(const lh_overfit_run *run, lh_engine *engine, lh_overfit_facts *facts, lh_error *error);

/* Reads the facts of metrics.jsonl into *facts, whose fields must be zero; a missing file has no windows. */
lh_status lh_overfit_read_metrics(const char *path, lh_overfit_facts *facts, lh_error *error);

/* Finds the likely cause. */
lh_overfit_cause lh_overfit_find_cause(const lh_overfit_facts *facts);

/* Estimates the number of steps, counted from the first, until the loss is a tenth of the loss of guessing. Assumes
 * that the loss keeps falling at the current rate. The result is rounded up to two digits and is at most 1e9. If the
 * loss is already lower, returns twice facts->steps. */
double lh_overfit_estimate_steps(const lh_overfit_facts *facts);

/* Writes the message: accuracy, cause, facts, hint. Returns LH_ERR_INPUT, or LH_ERR_ENVIRONMENT if there
 * is no memory for the message. */
lh_status lh_overfit_write_message(const lh_overfit_run *run, const lh_spec *spec, const lh_overfit_facts *facts,
                                   lh_error *error);

/* Calls lh_overfit_measure and lh_overfit_write_message, and returns their status, which is never LH_OK. */
lh_status lh_overfit_explain(const lh_overfit_run *run, lh_engine *engine, lh_error *error);

#endif
