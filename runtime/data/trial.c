/* See trial.h. */
#include "data/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/lengths.h"

enum {
    GUARD = 32,              /* guard elements on either side of a buffer */
    EXAMPLES_PER_LENGTH = 2, /* number of examples of each length that are tried */
    EXAMPLE_TEXT = 256       /* bytes of the text of describe_example */
};

/* Values that fill memory before the first and before the second run of the sampler; no alphabet has these tokens. An
 * element that has the first value after the first run, and the second value after the second run, was not written. */
static const uint16_t POISON[2] = {0xffff, 0xfffe};

static const int32_t GUARD_POSITION = INT32_MIN; /* the value of guard elements next to positions */

lh_status lh_trial_open(lh_trial *trial, int input, int output, lh_error *error) {
    size_t inputs = (size_t)input + 2 * GUARD, outputs = (size_t)output + 2 * GUARD;
    size_t bytes = 2 * ((inputs + outputs) * sizeof(uint16_t) + outputs);
    uint16_t *next = trial->memory = malloc(bytes); /* input and target of each run, then both masks */
    if (next == NULL)
        return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory to try examples of %d and %d tokens: %zu bytes", input,
                       output, bytes);
    for (int i = 0; i < 2; i++, next += inputs + outputs) {
        trial->copy[i].input = next + GUARD;
        trial->copy[i].target = next + inputs + GUARD;
    }
    for (int i = 0; i < 2; i++) trial->copy[i].mask = (uint8_t *)next + (size_t)i * outputs + GUARD;
    return LH_OK;
}

void lh_trial_close(lh_trial *trial) {
    free(trial->memory);
    memset(trial, 0, sizeof *trial);
}

/* One example under trial. */
typedef struct probe {
    const lh_task *task;
    const lh_rng *start;    /* state of the generator before the sampler draws numbers */
    int n, inputs, outputs; /* n: task length; inputs, outputs: numbers of tokens */
    lh_error *error;
} probe;

/* Writes "own.c: task length 7, example 3 of step 12"; the generator's counter identifies the example. */
static const char *describe_example(const probe *p, char text[EXAMPLE_TEXT]) {
    const uint32_t *counter = p->start->counter;
    int used =
        snprintf(text, EXAMPLE_TEXT, "%.160s: task length %d, example %u of ", p->task->source, p->n, counter[2]);
    uint32_t domain = counter[1] >> 24;
    if (domain == LH_DOMAIN_DATA) snprintf(text + used, EXAMPLE_TEXT - (size_t)used, "step %u", counter[3] + 1);
    else
        snprintf(text + used, EXAMPLE_TEXT - (size_t)used, "the %s",
                 domain == LH_DOMAIN_EVAL ? "evaluation" : "validation");
    return text;
}

/* Fills tokens and their guard words. */
static void fill_tokens(uint16_t *tokens, int count, uint16_t value) {
    for (int i = -GUARD; i < count + GUARD; i++) tokens[i] = value;
}

/* Fills the buffers of a run with poison, and sets the mask to 1. */
static void poison_example(const probe *p, const struct lh_trial_copy *copy, uint16_t poison) {
    fill_tokens(copy->input, p->inputs, poison);
    fill_tokens(copy->target, p->outputs, poison);
    memset(copy->mask - GUARD, poison & 0xff, (size_t)p->outputs + 2 * GUARD);
    memset(copy->mask, 1, (size_t)p->outputs);
}

static lh_status fail_guard(const probe *p, const char *name, int index, int count) {
    char text[EXAMPLE_TEXT];
    return lh_fail(p->error, LH_ERR_INPUT,
                   "%s: %s[%d] was written, %s\n  expected: writes to %s[0] .. %s[%d] only, as the file's header says",
                   describe_example(p, text), name, index, index < 0 ? "before the beginning" : "past the end", name,
                   name, count - 1);
}

static lh_status check_guards(const probe *p, const struct lh_trial_copy *copy, uint16_t poison) {
    for (int i = 0; i < 2 * GUARD; i++) {
        int input = i < GUARD ? -1 - i : p->inputs + i - GUARD, output = i < GUARD ? -1 - i : p->outputs + i - GUARD;
        if (copy->input[input] != poison) return fail_guard(p, "input", input, p->inputs);
        if (copy->target[output] != poison) return fail_guard(p, "target", output, p->outputs);
        if (copy->mask[output] != (poison & 0xff)) return fail_guard(p, "mask", output, p->outputs);
    }
    return LH_OK;
}

static lh_status fail_difference(const probe *p, const char *name, int index, int first, int second) {
    char text[EXAMPLE_TEXT];
    return lh_fail(p->error, LH_ERR_INPUT,
                   "%s: made twice, %s[%d] is %d the first time and %d the second\n"
                   "  expected: the same example from the same rng; no static variables, no clock, nothing read before "
                   "it is written",
                   describe_example(p, text), name, index, first, second);
}

/* Checks that tokens of the array `name`, input or target, are below `symbols` and equal in both runs. */
static lh_status check_tokens(const probe *p, const char *name, const uint16_t *first, const uint16_t *second,
                              int count, int symbols) {
    char text[EXAMPLE_TEXT];
    for (int i = 0; i < count; i++) {
        if (first[i] == POISON[0] && second[i] == POISON[1])
            return lh_fail(p->error, LH_ERR_INPUT, "%s: %s[%d] was not written\n  expected: all of %s[0] .. %s[%d]",
                           describe_example(p, text), name, i, name, name, count - 1);
        if (first[i] != second[i]) return fail_difference(p, name, i, first[i], second[i]);
        if (first[i] >= symbols)
            return lh_fail(p->error, LH_ERR_INPUT, "%s: %s[%d] is %d\n  expected: 0 to %d, one of the %d %s symbols",
                           describe_example(p, text), name, i, first[i], symbols - 1, symbols,
                           name[0] == 'i' ? "input" : "output");
    }
    return LH_OK;
}

static lh_status check_mask(const probe *p, const uint8_t *first, const uint8_t *second) {
    char text[EXAMPLE_TEXT];
    for (int i = 0; i < p->outputs; i++) {
        if (first[i] != second[i]) return fail_difference(p, "mask", i, first[i], second[i]);
        if (first[i] > 1)
            return lh_fail(p->error, LH_ERR_INPUT,
                           "%s: mask[%d] is %d\n  expected: 1, or 0 if the output does not count",
                           describe_example(p, text), i, first[i]);
        if (first[i] == 0 && p->task->loss == LH_LOSS_UNMASKED)
            return lh_fail(p->error, LH_ERR_INPUT,
                           "%s: mask[%d] is 0, but the file's header has no line `mask`\n"
                           "  expected: `mask: loss` (masked labels count in neither loss nor accuracy) or "
                           "`mask: accuracy` (masked labels count in the loss, but not in the accuracy)",
                           describe_example(p, text), i);
    }
    return LH_OK;
}

lh_status lh_trial_sample(lh_trial *trial, const lh_task *task, const lh_rng *start, int n, lh_example *example,
                          lh_error *error) {
    probe p = {task, start, n, example->input_length, example->output_length, error};
    const struct lh_trial_copy *first_copy = &trial->copy[0], *second_copy = &trial->copy[1];
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < 2; i++) {
        const struct lh_trial_copy *copy = &trial->copy[i];
        lh_example sampled = {.input_length = p.inputs,
                              .output_length = p.outputs,
                              .input = copy->input,
                              .target = copy->target,
                              .mask = copy->mask,
                              .options = task->options};
        lh_rng rng = *start;
        poison_example(&p, copy, POISON[i]);
        task->sample(&rng, n, &sampled);
        status = check_guards(&p, copy, POISON[i]);
    }
    if (status == LH_OK)
        status = check_tokens(&p, "input", first_copy->input, second_copy->input, p.inputs, task->input_symbols);
    if (status == LH_OK)
        status = check_tokens(&p, "target", first_copy->target, second_copy->target, p.outputs, task->output_symbols);
    if (status == LH_OK) status = check_mask(&p, first_copy->mask, second_copy->mask);
    if (status != LH_OK) return status;
    memcpy(example->input, first_copy->input, (size_t)p.inputs * sizeof *first_copy->input);
    memcpy(example->target, first_copy->target, (size_t)p.outputs * sizeof *first_copy->target);
    memcpy(example->mask, first_copy->mask, (size_t)p.outputs);
    return LH_OK;
}

/* Checks that the positions of an array are equal in both runs, and that nothing next to it was written. */
static lh_status check_array(const probe *p, const char *name, const int32_t *first, const int32_t *second, int count) {
    char text[EXAMPLE_TEXT];
    for (int i = -GUARD; i < count + GUARD; i++) {
        bool is_guard = i < 0 || i >= count;
        if (is_guard && (first[i] != GUARD_POSITION || second[i] != GUARD_POSITION))
            return lh_fail(p->error, LH_ERR_INPUT,
                           "%s: the function lh_place wrote %s[%d], %s\n  expected: writes to %s[0] .. %s[%d] only",
                           describe_example(p, text), name, i, i < 0 ? "before the beginning" : "past the end", name,
                           name, count - 1);
        if (first[i] != second[i])
            return lh_fail(p->error, LH_ERR_INPUT,
                           "%s: the position %s[%d] is %d, but %d with another target\n"
                           "  expected: positions that do not depend on example->target, since a model predicts it",
                           describe_example(p, text), name, i, first[i], second[i]);
    }
    return LH_OK;
}

/* Fills positions with 0, which means that a token has no position, and fills their guard elements. */
static void clear_positions(int32_t *position, int count) {
    for (int i = -GUARD; i < count + GUARD; i++) position[i] = i < 0 || i >= count ? GUARD_POSITION : 0;
}

/* Calls task->place twice; every token of the example's target differs between the two calls. */
static lh_status try_positions(const probe *p, lh_example *example) {
    size_t inputs = (size_t)p->inputs + 2 * GUARD, outputs = (size_t)p->outputs + 2 * GUARD;
    int32_t *block = malloc(2 * (inputs + outputs) * sizeof *block), *input[2], *target[2];
    if (block == NULL) return lh_fail(p->error, LH_ERR_ENVIRONMENT, "no memory to try positions of length %d", p->n);
    for (int run = 0; run < 2; run++) {
        input[run] = block + (size_t)run * (inputs + outputs) + GUARD;
        target[run] = input[run] + inputs;
        clear_positions(input[run], p->inputs);
        clear_positions(target[run], p->outputs);
        p->task->place(example, input[run], target[run]);
        for (int i = 0; i < p->outputs; i++)
            example->target[i] = (uint16_t)((example->target[i] + 1) % p->task->output_symbols);
    }
    lh_status status = check_array(p, "input", input[0], input[1], p->inputs);
    if (status == LH_OK) status = check_array(p, "target", target[0], target[1], p->outputs);
    free(block);
    return status;
}

static lh_status try_length(const lh_task *task, int n, lh_key key, lh_error *error) {
    lh_trial trial;
    int inputs = task->input_length(n), outputs = task->output_length(n);
    if (inputs < 1 || outputs < 1)
        return lh_fail(error, LH_ERR_INPUT,
                       "%s: task length %d: the header's formulas give %d input and %d output tokens\n"
                       "  expected: at least one of each",
                       task->source, n, inputs, outputs);
    lh_status status = lh_trial_open(&trial, inputs, outputs, error);
    if (status != LH_OK) return status;
    uint16_t *block = malloc(((size_t)inputs + (size_t)outputs) * sizeof *block + (size_t)outputs);
    if (block == NULL) status = lh_fail(error, LH_ERR_ENVIRONMENT, "no memory to try examples of length %d", n);
    for (uint32_t index = 0; status == LH_OK && index < EXAMPLES_PER_LENGTH; index++) {
        lh_example example = {.input_length = inputs,
                              .output_length = outputs,
                              .input = block,
                              .target = block + inputs,
                              .mask = (uint8_t *)(block + inputs + outputs),
                              .options = task->options};
        lh_rng rng = lh_rng_at(key, (uint32_t)n, index, lh_site(LH_DOMAIN_EVAL, 0, LH_PLACE_SAMPLE));
        status = lh_trial_sample(&trial, task, &rng, n, &example, error);
        if (status == LH_OK && task->place != NULL)
            status = try_positions(&(probe){task, &rng, n, inputs, outputs, error}, &example);
    }
    free(block);
    lh_trial_close(&trial);
    return status;
}

lh_status lh_try_lengths(const lh_task *task, const lh_lengths *lengths, lh_key key, lh_error *error) {
    lh_status status = LH_OK;
    for (int i = 0; task->source != NULL && status == LH_OK && i < lh_lengths_count(lengths); i++)
        status = try_length(task, lh_lengths_get(lengths, i), key, error);
    return status;
}
