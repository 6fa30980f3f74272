/* Tasks: an integer-only sampler, or a maker of a fixed set of examples, by one small interface. Valid C11; no floats
 * where tokens are made, no state.
 *
 * A task is one C file, runtime/data/tasks/<kind>.c, or a user's own, <kind>.c wherever task.source in the spec says
 * (docs/own-task.md). Its first comment is read by the generator:
 *
 *     / * Bucket Sort (Ruoss et al. 2023): sort n tokens ascending.
 *      *
 *      * input symbols:  0 1 2 3 4
 *      * output symbols: 0 1 2 3 4
 *      * input length:   n
 *      * output length:  n
 *      * chance:         0.2        the accuracy of guessing
 *      * baseline:       0.2369 most frequent token of the sequence, everywhere    (optional: value, then its name)
 *      * grid:           4          cells of a row, where the input is a grid    (optional)
 *      * option order:   up down; which way the tokens are sorted    (optional, any number: choices, then what they say)
 *      * option width: 2..4096 = 61; tokens of a frame             (or integers of a range, and which is the default)
 *      * /
 *
 * Symbols are separated by blanks; token i is the i-th one. The two lengths are integer formulas in n and in options,
 * words by their place from 0, with + - * / ( ), where / rounds down; they become C in the generated spec.c. A spec
 * chooses by task.options, as in { order = "down" }; the first choice is the default. Choices that are all integers are
 * numbers to spec and sampler. Where options decide how many symbols there are:
 *
 *     input symbol count:  base + 5, at least 15    the first ones of `input symbols`; likewise `output symbol count`
 *     chance:              1 / base
 *
 * Inputs and outputs may share one alphabet, and so tokens: `symbols` (and `symbol count`) in the place of both. Of these
 *
 *     start symbol: $    is what a decoder reads before its target; else it has a separator of its own
 *
 * and of the outputs
 *
 *     end symbol: &      ends a target: what is behind it does not count, and decoding goes no further
 *
 * The file defines one function:
 *
 *     void lh_task_bucket_sort(lh_rng *rng, int n, lh_example *example);
 *
 * It writes input_length input tokens and output_length target tokens, all below the alphabets' sizes, and clears
 * mask[i] where an output does not count. Every n >= 1 must work. All randomness comes from rng. A file that clears any
 * says what such labels leave, and a spec may say otherwise (task.loss); without the line it is an error to clear one:
 *
 *     mask: loss                              and the accuracy: they have no loss and no gradient
 *     mask: accuracy                          the loss keeps them
 *     mask: accuracy in encoders, else loss   as the file's model has it
 *
 * Two more lines are for models that ask (docs/latin-square.md):
 *
 *     blank: .    input symbols that say nothing of their place, the first ones of all; a linear embedding has no row
 *     probe: ?    the input symbol that stands at the token which the answer is about, once in every input
 *
 * A task that can solve an input which someone writes says so with an example of one, and defines a second function:
 *
 *     literal: 12+345
 *
 *     lh_status lh_solve_addition(const lh_literal *literal, lh_example *example, lh_error *error);
 *
 * A task of finite data (latin_square) has these lines besides, and lengths without n:
 *
 *     sets:         train test validation    what its examples are for: the first, and others of these
 *     axis digits:  1 to 50; what the number says    (optional, any number: least and greatest, then what it says)
 *
 * Ends of an axis may be formulas in options. An axis `frame` has no values but those that are asked for one by one; in
 * a greater one there may be more `digits`. An axis `trained` says which held-out examples are among those of training,
 * 1 or 0: evaluations tell their share, and eval.novel leaves them out.
 * Its function makes all examples when a run begins:
 *
 *     lh_status lh_task_latin_square(lh_collection *collection, lh_error *error);
 */
#ifndef LONGHAND_TASK_H
#define LONGHAND_TASK_H

#include <stdbool.h>

#include "longhand/rng.h"
#include "longhand/status.h"

typedef struct lh_example {
    int input_length;   /* set by the caller from the task's formula */
    int output_length;  /* likewise */
    uint16_t *input;    /* [input_length]  written */
    uint16_t *target;   /* [output_length] written */
    uint8_t *mask;      /* [output_length] all 1 on entry; 0: not counted (lh_loss) */
    const int *options; /* of the task, below */
} lh_example;

typedef void lh_task_sample(lh_rng *rng, int n, lh_example *example);

/* The use of examples of a fixed set. */
typedef enum lh_set { LH_SET_TRAIN, LH_SET_TEST, LH_SET_VALIDATION, LH_SETS } lh_set;

enum { LH_MOST_AXES = 4, LH_NO_VALUE = -1 /* of an example on an axis that says nothing of it; others are >= 0 */ };

/* A kept example: words of which an lh_task_expand makes it when it is used. */
typedef struct lh_item {
    const uint16_t *word;
    int words;
    int input_length, output_length; /* tokens */
} lh_item;

/* Makes the example of an item; all chance comes from the seed, which is task.seed. */
typedef void lh_task_expand(uint64_t seed, const uint16_t *word, lh_example *example);

/* The argument of a function that makes a fixed set of examples, which it adds them to. */
typedef struct lh_collection lh_collection;
struct lh_collection {
    uint64_t seed;          /* task.seed: all randomness comes from it */
    const int *options;     /* of the task */
    const char *validation; /* the text of the file that task.validation names; NULL: none is given */
    const char *path;       /* of that file */
    /* Takes a copy of one example with its values on the task's axes. LH_ERR_ENVIRONMENT without memory. */
    lh_status (*add)(lh_collection *c, lh_set set, const lh_example *example, const int32_t *axes, lh_error *error);
    /* In place of add, where tokens would take much memory: takes an item, for `expand`. */
    lh_status (*keep)(lh_collection *c, lh_set set, const lh_item *item, const int32_t *axes, lh_error *error);
    lh_task_expand *expand; /* the task sets it before it keeps items */
    /* Whether an evaluation of the spec goes by an axis, and whether one asks for this value of it. */
    bool (*goes_by)(const lh_collection *c, int axis);
    bool (*asks)(const lh_collection *c, int axis, int value);
    /* The task sets 1 << axis where examples of a set were made for an axis: they count only in evaluations by it. */
    unsigned apart[LH_SETS];
    void (*progress)(lh_collection *c, double share); /* is told now and then, 0 to 1 */
};

typedef lh_status lh_task_collect(lh_collection *collection, lh_error *error);

/* An input as someone writes it: without what the task puts around it, or with it. */
typedef struct lh_literal {
    const uint16_t *token; /* [count] of the input alphabet */
    int count;
    const char *const *symbol; /* their names, by token */
    const int *options;        /* of the task */
    int frame; /* as on an axis `frame`, 0: as few places as hold it; LH_NO_VALUE: the task's own, or there is none */
} lh_literal;

/* Puts it the way the task's examples are. Sets the lengths of the example; and where its input is not NULL, these being
 * set, writes input, target and mask as a sampler does. LH_ERR_INPUT: it is no input of the task, "symbol 3 is '*'", or
 * has no room in the frame. */
typedef lh_status lh_task_solve(const lh_literal *literal, lh_example *example, lh_error *error);

/* Labels that the loss is the mean over, where some have mask 0. */
typedef enum lh_loss {
    LH_LOSS_UNMASKED, /* the task masks none */
    LH_LOSS_ALL,      /* masked ones, too */
    LH_LOSS_COUNTED   /* those with mask 1 */
} lh_loss;

typedef struct lh_task {
    const char *kind;   /* "bucket_sort" */
    const char *source; /* a user's own C file, whose examples are checked as they are made; NULL: one of ours */
    lh_task_sample *sample;
    lh_task_collect *collect; /* of finite data, in place of sample; NULL: examples are in files */
    lh_task_solve *solve;     /* NULL: it knows no answer but those of its examples */
    const char *literal;      /* an input that it solves, for people */
    int (*input_length)(int n);
    int (*output_length)(int n);
    const int *options; /* in the header's order: a choice's index from 0, or the number it is; NULL: there are none */
    int input_symbols, output_symbols; /* alphabet sizes */
    const char *const *input_symbol;   /* [input_symbols] names */
    const char *const *output_symbol;  /* [output_symbols] */
    const uint16_t *end;               /* the output symbol that ends a target; NULL: none does */
    lh_loss loss;
    double chance;   /* accuracy of guessing, 0..1 */
    double baseline; /* accuracy of the analytic predictor below; 0 when baseline_name is NULL */
    const char *baseline_name;
    const char *const
        *axis; /* [axes] what examples of finite data can be told apart by; NULL: by their lengths alone */
    int axes;
} lh_task;

#endif
