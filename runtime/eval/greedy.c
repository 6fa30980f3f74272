/* See greedy.h. */
#include "eval/greedy.h"

#include <stdlib.h>
#include <string.h>

#include "eval/decode.h"

/* The examples of a condition and the state of their answers. */
typedef struct answering {
    lh_engine *engine;
    const lh_condition *condition;
    int count;
    size_t labels, inputs;
    uint16_t *input, *target; /* [count][inputs], [count][labels] */
    uint8_t *mask;            /* [count][labels] */
    int *known, *until;       /* [count] number of answers so far; most answers */
    int *lengths;             /* [count] */
} answering;

static bool open(answering *a, lh_error *error) {
    size_t count = (size_t)a->count;
    a->input = lh_engine_memory(count * (a->inputs + a->labels) * sizeof *a->input, "examples", error);
    a->mask = lh_engine_memory(count * a->labels, "examples", error);
    a->known = lh_engine_memory(2 * count * sizeof *a->known, "examples", error);
    if (a->input == NULL || a->mask == NULL || a->known == NULL) return false;
    a->target = a->input + count * a->inputs;
    a->until = a->known + count;
    return true;
}

static lh_status fill(answering *a, lh_error *error) {
    const lh_condition *condition = a->condition;
    lh_batch batch;
    lh_status status = lh_batch_open(&batch, a->engine->spec, condition->n, 1, error);
    if (status != LH_OK) return status;
    for (int i = 0; status == LH_OK && i < a->count; i++) {
        size_t at = (size_t)i;
        status = lh_batch_fill(&batch, a->engine->spec, &condition->source, condition->n,
                               (uint32_t)(condition->first + i), 1, error);
        memcpy(a->input + at * a->inputs, batch.input, a->inputs * sizeof *a->input);
        memcpy(a->target + at * a->labels, batch.labels, a->labels * sizeof *a->target);
        memcpy(a->mask + at * a->labels, batch.mask, a->labels);
        a->until[i] = lh_answers_until(batch.mask, (int)a->labels);
    }
    lh_batch_close(&batch);
    return status;
}

/* Takes the answers of the pass up to and including its first error. */
static void take_pass(answering *a, int i) {
    size_t first = (size_t)i * a->labels;
    a->known[i] = lh_answers_of_pass(a->target + first, a->mask + first, a->until[i], a->condition->answers + first);
    a->lengths[i] = a->known[i];
}

/* Whether a sequence needs more answers. */
static bool is_open(const answering *a, int i) {
    lh_query query = {.target = a->target};
    return lh_misses_answers(a->engine->spec, &query, (size_t)i * a->labels, a->known[i], a->until[i],
                             a->condition->answers);
}

/* The unfinished sequences of the condition; all sequences if results depend on a sequence's index. */
typedef struct chosen {
    answering of;
    int *example; /* [of.count] */
    uint16_t *answers;
} chosen;

static void choose(const answering *a, bool all, chosen *c) {
    int count = 0;
    for (int i = 0; i < a->count; i++) {
        size_t from = (size_t)i, to = (size_t)count;
        if (!all && !is_open(a, i)) continue;
        memcpy(c->of.input + to * a->inputs, a->input + from * a->inputs, a->inputs * sizeof *a->input);
        memcpy(c->of.target + to * a->labels, a->target + from * a->labels, a->labels * sizeof *a->target);
        memcpy(c->of.mask + to * a->labels, a->mask + from * a->labels, a->labels);
        memcpy(c->answers + to * a->labels, a->condition->answers + from * a->labels, a->labels * sizeof *c->answers);
        c->of.known[count] = a->known[i];
        c->of.until[count] = a->until[i];
        c->example[count++] = i;
    }
    c->of.count = count;
}

static lh_status decode_chosen(const answering *a, chosen *c, lh_error *error) {
    const lh_condition *condition = a->condition;
    lh_query query = {.n = condition->n,
                      .input = c->of.input,
                      .target = c->of.target,
                      .asked = c->of.mask,
                      .draw = condition->draw,
                      .noise = condition->noise};
    lh_answers to = {.answers = c->answers, .lengths = c->of.lengths, .known = c->of.known, .until = c->of.until};
    lh_status status = lh_decode(a->engine, &query, c->of.count, &to, error);
    for (int i = 0; status == LH_OK && i < c->of.count; i++) {
        size_t at = (size_t)c->example[i];
        memcpy(condition->answers + at * a->labels, c->answers + (size_t)i * a->labels, a->labels * sizeof *c->answers);
        a->lengths[at] = c->of.lengths[i];
    }
    return status;
}

static lh_status decode_open(const answering *a, int left, lh_error *error) {
    bool all = lh_depends_on_number(a->engine->spec, a->condition->noise);
    size_t most = (size_t)(all ? a->count : left);
    chosen c = {.of = *a};
    c.of.count = (int)most;
    bool opened = open(&c.of, error);
    c.example = opened ? lh_engine_memory(2 * most * sizeof *c.example, "examples", error) : NULL;
    c.answers = opened ? lh_engine_memory(most * a->labels * sizeof *c.answers, "answers", error) : NULL;
    lh_status status = LH_ERR_ENVIRONMENT;
    if (c.example != NULL && c.answers != NULL) {
        c.of.lengths = c.example + most;
        choose(a, all, &c);
        status = decode_chosen(a, &c, error);
    }
    free(c.of.input);
    free(c.of.mask);
    free(c.of.known);
    free(c.example);
    free(c.answers);
    return status;
}

/* Compares the answers of a sequence with its labels. */
static void judge(const answering *a, int i, lh_sums *each, lh_greedy_sums *sums) {
    const lh_spec *spec = a->engine->spec;
    size_t first = (size_t)i * a->labels;
    const uint16_t *answers = a->condition->answers + first, *target = a->target + first;
    const uint8_t *mask = a->mask + first;
    int counted = 0, correct = 0, length = a->lengths[i];
    bool ends = false, should_end = false;
    for (int label = 0; label < a->until[i]; label++) {
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
    answering a = {.engine = engine,
                   .condition = condition,
                   .count = count,
                   .labels = (size_t)lh_shape_at(engine->spec, condition->n, 1).labels,
                   .inputs = (size_t)lh_input_length(engine->spec, condition->n),
                   .lengths = lengths};
    int left = 0;
    *sums = (lh_greedy_sums){0};
    lh_status status = open(&a, error) ? fill(&a, error) : LH_ERR_ENVIRONMENT;
    for (int i = 0; status == LH_OK && i < count; i++) {
        if (condition->decoded == 0) take_pass(&a, i);
        left += condition->decoded == 0 && is_open(&a, i);
    }
    if (status == LH_OK && left > 0) status = decode_open(&a, left, error);
    for (int i = 0; status == LH_OK && i < count; i++) judge(&a, i, each != NULL ? &each[i] : NULL, sums);
    free(a.input);
    free(a.mask);
    free(a.known);
    return status;
}
