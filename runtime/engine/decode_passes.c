/* See decode_passes.h. */
#include "engine/decode_passes.h"

#include <stdlib.h>
#include <string.h>

static int get_limit(const lh_decode_passes *d, int i) {
    return d->results->limits != NULL ? d->results->limits[i] : (int)d->labels;
}

/* Ends sequence i: repeats its last answer, and clears later logits. */
static void end_sequence(lh_decode_passes *d, int i) {
    uint16_t *answers = d->results->answers + (size_t)i * d->labels;
    size_t classes = (size_t)d->spec->classes;
    int length = d->length[i];
    d->has_ended[i] = true;
    for (int label = length; label < (int)d->labels; label++) answers[label] = length > 0 ? answers[length - 1] : 0;
    if (d->results->logits != NULL)
        memset(d->results->logits + ((size_t)i * d->labels + (size_t)length) * classes, 0,
               (d->labels - (size_t)length) * classes * sizeof *d->results->logits);
    if (d->results->lengths != NULL) d->results->lengths[i] = length;
}

/* Sets the tokens after the answers of sequence i to `guesses`, [labels], or to the target's token where the query
 * requests no answer. */
static void put_guesses(lh_decode_passes *d, int i, const uint16_t *guesses) {
    size_t first = (size_t)i * d->labels;
    for (size_t label = (size_t)d->length[i]; label < d->labels; label++) {
        bool is_requested = d->query->wants_answer == NULL || d->query->wants_answer[first + label];
        d->results->answers[first + label] = is_requested ? guesses[label] : d->query->target[first + label];
    }
}

/* Uses the target's tokens as the next answers of sequence i as long as no answer is requested there. Ends the sequence
 * if it needs no more answers. */
static void take_given_tokens(lh_decode_passes *d, int i) {
    const lh_query *query = d->query;
    size_t first = (size_t)i * d->labels;
    uint16_t *answers = d->results->answers + first;
    int *length = &d->length[i];
    bool ends = *length > 0 && lh_is_last_answer(d->spec, query, first + (size_t)*length - 1, answers[*length - 1]);
    while (!ends && *length < get_limit(d, i) && query->wants_answer != NULL &&
           !query->wants_answer[first + (size_t)*length]) {
        answers[*length] = query->target[first + (size_t)*length];
        ++*length;
    }
    if (ends || *length >= get_limit(d, i)) end_sequence(d, i);
}

/* Sets the answers that are known before the first pass, and the first guesses. */
static void set_known_answers(lh_decode_passes *d) {
    const lh_answers *results = d->results;
    size_t answer_count = (size_t)d->count * d->labels;
    if (results->logits != NULL)
        memset(results->logits, 0, answer_count * (size_t)d->spec->classes * sizeof *results->logits);
    for (int i = 0; i < d->count; i++) {
        d->length[i] = results->known_counts != NULL ? results->known_counts[i] : 0;
        if (results->known_counts == NULL)
            memset(results->answers + (size_t)i * d->labels, 0, d->labels * sizeof *results->answers);
        put_guesses(d, i, results->answers + (size_t)i * d->labels);
        take_given_tokens(d, i);
    }
}

lh_status lh_decode_passes_open(lh_decode_passes *d, const lh_spec *spec, const lh_query *query, int count,
                                const lh_answers *results, lh_error *error) {
    size_t sequences = (size_t)count;
    *d = (lh_decode_passes){.spec = spec,
                            .query = query,
                            .results = results,
                            .count = count,
                            .labels = (size_t)lh_make_shape(spec, query->n, 1).labels,
                            .inputs = (size_t)lh_get_input_length(spec, query->n)};
    d->length = lh_engine_allocate(2 * sequences * sizeof *d->length, "answers", error);
    d->has_ended = lh_engine_allocate(sequences * sizeof *d->has_ended, "answers", error);
    if (d->length == NULL || d->has_ended == NULL) return LH_ERR_ENVIRONMENT;
    d->row = d->length + count;
    set_known_answers(d);
    return LH_OK;
}

void lh_decode_passes_close(lh_decode_passes *d) {
    free(d->length);
    free(d->has_ended);
}

int lh_decode_passes_choose(lh_decode_passes *d) {
    bool depends_on_index = lh_depends_on_batch_index(d->spec, d->query->noise);
    int rows = 0, last = d->count - 1;
    while (last >= 0 && d->has_ended[last]) last--;
    for (int i = 0; i <= last; i++)
        if (!d->has_ended[i] || (depends_on_index && rows > 0)) d->row[rows++] = i;
    return rows;
}

/* Stores the valid answers of a pass over sequence i: the answers up to and including the first that differs from
 * its guess. */
static void take_row(lh_decode_passes *d, int i, const uint16_t *pass_answers, bool are_all_valid) {
    uint16_t *answers = d->results->answers + (size_t)i * d->labels;
    for (bool is_next_valid = true; is_next_valid && !d->has_ended[i];) {
        int label = d->length[i]++;
        is_next_valid = are_all_valid || answers[label] == pass_answers[label];
        answers[label] = pass_answers[label];
        take_given_tokens(d, i);
    }
    if (!d->has_ended[i]) put_guesses(d, i, pass_answers);
}

void lh_decode_passes_take(lh_decode_passes *d, int rows, const uint16_t *pass_answers, bool are_all_valid) {
    for (int row = 0; row < rows; row++)
        if (!d->has_ended[d->row[row]]) take_row(d, d->row[row], pass_answers + (size_t)row * d->labels, are_all_valid);
}

/* ---- examples ---- */

lh_status lh_examples_open(lh_examples *examples, const lh_spec *spec, int n, int count, lh_error *error) {
    lh_examples *e = examples;
    size_t rows = (size_t)count;
    *e = (lh_examples){.count = count,
                       .labels = (size_t)lh_make_shape(spec, n, 1).labels,
                       .inputs = (size_t)lh_get_input_length(spec, n)};
    e->input = lh_engine_allocate(rows * (e->inputs + e->labels) * sizeof *e->input, "examples", error);
    e->mask = lh_engine_allocate(rows * e->labels, "examples", error);
    e->limits = lh_engine_allocate(rows * sizeof *e->limits, "examples", error);
    e->line_positions = lh_engine_allocate(rows * sizeof *e->line_positions, "examples", error);
    if (e->input == NULL || e->mask == NULL || e->limits == NULL || e->line_positions == NULL)
        return LH_ERR_ENVIRONMENT;
    e->target = e->input + rows * e->inputs;
    return LH_OK;
}

void lh_examples_close(lh_examples *examples) {
    free(examples->input);
    free(examples->mask);
    free(examples->limits);
    free(examples->line_positions);
}

lh_status lh_make_examples(lh_examples *examples, const lh_spec *spec, const lh_condition *condition, lh_error *error) {
    lh_examples *e = examples;
    lh_batch batch;
    lh_status status = lh_batch_open(&batch, spec, condition->n, 1, error);
    if (status != LH_OK) return status;
    for (int i = 0; status == LH_OK && i < e->count; i++) {
        size_t row = (size_t)i;
        status =
            lh_batch_fill(&batch, spec, &condition->source, condition->n, (uint32_t)(condition->first + i), 1, error);
        memcpy(e->input + row * e->inputs, batch.input, e->inputs * sizeof *e->input);
        memcpy(e->target + row * e->labels, batch.labels, e->labels * sizeof *e->target);
        memcpy(e->mask + row * e->labels, batch.mask, e->labels);
        e->line_positions[i] = batch.line_positions;
        e->limits[i] = lh_count_requested_answers(batch.mask, (int)e->labels);
    }
    lh_batch_close(&batch);
    return status;
}
