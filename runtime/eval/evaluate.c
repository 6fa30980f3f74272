/* See evaluate.h. */
#include "eval/evaluate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eval/by_place.h"
#include "eval/by_sequence.h"
#include "eval/eval_lines.h"
#include "eval/greedy.h"
#include "eval/wrong_answers.h"

bool lh_draws_anything(const lh_spec *spec) {
    for (int s = 0; s < LH_MAX_STREAMS; s++)
        if (spec->position_range[s] > 0 || spec->distance_range[s] > 0) return true;
    return spec->eval.dropout || spec->draws_start;
}

/* The number of conditions at one level of noise and one number of passes. */
static int count_conditions_per_level(const lh_eval_request *request) {
    return request->groups != NULL ? request->groups->count : lh_lengths_count(&request->lengths);
}

/* The number of levels of noise; 1 without noise. */
static int count_noise_levels(const lh_eval_request *request) {
    return request->noise.count > 0 ? request->noise.count : 1;
}

int lh_count_eval_conditions(const lh_eval_request *request) {
    return count_conditions_per_level(request) * count_noise_levels(request) * lh_lengths_count(&request->passes);
}

static double compute_share(double count, double total) { return total > 0 ? count / total : 0.0; }

/* The sums of one draw of a condition. */
typedef struct draw_sums {
    lh_sums pass; /* sums of the teacher-forced pass, or of the only pass of an encoder */
    lh_greedy_sums greedy;
    double pass_accuracies, greedy_accuracies; /* sums of the batches' accuracies */
    int batches;                               /* number of batches so far */
    int counted_batches;                       /* batches with a counted label; the others have no accuracy */
    int greedy_batches;                        /* decoded batches with a counted label */
    int wrong;                                 /* lines that this draw has in the file of wrong answers */
} draw_sums;

/* Buffers for results of single examples. answers, lengths and places are NULL if not requested. */
typedef struct per_example {
    lh_sums *sums;         /* [examples] sums of a batch */
    lh_by_sequence shares; /* shares of the condition, over all draws */
    lh_by_example list;    /* sums of the condition, over all draws */
    uint16_t *answers;     /* [examples][labels] answers of a batch */
    int *lengths;          /* [examples] number of answers */
    lh_by_place *places;   /* counts of the condition, over all draws */
} per_example;

static int get_batch_size(const lh_eval_result *result) { return result->batch > 0 ? result->batch : result->examples; }

/* Upper bound for the number of batches of a condition. With result->batch > 0, each shape of a dataset may end with
 * a smaller batch. */
static int bound_batches(const lh_spec *spec, const lh_eval_result *result) {
    int size = get_batch_size(result), batches = (result->examples + size - 1) / size;
    return spec->corpus != NULL && result->batch > 0 ? batches + spec->corpus->shapes : batches;
}

static int count_examples_to_decode(const lh_eval_result *result, int first_example, int examples) {
    int remaining = result->decoding == lh_greedy ? result->greedy_examples - first_example : 0;
    return remaining < 0 ? 0 : remaining < examples ? remaining : examples;
}

/* Decodes the first `count` examples of a batch, unless evaluate has decoded them, and adds their counts. */
static lh_status decode_batch(lh_engine *engine, const lh_condition *condition, int count, const per_example *rows,
                              draw_sums *sums, lh_error *error) {
    lh_greedy_sums batch_sums;
    if (count == 0) return LH_OK;
    lh_status status = lh_answer_greedily(engine, condition, count, rows->lengths, rows->sums, &batch_sums, error);
    if (status != LH_OK) return status;
    lh_greedy_add(&sums->greedy, &batch_sums);
    sums->greedy_accuracies += compute_share((double)batch_sums.correct, (double)batch_sums.counted);
    sums->greedy_batches += batch_sums.counted > 0;
    return LH_OK;
}

/* Evaluates one batch, adds its sums, and writes the requested lines of single examples. If request->batch is set, the
 * batch has its own random draw. first_example: number of the result's examples in earlier batches. */
static lh_status evaluate_batch(lh_engine *engine, const lh_eval_request *request, per_example *rows,
                                const lh_eval_result *result, lh_condition *condition, int draw, int first_example,
                                draw_sums *sums, lh_error *error) {
    lh_sums batch_sums;
    int labels = lh_make_shape(engine->spec, condition->n, 1).labels;
    int greedy_count = count_examples_to_decode(result, first_example, condition->examples);
    for (int i = 0; rows->lengths != NULL && i < condition->examples; i++) rows->lengths[i] = labels;
    if (result->batch > 0)
        condition->draw.example = (uint32_t)(draw * bound_batches(engine->spec, result) + sums->batches);
    condition->answers = rows->answers;
    condition->lengths = rows->lengths;
    condition->decoded_count = lh_decodes_condition(engine, condition->noise) ? greedy_count : 0;
    lh_status status = engine->ops->evaluate(engine, condition, &batch_sums, rows->sums, error);
    if (status == LH_OK) status = decode_batch(engine, condition, greedy_count, rows, sums, error);
    if (status == LH_OK && rows->places != NULL)
        status =
            lh_by_place_add(rows->places, engine, condition, result->decoding,
                            result->decoding == lh_greedy ? greedy_count : condition->examples, rows->lengths, error);
    if (status != LH_OK) return status;
    lh_by_sequence_add(&rows->shares, rows->sums, first_example, condition->examples);
    lh_by_example_add(&rows->list, rows->sums, condition->examples);
    if (request->per_example != NULL)
        lh_eval_write_examples(request->per_example, result, draw, first_example, rows->sums, condition->examples);
    if (request->wrong != NULL)
        status = lh_write_wrong_answers(request->wrong, engine->spec, result, condition, draw, first_example,
                                        rows->sums, rows->lengths, &sums->wrong, error);
    if (status != LH_OK) return status;
    lh_sums_add(&sums->pass, &batch_sums);
    sums->pass_accuracies += compute_share((double)batch_sums.correct, (double)batch_sums.counted);
    sums->counted_batches += batch_sums.counted > 0;
    sums->batches++;
    return LH_OK;
}

/* Evaluates condition->examples examples, batch by batch. first_example: number of earlier examples of the
 * result. */
static lh_status evaluate_batches(lh_engine *engine, const lh_eval_request *request, per_example *rows,
                                  const lh_eval_result *result, lh_condition *condition, int draw, int first_example,
                                  draw_sums *sums, lh_error *error) {
    int count = condition->examples, size = get_batch_size(result);
    lh_status status = LH_OK;
    for (int first = 0; status == LH_OK && first < count; first += size) {
        condition->first = first;
        condition->examples = count - first < size ? count - first : size;
        status = evaluate_batch(engine, request, rows, result, condition, draw, first_example + first, sums, error);
    }
    return status;
}

/* Whether an example of a set has shape n. */
static bool has_shape(const lh_dataset *set, int n, int64_t index) {
    return index >= set->first[n - 1] && index < set->first[n];
}

/* Evaluates the examples of a group, shape by shape. */
static lh_status evaluate_group(lh_engine *engine, const lh_eval_request *request, per_example *rows,
                                const lh_eval_result *result, int draw, draw_sums *sums, lh_error *error) {
    const lh_corpus *corpus = engine->spec->corpus;
    const lh_groups *groups = result->groups;
    const lh_dataset *set = lh_corpus_get_set(corpus, result->group->set);
    int64_t first = result->group->first, end = first + result->examples;
    lh_status status = LH_OK;
    for (int64_t i = first, next; status == LH_OK && i < end; i = next) {
        int n = lh_dataset_find_shape(set, corpus->shapes, groups->indices[i]);
        for (next = i + 1; next < end && has_shape(set, n, groups->indices[next]);) next++;
        lh_condition condition = lh_make_condition(n, (int)(next - i), request->seed, draw);
        condition.draw.step = lh_group_compute_number(groups, result->group); /* one number for all shapes */
        condition.noise = result->noise;
        condition.passes = result->passes;
        condition.source.set = set;
        condition.source.indices_in_shape = groups->indices_in_shape + i;
        status = evaluate_batches(engine, request, rows, result, &condition, draw, (int)(i - first), sums, error);
    }
    return status;
}

static lh_status evaluate_draw(lh_engine *engine, const lh_eval_request *request, per_example *rows,
                               const lh_eval_result *result, int draw, draw_sums *sums, lh_error *error) {
    if (result->groups != NULL) return evaluate_group(engine, request, rows, result, draw, sums, error);
    lh_condition condition = request->is_validation
                                 ? lh_make_validation(result->n, result->examples, request->seed, draw)
                                 : lh_make_condition(result->n, result->examples, request->seed, draw);
    condition.noise = result->noise;
    condition.passes = result->passes;
    return evaluate_batches(engine, request, rows, result, &condition, draw, 0, sums, error);
}

/* The sums over all draws of a condition. */
typedef struct condition_sums {
    lh_sums pass;
    lh_greedy_sums greedy;
    lh_spread pass_spread, greedy_spread; /* accuracies of draws, of the pass and of greedy decoding */
} condition_sums;

/* Adds the sums of a draw. has_batches: the draw's accuracy is the mean over its batches. */
static void add_draw(condition_sums *sums, const draw_sums *draw, bool has_batches) {
    double pass_accuracy = compute_share((double)draw->pass.correct, (double)draw->pass.counted);
    double greedy_accuracy = compute_share((double)draw->greedy.correct, (double)draw->greedy.counted);
    if (has_batches) pass_accuracy = compute_share(draw->pass_accuracies, draw->counted_batches);
    if (has_batches) greedy_accuracy = compute_share(draw->greedy_accuracies, draw->greedy_batches);
    lh_sums_add(&sums->pass, &draw->pass);
    lh_greedy_add(&sums->greedy, &draw->greedy);
    lh_spread_add(&sums->pass_spread, pass_accuracy);
    lh_spread_add(&sums->greedy_spread, greedy_accuracy);
}

static void set_means(const lh_spec *spec, lh_eval_result *result, const condition_sums *sums) {
    const lh_sums *pass = &sums->pass;
    const lh_greedy_sums *greedy = &sums->greedy;
    bool has_batches = result->batch > 0, is_decoded = result->decoding == lh_greedy;
    result->teacher_forced =
        has_batches ? sums->pass_spread.mean : compute_share((double)pass->correct, (double)pass->counted);
    result->accuracy = result->teacher_forced;
    if (is_decoded)
        result->accuracy =
            has_batches ? sums->greedy_spread.mean : compute_share((double)greedy->correct, (double)greedy->counted);
    result->ended_early = compute_share((double)greedy->ended_early, (double)greedy->sequences);
    result->not_ended = compute_share((double)greedy->not_ended, (double)greedy->sequences);
    result->counted = pass->counted;
    result->loss = pass->positions > 0 ? pass->loss / (double)pass->positions : NAN;
    result->uncertainty = NAN;
    if (spec->passes > 0 && pass->positions > 0) result->uncertainty = pass->uncertainty / (double)pass->positions;
    result->sd_over_draws =
        result->draws > 1 ? lh_spread_compute_deviation(is_decoded ? &sums->greedy_spread : &sums->pass_spread) : 0.0;
}

/* Sets exact match, its interval, and the deviation over sequences. */
static void set_exact_match(const lh_spec *spec, lh_eval_result *result, const condition_sums *sums,
                            const lh_by_sequence *shares) {
    /* The sums of the pass also count intermediate results; the sums of decoding count only the final result. */
    const bool uses_decoding = result->decoding == lh_greedy && spec->task->find_result != NULL;
    const int64_t sequences = uses_decoding ? sums->greedy.sequences : sums->pass.sequences;
    const double exact = (double)(uses_decoding ? sums->greedy.exact : sums->pass.exact);
    double count = (double)sequences / result->draws;
    result->exact_match = compute_share(exact, (double)sequences);
    result->exact_match_low = result->exact_match_high = NAN;
    if (count > 0) lh_compute_wilson(result->exact_match, count, &result->exact_match_low, &result->exact_match_high);
    result->sd_over_sequences = lh_by_sequence_compute_deviation(shares, result->draws);
}

static lh_status evaluate_condition(lh_engine *engine, const lh_eval_request *request, per_example *rows,
                                    lh_eval_result *result, lh_error *error) {
    condition_sums total = {0};
    int64_t total_draws = (int64_t)result->draws * (result->batch > 0 ? bound_batches(engine->spec, result) : 1);
    char name[LH_EVAL_NAME];
    if (total_draws > LH_MOST_DRAWS)
        return lh_fail(error, LH_ERR_INPUT, "%s: %d draws in each of %d batches\n  expected: at most %d draws in total",
                       lh_eval_write_name(result, name), result->draws, (int)(total_draws / result->draws),
                       LH_MOST_DRAWS);
    if (rows->places != NULL) lh_by_place_clear(rows->places);
    rows->list.count = 0;
    lh_by_sequence_begin(&rows->shares, result->decoding == lh_greedy ? result->greedy_examples : result->examples);
    for (int draw = 0; draw < result->draws; draw++) {
        draw_sums sums = {0};
        lh_status status = evaluate_draw(engine, request, rows, result, draw, &sums, error);
        if (status != LH_OK) return status;
        add_draw(&total, &sums, result->batch > 0);
    }
    set_means(engine->spec, result, &total);
    set_exact_match(engine->spec, result, &total, &rows->shares);
    return LH_OK;
}

/* Writes the buffered data of a file; NULL: there is no file. */
static lh_status flush_lines(FILE *file, const char *path, lh_error *error) {
    errno = 0;
    if (file == NULL || (fflush(file) == 0 && !ferror(file))) return LH_OK;
    return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: cannot write: %s", path,
                   errno != 0 ? strerror(errno) : "lines are lost");
}

/* The position at which a condition's lines will start; -1: there is no file, or the file cannot be positioned. */
static off_t get_file_position(FILE *file) { return file != NULL ? ftello(file) : -1; }

/* Removes the lines of an incomplete condition, buffered lines included; start: from get_file_position. */
static void remove_lines_from(FILE *file, off_t start) {
    if (start < 0) return;
    __fpurge(file);
    if (ftruncate(fileno(file), start) == 0) (void)fseeko(file, start, SEEK_SET);
}

/* Evaluates one condition and writes its lines to all files or to none. */
static lh_status evaluate_to_files(lh_engine *engine, const lh_eval_request *request, per_example *rows,
                                   lh_eval_result *result, lh_error *error) {
    off_t examples_start = get_file_position(request->per_example), wrong_start = get_file_position(request->wrong);
    lh_status status = evaluate_condition(engine, request, rows, result, error);
    if (status == LH_OK) status = flush_lines(request->per_example, request->per_example_path, error);
    if (status == LH_OK) status = flush_lines(request->wrong, request->wrong_path, error);
    if (status == LH_OK && request->path != NULL)
        status = lh_eval_append(request->path, request->step, request->seed, result, rows->places, &rows->list, error);
    if (status == LH_OK) return LH_OK;
    remove_lines_from(request->per_example, examples_start);
    remove_lines_from(request->wrong, wrong_start);
    return status;
}

static lh_status evaluate_missing(lh_engine *engine, const lh_eval_request *request, lh_eval_result *results,
                                  const bool *is_found, per_example *rows, lh_error *error) {
    int count = lh_count_eval_conditions(request);
    for (int i = 0; i < count; i++) {
        if (lh_is_stopped(engine)) return LH_STOPPED;
        if (!is_found[i]) {
            lh_status status = evaluate_to_files(engine, request, rows, &results[i], error);
            if (status != LH_OK) return status;
        }
        results[i].was_in_file = is_found[i];
        if (request->watch != NULL) request->watch(request->context, &results[i], i + 1, count);
    }
    return LH_OK;
}

/* The greatest number of examples of a condition. */
static int find_max_examples(const lh_eval_request *request) {
    int max_examples = request->groups != NULL ? 0 : request->examples;
    for (int i = 0; request->groups != NULL && i < request->groups->count; i++)
        if (request->groups->group[i].count > max_examples) max_examples = (int)request->groups->group[i].count;
    return max_examples;
}

static lh_eval_result make_length_result(const lh_spec *spec, const lh_eval_request *request, int i) {
    int n = lh_lengths_get(&request->lengths, i);
    return (lh_eval_result){
        .split = request->is_validation ? "validation" : lh_find_split(spec, n),
        .n = n,
        .axis = spec->eval.axis,
        .examples = request->examples,
    };
}

static lh_eval_result make_group_result(const lh_spec *spec, const lh_eval_request *request, int i) {
    const lh_group *group = &request->groups->group[i];
    bool is_file = spec->data != NULL && spec->data->train != NULL;
    return (lh_eval_result){
        .split = lh_set_name[group->set],
        .n = group->value[0],
        .axis = request->groups->name[0],
        .groups = request->groups,
        .group = group,
        .examples = (int)group->count,
        .total = group->total > group->count ? group->total : 0,
        .in_order = request->groups->in_order,
        .data = is_file ? lh_corpus_get_set(spec->corpus, group->set)->digest : NULL,
    };
}

static void set_decoding(const lh_spec *spec, const lh_eval_request *request, lh_eval_result *result) {
    int max_greedy = request->greedy_examples;
    if (!spec->format->teacher_forced) return;
    result->decoding = request->teacher_forced ? lh_teacher_forced : lh_greedy;
    result->greedy_examples = max_greedy > 0 && max_greedy < result->examples ? max_greedy : result->examples;
    result->has_end_symbol = spec->task->end != NULL;
}

/* Describes the condition of each result. */
static void set_conditions(const lh_spec *spec, const lh_eval_request *request, lh_eval_result *results, int count) {
    int per_level = count_conditions_per_level(request), noise_levels = count_noise_levels(request);
    for (int i = 0; i < count; i++) {
        lh_eval_result *result = &results[i];
        int index = i % per_level;
        *result = (request->groups != NULL ? make_group_result : make_length_result)(spec, request, index);
        if (request->split != NULL) result->split = request->split;
        result->has_noise = request->noise.count > 0;
        result->noise = result->has_noise ? request->noise.deviation[i / per_level % noise_levels] : 0;
        result->passes = lh_lengths_get(&request->passes, i / per_level / noise_levels);
        result->is_oracle = spec->passes_by_length && result->passes == 0;
        result->draws = result->noise > 0 || lh_draws_anything(spec) ? request->draws : 1;
        result->batch = request->batch;
        result->has_places = request->has_places;
        set_decoding(spec, request, result);
    }
}

static size_t find_max_labels(const lh_spec *spec, const lh_lengths *lengths) {
    size_t max_labels = 0;
    for (int i = 0; i < lh_lengths_count(lengths); i++) {
        size_t labels = (size_t)lh_make_shape(spec, lh_lengths_get(lengths, i), 1).labels;
        if (labels > max_labels) max_labels = labels;
    }
    return max_labels;
}

static lh_lengths list_shapes(const lh_corpus *corpus) {
    return (lh_lengths){.first = 1, .last = corpus != NULL ? corpus->shapes : 0}; /* none without a dataset */
}

lh_status lh_check_places(const lh_spec *spec, const lh_lengths *lengths, lh_error *error) {
    lh_lengths shapes = list_shapes(spec->corpus);
    return lh_by_place_check(find_max_labels(spec, spec->corpus != NULL ? &shapes : lengths), error);
}

/* Allocates buffers for batches of all `lengths`. Call close_rows also after an error. */
static lh_status open_rows(const lh_engine *engine, const lh_eval_request *request, const lh_lengths *lengths,
                           per_example *rows, lh_error *error) {
    const lh_spec *spec = engine->spec;
    size_t examples = (size_t)find_max_examples(request), labels = find_max_labels(spec, lengths);
    bool has_wrong_file = request->wrong != NULL, decodes = spec->format->teacher_forced && !request->teacher_forced;
    rows->sums = lh_engine_allocate(examples * sizeof *rows->sums, "the evaluation", error);
    if (rows->sums == NULL) return LH_ERR_ENVIRONMENT;
    rows->shares.share = lh_engine_allocate(examples * sizeof *rows->shares.share, "the evaluation", error);
    if (rows->shares.share == NULL) return LH_ERR_ENVIRONMENT;
    if (lh_lengths_find_longest(&request->passes) > 0) {
        rows->list.sums = lh_engine_allocate(LH_MAX_LISTED_EXAMPLES * sizeof *rows->sums, "the evaluation", error);
        if (rows->list.sums == NULL) return LH_ERR_ENVIRONMENT;
    }
    if (rows->places != NULL) {
        lh_status status = lh_by_place_open(rows->places, examples, labels, error);
        if (status != LH_OK) return status;
    }
    if (!has_wrong_file && !decodes && rows->places == NULL) return LH_OK;
    rows->answers = lh_engine_allocate(examples * labels * sizeof *rows->answers, "answers", error);
    rows->lengths = lh_engine_allocate(examples * sizeof *rows->lengths, "answers", error);
    return rows->answers != NULL && rows->lengths != NULL ? LH_OK : LH_ERR_ENVIRONMENT;
}

static void close_rows(per_example *rows) {
    free(rows->sums);
    free(rows->shares.share);
    free(rows->list.sums);
    free(rows->answers);
    free(rows->lengths);
    if (rows->places != NULL) lh_by_place_close(rows->places);
}

lh_status lh_evaluate(lh_engine *engine, const lh_eval_request *request, lh_eval_result *results, lh_error *error) {
    int count = lh_count_eval_conditions(request);
    lh_lengths shapes = list_shapes(engine->spec->corpus);
    const lh_lengths *lengths = request->groups != NULL ? &shapes : &request->lengths;
    lh_status status = lh_check_passes(engine, &request->passes, request->teacher_forced, error);
    if (status == LH_OK) status = engine->ops->reserve(engine, lengths, find_max_examples(request), error);
    if (status != LH_OK) return status;
    lh_by_place places = {0};
    per_example rows = {.places = request->has_places ? &places : NULL};
    bool *is_found = lh_engine_allocate((size_t)count * sizeof *is_found, "the evaluation", error);
    status = is_found != NULL ? open_rows(engine, request, lengths, &rows, error) : LH_ERR_ENVIRONMENT;
    if (status == LH_OK) set_conditions(engine->spec, request, results, count);
    if (status == LH_OK && request->only_missing && request->path != NULL)
        status = lh_eval_find(request->path, request->step, request->seed, results, is_found, count, error);
    if (status == LH_OK) status = evaluate_missing(engine, request, results, is_found, &rows, error);
    free(is_found);
    close_rows(&rows);
    return status;
}

lh_status lh_evaluation_is_complete(const lh_spec *spec, const lh_eval_request *request, bool *is_complete,
                                    lh_error *error) {
    int count = lh_count_eval_conditions(request);
    lh_eval_result *results = lh_engine_allocate((size_t)count * sizeof *results, "the evaluation", error);
    bool *is_found = lh_engine_allocate((size_t)count * sizeof *is_found, "the evaluation", error);
    lh_status status = results != NULL && is_found != NULL ? LH_OK : LH_ERR_ENVIRONMENT;
    if (status == LH_OK) {
        set_conditions(spec, request, results, count);
        status = lh_eval_find(request->path, request->step, request->seed, results, is_found, count, error);
    }
    *is_complete = status == LH_OK;
    for (int i = 0; *is_complete && i < count; i++) *is_complete = is_found[i];
    free(results);
    free(is_found);
    return status;
}
