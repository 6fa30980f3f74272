/* Has the functions that all engines share: memory, host copies of state, conditions, sums, answers, checks. */
#include "engine/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Large allocations use large pages if the system has them: a step reads several megabytes repeatedly, more than the
 * translation buffers cover with small pages. Measured gain: 2 to 4% of a step. */
enum { LARGE_PAGE_BYTES = 2 << 20, MIN_LARGE_BYTES = 512 << 10 };

const char *lh_get_compiler(void) {
#if defined(__clang__)
    return __VERSION__;
#else
    return "gcc " __VERSION__;
#endif
}

void *lh_engine_allocate(size_t bytes, const char *purpose, lh_error *error) {
    size_t unit = bytes >= MIN_LARGE_BYTES ? LARGE_PAGE_BYTES : 64;
    size_t rounded = (bytes / unit + (bytes % unit != 0 || bytes == 0)) * unit;
    void *memory = rounded < bytes ? NULL : aligned_alloc(unit, rounded);
    if (memory == NULL) {
        lh_fail(error, LH_ERR_ENVIRONMENT, "no memory: %zu bytes for %s", bytes, purpose);
        return NULL;
    }
#if defined(MADV_HUGEPAGE)
    if (unit == LARGE_PAGE_BYTES) madvise(memory, rounded, MADV_HUGEPAGE); /* only a hint: no result depends on it */
#endif
    return memset(memory, 0, rounded);
}

lh_status lh_state_open(lh_state *state, const lh_engine *engine, bool has_optimizer, lh_error *error) {
    const lh_spec *spec = engine->spec;
    size_t bytes = (size_t)spec->parameter_storage * (size_t)engine->real_bytes;
    memset(state, 0, sizeof *state);
    state->real_bytes = engine->real_bytes;
    state->parameters = lh_engine_allocate(bytes, "a copy of the parameters", error);
    if (state->parameters == NULL) return LH_ERR_ENVIRONMENT;
    for (int i = 0; has_optimizer && i < spec->optimizer.states; i++) {
        state->optimizer[i] = lh_engine_allocate(bytes, "a copy of the optimiser state", error);
        if (state->optimizer[i] == NULL) {
            lh_state_close(state);
            return LH_ERR_ENVIRONMENT;
        }
    }
    return LH_OK;
}

void lh_state_close(lh_state *state) {
    free(state->parameters);
    for (int i = 0; i < LH_MAX_STATES; i++) free(state->optimizer[i]);
    memset(state, 0, sizeof *state);
}

lh_status lh_state_prepare(const lh_engine *engine, lh_state *copy, lh_state **state, lh_error *error) {
    memset(copy, 0, sizeof *copy);
    *state = engine->host_state != NULL ? engine->host_state : copy;
    return engine->host_state != NULL ? LH_OK : lh_state_open(copy, engine, true, error);
}

lh_condition lh_make_condition(int n, int examples, uint64_t seed, int draw) {
    lh_key key = lh_key_of_seed(seed);
    lh_condition condition = {
        .n = n,
        .examples = examples,
        .source = {.key = key, .step = (uint32_t)n, .domain = LH_DOMAIN_EVAL},
        .draw = {.key = key, .step = (uint32_t)n, .example = (uint32_t)draw, .domain = LH_DOMAIN_EVAL},
    };
    return condition;
}

lh_condition lh_make_validation(int n, int examples, uint64_t seed, int draw) {
    lh_condition condition = lh_make_condition(n, examples, seed, draw);
    condition.source.domain = condition.draw.domain = LH_DOMAIN_VALIDATION;
    condition.draw.step |= LH_VALIDATION_STEP;
    return condition;
}

void lh_sums_add(lh_sums *sums, const lh_sums *addend) {
    sums->loss += addend->loss;
    sums->positions += addend->positions;
    sums->counted += addend->counted;
    sums->correct += addend->correct;
    sums->sequences += addend->sequences;
    sums->exact += addend->exact;
    sums->uncertainty += addend->uncertainty;
}

lh_sums lh_make_sums(const lh_spec *spec, int labels, int64_t counted, int64_t correct, double loss) {
    return (lh_sums){
        .loss = loss,
        .positions = spec->task->loss == LH_LOSS_COUNTED ? counted : labels,
        .counted = counted,
        .correct = correct,
        .sequences = counted > 0,
        .exact = counted > 0 && correct == counted,
    };
}

double lh_compute_mean_loss(const lh_sums *sums) {
    return sums->positions > 0 ? sums->loss / (double)sums->positions : 0;
}

int lh_find_best_class(const double *logits, int classes) {
    int best = 0;
    for (int c = 1; c < classes; c++)
        if (logits[c] > logits[best]) best = c;
    return best;
}

lh_status lh_check_step(const lh_step_metrics *metrics, int64_t step, bool is_updated, lh_error *error) {
    double loss = metrics->sums.loss, gradient = metrics->gradient_norm, parameters = metrics->parameter_norm;
    if (is_updated && isfinite(loss) && isfinite(gradient) && isfinite(parameters)) return LH_OK;
    if (is_updated)
        return lh_fail(error, LH_ERR_INPUT, "step %lld: after the update the parameters' norm is %g", (long long)step,
                       parameters);
    return lh_fail(error, LH_ERR_INPUT, "step %lld: the %s is %g; no update was made", (long long)step,
                   isfinite(loss) ? "gradient's norm" : "loss", isfinite(loss) ? gradient : loss);
}

void lh_put_queries(lh_batch *batch, const lh_spec *spec, const lh_query *query, int first, int count) {
    size_t inputs = (size_t)lh_get_input_length(spec, query->n), outputs = (size_t)lh_get_output_length(spec, query->n);
    for (int row = 0; row < count; row++) {
        size_t offset = (size_t)(first + row);
        lh_batch_put(batch, spec, query->n, row, query->input + offset * inputs,
                     query->target != NULL ? query->target + offset * outputs : NULL,
                     query->line_positions != NULL ? query->line_positions[offset] : NULL);
        memset(batch->mask + (size_t)row * outputs, 1,
               outputs); /* all labels count, so that a non-finite loss is visible */
    }
}

int lh_count_requested_answers(const uint8_t *mask, int labels) {
    while (labels > 0 && !mask[labels - 1]) labels--;
    return labels;
}

int lh_take_pass_answers(const uint16_t *target, const uint8_t *mask, int limit, uint16_t *answers) {
    int known_count = 0;
    for (bool is_right = true; is_right && known_count < limit; known_count++) {
        if (!mask[known_count]) answers[known_count] = target[known_count];
        is_right = answers[known_count] == target[known_count];
    }
    return known_count;
}

/* Makes a sampler's first example of each length, to check its positions. Positions of a dataset are checked when the
 * dataset is made. */
static lh_status check_positions(const lh_spec *spec, const lh_lengths *lengths, lh_error *error) {
    const lh_source source = {.domain = LH_DOMAIN_EVAL};
    lh_batch batch;
    if (spec->format->positions == NULL || lh_lengths_count(lengths) == 0) return LH_OK;
    lh_status status = lh_batch_open(&batch, spec, lh_lengths_find_longest(lengths), 1, error);
    for (int i = 0; status == LH_OK && i < lh_lengths_count(lengths); i++)
        status = lh_batch_fill(&batch, spec, &source, lh_lengths_get(lengths, i), 0, 1, error);
    lh_batch_close(&batch);
    return status;
}

lh_status lh_check_limit(const lh_spec *spec, const lh_lengths *lengths, lh_error *error) {
    int count = lh_lengths_count(lengths);
    if (spec->data != NULL)
        return LH_OK; /* no sequence of a dataset is longer than task.longest, which was checked with the spec */
    for (int i = 0; spec->limit.tokens > 0 && i < count; i++) {
        int n = lh_lengths_get(lengths, i);
        lh_shape shape = lh_make_shape(spec, n, 1);
        for (int s = 0; s < spec->format->streams; s++)
            if (shape.length[s] > spec->limit.tokens)
                return lh_fail(error, LH_ERR_INPUT,
                               "length %d: a sequence has %d tokens, the encoding allows %d (%s)\n"
                               "  hint: shorter lengths, or a spec with a higher limit",
                               n, shape.length[s], spec->limit.tokens, spec->limit.because);
    }
    return check_positions(spec, lengths, error);
}

lh_status lh_check_training_lengths(const lh_spec *spec, const lh_lengths *lengths, lh_error *error) {
    int max_n = lh_lengths_find_longest(lengths), passes = lh_count_passes(spec, max_n);
    lh_status status = lh_check_limit(spec, lengths, error);
    if (status != LH_OK || passes <= spec->passes) return status;
    return lh_fail(error, LH_ERR_INPUT,
                   "--length, --overfit: length %d has %d passes, and training has memory for %d\n"
                   "  expected: a length of train.lengths",
                   lh_get_reported_length(spec, max_n), passes, spec->passes);
}
