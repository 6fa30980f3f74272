/* See greedy.h. */
#include "eval/greedy.h"

#include <stdlib.h>
#include <string.h>

#include "engine/decode_passes.h"
#include "eval/decode.h"

/* The examples of a condition and the state of their answers. */
typedef struct answering {
    lh_engine *engine;
    const lh_condition *condition;
    lh_examples of;
    int *known;   /* [count] number of answers so far */
    int *lengths; /* [count] */
} answering;

static lh_status open(answering *a, int count, lh_error *error) {
    lh_status status = lh_examples_open(&a->of, a->engine->spec, a->condition->n, count, error);
    if (status != LH_OK) return status;
    a->known = lh_engine_memory((size_t)count * sizeof *a->known, "examples", error);
    return a->known != NULL ? LH_OK : LH_ERR_ENVIRONMENT;
}

static void close(answering *a) {
    lh_examples_close(&a->of);
    free(a->known);
}

/* Takes the answers of the pass up to and including its first error. */
static void take_pass(answering *a, int i) {
    const lh_examples *e = &a->of;
    size_t first = (size_t)i * e->labels;
    a->known[i] = lh_answers_of_pass(e->target + first, e->mask + first, e->until[i], a->condition->answers + first);
    a->lengths[i] = a->known[i];
}

/* Whether a sequence needs more answers. */
static bool is_open(const answering *a, int i) {
    lh_query query = {.target = a->of.target};
    return lh_misses_answers(a->engine->spec, &query, (size_t)i * a->of.labels, a->known[i], a->of.until[i],
                             a->condition->answers);
}

/* The unfinished sequences of the condition; all sequences if results depend on a sequence's index. */
typedef struct chosen {
    answering part;
    int *example; /* [part.of.count] */
    uint16_t *answers;
} chosen;

static void choose(const answering *a, bool all, chosen *c) {
    const lh_examples *from = &a->of;
    lh_examples *to = &c->part.of;
    size_t inputs = from->inputs, labels = from->labels;
    int count = 0;
    for (int i = 0; i < from->count; i++) {
        size_t source = (size_t)i, place = (size_t)count;
        if (!all && !is_open(a, i)) continue;
        memcpy(to->input + place * inputs, from->input + source * inputs, inputs * sizeof *to->input);
        memcpy(to->target + place * labels, from->target + source * labels, labels * sizeof *to->target);
        memcpy(to->mask + place * labels, from->mask + source * labels, labels);
        memcpy(c->answers + place * labels, a->condition->answers + source * labels, labels * sizeof *c->answers);
        c->part.known[count] = a->known[i];
        to->until[count] = from->until[i];
        c->example[count++] = i;
    }
    to->count = count;
}

static lh_status decode_chosen(const answering *a, chosen *c, lh_error *error) {
    const lh_condition *condition = a->condition;
    const lh_examples *e = &c->part.of;
    lh_query query = {.n = condition->n,
                      .input = e->input,
                      .target = e->target,
                      .asked = e->mask,
                      .draw = condition->draw,
                      .noise = condition->noise};
    lh_answers to = {.answers = c->answers, .lengths = c->part.lengths, .known = c->part.known, .until = e->until};
    lh_status status = lh_decode(a->engine, &query, e->count, &to, error);
    for (int i = 0; status == LH_OK && i < e->count; i++) {
        size_t at = (size_t)c->example[i];
        memcpy(condition->answers + at * e->labels, c->answers + (size_t)i * e->labels, e->labels * sizeof *c->answers);
        a->lengths[at] = c->part.lengths[i];
    }
    return status;
}

static lh_status decode_open(const answering *a, int left, lh_error *error) {
    bool all = lh_depends_on_number(a->engine->spec, a->condition->noise);
    int most = all ? a->of.count : left;
    chosen c = {.part = {.engine = a->engine, .condition = a->condition}};
    lh_status status = open(&c.part, most, error);
    if (status == LH_OK) {
        c.example = lh_engine_memory(2 * (size_t)most * sizeof *c.example, "examples", error);
        c.answers = lh_engine_memory((size_t)most * a->of.labels * sizeof *c.answers, "answers", error);
        status = LH_ERR_ENVIRONMENT;
    }
    if (c.example != NULL && c.answers != NULL) {
        c.part.lengths = c.example + most;
        choose(a, all, &c);
        status = decode_chosen(a, &c, error);
    }
    close(&c.part);
    free(c.example);
    free(c.answers);
    return status;
}

/* Compares the answers of a sequence with its labels. */
static void judge(const answering *a, int i, lh_sums *each, lh_greedy_sums *sums) {
    const lh_spec *spec = a->engine->spec;
    const lh_examples *e = &a->of;
    size_t first = (size_t)i * e->labels;
    const uint16_t *answers = a->condition->answers + first, *target = e->target + first;
    const uint8_t *mask = e->mask + first;
    int counted = 0, correct = 0, length = a->lengths[i];
    bool ends = false, should_end = false;
    for (int label = 0; label < e->until[i]; label++) {
        bool there = label < length;
        counted += mask[label];
        correct += mask[label] && there && answers[label] == target[label];
        ends = ends || (there && lh_ends(spec, answers[label]));
        should_end = should_end || (mask[label] && lh_ends(spec, target[label]));
    }
    sums->counted += counted;
    sums->correct += correct;
    sums->sequences += counted > 0;
    sums->ended_early += length > 0 && lh_ends(spec, answers[length - 1]) && answers[length - 1] != target[length - 1];
    sums->not_ended += should_end && !ends;
    if (each == NULL) return;
    each->correct = correct;
    each->exact = counted > 0 && correct == counted;
}

void lh_greedy_add(lh_greedy_sums *sums, const lh_greedy_sums *part) {
    sums->sequences += part->sequences;
    sums->counted += part->counted;
    sums->correct += part->correct;
    sums->ended_early += part->ended_early;
    sums->not_ended += part->not_ended;
}

lh_status lh_answer_greedily(lh_engine *engine, const lh_condition *condition, int count, int *lengths, lh_sums *each,
                             lh_greedy_sums *sums, lh_error *error) {
    answering a = {.engine = engine, .condition = condition, .lengths = lengths};
    int left = 0;
    *sums = (lh_greedy_sums){0};
    lh_status status = open(&a, count, error);
    if (status == LH_OK) status = lh_examples_make(&a.of, engine->spec, condition, error);
    for (int i = 0; status == LH_OK && i < count; i++) {
        if (condition->decoded == 0) take_pass(&a, i);
        left += condition->decoded == 0 && is_open(&a, i);
    }
    if (status == LH_OK && left > 0) status = decode_open(&a, left, error);
    for (int i = 0; status == LH_OK && i < count; i++) judge(&a, i, each != NULL ? &each[i] : NULL, sums);
    close(&a);
    return status;
}
