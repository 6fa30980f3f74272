/* See decode.h. */
#include "eval/decode.h"

#include <stdlib.h>
#include <string.h>

/* Sequences that are decoded together by passes. The tokens after a sequence's answers are guesses, from the caller or
 * the previous pass. A pass always gives the next answer, which does not depend on the guesses. If this answer equals
 * its guess, the answer after it is valid, too. */
typedef struct decoding {
    lh_engine *engine;
    const lh_query *query;
    const lh_answers *to;
    int count;
    size_t labels, inputs, classes;
    int *length;                        /* [count] number of answers so far */
    bool *ended;                        /* [count] */
    int *of;                            /* [count] index of the sequence in each row of a pass */
    uint16_t *input, *target, *answers; /* buffers of a pass: [rows][inputs], twice [rows][labels] */
    double *logits;                     /* logits of a pass over one sequence; NULL: not requested */
} decoding;

static int until_of(const decoding *d, int i) { return d->to->until != NULL ? d->to->until[i] : (int)d->labels; }

static void end(decoding *d, int i) {
    uint16_t *answers = d->to->answers + (size_t)i * d->labels;
    int length = d->length[i];
    d->ended[i] = true;
    for (int label = length; label < (int)d->labels; label++) answers[label] = length > 0 ? answers[length - 1] : 0;
    if (d->to->logits != NULL)
        memset(d->to->logits + ((size_t)i * d->labels + (size_t)length) * d->classes, 0,
               (d->labels - (size_t)length) * d->classes * sizeof *d->to->logits);
    if (d->to->lengths != NULL) d->to->lengths[i] = length;
}

/* Sets the tokens after the answers of sequence i to `guesses`, [labels]; tokens that the query gives are kept. */
static void guess(decoding *d, int i, const uint16_t *guesses) {
    size_t first = (size_t)i * d->labels;
    for (size_t label = (size_t)d->length[i]; label < d->labels; label++) {
        bool asked = d->query->asked == NULL || d->query->asked[first + label];
        d->to->answers[first + label] = asked ? guesses[label] : d->query->target[first + label];
    }
}

/* Takes given tokens where no answer is requested; ends a sequence that needs no more answers. */
static void settle(decoding *d, int i) {
    const lh_query *query = d->query;
    size_t first = (size_t)i * d->labels;
    uint16_t *answers = d->to->answers + first;
    int *length = &d->length[i];
    bool ends = *length > 0 && lh_ends_at(d->engine->spec, query, first + (size_t)*length - 1, answers[*length - 1]);
    while (!ends && *length < until_of(d, i) && query->asked != NULL && !query->asked[first + (size_t)*length]) {
        answers[*length] = query->target[first + (size_t)*length];
        ++*length;
    }
    if (ends || *length >= until_of(d, i)) end(d, i);
}

static void begin(decoding *d) {
    const lh_answers *to = d->to;
    if (to->logits != NULL) memset(to->logits, 0, (size_t)d->count * d->labels * d->classes * sizeof *to->logits);
    for (int i = 0; i < d->count; i++) {
        d->length[i] = to->known != NULL ? to->known[i] : 0;
        if (to->known == NULL) memset(to->answers + (size_t)i * d->labels, 0, d->labels * sizeof *to->answers);
        guess(d, i, to->answers + (size_t)i * d->labels);
        settle(d, i);
    }
}

/* Chooses the sequences of the next pass and returns their number: all sequences that need answers. If results depend
 * on a sequence's index, the pass also gets the sequences between the first and the last of them. */
static int choose_rows(decoding *d) {
    bool by_number = lh_depends_on_number(d->engine->spec, d->query->noise);
    int rows = 0, last = d->count - 1;
    while (last >= 0 && d->ended[last]) last--;
    for (int i = 0; i <= last; i++)
        if (!d->ended[i] || (by_number && rows > 0)) d->of[rows++] = i;
    return rows;
}

static void put_rows(decoding *d, int rows) {
    for (int row = 0; row < rows; row++) {
        memcpy(d->input + (size_t)row * d->inputs, d->query->input + (size_t)d->of[row] * d->inputs,
               d->inputs * sizeof *d->input);
        memcpy(d->target + (size_t)row * d->labels, d->to->answers + (size_t)d->of[row] * d->labels,
               d->labels * sizeof *d->target);
    }
}

/* Takes the valid answers of a pass to sequence i; later answers are the next guesses. */
static void take_row(decoding *d, int i, const uint16_t *of_pass) {
    uint16_t *answers = d->to->answers + (size_t)i * d->labels;
    for (bool guessed = true; guessed && !d->ended[i];) {
        int label = d->length[i]++;
        guessed = answers[label] == of_pass[label];
        answers[label] = of_pass[label];
        settle(d, i);
    }
    if (!d->ended[i]) guess(d, i, of_pass);
}

static void take_rows(decoding *d, int rows) {
    for (int row = 0; row < rows; row++)
        if (!d->ended[d->of[row]]) take_row(d, d->of[row], d->answers + (size_t)row * d->labels);
}

/* Runs a pass over the rows, unless a signal has requested a stop. */
static lh_status pass(decoding *d, int rows, lh_error *error) {
    lh_query query = *d->query;
    if (lh_is_stopped(d->engine)) return LH_STOPPED;
    query.input = d->input;
    query.target = d->target;
    query.example += (uint32_t)d->of[0];
    return d->engine->ops->answer(d->engine, &query, rows, d->answers, error);
}

/* Decodes one sequence by passes and stores the requested logits. */
static lh_status pass_with_logits(decoding *d, lh_error *error) {
    lh_query query = *d->query;
    int i = d->of[0];
    if (lh_is_stopped(d->engine)) return LH_STOPPED;
    query.input = d->input;
    query.target = d->target;
    query.example += (uint32_t)i;
    lh_status status = d->engine->ops->predict(d->engine, &query, d->logits, error);
    if (status != LH_OK) return status;
    for (size_t label = (size_t)d->length[i]; label < d->labels; label++) {
        const double *logits = d->logits + label * d->classes;
        d->answers[label] = (uint16_t)lh_best_class(logits, (int)d->classes);
        memcpy(d->to->logits + ((size_t)i * d->labels + label) * d->classes, logits, d->classes * sizeof *logits);
    }
    return LH_OK;
}

static lh_status decode_by_passes(decoding *d, lh_error *error) {
    lh_status status = LH_OK;
    begin(d);
    for (int rows; status == LH_OK && (rows = choose_rows(d)) > 0;) {
        if (d->logits != NULL) rows = 1;
        put_rows(d, rows);
        status = d->logits != NULL ? pass_with_logits(d, error) : pass(d, rows, error);
        if (status == LH_OK) take_rows(d, rows);
    }
    return status;
}

/* Computes the answers of an encoder: one pass over each sequence. */
static lh_status answer_at_once(decoding *d, lh_error *error) {
    lh_status status = LH_OK;
    for (int i = 0; i < d->count && d->to->lengths != NULL; i++) d->to->lengths[i] = (int)d->labels;
    if (d->logits == NULL) return d->engine->ops->answer(d->engine, d->query, d->count, d->to->answers, error);
    for (int i = 0; status == LH_OK && i < d->count; i++) {
        lh_query query = *d->query;
        query.input += (size_t)i * d->inputs;
        query.example += (uint32_t)i;
        if (lh_is_stopped(d->engine)) return LH_STOPPED;
        status = d->engine->ops->predict(d->engine, &query, d->logits, error);
        for (size_t label = 0; status == LH_OK && label < d->labels; label++)
            d->to->answers[(size_t)i * d->labels + label] =
                (uint16_t)lh_best_class(d->logits + label * d->classes, (int)d->classes);
        if (status == LH_OK)
            memcpy(d->to->logits + (size_t)i * d->labels * d->classes, d->logits,
                   d->labels * d->classes * sizeof *d->logits);
    }
    return status;
}

static bool open(decoding *d, lh_error *error) {
    size_t count = (size_t)d->count;
    d->length = lh_engine_memory(count * sizeof *d->length, "answers", error);
    d->ended = lh_engine_memory(count * sizeof *d->ended, "answers", error);
    d->of = lh_engine_memory(count * sizeof *d->of, "answers", error);
    d->input = lh_engine_memory(count * (d->inputs + 2 * d->labels) * sizeof *d->input, "answers", error);
    if (d->to->logits != NULL)
        d->logits = lh_engine_memory(d->labels * d->classes * sizeof *d->logits, "logits", error);
    if (d->input == NULL) return false;
    d->target = d->input + count * d->inputs;
    d->answers = d->target + count * d->labels;
    return d->length != NULL && d->ended != NULL && d->of != NULL && (d->to->logits == NULL || d->logits != NULL);
}

lh_status lh_decode(lh_engine *engine, const lh_query *query, int count, const lh_answers *to, lh_error *error) {
    const lh_spec *spec = engine->spec;
    bool forced = spec->format->teacher_forced;
    if (forced && engine->decodes && !(query->noise > 0)) return engine->ops->decode(engine, query, count, to, error);
    decoding d = {.engine = engine,
                  .query = query,
                  .to = to,
                  .count = count,
                  .labels = (size_t)lh_shape_at(spec, query->n, 1).labels,
                  .inputs = (size_t)lh_input_length(spec, query->n),
                  .classes = (size_t)spec->classes};
    lh_status status = LH_ERR_ENVIRONMENT;
    if (open(&d, error)) status = (forced ? decode_by_passes : answer_at_once)(&d, error);
    free(d.length);
    free(d.ended);
    free(d.of);
    free(d.input);
    free(d.logits);
    return status;
}
