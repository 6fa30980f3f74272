/* Runs the passes and writes the file; see trace.h. trace_plan.c decides what to compute. */
#include "eval/trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "data/datasets/epoch.h"
#include "eval/decode.h"
#include "longhand/math.h"

double lh_read_trace_element(const lh_trace_tensor *tensor, int64_t i) {
    if (tensor->kind >= LH_TRACE_TOKENS) return ((const int32_t *)tensor->data)[i];
    return lh_real_read(tensor->data, lh_st_get_element_bytes(tensor->file.dtype), i);
}

int lh_find_trace_input(const lh_trace_request *request, int n, int i) {
    int input = 0;
    while (request->inputs[input].n != n || i-- > 0) input++;
    return input;
}

/* The state of one pass. */
typedef struct pass {
    const lh_traces *traces;
    lh_trace_group *group;
    lh_engine *engine;
    lh_batch batch;             /* a batch with one sequence */
    lh_trace *buffers;          /* [sites] buffers to which the pass writes */
    double *logits;             /* [labels][classes], if the pass gives answers */
    uint16_t *answers;          /* [labels], for a user's own inputs */
    int answer_count;           /* number of answers up to the end */
    int input;                  /* index of the input in the request */
    uint32_t *indices_in_shape; /* the shape's examples in the order of a shuffle, or NULL */
    int draw, example;
} pass;

/* ---- memory ---- */

static lh_status allocate_tensors(lh_traces *traces, lh_error *error) {
    for (int i = 0; i < traces->count; i++) {
        lh_trace_tensor *t = &traces->tensors[i];
        size_t bytes = t->is_mean ? (size_t)t->elements * sizeof(double) : t->file.bytes;
        t->data = lh_engine_allocate(bytes, t->name, error);
        if (t->data == NULL) return LH_ERR_ENVIRONMENT;
    }
    return LH_OK;
}

static lh_status open_site(const pass *p, int site, lh_trace *buffers, lh_error *error) {
    void **const slot[] = {
        [LH_TRACE_ACTIVATIONS] = &buffers->activation,
        [LH_TRACE_SCORES] = &buffers->scores,
        [LH_TRACE_ATTENTION] = &buffers->attention,
    };
    for (int kind = 0; kind < LH_TRACE_ENTROPY; kind++) {
        size_t bytes = lh_count_trace_scratch(p->traces, p->group->n, site, (lh_trace_kind)kind);
        if (bytes > 0 && (*slot[kind] = lh_engine_allocate(bytes, "one pass", error)) == NULL)
            return LH_ERR_ENVIRONMENT;
    }
    return LH_OK;
}

/* Allocates logits and answers if the request needs them. */
static lh_status open_answers(pass *p, lh_error *error) {
    const lh_spec *spec = p->traces->spec;
    const lh_trace_request *request = &p->traces->request;
    size_t labels = (size_t)lh_make_shape(spec, p->group->n, 1).labels;
    if (request->only_exact || (request->inputs != NULL && !spec->format->teacher_forced)) {
        p->logits = lh_engine_allocate(labels * (size_t)spec->classes * sizeof *p->logits, "one pass", error);
        if (p->logits == NULL) return LH_ERR_ENVIRONMENT;
    }
    if (request->inputs != NULL) {
        p->answers = lh_engine_allocate(labels * sizeof *p->answers, "one pass", error);
        if (p->answers == NULL) return LH_ERR_ENVIRONMENT;
    }
    return LH_OK;
}

/* Computes the random order of a dataset's examples. */
static lh_status open_order(pass *p, lh_error *error) {
    const lh_trace_request *request = &p->traces->request;
    const lh_corpus *corpus = p->traces->spec->corpus;
    if (!request->is_shuffled) return LH_OK;
    int n = p->group->n;
    const lh_dataset *set = request->set != NULL ? request->set : &corpus->eval;
    int64_t count = lh_dataset_count_examples(set, n);
    p->indices_in_shape =
        lh_engine_allocate((size_t)count * sizeof *p->indices_in_shape, "the order of examples", error);
    if (p->indices_in_shape == NULL) return LH_ERR_ENVIRONMENT;
    lh_draw_order(lh_rng_at(lh_key_of_seed(request->seed), 0, lh_get_order_word(set, n),
                            lh_site(LH_DOMAIN_EVAL, 0, LH_PLACE_ORDER)),
                  p->indices_in_shape, count);
    return LH_OK;
}

static lh_status open_pass(pass *p, lh_error *error) {
    const lh_spec *spec = p->traces->spec;
    lh_lengths lengths = {.first = p->group->n, .last = p->group->n};
    lh_status status = p->engine->ops->reserve(p->engine, &lengths, 1, error);
    if (status == LH_OK) status = lh_batch_open(&p->batch, spec, p->group->n, 1, error);
    if (status == LH_OK) status = open_order(p, error);
    if (status != LH_OK) return status;
    int site_count = lh_count_trace_sites(spec, p->group->n);
    p->buffers = lh_engine_allocate((size_t)site_count * sizeof *p->buffers, "one pass", error);
    if (p->buffers == NULL) return LH_ERR_ENVIRONMENT;
    for (int site = 0; status == LH_OK && site < site_count; site++)
        status = open_site(p, site, &p->buffers[site], error);
    return status == LH_OK ? open_answers(p, error) : status;
}

static void close_pass(pass *p) {
    int site_count = lh_count_trace_sites(p->traces->spec, p->group->n);
    for (int site = 0; p->buffers != NULL && site < site_count; site++) {
        free(p->buffers[site].activation);
        free(p->buffers[site].scores);
        free(p->buffers[site].attention);
    }
    free(p->buffers);
    free(p->logits);
    free(p->answers);
    free(p->indices_in_shape);
    lh_batch_close(&p->batch);
}

/* ---- one pass ---- */

/* Writes a user's own input to p->batch; a stream that holds the target gets the model's answers. */
static lh_status put_input(pass *p, lh_query *query, lh_error *error) {
    lh_status status = LH_OK;
    if (p->traces->spec->format->teacher_forced) {
        status =
            lh_decode(p->engine, query, 1, &(lh_answers){.answers = p->answers, .lengths = &p->answer_count}, error);
        query->target = p->answers;
    }
    if (status == LH_OK)
        lh_batch_put(&p->batch, p->traces->spec, query->n, 0, query->input, query->target,
                     query->line_positions != NULL ? query->line_positions[0] : NULL);
    return status;
}

/* Makes the model's input; p->batch holds its tokens. */
static lh_status make_query(pass *p, lh_query *query, lh_error *error) {
    const lh_trace_request *request = &p->traces->request;
    const lh_spec *spec = p->traces->spec;
    int n = p->group->n;
    lh_condition condition = lh_make_condition(n, 1, request->seed, p->draw);
    /* As in an evaluation by length, the counter word `step` of random draws (longhand/rng.h) is the length. */
    condition.draw.step = (uint32_t)lh_get_reported_length(spec, n);
    condition.source.set = request->set;
    condition.source.indices_in_shape = p->indices_in_shape != NULL ? p->indices_in_shape : p->group->indices_in_shape;
    if (request->inputs == NULL) {
        *query = (lh_query){.n = n,
                            .input = p->batch.input,
                            .target = p->batch.labels,
                            .line_positions = &p->batch.line_positions,
                            .draw = condition.draw,
                            .example = (uint32_t)p->example};
        return lh_batch_fill(&p->batch, spec, &condition.source, n, (uint32_t)p->example, 1, error);
    }
    p->input = lh_find_trace_input(request, n, p->example);
    *query = request->inputs[p->input];
    query->draw = condition.draw;
    query->example = (uint32_t)p->input; /* the verb `predict` draws with the same index */
    return put_input(p, query, error);
}

double lh_compute_entropy(const void *weights, int real_bytes, int64_t queries, int64_t keys) {
    double sum = 0;
    for (int64_t i = 0; i < queries * keys; i++) {
        double weight = lh_real_read(weights, real_bytes, i);
        if (weight > 0) sum -= weight * lh_log(weight);
    }
    return sum / (double)queries;
}

double lh_compute_uniform_entropy(const void *scores, int real_bytes, int64_t queries, int64_t keys) {
    double sum = 0;
    for (int64_t i = 0; i < queries; i++) {
        int64_t open_keys = 0;
        for (int64_t j = 0; j < keys; j++) open_keys += lh_real_read(scores, real_bytes, i * keys + j) != -INFINITY;
        if (open_keys > 0) sum += lh_log((double)open_keys);
    }
    return sum / (double)queries;
}

/* Adds each head's entropy to the tensor's sums, and the entropy of uniform attention to t->uniform_entropy. */
static void add_entropy(const pass *p, lh_trace_tensor *t) {
    const lh_trace_site *site = &p->traces->sites[t->site];
    const lh_trace *buffers = &p->buffers[t->site]; /* [heads][queries][keys] */
    lh_shape shape = lh_make_shape(p->traces->spec, p->group->n, 1);
    int64_t queries = shape.length[site->query], keys = shape.length[site->key];
    int bytes = p->engine->real_bytes;
    for (int h = 0; h < site->heads; h++)
        ((double *)t->data)[h] +=
            lh_compute_entropy((const char *)buffers->attention + h * queries * keys * bytes, bytes, queries, keys);
    t->uniform_entropy += lh_compute_uniform_entropy(buffers->scores, bytes, site->heads * queries, keys);
}

/* The address of this pass's integers in a tensor, which may have a dimension of draws. */
static int32_t *get_integers(const pass *p, const lh_trace_tensor *t) {
    int64_t draw = t->file.rank > 2 ? p->draw : 0;
    return (int32_t *)t->data + (draw * p->group->examples + p->example) * t->elements;
}

static void store_tokens(const pass *p, lh_trace_tensor *t) {
    int32_t *integers = get_integers(p, t);
    for (int64_t i = 0; i < t->elements; i++) integers[i] = p->batch.tokens[t->stream][i];
}

/* Reads the answers of the pass, if no stream holds them. */
static void read_answers(pass *p) {
    const lh_spec *spec = p->traces->spec;
    if (spec->format->teacher_forced) return;
    p->answer_count = lh_make_shape(spec, p->group->n, 1).labels;
    for (int i = 0; i < p->answer_count; i++)
        p->answers[i] = (uint16_t)lh_find_best_class(p->logits + (size_t)i * (size_t)spec->classes, spec->classes);
}

static void store_answers(const pass *p, lh_trace_tensor *t) {
    int32_t *integers = get_integers(p, t);
    for (int64_t i = 0; i < t->elements; i++) integers[i] = i < p->answer_count ? p->answers[i] : -1;
}

static void store_targets(const pass *p, lh_trace_tensor *t) {
    const lh_right_answer *right_answers = &p->traces->request.right_answers[p->input];
    int32_t *integers = get_integers(p, t);
    for (int64_t i = 0; i < t->elements; i++)
        integers[i] = right_answers->target != NULL && (right_answers->mask == NULL || right_answers->mask[i])
                          ? right_answers->target[i]
                          : -1;
}

static const void *choose_source(const lh_trace *buffers, lh_trace_kind kind) {
    return kind == LH_TRACE_ACTIVATIONS ? buffers->activation
           : kind == LH_TRACE_SCORES    ? buffers->scores
                                        : buffers->attention;
}

/* Stores the output of a pass in a tensor of the file, or adds the output to the tensor's sums. */
static void store_output(const pass *p, lh_trace_tensor *t) {
    if (t->kind >= LH_TRACE_TOKENS) {
        (t->kind == LH_TRACE_TOKENS ? store_tokens : t->kind == LH_TRACE_ANSWERS ? store_answers : store_targets)(p, t);
        return;
    }
    const void *source = choose_source(&p->buffers[t->site], t->kind);
    double *sums = t->data;
    if (t->kind == LH_TRACE_ENTROPY) add_entropy(p, t);
    else if (t->is_mean)
        for (int64_t i = 0; i < t->elements; i++) sums[i] += lh_real_read(source, p->engine->real_bytes, i);
    else {
        size_t bytes = (size_t)t->elements * (size_t)p->engine->real_bytes;
        size_t index = (size_t)p->draw * (size_t)p->group->examples + (size_t)p->example;
        memcpy((char *)t->data + index * bytes, source, bytes);
    }
}

/* Divides sums by the number of passes: t->uniform_entropy, and the data, which are converted in place from double
 * to the type of the file. */
static void finish_mean(lh_trace_tensor *t, double passes) {
    char *data = t->data;
    t->uniform_entropy /= passes;
    int bytes = lh_st_get_element_bytes(t->file.dtype);
    for (int64_t i = 0; i < t->elements; i++) {
        double sum;
        memcpy(&sum, data + (size_t)i * sizeof sum, sizeof sum);
        double mean = sum / passes;
        float rounded = (float)mean;
        memcpy(data + i * bytes, bytes == 8 ? (const void *)&mean : (const void *)&rounded, (size_t)bytes);
    }
}

/* Whether all counted answers of the pass are right, and there are any. A teacher-forced pass suffices: while all
 * answers are right, decoding also reads the target's tokens, and so it gives the same answers. */
static bool is_exact(const pass *p) {
    int labels = lh_make_shape(p->traces->spec, p->group->n, 1).labels, classes = p->traces->spec->classes;
    for (int i = 0; i < labels; i++)
        if (p->batch.mask[i] &&
            lh_find_best_class(p->logits + (size_t)i * (size_t)classes, classes) != p->batch.labels[i])
            return false;
    return lh_batch_count_sequences(&p->batch, p->traces->spec) > 0;
}

static lh_status run_pass(pass *p, lh_error *error) {
    lh_query query;
    lh_status status = lh_is_stopped(p->engine) ? LH_STOPPED : make_query(p, &query, error);
    if (status != LH_OK) return status;
    status = p->engine->ops->trace(p->engine, &query, p->buffers, p->logits, error);
    if (status != LH_OK) return status;
    if (p->traces->request.only_exact && !is_exact(p)) return LH_OK;
    if (p->answers != NULL) read_answers(p);
    p->group->counted_passes++;
    for (int i = 0; i < p->group->tensors; i++) store_output(p, &p->traces->tensors[p->group->first_tensor + i]);
    return LH_OK;
}

static lh_status run_group(lh_traces *traces, lh_trace_group *group, lh_engine *engine, int64_t *finished_passes,
                           lh_error *error) {
    const lh_trace_request *request = &traces->request;
    pass p = {.traces = traces, .group = group, .engine = engine};
    int reported_length = lh_get_reported_length(traces->spec, group->n);
    lh_trace_tensor *tensors = traces->tensors + group->first_tensor;
    lh_status status = open_pass(&p, error);
    for (p.draw = 0; status == LH_OK && p.draw < request->draws; p.draw++)
        for (p.example = 0; status == LH_OK && p.example < group->examples; p.example++) {
            status = run_pass(&p, error);
            if (request->watch != NULL)
                request->watch(request->context, reported_length, ++*finished_passes, traces->passes);
        }
    close_pass(&p);
    if (status == LH_OK && group->counted_passes == 0)
        return lh_fail(error, LH_ERR_INPUT,
                       "--exact: at length %d, 0 of %" PRId64
                       " examples have right answers, so there is nothing to average\n"
                       "  hint: train longer",
                       reported_length, (int64_t)request->draws * group->examples);
    for (int i = 0; status == LH_OK && i < group->tensors; i++)
        if (tensors[i].is_mean) finish_mean(&tensors[i], (double)group->counted_passes);
    return status;
}

lh_status lh_traces_run(lh_traces *traces, lh_engine *engine, lh_error *error) {
    int64_t finished_passes = 0;
    lh_status status = allocate_tensors(traces, error);
    for (int g = 0; status == LH_OK && g < traces->group_count; g++)
        status = run_group(traces, &traces->groups[g], engine, &finished_passes, error);
    return status;
}

lh_status lh_traces_write(const lh_traces *traces, const char *path, const lh_st_meta *meta, int meta_count,
                          lh_error *error) {
    lh_st_tensor *list = lh_engine_allocate(((size_t)traces->count + 1) * sizeof *list, "a list of tensors", error);
    if (list == NULL) return LH_ERR_ENVIRONMENT;
    for (int i = 0; i < traces->count; i++) {
        list[i] = traces->tensors[i].file;
        list[i].name = traces->tensors[i].name;
        list[i].data = traces->tensors[i].data;
    }
    lh_status status = lh_st_write(path, list, traces->count, meta, meta_count, error);
    free(list);
    return status;
}

void lh_traces_close(lh_traces *traces) {
    for (int i = 0; traces->tensors != NULL && i < traces->count; i++) free(traces->tensors[i].data);
    free(traces->tensors);
    for (int g = 0; g < traces->group_count; g++) free(traces->groups[g].indices_in_shape);
    free(traces->groups);
    free(traces->sites);
    free(traces->site_names);
    memset(traces, 0, sizeof *traces);
}
