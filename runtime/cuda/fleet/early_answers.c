/* Evaluation results that are computed before they are requested; see fleet_parts.h. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/fleet/fleet_parts.h"

static const size_t MAX_STORED_BYTES = (size_t)256 << 20; /* maximum for the stored answers of all engines */
/* An engine gets no more early answers after this number of consecutive requests that dropped its stored answers. */
enum { MAX_UNUSED = 2 };

/* The number of steps that have updated the parameters, including steps whose metrics were not returned yet. */
static int64_t get_parameter_step(const lh_cuda_engine *engine) {
    return engine->engine.step + engine->engine.unreported_steps;
}

static bool is_same_key(lh_key a, lh_key b) { return memcmp(&a, &b, sizeof a) == 0; }

static bool is_same_source(const lh_source *a, const lh_source *b) {
    return is_same_key(a->key, b->key) && a->step == b->step && a->domain == b->domain &&
           a->distinct_examples == b->distinct_examples && a->indices_in_shape == b->indices_in_shape &&
           a->set == b->set;
}

static bool is_same_draw(const lh_draw *a, const lh_draw *b) {
    return is_same_key(a->key, b->key) && a->step == b->step && a->example == b->example && a->domain == b->domain &&
           a->first == b->first;
}

static bool is_same_condition(const lh_condition *a, const lh_condition *b) {
    return a->n == b->n && a->first == b->first && a->examples == b->examples && a->noise == b->noise &&
           a->passes == b->passes && a->decoded_count == b->decoded_count && is_same_source(&a->source, &b->source) &&
           is_same_draw(&a->draw, &b->draw);
}

/* The number of a replica's requests and stored answers together, at the step of its parameters. */
static int count_conditions(const lh_cuda_engine *engine) {
    return engine->request_step == get_parameter_step(engine) ? engine->request_count + engine->stored_count : 0;
}

int lh_cuda_choose_evaluated_engines(lh_cuda_engine *engine, int max_count) {
    lh_cuda_fleet *fleet = engine->fleet;
    int count = 0;
    fleet->evaluated_engines[count++] = engine;
    if (fleet->early_bytes > MAX_STORED_BYTES) return count;
    for (int i = 0; i < fleet->count && count < max_count; i++) {
        lh_cuda_engine *candidate = &fleet->engines[i];
        if (candidate != engine && !candidate->is_closed && candidate->failure == LH_OK &&
            candidate->unused_in_a_row < MAX_UNUSED && get_parameter_step(candidate) == get_parameter_step(engine) &&
            count_conditions(candidate) + 1 == count_conditions(engine))
            fleet->evaluated_engines[count++] = candidate;
    }
    return count;
}

lh_cuda_early_answers *lh_cuda_copy_early_answers(const lh_cuda_engine *engine, const lh_condition *condition,
                                                  const void *answers, size_t first, const int *classes,
                                                  size_t labels) {
    size_t examples = (size_t)condition->examples, answer_bytes = examples * sizeof(lh_cuda_loop_answer);
    size_t length_bytes = (size_t)condition->decoded_count * sizeof(int);
    size_t class_bytes = classes != NULL ? labels * sizeof(uint16_t) : 0;
    size_t bytes = sizeof(lh_cuda_early_answers) + answer_bytes + length_bytes + class_bytes;
    lh_cuda_early_answers *stored = malloc(bytes);
    if (stored == NULL) return NULL;
    char *lengths_start = (char *)stored->answer + answer_bytes;
    *stored = (lh_cuda_early_answers){.condition = *condition, .step = get_parameter_step(engine), .bytes = bytes};
    stored->condition.answers = NULL;
    stored->condition.lengths = NULL;
    for (size_t i = 0; i < examples; i++)
        stored->answer[i] = lh_cuda_read_answer(engine->fleet->spec, answers, first + i);
    stored->lengths = (int *)(void *)lengths_start;
    if (classes == NULL) return stored;
    stored->classes = (uint16_t *)(void *)(lengths_start + length_bytes);
    for (size_t i = 0; i < labels; i++) stored->classes[i] = (uint16_t)classes[i];
    return stored;
}

void lh_cuda_store_early_answers(lh_cuda_engine *engine, lh_cuda_early_answers *answers) {
    lh_cuda_early_answers **end = &engine->early_answers;
    if (answers == NULL) return;
    while (*end != NULL) end = &(*end)->next;
    *end = answers;
    if (engine->request_step != answers->step) engine->request_count = engine->stored_count = 0;
    engine->request_step = answers->step;
    engine->stored_count++;
    engine->fleet->early_bytes += answers->bytes;
}

/* Removes and returns the first stored answers. */
static lh_cuda_early_answers *remove_first(lh_cuda_engine *engine) {
    lh_cuda_early_answers *first = engine->early_answers;
    engine->early_answers = first->next;
    engine->fleet->early_bytes -= first->bytes;
    engine->stored_count -= first->step == engine->request_step;
    return first;
}

void lh_cuda_drop_early_answers(lh_cuda_engine *engine) {
    while (engine->early_answers != NULL) free(remove_first(engine));
}

/* Counts a request at the step of the parameters. */
static void count_request(lh_cuda_engine *engine) {
    if (engine->request_step != get_parameter_step(engine)) engine->request_count = engine->stored_count = 0;
    engine->request_step = get_parameter_step(engine);
    engine->request_count++;
}

lh_cuda_early_answers *lh_cuda_take_early_answers(lh_cuda_engine *engine, const lh_condition *condition) {
    lh_cuda_early_answers *first = engine->early_answers;
    count_request(engine);
    if (first == NULL) return NULL;
    bool lacks_classes = condition->answers != NULL && first->classes == NULL;
    if (first->step == get_parameter_step(engine) && is_same_condition(&first->condition, condition) &&
        !lacks_classes) {
        engine->unused_in_a_row = 0;
        return remove_first(engine);
    }
    engine->unused_in_a_row++;
    lh_cuda_drop_early_answers(engine);
    return NULL;
}
