/* See greedy.h. */
#include "eval/greedy.h"

#include <stdlib.h>
#include <string.h>

#include "engine/decode_passes.h"
#include "eval/decode.h"

/* The examples of a condition and the state of their answers. */
typedef struct evaluation {
    lh_engine *engine;
    const lh_condition *condition;
    lh_examples examples;
    int *known_counts; /* [count] number of answers so far */
    int *lengths;      /* [count] */
} evaluation;

static lh_status open(evaluation *a, int count, lh_error *error) {
    lh_status status = lh_examples_open(&a->examples, a->engine->spec, a->condition->n, count, error);
    if (status != LH_OK) return status;
    a->known_counts = lh_engine_allocate((size_t)count * sizeof *a->known_counts, "examples", error);
    return a->known_counts != NULL ? LH_OK : LH_ERR_ENVIRONMENT;
}

static void close(evaluation *a) {
    lh_examples_close(&a->examples);
    free(a->known_counts);
}

/* Takes the answers of the pass up to and including its first error. */
static void take_pass(evaluation *a, int i) {
    const lh_examples *e = &a->examples;
    size_t first = (size_t)i * e->labels;
    a->known_counts[i] =
        lh_take_pass_answers(e->target + first, e->mask + first, e->limits[i], a->condition->answers + first);
    a->lengths[i] = a->known_counts[i];
}

/* Whether a sequence needs more answers. */
static bool is_open(const evaluation *a, int i) {
    lh_query query = {.target = a->examples.target};
    return lh_needs_answers(a->engine->spec, &query, (size_t)i * a->examples.labels, a->known_counts[i],
                            a->examples.limits[i], a->condition->answers);
}

/* The unfinished sequences of the condition; all sequences if results depend on a sequence's index. */
typedef struct unfinished {
    evaluation subset;
    int *example; /* [subset.examples.count] */
    uint16_t *answers;
} unfinished;

static void choose(const evaluation *a, bool all, unfinished *c) {
    const lh_examples *from = &a->examples;
    lh_examples *to = &c->subset.examples;
    size_t inputs = from->inputs, labels = from->labels;
    int count = 0;
    for (int i = 0; i < from->count; i++) {
        size_t source = (size_t)i, destination = (size_t)count;
        if (!all && !is_open(a, i)) continue;
        memcpy(to->input + destination * inputs, from->input + source * inputs, inputs * sizeof *to->input);
        memcpy(to->target + destination * labels, from->target + source * labels, labels * sizeof *to->target);
        memcpy(to->mask + destination * labels, from->mask + source * labels, labels);
        memcpy(c->answers + destination * labels, a->condition->answers + source * labels, labels * sizeof *c->answers);
        c->subset.known_counts[count] = a->known_counts[i];
        to->limits[count] = from->limits[i];
        c->example[count++] = i;
    }
    to->count = count;
}

static lh_status decode_unfinished(const evaluation *a, unfinished *c, lh_error *error) {
    const lh_condition *condition = a->condition;
    const lh_examples *e = &c->subset.examples;
    lh_query query = {.n = condition->n,
                      .input = e->input,
                      .target = e->target,
                      .wants_answer = e->mask,
                      .draw = condition->draw,
                      .noise = condition->noise};
    lh_answers to = {.answers = c->answers,
                     .lengths = c->subset.lengths,
                     .known_counts = c->subset.known_counts,
                     .limits = e->limits};
    lh_status status = lh_decode(a->engine, &query, e->count, &to, error);
    for (int i = 0; status == LH_OK && i < e->count; i++) {
        size_t sequence = (size_t)c->example[i];
        memcpy(condition->answers + sequence * e->labels, c->answers + (size_t)i * e->labels,
               e->labels * sizeof *c->answers);
        a->lengths[sequence] = c->subset.lengths[i];
    }
    return status;
}

static lh_status decode_open(const evaluation *a, int open_count, lh_error *error) {
    bool all = lh_depends_on_batch_index(a->engine->spec, a->condition->noise);
    int most = all ? a->examples.count : open_count;
    unfinished c = {.subset = {.engine = a->engine, .condition = a->condition}};
    lh_status status = open(&c.subset, most, error);
    if (status == LH_OK) {
        c.example = lh_engine_allocate(2 * (size_t)most * sizeof *c.example, "examples", error);
        c.answers = lh_engine_allocate((size_t)most * a->examples.labels * sizeof *c.answers, "answers", error);
        status = LH_ERR_ENVIRONMENT;
    }
    if (c.example != NULL && c.answers != NULL) {
        c.subset.lengths = c.example + most;
        choose(a, all, &c);
        status = decode_unfinished(a, &c, error);
    }
    close(&c.subset);
    free(c.example);
    free(c.answers);
    return status;
}

/* Compares the answers of a sequence with its labels. */
static void add_sequence_sums(const evaluation *a, int i, lh_sums *sequence_sums, lh_greedy_sums *sums) {
    const lh_spec *spec = a->engine->spec;
    const lh_examples *e = &a->examples;
    size_t first = (size_t)i * e->labels;
    const uint16_t *answers = a->condition->answers + first, *target = e->target + first;
    const uint8_t *mask = e->mask + first;
    int counted = 0, correct = 0, length = a->lengths[i];
    bool ends = false, should_end = false;
    for (int label = 0; label < e->limits[i]; label++) {
        bool is_given = label < length;
        counted += mask[label];
        correct += mask[label] && is_given && answers[label] == target[label];
        ends = ends || (is_given && lh_is_end_symbol(spec, answers[label]));
        should_end = should_end || (mask[label] && lh_is_end_symbol(spec, target[label]));
    }
    sums->counted += counted;
    sums->correct += correct;
    sums->sequences += counted > 0;
    sums->ended_early +=
        length > 0 && lh_is_end_symbol(spec, answers[length - 1]) && answers[length - 1] != target[length - 1];
    sums->not_ended += should_end && !ends;
    if (sequence_sums == NULL) return;
    sequence_sums->correct = correct;
    sequence_sums->exact = counted > 0 && correct == counted;
}

void lh_greedy_add(lh_greedy_sums *sums, const lh_greedy_sums *subset) {
    sums->sequences += subset->sequences;
    sums->counted += subset->counted;
    sums->correct += subset->correct;
    sums->ended_early += subset->ended_early;
    sums->not_ended += subset->not_ended;
}

lh_status lh_answer_greedily(lh_engine *engine, const lh_condition *condition, int count, int *lengths,
                             lh_sums *sequence_sums, lh_greedy_sums *sums, lh_error *error) {
    evaluation a = {.engine = engine, .condition = condition, .lengths = lengths};
    int open_count = 0;
    *sums = (lh_greedy_sums){0};
    lh_status status = open(&a, count, error);
    if (status == LH_OK) status = lh_make_examples(&a.examples, engine->spec, condition, error);
    for (int i = 0; status == LH_OK && i < count; i++) {
        if (condition->decoded == 0) take_pass(&a, i);
        open_count += condition->decoded == 0 && is_open(&a, i);
    }
    if (status == LH_OK && open_count > 0) status = decode_open(&a, open_count, error);
    for (int i = 0; status == LH_OK && i < count; i++)
        add_sequence_sums(&a, i, sequence_sums != NULL ? &sequence_sums[i] : NULL, sums);
    close(&a);
    return status;
}
