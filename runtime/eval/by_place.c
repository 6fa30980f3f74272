/* See by_place.h. */
#include "eval/by_place.h"

#include <stdlib.h>
#include <string.h>

#include "engine/decode_passes.h"
#include "eval/results.h"

/* Answers to examples. */
typedef struct placed_answers {
    const uint16_t *answers; /* [count][labels]; NULL: only `forced` has answers */
    const int *lengths;      /* [count] number of answers */
    const uint16_t *forced;  /* [count][labels] answers of the teacher-forced pass; NULL: none */
} placed_answers;

static size_t count_integers(const lh_by_place *places) { return (size_t)places->capacity * (2 * LH_PLACE_LISTS + 1); }

lh_status lh_by_place_check(size_t labels, lh_error *error) {
    if (labels <= LH_MAX_TARGET_PLACES) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT,
                   "accuracy by place: found targets of %zu labels\n  expected: at most %d; evaluate shorter "
                   "lengths, or without eval.places and --places",
                   labels, LH_MAX_TARGET_PLACES);
}

lh_status lh_by_place_open(lh_by_place *places, size_t examples, size_t labels, lh_error *error) {
    *places = (lh_by_place){.capacity = (int)labels};
    lh_status status = lh_by_place_check(labels, error);
    if (status != LH_OK) return status;
    places->start = lh_engine_allocate(count_integers(places) * sizeof *places->start, "accuracy by place", error);
    places->forced_answers = lh_engine_allocate(examples * labels * sizeof *places->forced_answers, "answers", error);
    if (places->start == NULL || places->forced_answers == NULL) return LH_ERR_ENVIRONMENT;
    places->end = places->start + LH_PLACE_LISTS * places->capacity;
    places->first_error = places->end + LH_PLACE_LISTS * places->capacity;
    return LH_OK;
}

void lh_by_place_close(lh_by_place *places) {
    free(places->start);
    free(places->forced_answers);
}

void lh_by_place_clear(lh_by_place *places) {
    memset(places->start, 0, count_integers(places) * sizeof *places->start);
    places->place_count = 0;
    places->sequences = 0;
    places->has_correct = places->has_forced = false;
}

static void add_sequence(lh_by_place *places, const lh_examples *e, const placed_answers *a, int i) {
    size_t row = (size_t)i * e->labels;
    int limit = e->limits[i], first_wrong = -1;
    for (int label = 0; label < limit; label++) {
        size_t index = row + (size_t)label;
        if (!e->mask[index]) continue;
        bool is_forced_right = a->forced != NULL && a->forced[index] == e->target[index];
        bool is_right =
            a->answers != NULL ? label < a->lengths[i] && a->answers[index] == e->target[index] : is_forced_right;
        const int counts[LH_PLACE_LISTS] = {[LH_PLACE_COUNTED] = 1,
                                            [LH_PLACE_CORRECT] = a->answers != NULL && is_right,
                                            [LH_PLACE_FORCED] = is_forced_right};
        for (int list = 0; list < LH_PLACE_LISTS; list++) {
            places->start[list * places->capacity + label] += counts[list];
            places->end[list * places->capacity + limit - 1 - label] += counts[list];
        }
        if (!is_right && first_wrong < 0) first_wrong = label;
    }
    if (limit > places->place_count) places->place_count = limit;
    if (first_wrong >= 0) places->first_error[first_wrong]++;
    places->sequences += limit > 0;
}

lh_status lh_by_place_add(lh_by_place *places, lh_engine *engine, const lh_condition *condition, const char *decoding,
                          int count, const int *lengths, lh_error *error) {
    placed_answers answers = {.answers = condition->answers, .lengths = lengths};
    lh_condition forced_pass = *condition;
    lh_examples examples;
    lh_sums ignored;
    if (count == 0) return LH_OK;
    forced_pass.answers = places->forced_answers;
    forced_pass.decoded_count = 0;
    if (decoding == lh_greedy) answers.forced = places->forced_answers;
    if (decoding == lh_teacher_forced) answers = (placed_answers){.forced = condition->answers};
    places->has_correct = answers.answers != NULL;
    places->has_forced = answers.forced != NULL;
    lh_status status = lh_examples_open(&examples, engine->spec, condition->n, count, error);
    if (status == LH_OK) status = lh_make_examples(&examples, engine->spec, condition, error);
    if (status == LH_OK && decoding == lh_greedy)
        status = engine->ops->evaluate(engine, &forced_pass, &ignored, NULL, error);
    for (int i = 0; status == LH_OK && i < count; i++) add_sequence(places, &examples, &answers, i);
    lh_examples_close(&examples);
    return status;
}

static void write_list(lh_json *json, const char *key, const int64_t *counts, int count) {
    lh_json_raw(json, key, "[");
    for (int i = 0; i < count; i++) fprintf(json->out, "%s%lld", i > 0 ? "," : "", (long long)counts[i]);
    putc(']', json->out);
}

static void write_side(const lh_by_place *places, lh_json *json, const char *key, const int64_t *counts) {
    lh_json side;
    int count = places->place_count;
    lh_json_raw(json, key, "");
    lh_json_begin(&side, json->out);
    write_list(&side, "counted", counts, count);
    if (places->has_correct) write_list(&side, "correct", counts + LH_PLACE_CORRECT * places->capacity, count);
    if (places->has_forced)
        write_list(&side, "correct_teacher_forced", counts + LH_PLACE_FORCED * places->capacity, count);
    lh_json_end(&side);
}

void lh_by_place_write(const lh_by_place *places, lh_json *line) {
    lh_json json;
    lh_json_raw(line, "places", "");
    lh_json_begin(&json, line->out);
    lh_json_integer(&json, "sequences", places->sequences);
    write_side(places, &json, "start", places->start);
    write_side(places, &json, "end", places->end);
    write_list(&json, "first_error", places->first_error, places->place_count);
    lh_json_end(&json);
}
