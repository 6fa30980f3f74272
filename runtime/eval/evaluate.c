/* See evaluate.h. */
#include "eval/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval_lines.h"
#include "train/json_text.h"

bool lh_draws_anything(const lh_spec *spec) { return spec->position_range > 0 || spec->distance_range > 0; }

bool lh_is_training_length(const lh_spec *spec, int n) {
    for (int i = 0; i < lh_lengths_count(&spec->train.lengths); i++)
        if (lh_lengths_at(&spec->train.lengths, i) == n) return true;
    return false;
}

/* first: how many of the result's examples came before. */
static void write_examples(FILE *out, const lh_eval_result *result, const lh_condition *condition, int first,
                           const lh_sums *each) {
    for (int i = 0; i < condition->examples; i++) {
        lh_json line;
        lh_json_begin(&line, out);
        lh_json_integer(&line, "length", result->n);
        lh_json_integer(&line, "example", first + i);
        lh_json_integer(&line, "draw", condition->draw.example);
        lh_json_integer(&line, "correct", each[i].correct);
        lh_json_integer(&line, "counted", each[i].counted);
        lh_json_integer(&line, "exact", each[i].exact);
        lh_json_number(&line, "loss", each[i].loss);
        lh_json_end(&line);
        putc('\n', out);
    }
}

static double ratio(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

/* Running mean and sum of squared deviations of the accuracies of draws 0, 1, ... (Welford). */
typedef struct spread {
    double mean, squares;
} spread;

static void spread_add(spread *s, double x, int index) {
    double off = x - s->mean;
    s->mean += off / (index + 1);
    s->squares += off * (x - s->mean);
}

/* Adds the sums of one batch: `examples` at task length n, or of shape n. */
static lh_status evaluate_batch(lh_engine *engine, const lh_eval_request *request, lh_sums *each,
                                const lh_eval_result *result, const lh_condition *condition, int first, lh_sums *sums,
                                lh_error *error) {
    lh_sums part;
    lh_status status = engine->ops->evaluate(engine, condition, &part, each, error);
    if (status != LH_OK) return status;
    if (each != NULL) write_examples(request->per_example, result, condition, first, each);
    lh_sums_add(sums, &part);
    return LH_OK;
}

/* With finite data an input length has a batch for each of its shapes, until there are enough examples. */
static lh_status evaluate_draw(lh_engine *engine, const lh_eval_request *request, lh_sums *each,
                               const lh_eval_result *result, int draw, lh_sums *sums, lh_error *error) {
    const lh_corpus *corpus = engine->spec->corpus;
    if (corpus == NULL) {
        lh_condition condition = lh_condition_at(result->n, result->examples, request->seed, draw);
        return evaluate_batch(engine, request, each, result, &condition, 0, sums, error);
    }
    lh_status status = LH_OK;
    for (int n = 1, first = 0; status == LH_OK && n <= corpus->shapes && first < result->examples; n++) {
        int64_t count = lh_dataset_count(&corpus->eval, n);
        if (corpus->sizes[n - 1].input != result->n || count == 0) continue;
        if (count > result->examples - first) count = result->examples - first;
        lh_condition condition = lh_condition_at(n, (int)count, request->seed, draw);
        condition.draw.step = (uint32_t)result->n; /* whatever other shapes there are */
        status = evaluate_batch(engine, request, each, result, &condition, first, sums, error);
        first += (int)count;
    }
    return status;
}

static lh_status evaluate_length(lh_engine *engine, const lh_eval_request *request, lh_sums *each,
                                 lh_eval_result *result, lh_error *error) {
    lh_sums all = {0};
    spread over_draws = {0, 0};
    for (int draw = 0; draw < result->draws; draw++) {
        lh_sums sums = {0};
        lh_status status = evaluate_draw(engine, request, each, result, draw, &sums, error);
        if (status != LH_OK) return status;
        lh_sums_add(&all, &sums);
        spread_add(&over_draws, ratio((double)sums.correct, (double)sums.counted), draw);
    }
    result->accuracy = ratio((double)all.correct, (double)all.counted);
    result->exact_match = ratio((double)all.exact, (double)all.sequences);
    result->loss = ratio(all.loss, (double)all.positions);
    result->sd_over_draws = result->draws > 1 ? sqrt(over_draws.squares / (result->draws - 1)) : 0.0;
    return LH_OK;
}

static lh_status evaluate_missing(lh_engine *engine, const lh_eval_request *request, lh_eval_result *results,
                                  const bool *found, lh_sums *each, lh_error *error) {
    int count = lh_lengths_count(&request->lengths);
    for (int i = 0; i < count; i++) {
        if (request->stop != NULL && *request->stop) return LH_STOPPED;
        if (!found[i]) {
            lh_status status = evaluate_length(engine, request, each, &results[i], error);
            if (status != LH_OK) return status;
            if (each != NULL && (fflush(request->per_example) != 0 || ferror(request->per_example)))
                return lh_fail(error, LH_ERR_ENVIRONMENT, "--per-example: the file could not be written");
            if (request->path != NULL)
                status = lh_eval_append(request->path, engine->spec, request->step, request->seed, &results[i], error);
            if (status != LH_OK) return status;
        }
        if (request->watch != NULL) request->watch(request->context, &results[i], i + 1, count);
    }
    return LH_OK;
}

static bool is_trained_on(const lh_spec *spec, int n) {
    return spec->corpus != NULL ? !spec->corpus->separate : lh_is_training_length(spec, n);
}

/* At most as many as the file has. */
static int examples_of(const lh_spec *spec, int n, int most) {
    const lh_corpus *corpus = spec->corpus;
    int64_t count = 0;
    for (int i = 1; corpus != NULL && i <= corpus->shapes; i++)
        if (corpus->sizes[i - 1].input == n) count += lh_dataset_count(&corpus->eval, i);
    return corpus != NULL && count < most ? (int)count : most;
}

static void name_results(const lh_spec *spec, const lh_eval_request *request, lh_eval_result *results, int count) {
    for (int i = 0; i < count; i++) {
        int n = lh_lengths_at(&request->lengths, i);
        const char *split = is_trained_on(spec, n) ? "train" : "test";
        results[i] = (lh_eval_result){
            .split = request->split != NULL ? request->split : split,
            .n = n,
            .examples = examples_of(spec, n, request->examples),
            .draws = lh_draws_anything(spec) ? request->draws : 1,
        };
    }
}

lh_status lh_evaluate(lh_engine *engine, const lh_eval_request *request, lh_eval_result *results, lh_error *error) {
    int count = lh_lengths_count(&request->lengths);
    lh_lengths shapes = {NULL, 0, 1, engine->spec->corpus != NULL ? engine->spec->corpus->shapes : 0, 1};
    const lh_lengths *lengths = engine->spec->corpus != NULL ? &shapes : &request->lengths;
    lh_status status = engine->ops->reserve(engine, lengths, request->examples, error);
    if (status != LH_OK) return status;
    bool *found = lh_engine_memory((size_t)count * sizeof *found, "the evaluation", error);
    lh_sums *each = NULL;
    if (request->per_example != NULL)
        each = lh_engine_memory((size_t)request->examples * sizeof *each, "the evaluation", error);
    if (found == NULL || (request->per_example != NULL && each == NULL)) {
        free(found);
        return LH_ERR_ENVIRONMENT;
    }
    name_results(engine->spec, request, results, count);
    if (request->only_missing && request->path != NULL)
        status = lh_eval_find(request->path, engine->spec, request->step, results, found, count, error);
    if (status == LH_OK) status = evaluate_missing(engine, request, results, found, each, error);
    free(found);
    free(each);
    return status;
}

lh_eval_means lh_eval_means_of(const lh_eval_result *results, int count, const char *split) {
    lh_eval_means means = {0, 0, 0, 0, 0, 0};
    for (int i = 0; i < count; i++) {
        if (strcmp(results[i].split, split) != 0) continue;
        if (means.count == 0) means.first = results[i].n;
        means.last = results[i].n;
        means.count++;
        means.accuracy += results[i].accuracy;
        means.exact_match += results[i].exact_match;
        means.loss += results[i].loss;
    }
    if (means.count > 0) {
        means.accuracy /= means.count;
        means.exact_match /= means.count;
        means.loss /= means.count;
    }
    return means;
}
