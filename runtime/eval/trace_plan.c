/* Plans the tensors of a trace and their memory; see trace.h. Sizes are doubles until they are checked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/datasets/pick.h"
#include "eval/evaluate.h"
#include "eval/trace.h"

enum { SITE_NAME_BYTES = 64 };

const char *lh_get_trace_kind_name(lh_trace_kind kind) {
    static const char *const names[LH_TRACE_KINDS] = {"attention", "scores",  "activations", "entropy",
                                                      "tokens",    "answers", "targets"};
    return names[kind];
}

static lh_status fail_size(double bytes, double available, const char *contents, lh_error *error) {
    return lh_fail(error, LH_ERR_ENVIRONMENT,
                   "%s takes %.1f MB of memory, %.1f MB are available\n"
                   "  hint: fewer examples, shorter lengths, fewer kinds, or --average",
                   contents, bytes / 1e6, available / 1e6);
}

/* ---- groups: one per task length, or shape ---- */

static lh_trace_group *find_group(lh_traces *traces, int n) {
    for (int g = 0; g < traces->group_count; g++)
        if (traces->groups[g].n == n) return &traces->groups[g];
    return NULL;
}

static lh_status add_group(lh_traces *traces, int n, int examples, lh_error *error) {
    lh_lengths length = {.first = n, .last = n};
    traces->groups[traces->group_count++] = (lh_trace_group){.n = n, .examples = examples};
    return lh_check_limit(traces->spec, &length, error);
}

static lh_status group_inputs(lh_traces *traces, lh_error *error) {
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < traces->request.input_count; i++) {
        int n = traces->request.inputs[i].n;
        lh_trace_group *group = find_group(traces, n);
        if (group != NULL) group->examples++;
        else status = add_group(traces, n, 1, error);
    }
    return status;
}

static lh_status group_lengths(lh_traces *traces, lh_error *error) {
    const lh_lengths *lengths = &traces->request.lengths;
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < lh_lengths_count(lengths); i++) {
        int n = lh_lengths_get(lengths, i);
        if (lengths->list != NULL && find_group(traces, n) != NULL)
            return lh_fail(error, LH_ERR_INPUT, "--lengths: %d is given twice", n);
        status = add_group(traces, n, traces->request.examples, error);
    }
    return status;
}

/* Whether shape n has this input length, and at least one example that does not belong to a single axis of eval.by
 * alone (lh_dataset.exclusive_axes). */
static bool is_traced_shape(const lh_traces *traces, const lh_dataset *set, int input_length, int n) {
    const lh_spec *spec = traces->spec;
    return spec->corpus->sizes[n - 1].input == input_length &&
           lh_dataset_has_general_examples(set, spec->task->axes, n);
}

/* Chooses examples with this input length as an evaluation does. Returns their indices in ascending order. The caller
 * frees the list. NULL: an error. */
static uint32_t *pick_example_indices(const lh_traces *traces, const lh_dataset *set, int input_length, int64_t *count,
                                      lh_error *error) {
    const lh_spec *spec = traces->spec;
    lh_pick choice = {.limit = traces->request.examples, .seed = traces->request.seed, .in_order = spec->eval.in_order};
    uint32_t *indices = lh_engine_allocate((size_t)set->count * sizeof *indices, "a list of examples", error);
    *count = 0;
    for (int n = 1; indices != NULL && n <= spec->corpus->shapes; n++)
        for (int64_t i = set->first[n - 1]; i < set->first[n] && is_traced_shape(traces, set, input_length, n); i++)
            indices[(*count)++] = (uint32_t)i;
    if (indices == NULL || lh_pick_example_indices(set, &choice, indices, count, error) == LH_OK) return indices;
    free(indices);
    return NULL;
}

/* Makes a group for each shape of the examples that pick_example_indices chooses. */
static lh_status group_chosen_examples(lh_traces *traces, int input_length, lh_error *error) {
    const lh_corpus *corpus = traces->spec->corpus;
    const lh_dataset *set = traces->request.set != NULL ? traces->request.set : &corpus->eval;
    int64_t count;
    lh_status status = LH_OK;
    uint32_t *indices = pick_example_indices(traces, set, input_length, &count, error);
    if (indices == NULL) return LH_ERR_ENVIRONMENT;
    for (int64_t first = 0, next; status == LH_OK && first < count; first = next) {
        int n = lh_dataset_find_shape(set, corpus->shapes, indices[first]);
        for (next = first; next < count && indices[next] < set->first[n];) next++;
        status = add_group(traces, n, (int)(next - first), error);
        uint32_t *indices_in_shape =
            lh_engine_allocate((size_t)(next - first) * sizeof *indices_in_shape, "a list of examples", error);
        traces->groups[traces->group_count - 1].indices_in_shape = indices_in_shape;
        if (indices_in_shape == NULL) status = LH_ERR_ENVIRONMENT;
        for (int64_t i = first; indices_in_shape != NULL && i < next; i++)
            indices_in_shape[i - first] = indices[i] - (uint32_t)set->first[n - 1];
    }
    free(indices);
    return status;
}

/* Makes a group for each shape, up to the requested number of examples. A pass shuffles the examples of its group. */
static lh_status group_shuffled_examples(lh_traces *traces, int input_length, lh_error *error) {
    const lh_corpus *corpus = traces->spec->corpus;
    const lh_dataset *set = traces->request.set != NULL ? traces->request.set : &corpus->eval;
    lh_status status = LH_OK;
    for (int n = 1, remaining = traces->request.examples; status == LH_OK && remaining > 0 && n <= corpus->shapes;
         n++) {
        int64_t count = lh_dataset_count_examples(set, n);
        if (!is_traced_shape(traces, set, input_length, n)) continue;
        if (count > remaining) count = remaining;
        status = add_group(traces, n, (int)count, error);
        remaining -= (int)count;
    }
    return status;
}

static lh_status group_data(lh_traces *traces, lh_error *error) {
    const lh_lengths *lengths = &traces->request.lengths;
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < lh_lengths_count(lengths); i++)
        status = (traces->request.is_shuffled ? group_shuffled_examples
                                              : group_chosen_examples)(traces, lh_lengths_get(lengths, i), error);
    if (status == LH_OK && traces->group_count == 0)
        return lh_fail(
            error, LH_ERR_INPUT,
            "--lengths: all examples of these lengths are for a single axis of eval.by; such examples are not traced\n"
            "  hint: --input traces inputs of your own");
    return status;
}

static void name_group(const lh_traces *traces, lh_trace_group *group) {
    int reported_length = lh_get_reported_length(traces->spec, group->n), groups_of_length = 0;
    for (int g = 0; g < traces->group_count; g++)
        groups_of_length += lh_get_reported_length(traces->spec, traces->groups[g].n) == reported_length;
    size_t bytes = sizeof group->label;
    int used = snprintf(group->label, bytes, "n%d", reported_length);
    if (groups_of_length == 1) return;
    used += snprintf(group->label + used, bytes - (size_t)used, "o%d", lh_get_output_length(traces->spec, group->n));
    if (traces->spec->pass_axis > 0)
        snprintf(group->label + used, bytes - (size_t)used, "p%d", lh_count_passes(traces->spec, group->n));
}

static lh_status make_groups(lh_traces *traces, lh_error *error) {
    bool has_inputs = traces->request.inputs != NULL, has_corpus = traces->spec->corpus != NULL;
    int capacity = has_inputs   ? traces->request.input_count
                   : has_corpus ? traces->spec->corpus->shapes
                                : lh_lengths_count(&traces->request.lengths);
    traces->groups = lh_engine_allocate((size_t)capacity * sizeof *traces->groups, "a list of lengths", error);
    if (traces->groups == NULL) return LH_ERR_ENVIRONMENT;
    lh_status status = (has_inputs ? group_inputs : has_corpus ? group_data : group_lengths)(traces, error);
    for (int g = 0; status == LH_OK && g < traces->group_count; g++) name_group(traces, &traces->groups[g]);
    return status;
}

/* ---- sites ---- */

int lh_count_trace_sites(const lh_spec *spec, int n) {
    return spec->site_count + (spec->pass_sites > 0 ? (lh_count_passes(spec, n) - 1) * spec->pass_sites : 0);
}

/* Adds added_layers to the layer index in the name of a site: "layers.0.output" becomes "layers.2.output". */
static void name_later_site(char *name, const char *first_name, int added_layers) {
    size_t prefix = strcspn(first_name, "0123456789");
    char *suffix;
    long layer = strtol(first_name + prefix, &suffix, 10);
    snprintf(name, SITE_NAME_BYTES, "%.*s%ld%s", (int)prefix, first_name, layer + added_layers, suffix);
}

/* Makes the sites of the longest task length. */
static lh_status make_sites(lh_traces *traces, lh_error *error) {
    const lh_spec *spec = traces->spec;
    int count = spec->site_count;
    int layers = 0; /* number of layers; each layer has one site with an activation */
    for (int g = 0; g < traces->group_count; g++)
        if (lh_count_trace_sites(spec, traces->groups[g].n) > count)
            count = lh_count_trace_sites(spec, traces->groups[g].n);
    traces->sites = lh_engine_allocate((size_t)count * sizeof *traces->sites, "a list of sites", error);
    traces->site_names = lh_engine_allocate((size_t)count * SITE_NAME_BYTES, "a list of sites", error);
    if (traces->sites == NULL || traces->site_names == NULL) return LH_ERR_ENVIRONMENT;
    memcpy(traces->sites, spec->sites, (size_t)spec->site_count * sizeof *traces->sites);
    for (int site = spec->site_count - spec->pass_sites; site < spec->site_count; site++)
        layers += spec->sites[site].channels > 0;
    for (int site = spec->site_count; site < count; site++) {
        int pass = (site - spec->site_count) / spec->pass_sites + 1;
        char *name = traces->site_names + (size_t)site * SITE_NAME_BYTES;
        traces->sites[site] = spec->sites[site - pass * spec->pass_sites];
        name_later_site(name, traces->sites[site].name, pass * layers);
        traces->sites[site].name = name;
    }
    return LH_OK;
}

/* ---- tensors of a group ---- */

static bool has_integers(const lh_trace_tensor *t) { return t->kind >= LH_TRACE_TOKENS; }

/* Writes the dimensions of a tensor without those of draws and examples. Returns their number. */
static int write_pass_shape(const lh_traces *traces, const lh_trace_tensor *t, int64_t *shape) {
    lh_shape lengths = lh_make_shape(traces->spec, t->n, 1);
    if (t->kind == LH_TRACE_TOKENS) {
        shape[0] = lengths.length[t->stream];
        return 1;
    }
    if (has_integers(t)) {
        shape[0] = lengths.labels;
        return 1;
    }
    const lh_trace_site *site = &traces->sites[t->site];
    shape[0] = site->heads;
    if (t->kind == LH_TRACE_ENTROPY) return 1;
    if (t->kind == LH_TRACE_ACTIVATIONS) {
        shape[0] = lengths.length[site->query];
        shape[1] = site->channels;
        return 2;
    }
    shape[1] = lengths.length[site->query];
    shape[2] = lengths.length[site->key];
    return 3;
}

static void name_tensor(const lh_traces *traces, lh_trace_tensor *t) {
    const lh_spec *spec = traces->spec;
    const char *label = traces->groups[t->group].label;
    if (t->kind == LH_TRACE_TOKENS && spec->format->streams == 1) snprintf(t->name, sizeof t->name, "%s.tokens", label);
    else if (t->kind == LH_TRACE_TOKENS)
        snprintf(t->name, sizeof t->name, "%s.tokens.%s", label, spec->format->stream[t->stream].name);
    else if (has_integers(t)) snprintf(t->name, sizeof t->name, "%s.%s", label, lh_get_trace_kind_name(t->kind));
    else if (t->kind == LH_TRACE_ACTIVATIONS)
        snprintf(t->name, sizeof t->name, "%s.%s", label, traces->sites[t->site].name);
    else
        snprintf(t->name, sizeof t->name, "%s.%s.%s", label, traces->sites[t->site].name,
                 lh_get_trace_kind_name(t->kind));
}

/* Whether a tensor has values for each draw. Tokens have them only in a stream with decoded answers. */
static bool varies_by_draw(const lh_traces *traces, const lh_trace_tensor *t) {
    const lh_format *format = traces->spec->format;
    bool is_decoded = traces->request.inputs != NULL && format->teacher_forced && t->stream == format->label_stream;
    return t->kind != LH_TRACE_TARGETS && (t->kind != LH_TRACE_TOKENS || is_decoded);
}

/* Adds a tensor to the group, and the tensor's memory to the totals. */
static void add_tensor(lh_traces *traces, lh_trace_group *group, lh_trace_tensor tensor) {
    const lh_trace_request *request = &traces->request;
    lh_trace_tensor *t = &traces->tensors[traces->count++];
    int outer_rank = 0; /* dimensions of draws and examples */
    *t = tensor;
    t->n = group->n;
    t->group = (int)(group - traces->groups);
    t->is_mean = t->kind == LH_TRACE_ENTROPY || (request->is_averaged && !has_integers(t));
    name_tensor(traces, t);
    if (!t->is_mean && request->draws > 1 && varies_by_draw(traces, t)) t->file.shape[outer_rank++] = request->draws;
    if (!t->is_mean) t->file.shape[outer_rank++] = group->examples;
    int rank = outer_rank + write_pass_shape(traces, t, t->file.shape + outer_rank);
    t->file.rank = rank;
    t->elements = 1;
    for (int i = outer_rank; i < rank; i++) t->elements *= t->file.shape[i];
    t->file.dtype = has_integers(t) ? "I32" : traces->real_bytes == 8 ? "F64" : "F32";
    double bytes = lh_st_get_element_bytes(t->file.dtype);
    for (int i = 0; i < rank; i++) bytes *= (double)t->file.shape[i];
    t->file.bytes = bytes < 1e18 ? (size_t)bytes : 0; /* 0: make_tensors refuses this size */
    traces->bytes += bytes;
    traces->memory += t->is_mean ? (double)t->elements * (double)sizeof(double) : bytes;
    group->tensors++;
}

/* Whether the right answer to some input of a group is known. */
static bool is_any_answer_known(const lh_traces *traces, const lh_trace_group *group) {
    const lh_trace_request *request = &traces->request;
    for (int i = 0; request->right_answers != NULL && i < request->input_count; i++)
        if (request->inputs[i].n == group->n && request->right_answers[i].target != NULL) return true;
    return false;
}

static void add_group_tensors(lh_traces *traces, lh_trace_group *group) {
    const lh_spec *spec = traces->spec;
    const bool *kinds = traces->request.kinds;
    bool has_tokens = !traces->request.is_averaged &&
                      (kinds[LH_TRACE_ATTENTION] || kinds[LH_TRACE_SCORES] || kinds[LH_TRACE_ACTIVATIONS]);
    group->first_tensor = traces->count;
    for (int s = 0; has_tokens && s < spec->format->streams; s++)
        add_tensor(traces, group, (lh_trace_tensor){.kind = LH_TRACE_TOKENS, .site = -1, .stream = s});
    if (traces->request.inputs != NULL) {
        add_tensor(traces, group, (lh_trace_tensor){.kind = LH_TRACE_ANSWERS, .site = -1});
        if (is_any_answer_known(traces, group))
            add_tensor(traces, group, (lh_trace_tensor){.kind = LH_TRACE_TARGETS, .site = -1});
    }
    for (int site = 0; site < lh_count_trace_sites(spec, group->n); site++)
        for (int kind = 0; kind < LH_TRACE_TOKENS; kind++)
            if (kinds[kind] && (kind == LH_TRACE_ACTIVATIONS) == (traces->sites[site].channels > 0))
                add_tensor(traces, group, (lh_trace_tensor){.kind = (lh_trace_kind)kind, .site = site});
}

size_t lh_count_trace_scratch(const lh_traces *traces, int n, int site, lh_trace_kind kind) {
    const lh_trace_site *s = &traces->sites[site];
    const bool *kinds = traces->request.kinds;
    lh_shape shape = lh_make_shape(traces->spec, n, 1);
    size_t row = (size_t)shape.length[s->query] * (size_t)traces->real_bytes;
    bool is_for_entropy = kind == LH_TRACE_ATTENTION || kind == LH_TRACE_SCORES;
    bool is_needed = kinds[kind] || (is_for_entropy && kinds[LH_TRACE_ENTROPY]);
    if (!is_needed || (kind == LH_TRACE_ACTIVATIONS) != (s->channels > 0)) return 0;
    return row * (size_t)(s->channels > 0 ? s->channels : s->heads * shape.length[s->key]);
}

/* Bytes that one pass of a group writes, at all sites. */
static double measure_scratch(const lh_traces *traces, const lh_trace_group *group) {
    double scratch = 0;
    for (int site = 0; site < lh_count_trace_sites(traces->spec, group->n); site++)
        for (int kind = 0; kind < LH_TRACE_ENTROPY; kind++)
            scratch += (double)lh_count_trace_scratch(traces, group->n, site, (lh_trace_kind)kind);
    return scratch;
}

static lh_status make_tensors(lh_traces *traces, lh_error *error) {
    const lh_spec *spec = traces->spec;
    double capacity = 0, largest_scratch = 0;
    for (int g = 0; g < traces->group_count; g++)
        capacity += spec->format->streams + 2 + 3.0 * lh_count_trace_sites(spec, traces->groups[g].n);
    double list_bytes = capacity * sizeof *traces->tensors, available = lh_get_available_memory();
    if (list_bytes > available) return fail_size(list_bytes, available, "the list of tensors", error);
    traces->tensors = lh_engine_allocate((size_t)list_bytes, "a list of tensors", error);
    if (traces->tensors == NULL) return LH_ERR_ENVIRONMENT;
    for (int g = 0; g < traces->group_count; g++) {
        add_group_tensors(traces, &traces->groups[g]);
        double scratch = measure_scratch(traces, &traces->groups[g]);
        if (scratch > largest_scratch) largest_scratch = scratch;
        traces->passes += (int64_t)traces->groups[g].examples * traces->request.draws;
    }
    traces->memory += largest_scratch;
    return traces->memory <= available ? LH_OK : fail_size(traces->memory, available, "the trace", error);
}

const lh_trace_tensor *lh_traces_find(const lh_traces *traces, const lh_trace_group *group, lh_trace_kind kind) {
    for (int i = group->first_tensor; i < group->first_tensor + group->tensors; i++)
        if (traces->tensors[i].kind == kind) return &traces->tensors[i];
    return NULL;
}

lh_status lh_traces_open(lh_traces *traces, const lh_engine *engine, const lh_trace_request *request, lh_error *error) {
    *traces = (lh_traces){.spec = engine->spec, .request = *request, .real_bytes = engine->real_bytes};
    if (!lh_draws_anything(engine->spec)) traces->request.draws = 1;
    if (engine->spec->sites == NULL)
        return lh_fail(error, LH_ERR_INPUT, "%s: this model has nothing to trace", engine->spec->id);
    if (engine->spec->passes_by_length && engine->spec->pass_sites == 0)
        return lh_fail(error, LH_ERR_STALE,
                       "%s: was generated by an older Longhand, which could not trace a model whose number of passes "
                       "depends on the length; run: ./longhand build",
                       engine->spec->id);
    lh_status status = make_groups(traces, error);
    if (status == LH_OK) status = make_sites(traces, error);
    return status == LH_OK ? make_tensors(traces, error) : status;
}
