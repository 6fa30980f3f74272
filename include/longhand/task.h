/* Tasks: each is a sampler, or a function that makes a fixed set of examples. The file of a task is valid C11; it makes
 * tokens without floating point and keeps no state.
 *
 * A task is one C file, <kind>.c: a built-in one in runtime/data/tasks, or a user's own at the path task.source of the
 * spec (docs/own-task.md). The generator reads the first comment of the file:
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
 *      * option order:   up down; direction of sorting (optional, any number: choices, then their meaning)
 *      * option width: 2..4096 = 61; tokens of a frame             (or a range of integers = default)
 *      * /
 *
 * Symbols are separated by blanks; token i is the i-th symbol. A range such as 0..146 stands for the symbols 0, 1, ...,
 * 146; an alphabet has up to 65,000 symbols. A line that is indented more than the key before it, and begins with no
 * key, continues an alphabet:
 *
 *     input symbols:  0..146 + -
 *                     ( ) =
 *
 * The two lengths are integer formulas in n and in options, with + - * / ( ), where / rounds down; the generator
 * translates them to C in spec.c. In a formula, an option whose choices are words has the index of its choice, from 0.
 * A spec sets options by task.options, as in { order = "down" }; the first choice is the default. If all choices of an
 * option are integers, specs and samplers see its value as a number. If options determine the number of symbols, two
 * lines are formulas, too:
 *
 *     input symbol count:  base + 5, at least 15    number of used `input symbols`; also `output symbol count`
 *     chance:              1 / base
 *
 * If inputs and outputs share one alphabet, `symbols` (and `symbol count`) takes the place of both lines. The header
 * may name a start symbol among `symbols`:
 *
 *     start symbol: $    the token that a decoder reads before its target; without the line it reads a separator
 *
 * It may also name an end symbol among the output symbols:
 *
 *     end symbol: &      ends a target: tokens after it do not count, and decoding stops
 *
 * The file of a sampler defines one function:
 *
 *     void lh_task_bucket_sort(lh_rng *rng, int n, lh_example *example);
 *
 * It writes input_length input tokens and output_length target tokens, all below the sizes of the alphabets, and clears
 * mask[i] if output i does not count. Every n >= 1 must work. All randomness comes from rng. A file that clears any
 * mask must have one of these lines; a spec may override it by task.loss:
 *
 *     mask: loss                              masked labels count in neither loss nor accuracy, and have no gradient
 *     mask: accuracy                          masked labels do not count in the accuracy; they are in the loss
 *     mask: accuracy in encoders, else loss   `accuracy` for models that are encoders, `loss` for others
 *
 * Some models need two more lines (docs/latin-square.md):
 *
 *     blank: .    input symbols of empty cells, the first ones of the alphabet; a linear embedding has no row for them
 *     probe: ?    the input symbol at the token that the answer belongs to, exactly once in every input
 *
 * A task that can solve inputs from users gives an example of such an input, and defines a second function:
 *
 *     literal: 12+345
 *
 *     lh_status lh_solve_addition(const lh_literal *literal, lh_example *example, lh_error *error);
 *
 * A task that couples tokens by common positions (encoding.positions.kind = "by_task") says so in a line, whose text
 * describes the positions, and defines a third function:
 *
 *     positions: of digits by their weight; 1 for +
 *
 *     void lh_place_addition(const lh_example *example, int32_t *input, int32_t *target);
 *
 * A task whose targets have intermediate results before the final one says so in a line, whose text describes the final
 * result, and defines a function that returns the index of its first token. In evaluations of models that write their
 * answers token by token, the labels before this token do not count, but the model must write them:
 *
 *     result: the sum, with the end symbol
 *
 *     int lh_find_result_addition(const uint16_t *target, int length);
 *
 * A task with a dataset of its own (latin_square) has lengths that do not depend on n, and these lines:
 *
 *     sets:         train test validation    sets of its examples: train, then test, validation or both
 *     axis digits:  1 to 50; meaning of the number    (optional, up to 4 axes: least and greatest, then meaning)
 *
 *     number length: longest + 1 in training; digits + 1 in tests    the greatest number of digits of a number: a
 *                                                                   formula in options for training, a formula in
 *                                                                   axes for tests    (optional)
 *
 * The line `number length` may end with "; 1 with hints; cut by spaces". "1 with hints": if the option `hints` is not
 * 0, a symbol before each digit ends the number, so every number has 1 digit. "cut by spaces": if the option `spaces`
 * is not 0, symbols within numbers of the input end them.
 *
 * The ends of an axis may be formulas in options. Two names of axes have a meaning:
 *
 *     frame    width of the input's frame, in places: the task makes examples only for values that the spec lists. If
 *              these exceed the task's width, values of `digits` and `carry` may exceed their ranges
 *     trained  1: a held-out example is also a training example; else 0. Evaluations report the share of examples with
 *              1, and eval.novel leaves them out
 *
 * The file defines a function that makes all examples when a run begins:
 *
 *     lh_status lh_task_latin_square(lh_collection *collection, lh_error *error);
 */
#ifndef LONGHAND_TASK_H
#define LONGHAND_TASK_H

#include <stdbool.h>

#include "longhand/rng.h"
#include "longhand/status.h"

typedef struct lh_example {
    int input_length;   /* tokens; set by the caller from the task's formula */
    int output_length;  /* tokens; set by the caller from the task's formula */
    uint16_t *input;    /* [input_length]  written */
    uint16_t *target;   /* [output_length] written */
    uint8_t *mask;      /* [output_length] all 1 on entry; 0: the label is not counted (lh_loss) */
    const int *options; /* lh_task.options */
} lh_example;

typedef void lh_task_sample(lh_rng *rng, int n, lh_example *example);

/* The sets of a fixed collection of examples. */
typedef enum lh_set { LH_SET_TRAIN, LH_SET_TEST, LH_SET_VALIDATION, LH_SETS } lh_set;

enum { LH_MAX_AXES = 4, LH_NO_VALUE = -1 /* the example has no value on an axis; values are >= 0 */ };

/* A compact form of an example: words from which an lh_task_expand makes the example when it is used. */
typedef struct lh_item {
    const uint16_t *word; /* [words] */
    int words;
    int input_length, output_length; /* tokens */
    int greatest_position; /* greatest position that lh_task.place gives a token; 0 if the task has no positions */
} lh_item;

/* Makes the example of an item. All randomness comes from seed, which is task.seed. */
typedef void lh_task_expand(uint64_t seed, const uint16_t *word, lh_example *example);

/* The collection to which lh_task_collect adds its examples. */
typedef struct lh_collection lh_collection;
struct lh_collection {
    uint64_t seed;          /* task.seed: all randomness comes from it */
    const int *options;     /* lh_task.options */
    const char *validation; /* the text of the file that task.validation names; NULL: none is given */
    const char *path;       /* path of the validation file, for messages */
    /* Adds a copy of one example with its values on the task's axes. LH_ERR_ENVIRONMENT: out of memory. */
    lh_status (*add)(lh_collection *c, lh_set set, const lh_example *example, const int32_t *axis_values,
                     lh_error *error);
    /* Adds a copy of an item for `expand`. A task uses add_item instead of add if the tokens of all examples would take
     * too much memory. */
    lh_status (*add_item)(lh_collection *c, lh_set set, const lh_item *item, const int32_t *axis_values,
                          lh_error *error);
    lh_task_expand *expand; /* the task sets it before it calls add_item */
    /* Whether an evaluation of the spec is grouped by an axis, and whether it requests this value on the axis. */
    bool (*groups_by)(const lh_collection *c, int axis);
    bool (*requests)(const lh_collection *c, int axis, int value);
    /* For each set, the axes that the task marks as exclusive, 1 << axis for each: examples with a value on such an
     * axis were made for it and count only in evaluations by this axis. */
    unsigned exclusive_axes[LH_SETS];
    void (*progress)(lh_collection *c, double share); /* the task reports its progress here, 0 to 1 */
};

typedef lh_status lh_task_collect(lh_collection *collection, lh_error *error);

/* An input as a user types it, with or without the symbols that the task adds around it. */
typedef struct lh_literal {
    const uint16_t *token; /* [count] tokens of the input alphabet */
    int count;
    const char *const *symbol; /* names of tokens, by token */
    const int *options;        /* lh_task.options */
    int frame; /* value on the axis `frame`; 0: the least width that fits; LH_NO_VALUE: the width of the task, if any */
} lh_literal;

/* Converts a literal to an example of the task. Sets the lengths of the example; if example->input is not NULL, also
 * writes input, target and mask as a sampler does, to buffers of these lengths. LH_ERR_INPUT: the literal is no input
 * of the task ("symbol 3 is '*'"), or does not fit in the frame. */
typedef lh_status lh_task_solve(const lh_literal *literal, lh_example *example, lh_error *error);

/* Writes a position for each token of an example that a decoder reads: an integer from 1, which another token may have
 * too, or 0 for a token without a position. input [input_length]: positions of the input. target [output_length]:
 * positions of the separator or start symbol, then of the target without its last token. Must not read example->target,
 * whose tokens are unknown while a model decodes. */
typedef void lh_task_place(const lh_example *example, int32_t *input, int32_t *target);

/* Returns the index of the first token of the final result in a target; an index outside of the target means 0. */
typedef int lh_task_find_result(const uint16_t *target, int length);

/* Labels over which the loss is the mean. */
typedef enum lh_loss {
    LH_LOSS_UNMASKED, /* the task masks no labels */
    LH_LOSS_ALL,      /* all labels, masked labels too */
    LH_LOSS_COUNTED   /* labels with mask 1 */
} lh_loss;

typedef struct lh_task {
    const char *kind;   /* "bucket_sort" */
    const char *source; /* path of a user's own C file, whose examples are checked at run time; NULL: built-in task */
    lh_task_sample *sample;
    lh_task_collect *collect;         /* makes the examples of a dataset; NULL: they are in files, or sampled */
    lh_task_solve *solve;             /* NULL: the task cannot solve other inputs */
    const char *literal;              /* an input that the task solves, for messages and help */
    lh_task_place *place;             /* NULL: the spec does not use the task's positions */
    lh_task_find_result *find_result; /* NULL: all labels are results */
    int (*input_length)(int n);
    int (*output_length)(int n);
    const int *options; /* values of options in the header's order: index of a choice, or an integer; NULL: none */
    int input_symbols, output_symbols; /* sizes of the alphabets */
    const char *const *input_symbol;   /* [input_symbols] names */
    const char *const *output_symbol;  /* [output_symbols] */
    const uint16_t *end;               /* the output symbol that ends a target; NULL: no end symbol */
    lh_loss loss;
    double chance;   /* accuracy of guessing, 0..1 */
    double baseline; /* accuracy of the predictor baseline_name, in built-in tasks the mean over lengths 41 to 500; 0 if
                      * baseline_name is NULL */
    const char *baseline_name;
    const char *const *axis; /* [axes] names of axes that group a dataset in evaluations; NULL: only lengths do */
    int axes;
} lh_task;

#endif
