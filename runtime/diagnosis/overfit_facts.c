/* Measures the facts after training on fixed examples; see overfit.h. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/real.h"
#include "data/initialise.h"
#include "diagnosis/overfit.h"
#include "engine/checkpoint.h"

/* ---- metrics ---- */

/* Values of a window (a line of metrics.jsonl), with their keys in the line. */
enum { LOSS, ACCURACY, GRADIENT_NORM, CLIPPED, PARAMETER_NORM, UPDATE_NORM, VALUES };
static const char *const keys[VALUES] = {"loss",          "accuracy",       "grad_norm",
                                         "clipped_share", "parameter_norm", "update_norm"};

typedef struct window {
    double steps; /* steps since the line before */
    double value[VALUES];
} window;

/* Value i of a line; the accuracy of a generative model is the accuracy of the teacher-forced pass. */
static double read_value(const json_t *line, int i) {
    const json_t *teacher_forced = json_object_get(line, "accuracy_teacher_forced");
    return json_number_value(i == ACCURACY && teacher_forced != NULL ? teacher_forced : json_object_get(line, keys[i]));
}

/* Returns the windows of the file, which the caller frees; *count: number of windows. NULL: out of memory. */
static window *read_windows(char *text, int *count) {
    size_t lines = 1;
    for (const char *c = text; *c != 0; c++) lines += *c == '\n';
    window *windows = calloc(lines, sizeof *windows);
    double previous_step = 0;
    *count = 0;
    for (char *unread = text, *line_text; windows != NULL && (line_text = strsep(&unread, "\n")) != NULL;) {
        json_t *line = json_loads(line_text, 0, NULL);
        double step = json_number_value(json_object_get(line, "step"));
        if (step > previous_step) {
            window *next = &windows[(*count)++];
            next->steps = step - previous_step;
            for (int i = 0; i < VALUES; i++) next->value[i] = read_value(line, i);
            previous_step = step;
        }
        json_decref(line);
    }
    return windows;
}

/* Unweighted means over windows. At most one window has another number of steps. */
static window compute_mean(const window *windows, int count) {
    window mean = {0};
    for (int i = 0; i < count; i++) {
        mean.steps += windows[i].steps / count;
        for (int j = 0; j < VALUES; j++) mean.value[j] += windows[i].value[j] / count;
    }
    return mean;
}

/* Computes the facts of all windows. */
static void summarise_windows(const window *windows, int count, lh_overfit_facts *facts) {
    int quarter = (count + 3) / 4;
    facts->windows = count;
    if (count < 2) quarter = count;
    window recent = compute_mean(windows + count - quarter, quarter);
    window earlier = count < 2 ? recent : compute_mean(windows + count - 2 * quarter, quarter);
    facts->first_loss = compute_mean(windows, quarter).value[LOSS];
    facts->earlier_loss = earlier.value[LOSS];
    facts->recent_loss = recent.value[LOSS];
    facts->steps_between = recent.steps * quarter;
    facts->earlier_accuracy = earlier.value[ACCURACY];
    facts->recent_accuracy = recent.value[ACCURACY];
    facts->recent_gradient_norm = recent.value[GRADIENT_NORM];
    facts->clipped = recent.value[CLIPPED];
    facts->update_norm = recent.value[UPDATE_NORM];
    facts->parameter_norm = recent.value[PARAMETER_NORM];
    for (int i = 0; i < count; i++) {
        facts->gradient_norm = fmax(facts->gradient_norm, windows[i].value[GRADIENT_NORM]);
        facts->update_norm_sum += windows[i].value[UPDATE_NORM] * windows[i].steps;
    }
}

lh_status lh_overfit_read_metrics(const char *path, lh_overfit_facts *facts, lh_error *error) {
    char *text;
    size_t bytes;
    int count;
    if (access(path, F_OK) != 0) return LH_OK;
    lh_status status = lh_read_file(path, &text, &bytes, error);
    if (status != LH_OK) return status;
    window *windows = read_windows(text, &count);
    if (windows == NULL) status = lh_fail(error, LH_ERR_ENVIRONMENT, "%s: no memory for its lines", path);
    else if (count > 0) summarise_windows(windows, count, facts);
    free(windows);
    free(text);
    return status;
}

/* ---- highest accuracy if equal inputs or outputs get equal answers ---- */

static int compare_labels(const void *a, const void *b) { return *(const uint16_t *)a - *(const uint16_t *)b; }

/* Returns the greatest number of correct answers if all answers are equal. Sorts the labels. */
static int64_t count_most_frequent(uint16_t *labels, int64_t count) {
    int64_t best = 0, repeats = 0;
    qsort(labels, (size_t)count, sizeof *labels, compare_labels);
    for (int64_t i = 0; i < count; i++) {
        repeats = i > 0 && labels[i] == labels[i - 1] ? repeats + 1 : 1;
        best = repeats > best ? repeats : best;
    }
    return best;
}

/* ---- data ---- */

/* An example in the arrays of a batch. */
typedef struct example {
    const uint16_t *tokens[LH_MAX_STREAMS];
    const uint16_t *labels;
    const uint8_t *mask;
    const lh_shape *shape;
    int streams;
} example;

static int compare_inputs(const void *a, const void *b) {
    const example *x = a, *y = b;
    int order = 0;
    for (int s = 0; order == 0 && s < x->streams; s++)
        order = memcmp(x->tokens[s], y->tokens[s], (size_t)x->shape->length[s] * sizeof(uint16_t));
    return order;
}

/* The greatest number of correct answers in a group of examples with equal tokens; scratch: [count]. */
static int64_t count_best_of_equal_inputs(const example *group, int64_t count, uint16_t *scratch, int64_t *counted) {
    int64_t best = 0;
    for (int position = 0; position < group->shape->labels; position++) {
        int64_t used = 0;
        for (int64_t i = 0; i < count; i++)
            if (group[i].mask[position] != 0) scratch[used++] = group[i].labels[position];
        best += count_most_frequent(scratch, used);
        *counted += used;
    }
    return best;
}

/* Sets facts->counted and facts->data_attainable. */
static lh_status measure_data(const lh_batch *batch, const lh_spec *spec, lh_overfit_facts *facts, lh_error *error) {
    int count = batch->shape.sequences;
    size_t labels = (size_t)batch->shape.labels;
    example *list = lh_engine_allocate((size_t)count * sizeof *list, "the examples", error);
    uint16_t *scratch = lh_engine_allocate((size_t)count * sizeof *scratch, "the labels of examples", error);
    int64_t best = 0;
    if (list == NULL || scratch == NULL) {
        free(list);
        free(scratch);
        return LH_ERR_ENVIRONMENT;
    }
    for (int i = 0; i < count; i++) {
        list[i] = (example){.labels = batch->labels + (size_t)i * labels,
                            .mask = batch->mask + (size_t)i * labels,
                            .shape = &batch->shape,
                            .streams = spec->format->streams};
        for (int s = 0; s < list[i].streams; s++)
            list[i].tokens[s] = batch->tokens[s] + (size_t)i * (size_t)batch->shape.length[s];
    }
    qsort(list, (size_t)count, sizeof *list, compare_inputs);
    for (int first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && compare_inputs(&list[first], &list[end]) == 0;) end++;
        best += count_best_of_equal_inputs(list + first, end - first, scratch, &facts->counted);
    }
    facts->data_attainable = facts->counted > 0 ? (double)best / (double)facts->counted : 0;
    free(list);
    free(scratch);
    return LH_OK;
}

/* ---- outputs ---- */

enum { MAX_OUTPUTS = 512 };               /* maximum number of compared positions */
static const double EQUAL_OUTPUTS = 1e-5; /* difference of logits, relative to the largest logit */

/* Outputs of some counted positions. */
typedef struct outputs {
    int count, classes;
    double *logits;               /* [MAX_OUTPUTS][classes] */
    uint16_t labels[MAX_OUTPUTS]; /* right answers */
    double largest_logit;         /* largest logit by magnitude */
} outputs;

static bool are_equal(const outputs *p, int a, int b) {
    const double *x = p->logits + (size_t)a * (size_t)p->classes, *y = p->logits + (size_t)b * (size_t)p->classes;
    for (int c = 0; c < p->classes; c++)
        if (!(fabs(x[c] - y[c]) <= EQUAL_OUTPUTS * p->largest_logit)) return false;
    return true;
}

/* The highest accuracy if positions with equal outputs get equal answers. */
static double compute_attainable(const outputs *p) {
    bool is_grouped[MAX_OUTPUTS] = {false};
    int64_t best = 0;
    uint16_t group[MAX_OUTPUTS];
    for (int first = 0; first < p->count; first++) {
        int64_t size = 0;
        for (int i = first; i < p->count; i++)
            if (!is_grouped[i] && are_equal(p, first, i)) group[size++] = p->labels[i], is_grouped[i] = true;
        best += count_most_frequent(group, size);
    }
    return p->count > 0 ? (double)best / (double)p->count : 1.0;
}

static lh_source make_source(const lh_overfit_run *run) {
    lh_key key = lh_get_part_key(run->seed, &run->separate_seeds, LH_SEED_DATA);
    return (lh_source){.key = key, .domain = LH_DOMAIN_DATA, .distinct_examples = (uint32_t)run->examples};
}

/* The draw of fixed positions. */
static lh_draw make_draw(const lh_overfit_run *run) {
    lh_key key = lh_get_part_key(run->seed, &run->separate_seeds, LH_SEED_DRAWS);
    return (lh_draw){.key = key, .domain = LH_DOMAIN_EVAL};
}

/* Computes the logits of counted positions of the first examples. batch, logits: buffers for one example. */
static lh_status compute_outputs(const lh_overfit_run *run, lh_engine *engine, lh_batch *batch, double *logits,
                                 outputs *p, lh_error *error) {
    lh_source source = make_source(run);
    p->count = 0;
    p->largest_logit = 0;
    for (int i = 0; i < run->examples && p->count < MAX_OUTPUTS; i++) {
        lh_status status = lh_batch_fill(batch, engine->spec, &source, run->length, (uint32_t)i, 1, error);
        if (status != LH_OK) return status;
        lh_query query = {.n = run->length,
                          .input = batch->input,
                          .target = batch->labels,
                          .line_positions = &batch->line_positions,
                          .draw = make_draw(run)};
        status = engine->ops->predict(engine, &query, logits, error);
        if (status != LH_OK) return status;
        for (int j = 0; j < batch->shape.labels && p->count < MAX_OUTPUTS; j++) {
            const double *row = logits + (size_t)j * (size_t)p->classes;
            if (batch->mask[j] == 0) continue;
            memcpy(p->logits + (size_t)p->count * (size_t)p->classes, row, (size_t)p->classes * sizeof *row);
            for (int c = 0; c < p->classes; c++) p->largest_logit = fmax(p->largest_logit, fabs(row[c]));
            p->labels[p->count++] = batch->labels[j];
        }
    }
    return LH_OK;
}

static double compute_norm(const lh_spec *spec, int real_bytes, const void *parameters) {
    double squares = 0;
    for (int64_t i = 0; i < spec->parameter_storage; i++) {
        double x = lh_real_read(parameters, real_bytes, i);
        squares += x * x;
    }
    return sqrt(squares);
}

/* Reads the initial parameters of the run. */
static lh_status read_start(const lh_overfit_run *run, const lh_spec *spec, lh_state *start, lh_error *error) {
    if (run->init != NULL) return lh_checkpoint_read_init(run->init, spec, start->real_bytes, start->parameters, error);
    lh_initialise(spec, lh_get_part_seed(run->seed, &run->separate_seeds, LH_SEED_INIT), start->real_bytes,
                  start->parameters);
    return LH_OK;
}

/* Sets facts->start_norm, start_attainable and end_attainable. The engine temporarily gets the initial parameters. */
static lh_status measure_outputs(const lh_overfit_run *run, lh_engine *engine, lh_batch *batch, lh_overfit_facts *facts,
                                 lh_error *error) {
    const lh_spec *spec = engine->spec;
    outputs p = {.classes = spec->classes};
    lh_state current = {0}, start = {0};
    size_t row = (size_t)spec->classes * sizeof(double);
    double *logits = lh_engine_allocate((size_t)lh_make_shape(spec, run->length, 1).labels * row, "outputs", error);
    p.logits = lh_engine_allocate(MAX_OUTPUTS * row, "outputs", error);
    lh_status status = logits != NULL && p.logits != NULL ? LH_OK : LH_ERR_ENVIRONMENT;
    if (status == LH_OK) status = lh_state_open(&current, engine, false, error);
    if (status == LH_OK) status = lh_state_open(&start, engine, false, error);
    if (status == LH_OK) status = compute_outputs(run, engine, batch, logits, &p, error);
    if (status == LH_OK) status = engine->ops->read_state(engine, &current, error);
    if (status == LH_OK) status = read_start(run, spec, &start, error);
    if (status == LH_OK) {
        facts->end_attainable = compute_attainable(&p);
        facts->start_norm = compute_norm(spec, start.real_bytes, start.parameters);
        status = engine->ops->write_state(engine, &start, engine->step, error);
        if (status == LH_OK) status = compute_outputs(run, engine, batch, logits, &p, error);
        facts->start_attainable = compute_attainable(&p);
        lh_status restore_status =
            engine->ops->write_state(engine, &current, engine->step, status == LH_OK ? error : NULL);
        if (status == LH_OK) status = restore_status;
    }
    lh_state_close(&current);
    lh_state_close(&start);
    free(logits);
    free(p.logits);
    return status;
}

int lh_overfit_get_length(const lh_spec *spec) { return lh_lengths_find_longest(&spec->train.lengths); }

lh_status lh_overfit_evaluate(const lh_overfit_run *run, lh_engine *engine, lh_sums *sums, lh_error *error) {
    lh_condition condition = {
        .n = run->length, .examples = run->examples, .source = make_source(run), .draw = make_draw(run)};
    return engine->ops->evaluate(engine, &condition, sums, NULL, error);
}

static lh_status measure_accuracy(const lh_overfit_run *run, lh_engine *engine, lh_overfit_facts *facts,
                                  lh_error *error) {
    lh_sums sums;
    lh_status status = lh_overfit_evaluate(run, engine, &sums, error);
    if (status != LH_OK) return status;
    facts->accuracy = sums.counted > 0 ? (double)sums.correct / (double)sums.counted : 0;
    facts->loss = lh_compute_mean_loss(&sums);
    facts->guess_loss = log((double)engine->spec->classes);
    facts->steps = engine->step;
    return LH_OK;
}

lh_status lh_overfit_measure(const lh_overfit_run *run, lh_engine *engine, lh_overfit_facts *facts, lh_error *error) {
    const lh_spec *spec = engine->spec;
    lh_source source = make_source(run);
    int count = run->examples < LH_OVERFIT_EXAMPLES ? run->examples : LH_OVERFIT_EXAMPLES;
    lh_batch batch;
    memset(facts, 0, sizeof *facts);
    lh_status status = lh_batch_open(&batch, spec, run->length, count, error);
    if (status != LH_OK) return status;
    status = lh_batch_fill(&batch, spec, &source, run->length, 0, count, error);
    if (status == LH_OK) status = measure_data(&batch, spec, facts, error);
    if (status == LH_OK) status = measure_outputs(run, engine, &batch, facts, error);
    lh_batch_close(&batch);
    if (status == LH_OK) status = measure_accuracy(run, engine, facts, error);
    return status == LH_OK ? lh_overfit_read_metrics(run->metrics, facts, error) : status;
}
