/* What a task is: an integer-only sampler behind one small interface. Valid C11; no floats, no state.
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
 *      * option order:   up down; which way the tokens are sorted    (optional, any number: choices, then what they say)
 *      * /
 *
 * Symbols are separated by blanks; token i is the i-th one. The two lengths are integer formulas in n with
 * + - * / ( ), where / rounds down; they become C in the generated spec.c. A spec chooses by task.options, as in
 * { order = "down" }; the first choice is the default. Choices that are all integers are numbers to spec and sampler.
 * The file defines one function:
 *
 *     void lh_task_bucket_sort(lh_rng *rng, int n, lh_example *example);
 *
 * It writes input_length input tokens and output_length target tokens, all below the alphabets' sizes, and clears
 * mask[i] where an output does not count towards accuracy. Every n >= 1 must work. All randomness comes from rng.
 */
#ifndef LONGHAND_TASK_H
#define LONGHAND_TASK_H

#include "longhand/rng.h"

typedef struct lh_example {
    int input_length;   /* set by the caller from the task's formula */
    int output_length;  /* likewise */
    uint16_t *input;    /* [input_length]  written */
    uint16_t *target;   /* [output_length] written */
    uint8_t *mask;      /* [output_length] all 1 on entry; 0: not counted in accuracy */
    const int *options; /* of the task, below */
} lh_example;

typedef void lh_task_sample(lh_rng *rng, int n, lh_example *example);

typedef struct lh_task {
    const char *kind;   /* "bucket_sort" */
    const char *source; /* a user's own C file, whose examples are checked as they are made; NULL: one of ours */
    lh_task_sample *sample;
    int (*input_length)(int n);
    int (*output_length)(int n);
    const int *options; /* in the header's order: a choice's index from 0, or the number it is; NULL: there are none */
    int input_symbols, output_symbols; /* alphabet sizes */
    const char *const *input_symbol;   /* [input_symbols] names */
    const char *const *output_symbol;  /* [output_symbols] */
    double chance;                     /* accuracy of guessing, 0..1 */
    double baseline;                   /* accuracy of the analytic predictor below; 0 when baseline_name is NULL */
    const char *baseline_name;
} lh_task;

#endif
