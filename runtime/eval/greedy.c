/* See greedy.h. */
#include "eval/greedy.h"

#include <stdlib.h>

#include "engine/decode_passes.h"
#include "eval/decode.h"

/* The examples of a condition and the state of their answers. */
typedef struct evaluation {
    lh_engine *engine;
    const lh_condition *condition;
    lh_examples examples;
    int *known_counts; /* [count] number of answers that are taken from the pass over the targets */
    int *lengths;      /* [count] number of answers */
} evaluation;

static lh_status open_examples(evaluation *a, int count, lh_error *error) {
    lh_status status = lh_examples_open(&a->examples, a->engine->spec, a->condition->n, count, error);
    if (status != LH_OK) return status;
    a->known_counts = lh_engine_allocate((size_t)count * sizeof *a->known_counts, "examples", error);
    return a->known_counts != NULL ? LH_OK : LH_ERR_ENVIRONMENT;
}

static void close_examples(evaluation *a) {
    lh_examples_close(&a->examples);
    free(a->known_counts);
}

static lh_query make_query(const evaluation *a) {
    return (lh_query){.n = a->condition->n,
                      .input = a->examples.input,
                      .target = a->examples.target,
                      .wants_answer = a->examples.mask,
                      .line_positions = a->examples.line_positions,
                      .draw = a->condition->draw,
                      .noise = a->condition->noise};
}

/* For example i, takes the answers that the pass gave, up to and including the first error; returns whether the example
 * needs more answers. */
static bool take_pass_answers(evaluation *a, int i) {
    const lh_examples *e = &a->examples;
    const lh_query query = make_query(a);
    size_t first = (size_t)i * e->labels;
    a->known_counts[i] =
        lh_take_pass_answers(e->target + first, e->mask + first, e->limits[i], a->condition->answers + first);
    a->lengths[i] = a->known_counts[i];
    return lh_needs_answers(a->engine->spec, &query, first, a->known_counts[i], e->limits[i], a->condition->answers);
}

/* Decodes the examples that need more answers. */
static lh_status decode_examples(const evaluation *a, lh_error *error) {
    const lh_query query = make_query(a);
    lh_answers results = {.answers = a->condition->answers,
                          .lengths = a->lengths,
                          .known_counts = a->known_counts,
                          .limits = a->examples.limits};
    return lh_decode(a->engine, &query, a->examples.count, &results, error);
}

/* The index of the first label of the final result; 0 if a target has no intermediate results. */
static int find_result(const lh_spec *spec, const uint16_t *target, int labels) {
    const int first = spec->task->find_result != NULL ? spec->task->find_result(target, labels) : 0;
    return first > 0 && first < labels ? first : 0;
}

/* Compares the answers of a sequence with its labels, and adds the counts to sums. */
static void add_sequence_sums(const evaluation *a, int i, lh_sums *sequence_sums, lh_greedy_sums *sums) {
    const lh_spec *spec = a->engine->spec;
    const lh_examples *e = &a->examples;
    size_t first = (size_t)i * e->labels;
    const uint16_t *answers = a->condition->answers + first, *target = e->target + first;
    const uint8_t *mask = e->mask + first;
    const int result = find_result(spec, target, e->limits[i]);
    int counted = 0, correct = 0, length = a->lengths[i];
    bool has_end = false;    /* whether the answers have an end symbol */
    bool should_end = false; /* whether the counted labels have an end symbol */
    for (int label = 0; label < e->limits[i]; label++) {
        bool is_given = label < length;
        const bool is_counted = mask[label] && label >= result;
        counted += is_counted;
        correct += is_counted && is_given && answers[label] == target[label];
        has_end = has_end || (is_given && lh_is_end_symbol(spec, answers[label]));
        should_end = should_end || (mask[label] && lh_is_end_symbol(spec, target[label]));
    }
    sums->counted += counted;
    sums->correct += correct;
    sums->sequences += counted > 0;
    sums->exact += counted > 0 && correct == counted;
    sums->ended_early +=
        length > 0 && lh_is_end_symbol(spec, answers[length - 1]) && answers[length - 1] != target[length - 1];
    sums->not_ended += should_end && !has_end;
    if (sequence_sums == NULL) return;
    sequence_sums->counted = counted;
    sequence_sums->correct = correct;
    sequence_sums->exact = counted > 0 && correct == counted;
}

void lh_greedy_add(lh_greedy_sums *sums, const lh_greedy_sums *addend) {
    sums->sequences += addend->sequences;
    sums->exact += addend->exact;
    sums->counted += addend->counted;
    sums->correct += addend->correct;
    sums->ended_early += addend->ended_early;
    sums->not_ended += addend->not_ended;
}

lh_status lh_answer_greedily(lh_engine *engine, const lh_condition *condition, int count, int *lengths,
                             lh_sums *sequence_sums, lh_greedy_sums *sums, lh_error *error) {
    evaluation a = {.engine = engine, .condition = condition, .lengths = lengths};
    bool needs_decoding = false; /* whether an example needs more answers */
    *sums = (lh_greedy_sums){0};
    lh_status status = open_examples(&a, count, error);
    if (status == LH_OK) status = lh_make_examples(&a.examples, engine->spec, condition, error);
    /* If decoded_count > 0, the pass over the targets has decoded the examples itself (engine.h). */
    for (int i = 0; status == LH_OK && condition->decoded_count == 0 && i < count; i++)
        needs_decoding = take_pass_answers(&a, i) || needs_decoding;
    if (status == LH_OK && needs_decoding) status = decode_examples(&a, error);
    for (int i = 0; status == LH_OK && i < count; i++)
        add_sequence_sums(&a, i, sequence_sums != NULL ? &sequence_sums[i] : NULL, sums);
    close_examples(&a);
    return status;
}
