/* trainer trace: attention, scores, activations and the entropy of attention, as tensors of a file. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/json_text.h"
#include "cli/data_files.h"
#include "cli/verbs/trace_answers.h"
#include "cli/verbs/trace_inputs.h"
#include "cli/verbs/verbs.h"
#include "data/arithmetic.h"
#include "eval/trace.h"
#include "training/run_files.h"

typedef struct flags {
    const char *checkpoint, *kinds, *input, *out, *split;
    lh_option_texts texts;
    int64_t frame;
    bool has_frame;
    lh_option_lengths lengths;
    int64_t length, examples, draws, seed;
    bool has_lengths, has_examples, is_averaged, only_exact, is_shuffled, as_json;
} flags;

static const lh_verb verb = {
    "trace", "Writes intermediate values of a checkpoint, for examples of the task or your own inputs, as safetensors.",
    "KINDS, separated by commas:\n"
    "  attention    n<N>.layers.<L>.attention  [examples][heads][T][T], query by key\n"
    "  scores       n<N>.layers.<L>.scores     [examples][heads][T][T], the input of the softmax\n"
    "  activations  n<N>.embedding, n<N>.layers.<L>.output  [examples][T][width]\n"
    "  entropy      n<N>.layers.<L>.entropy    [heads], mean of -sum p ln p over draws, examples and queries;\n"
    "               also printed\n"
    "The first three also write n<N>.tokens [examples][T]. With several draws, [draws] precedes [examples];\n"
    "--average writes means instead, without [draws], [examples] and n<N>.tokens; with --exact, means over the\n"
    "examples with right answers. The examples are the first examples of an evaluation with this length and seed.\n"
    "For a set of examples, N is the input length. If numbers of outputs M differ, names begin with n<N>o<M>; if a\n"
    "value on an axis sets the number of passes, with n<N>o<M>p<passes>.\n"
    "FILE of --input has JSON lines in the form of predict; lines of one length are traced together. --text takes "
    "symbols\n"
    "of the task, such as 12+345. A task that computes the right answer pads the numbers to its frame. At most 64\n"
    "texts; more in a FILE.\n"
    "With --input or --text, a generative model reads its own answers. Even with --average, the file then has\n"
    "n<N>.answers and, if the right answers are known, n<N>.targets, both [examples][outputs]. The trainer prints "
    "each\n"
    "of these inputs with the answer."};

static lh_status read_flags(const lh_cli *cli, flags *f, bool *has_printed_help, lh_error *error) {
    char text[120];
    const char *literal = cli->spec->task->literal;
    *f = (flags){.kinds = "attention", .examples = 1, .draws = 1, .seed = LH_EVAL_SEED};
    snprintf(text, sizeof text, "an input in the task's symbols%s%.40s; at most 64 times",
             literal != NULL ? ", such as " : "", literal != NULL ? literal : "");
    const lh_option options[] = {
        {"--checkpoint", LH_OPTION_TEXT, &f->checkpoint, 0, 0, NULL, "FILE", "checkpoint (required)"},
        {"--what", LH_OPTION_TEXT, &f->kinds, 0, 0, NULL, "KINDS", "values to trace, see below (attention)"},
        {"--length", LH_OPTION_INTEGER, &f->length, 1, LH_LONGEST_LENGTH, NULL, "N",
         "task length (the shortest of the spec's eval)"},
        {"--lengths", LH_OPTION_LENGTHS, &f->lengths, 0, 0, &f->has_lengths, "A:B[:STEP]",
         "task lengths, or a list: 41,50,60"},
        {"--examples", LH_OPTION_INTEGER, &f->examples, 1, 1e7, &f->has_examples, "K", "examples per length (1)"},
        {"--split", LH_OPTION_TEXT, &f->split, 0, 0, NULL, "NAME", "set of examples: train, test or validation"},
        {"--draws", LH_OPTION_INTEGER, &f->draws, 1, LH_MOST_DRAWS, NULL, "K", "position draws per length (1)"},
        {"--seed", LH_OPTION_INTEGER, &f->seed, 0, LH_LARGEST_SEED, NULL, "S", "seed of examples and draws (1)"},
        {"--input", LH_OPTION_TEXT, &f->input, 0, 0, NULL, "FILE", "JSON lines {\"input\":[...]} instead of examples"},
        {"--text", LH_OPTION_TEXTS, &f->texts, 0, 0, NULL, "SYMBOLS", text},
        {"--frame", LH_OPTION_INTEGER, &f->frame, 0, LH_MAX_PLACES, &f->has_frame, "N",
         "width to which numbers of --text are padded; 0: no padding (the task's width)"},
        {"--average", LH_OPTION_SWITCH, &f->is_averaged, 0, 0, NULL, NULL, "write means over examples and draws"},
        {"--exact", LH_OPTION_SWITCH, &f->only_exact, 0, 0, NULL, NULL, "means over examples with right answers only"},
        {"--shuffle", LH_OPTION_SWITCH, &f->is_shuffled, 0, 0, NULL, NULL,
         "examples of a set in a random order by --seed"},
        {"--json", LH_OPTION_SWITCH, &f->as_json, 0, 0, NULL, NULL, "print JSON lines instead of tables"},
        {"--out", LH_OPTION_TEXT, &f->out, 0, 0, NULL, "FILE", "output file (required except for entropy)"},
    };
    return lh_cli_read_options(cli, &verb, options, sizeof options / sizeof *options, has_printed_help, error);
}

static lh_status read_kinds(const char *text, bool *kinds, lh_error *error) {
    for (const char *unread = text;; unread++) {
        size_t bytes = strcspn(unread, ",");
        int kind = 0;
        while (kind < LH_TRACE_TOKENS && (strlen(lh_get_trace_kind_name(kind)) != bytes ||
                                          strncmp(lh_get_trace_kind_name(kind), unread, bytes) != 0))
            kind++;
        if (kind == LH_TRACE_TOKENS)
            return lh_fail(error, LH_ERR_USAGE,
                           "--what: '%.*s' cannot be traced\n"
                           "  expected: attention, scores, activations, entropy; several with commas between them",
                           bytes < 80 ? (int)bytes : 80, unread);
        kinds[kind] = true;
        unread += bytes;
        if (*unread == 0) return LH_OK;
    }
}

/* The shortest length that the spec, or the requested set, has for evaluation; 0: none. */
static int find_shortest_length(const lh_spec *spec, const lh_dataset *set) {
    const lh_corpus *corpus = spec->corpus;
    int min_length = 0;
    if (set == NULL && corpus != NULL) set = &corpus->eval;
    for (int n = 1; set != NULL && n <= corpus->shapes; n++)
        if (lh_dataset_has_general_examples(set, spec->task->axes, n)) return corpus->sizes[n - 1].input;
    for (int i = 0; i < lh_lengths_count(&spec->eval.lengths); i++) {
        int n = lh_lengths_get(&spec->eval.lengths, i);
        if (min_length == 0 || n < min_length) min_length = n;
    }
    return min_length;
}

/* The given flag that replaces examples by inputs; NULL: none. */
static const char *get_inputs_flag(const flags *f) {
    return f->input != NULL ? "--input" : f->texts.count > 0 ? "--text" : NULL;
}

static bool has_frames(const lh_task *task) {
    for (int i = 0; i < task->axes; i++)
        if (strcmp(task->axis[i], "frame") == 0) return true;
    return false;
}

/* Refuses --input, --text and --frame together with flags that exclude them, and --frame for a task without frames. */
static lh_status check_inputs(const lh_spec *spec, const flags *f, lh_error *error) {
    const char *inputs = get_inputs_flag(f);
    if (f->input != NULL && f->texts.count > 0)
        return lh_fail(error, LH_ERR_USAGE, "--input and --text exclude each other; leave out one of them");
    if (inputs != NULL && (f->length > 0 || f->has_lengths || f->has_examples || f->split != NULL))
        return lh_fail(error, LH_ERR_USAGE, "%s: the given %s take the place of examples; leave out %s", inputs,
                       f->input != NULL ? "lines" : "symbols",
                       f->has_examples    ? "--examples"
                       : f->split != NULL ? "--split"
                                          : "--length and --lengths");
    if (f->has_frame && f->texts.count == 0) return lh_fail(error, LH_ERR_USAGE, "--frame: applies only to --text");
    if (f->has_frame && (spec->task->solve == NULL || !has_frames(spec->task)))
        return lh_fail(error, LH_ERR_USAGE, "--frame: inputs of %s have no frame", spec->task->kind);
    return LH_OK;
}

/* Refuses --exact and --shuffle with requests to which they do not apply. */
static lh_status check_means(const lh_spec *spec, const flags *f, const bool *kinds, lh_error *error) {
    bool needs_file = kinds[LH_TRACE_ATTENTION] || kinds[LH_TRACE_SCORES] || kinds[LH_TRACE_ACTIVATIONS];
    const char *inputs = get_inputs_flag(f);
    if (f->only_exact && inputs != NULL)
        return lh_fail(error, LH_ERR_USAGE, "--exact: applies only to examples; inputs of %s are all traced", inputs);
    if (f->only_exact && needs_file && !f->is_averaged)
        return lh_fail(error, LH_ERR_USAGE, "--exact: applies only to means\n  expected: --average as well");
    if (f->is_shuffled && inputs != NULL)
        return lh_fail(error, LH_ERR_USAGE, "--shuffle: applies only to sets of examples, not to %s", inputs);
    if (f->is_shuffled && spec->corpus == NULL)
        return lh_fail(error, LH_ERR_USAGE, "--shuffle: applies only to sets of examples; --seed selects sampled ones");
    return LH_OK;
}

/* Makes the request from the flags; refuses contradictory flags. */
static lh_status make_request(const lh_spec *spec, const flags *f, lh_trace_request *request, lh_error *error) {
    *request = (lh_trace_request){.is_averaged = f->is_averaged,
                                  .only_exact = f->only_exact,
                                  .is_shuffled = f->is_shuffled,
                                  .draws = (int)f->draws,
                                  .seed = (uint64_t)f->seed,
                                  .examples = (int)f->examples};
    lh_status status = read_kinds(f->kinds, request->kinds, error);
    if (status != LH_OK) return status;
    if (f->length > 0 && f->has_lengths)
        return lh_fail(error, LH_ERR_USAGE, "--length and --lengths exclude each other; leave out one of them");
    status = check_inputs(spec, f, error);
    if (status != LH_OK) return status;
    status = lh_data_files_find_set(spec, f->split, &request->set, error);
    if (status != LH_OK) return status;
    status = check_means(spec, f, request->kinds, error);
    if (status != LH_OK) return status;
    const bool *kinds = request->kinds;
    if (f->out == NULL && (kinds[LH_TRACE_ATTENTION] || kinds[LH_TRACE_SCORES] || kinds[LH_TRACE_ACTIVATIONS]))
        return lh_fail(error, LH_ERR_USAGE, "--out: missing\n  expected: --out FILE.safetensors");
    int n = f->length > 0 ? (int)f->length : find_shortest_length(spec, request->set);
    request->lengths = f->has_lengths ? f->lengths.lengths : (lh_lengths){.first = n, .last = n};
    if (n == 0 && !f->has_lengths && get_inputs_flag(f) == NULL)
        return lh_fail(error, LH_ERR_USAGE, "--length: missing; the spec has no evaluation lengths");
    return f->out != NULL ? lh_check_replaceable(f->out, error) : LH_OK;
}

/* With a dataset, keeps only lengths of its examples; else checks that a user's task can make examples. */
static lh_status set_lengths(const lh_spec *spec, lh_trace_request *request, lh_error *error) {
    lh_status status = lh_data_files_select(spec, request->set, &request->lengths, error);
    if (status != LH_OK) return status;
    return lh_try_lengths(spec->task, &request->lengths, lh_key_of_seed(request->seed), error);
}

static const char *get_source_name(const flags *f, const lh_spec *spec, const lh_dataset *set) {
    if (f->input != NULL) return f->input;
    if (f->texts.count > 0) return "text";
    if (spec->corpus == NULL) return "task";
    return set != NULL ? set->path : spec->corpus->eval.path;
}

static void show_progress(void *context, int n, int64_t finished_passes, int64_t count) {
    lh_progress *progress = context;
    char bar[32], remaining[32];
    double share = (double)finished_passes / (double)count, seconds = lh_progress_get_seconds(progress);
    if (seconds < 1.0 || finished_passes == count || !lh_progress_is_due(progress, 10.0)) return;
    lh_progress_print(progress, "trace %s %" PRId64 "/%" PRId64 "  length %d  %s left",
                      lh_progress_write_bar(share, bar), finished_passes, count, n,
                      lh_write_duration(seconds / share * (1 - share), remaining));
}

/* ---- numbers of passes with right answers ---- */

/* The number of passes, over all lengths, that enter the means. */
static int64_t count_averaged_passes(const lh_traces *traces) {
    int64_t sum = 0;
    for (int g = 0; g < traces->group_count; g++) sum += traces->groups[g].counted_passes;
    return sum;
}

static void print_right_passes(const lh_traces *traces, bool as_json) {
    for (int g = 0; g < traces->group_count; g++) {
        const lh_trace_group *group = &traces->groups[g];
        int64_t passes = (int64_t)group->examples * traces->request.draws;
        if (!as_json) {
            printf("%s: %" PRId64 " of %" PRId64 " passes have right answers\n", group->label, group->counted_passes,
                   passes);
            continue;
        }
        lh_json line;
        lh_json_begin(&line, stdout);
        lh_json_integer(&line, "length", lh_get_reported_length(traces->spec, group->n));
        if (traces->spec->corpus != NULL)
            lh_json_integer(&line, "outputs", lh_get_output_length(traces->spec, group->n));
        lh_json_integer(&line, "passes", passes);
        lh_json_integer(&line, "exact", group->counted_passes);
        lh_json_end_line(&line);
    }
}

/* ---- the file ---- */

/* Writes names as a JSON list, which the caller frees; NULL: out of memory. */
static char *write_names_json(const char *const *names, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(list, json_string(names[i]));
    char *text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    return text;
}

static lh_status write_file(const flags *f, const lh_traces *traces, const lh_engine *engine, lh_error *error) {
    char step[32], seed[32], draws[32], examples[32], exact[64], frame[32];
    const lh_task *task = engine->spec->task;
    const lh_trace_request *request = &traces->request;
    snprintf(step, sizeof step, "%" PRId64, engine->step);
    snprintf(seed, sizeof seed, "%" PRId64, f->seed);
    snprintf(draws, sizeof draws, "%d", request->draws);
    snprintf(examples, sizeof examples, "%d", request->inputs != NULL ? request->input_count : request->examples);
    lh_st_meta meta[15 + LH_IDENTITY_COUNT] = {
        {"format", "longhand trace 1"},
        /* lh_write_identity fills elements 1 .. LH_IDENTITY_COUNT below. */
        [1 + LH_IDENTITY_COUNT] = {"checkpoint", f->checkpoint},
        {"step", step},
        {"what", f->kinds},
        {"average", f->is_averaged ? "true" : "false"},
        {"source", get_source_name(f, engine->spec, request->set)},
        {"examples", examples},
        {"seed", seed},
        {"draws", draws},
    };
    int count = 9 + LH_IDENTITY_COUNT;
    snprintf(exact, sizeof exact, "%" PRId64 "/%" PRId64, count_averaged_passes(traces), traces->passes);
    if (f->split != NULL) meta[count++] = (lh_st_meta){"split", f->split};
    if (f->is_shuffled) meta[count++] = (lh_st_meta){"shuffle", "true"};
    if (f->only_exact) meta[count++] = (lh_st_meta){"exact", exact};
    snprintf(frame, sizeof frame, "%" PRId64, f->frame);
    if (f->has_frame) meta[count++] = (lh_st_meta){"frame", frame};
    lh_write_identity(engine->spec, engine->level, engine->compiler, meta + 1);
    if (request->inputs == NULL) return lh_traces_write(traces, f->out, meta, count, error);
    char *inputs = write_names_json(task->input_symbol, task->input_symbols);
    char *outputs = write_names_json(task->output_symbol, task->output_symbols);
    lh_status status = inputs != NULL && outputs != NULL ? LH_OK : LH_ERR_ENVIRONMENT;
    meta[count++] = (lh_st_meta){"input_symbols", inputs};
    meta[count++] = (lh_st_meta){"output_symbols", outputs};
    if (status != LH_OK) lh_fail(error, status, "no memory for the names of symbols");
    else status = lh_traces_write(traces, f->out, meta, count, error);
    free(inputs);
    free(outputs);
    return status;
}

static void print_shape(const lh_trace_tensor *t, const char *opening, const char *separator, const char *closing) {
    for (int i = 0; i < t->file.rank; i++)
        printf("%s%" PRId64 "%s", i == 0 ? opening : separator, t->file.shape[i], i + 1 == t->file.rank ? closing : "");
}

static void print_tensors(const lh_traces *traces, const char *path) {
    for (int i = 0; i < traces->count; i++) {
        const lh_trace_tensor *t = &traces->tensors[i];
        printf("%-32s %s  %12zu bytes  ", t->name, t->file.dtype, t->file.bytes);
        print_shape(t, "[", "][", "]\n");
    }
    printf("%s\n", path);
}

static void print_tensors_json(const lh_traces *traces) {
    for (int i = 0; i < traces->count; i++) {
        const lh_trace_tensor *t = &traces->tensors[i];
        lh_json line;
        lh_json_begin(&line, stdout);
        lh_json_string(&line, "tensor", t->name);
        lh_json_raw(&line, "shape", "");
        print_shape(t, "[", ",", "]");
        lh_json_integer(&line, "bytes", (int64_t)t->file.bytes);
        lh_json_end_line(&line);
    }
}

/* ---- entropy ---- */

static double compute_mean(const lh_trace_tensor *t) {
    double sum = 0;
    for (int64_t h = 0; h < t->elements; h++) sum += lh_read_trace_element(t, h);
    return sum / (double)t->elements;
}

static void print_entropy_row(const lh_traces *traces, const lh_trace_tensor *t) {
    const char *length = traces->groups[t->group].label + 1; /* the digits after the n */
    printf("%7s  %-12s %8.4f %8.4f ", length, traces->sites[t->site].name, t->uniform_entropy, compute_mean(t));
    for (int64_t h = 0; h < t->elements; h++) printf(" %7.4f", lh_read_trace_element(t, h));
    printf("\n");
}

static void print_entropy_json(const lh_traces *traces, const lh_trace_tensor *t) {
    char text[LH_NUMBER_TEXT];
    lh_json line;
    lh_json_begin(&line, stdout);
    lh_json_integer(&line, "length", lh_get_reported_length(traces->spec, t->n));
    if (traces->spec->corpus != NULL) lh_json_integer(&line, "outputs", lh_get_output_length(traces->spec, t->n));
    lh_json_string(&line, "layer", traces->sites[t->site].name);
    lh_json_number(&line, "uniform", t->uniform_entropy);
    lh_json_number(&line, "mean", compute_mean(t));
    lh_json_raw(&line, "entropy", "[");
    for (int64_t h = 0; h < t->elements; h++)
        printf("%s%s", h > 0 ? "," : "", lh_write_shortest(lh_read_trace_element(t, h), text));
    printf("]");
    lh_json_end_line(&line);
}

static void print_entropy(const lh_traces *traces, bool as_json) {
    if (!as_json)
        printf("entropy of attention in nats; uniform: equal weights of all keys that a query sees\n%7s  %-12s %8s %8s "
               " heads\n",
               "length", "layer", "uniform", "mean");
    for (int i = 0; i < traces->count; i++) {
        if (traces->tensors[i].kind != LH_TRACE_ENTROPY) continue;
        if (as_json) print_entropy_json(traces, &traces->tensors[i]);
        else print_entropy_row(traces, &traces->tensors[i]);
    }
}

/* ---- the verb ---- */

static lh_status run(const flags *f, lh_traces *traces, lh_engine *engine, lh_error *error) {
    fprintf(stderr, "trace: %d tensors, %.1f MB; %" PRId64 " passes, %.1f MB of memory\n", traces->count,
            traces->bytes / 1e6, traces->passes, traces->memory / 1e6);
    lh_status status = lh_traces_run(traces, engine, error);
    if (traces->request.context != NULL) lh_progress_erase(traces->request.context);
    if (status == LH_OK && f->out != NULL) status = write_file(f, traces, engine, error);
    if (status != LH_OK) return status;
    if (f->only_exact) print_right_passes(traces, f->as_json);
    status = lh_print_answers(traces, f->as_json, error);
    if (status != LH_OK) return status;
    if (traces->request.kinds[LH_TRACE_ENTROPY]) print_entropy(traces, f->as_json);
    if (f->out != NULL && f->as_json) print_tensors_json(traces);
    else if (f->out != NULL) print_tensors(traces, f->out);
    return LH_OK;
}

static lh_status trace(const flags *f, lh_trace_request *request, lh_engine *engine, lh_error *error) {
    lh_progress progress;
    lh_traces traces;
    lh_progress_start(&progress);
    request->watch = show_progress;
    request->context = &progress;
    lh_status status = lh_traces_open(&traces, engine, request, error);
    if (status == LH_OK) status = run(f, &traces, engine, error);
    lh_traces_close(&traces);
    return status;
}

lh_status lh_verb_trace(const lh_cli *cli, lh_error *error) {
    flags f;
    bool has_printed_help;
    lh_trace_request request;
    lh_trace_inputs inputs = {0};
    lh_cli_model model;
    const lh_spec *spec = cli->spec;
    lh_status status = read_flags(cli, &f, &has_printed_help, error);
    if (status != LH_OK || has_printed_help) return status;
    status = make_request(cli->spec, &f, &request, error);
    if (status == LH_OK && get_inputs_flag(&f) == NULL) status = set_lengths(spec, &request, error);
    if (status == LH_OK && get_inputs_flag(&f) != NULL) {
        int frame = f.has_frame ? (int)f.frame : LH_NO_VALUE;
        status = f.input != NULL ? lh_trace_inputs_read(&inputs, spec, f.input, error)
                                 : lh_trace_inputs_read_texts(&inputs, spec, &f.texts, frame, error);
        spec = &inputs.spec;
    }
    if (status == LH_OK) status = lh_cli_open_checkpoint(&model, spec, f.checkpoint, "cpu", 1, error);
    if (status == LH_OK) {
        model.engine->stop = lh_catch_signals();
        request.inputs = inputs.queries;
        request.right_answers = inputs.right_answers;
        request.input_count = inputs.count;
        status = trace(&f, &request, model.engine, error);
        lh_cli_close_checkpoint(&model);
    }
    lh_trace_inputs_free(&inputs);
    return status;
}
