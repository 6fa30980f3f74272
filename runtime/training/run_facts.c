/* See run_facts.h. */
#include "training/run_facts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/files.h"
#include "base/json_lines.h"
#include "base/json_text.h"
#include "base/team.h"
#include "data/datasets/epoch.h"
#include "eval/eval_data.h"

static void write_facts_path(const lh_run *run, char path[LH_PATH_MAX + 64]) {
    snprintf(path, LH_PATH_MAX + 64, "%s/run.json", run->directory);
}

/* Writes the name of the processor, the system and its architecture, the number of processors, and the device. */
static void describe_machine(const lh_engine *engine, char *text, size_t size) {
    char line[256], model[128] = "";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && model[0] == 0 && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "model name%*[ \t]: %127[^\n]", model) != 1) model[0] = 0;
    if (file != NULL) fclose(file);
    struct utsname system = {0};
    uname(&system);
    snprintf(text, size, "%s%s%s %s, %d processors%s%s", model, model[0] != 0 ? ", " : "", system.sysname,
             system.machine, lh_team_count_processors(), engine->device != NULL ? ", " : "",
             engine->device != NULL ? engine->device : "");
}

/* Writes the origin, digest and sizes of a set of examples. */
static void put_set(const lh_dataset *set, const char *name, lh_json *data) {
    char key[32];
    lh_json_string(data, name, set->path);
    snprintf(key, sizeof key, "%s_sha256", name);
    lh_json_string(data, key, set->digest);
    snprintf(key, sizeof key, "%s_examples", name);
    lh_json_integer(data, key, set->count);
    snprintf(key, sizeof key, "%s_masked", name);
    if (set->masked > 0) lh_json_integer(data, key, set->masked);
}

/* Writes the folder to which relative paths of example files refer. */
static void put_directory(const lh_spec *spec, lh_json *data) {
    char *directory = spec->data->train != NULL ? getcwd(NULL, 0) : NULL;
    if (directory != NULL) lh_json_string(data, "directory", directory);
    free(directory);
}

static void put_data(const lh_spec *spec, lh_json *json, FILE *out) {
    const lh_corpus *corpus = spec->corpus;
    lh_json data;
    lh_json_raw(json, "data", "");
    lh_json_begin(&data, out);
    lh_json_integer(&data, "epoch_batches", lh_count_epoch_batches(corpus, spec->train.batch));
    put_set(&corpus->train, "train", &data);
    if (corpus->has_test_set) put_set(&corpus->eval, "eval", &data);
    if (corpus->validation.count > 0) put_set(&corpus->validation, "validation", &data);
    if (corpus->final.axes > 0) {
        lh_json_raw(&data, "by", "[");
        for (int i = 0; i < corpus->final.axes; i++) fprintf(out, "%s\"%s\"", i > 0 ? "," : "", corpus->final.name[i]);
        putc(']', out);
    }
    put_directory(spec, &data);
    lh_json_end(&data);
}

/* Writes the distinct input lengths of training examples, in ascending order. */
static void put_train_lengths(const lh_corpus *corpus, lh_json *json, FILE *out) {
    int last = 0;
    lh_json_raw(json, "train_lengths", "[");
    for (int i = 0; i < corpus->train_shape_count; i++) {
        int length = corpus->sizes[corpus->train_shapes[i] - 1].input;
        if (length != last) fprintf(out, "%s%d", last > 0 ? "," : "", length);
        last = length;
    }
    putc(']', out);
}

/* Writes the end of the run. `exit` must be the last key: scripts read only the last bytes of run.json. */
static void put_ending(const lh_run_end *end, lh_json *json) {
    if (end == NULL) {
        const char *keys[] = {"step", "train_seconds", "ended", "exit"};
        for (int i = 0; i < 4; i++) lh_json_raw(json, keys[i], "null");
        return;
    }
    lh_json_integer(json, "step", end->step);
    lh_json_number(json, "train_seconds", end->window->seconds);
    if (end->window->epoch.last_epoch > 0) lh_json_number(json, "epoch_accuracy", end->window->epoch.accuracy);
    lh_json_string(json, "ended", end->time);
    lh_json_integer(json, "exit", end->exit_code);
}

/* Writes the best checkpoint and, if patience ended the run, the requested number of steps. */
static void put_best(const lh_run *run, const lh_run_end *end, lh_json *json, FILE *out) {
    if (end == NULL || end->window->best.step == 0) return;
    const lh_best *best = &end->window->best;
    lh_json fields;
    lh_json_raw(json, "best", "");
    lh_json_begin(&fields, out);
    lh_json_integer(&fields, "step", best->step);
    lh_json_string(&fields, "metric", run->spec->train.best);
    lh_json_number(&fields, "score", best->score);
    lh_json_end(&fields);
    if (end->step < run->steps && lh_best_is_exhausted(best, run->spec))
        lh_json_integer(json, "patience_of_steps", run->steps);
}

/* Writes the seeds of the parts that have a seed of their own. */
static void put_separate_seeds(const lh_separate_seeds *separate_seeds, lh_json *json, FILE *out) {
    char text[LH_SEEDS_TEXT];
    lh_json fields;
    if (lh_write_separate_seeds(separate_seeds, text)[0] == 0) return;
    lh_json_raw(json, "seeds_apart", "");
    lh_json_begin(&fields, out);
    for (int i = 0; i < LH_SEED_PARTS; i++)
        if (separate_seeds->is_separate[i])
            lh_json_integer(&fields, lh_seed_part_name[i], (int64_t)separate_seeds->seed[i]);
    lh_json_end(&fields);
}

/* Writes [length, sequences, labels, tokens] for each length with sequences in training. */
static void put_trained_sequences(const lh_spec *spec, const int64_t *sequences, lh_json *json, FILE *out) {
    const char *separator = "";
    lh_json_raw(json, "seen", "[");
    for (int i = 0; i < lh_lengths_count(&spec->train.lengths); i++) {
        int n = lh_lengths_get(&spec->train.lengths, i);
        lh_shape shape = lh_make_shape(spec, n, 1);
        if (sequences[i] == 0) continue;
        fprintf(out, "%s[%d,%lld,%lld,%lld]", separator, n, (long long)sequences[i],
                (long long)sequences[i] * shape.labels, (long long)sequences[i] * lh_count_shape_tokens(&shape));
        separator = ",";
    }
    putc(']', out);
}

/* Writes the content of run.json. sequences_by_length: number of sequences of each training length, or NULL. */
static void put_facts(const lh_run *run, FILE *out, const lh_run_end *end, const int64_t *sequences_by_length) {
    const lh_spec *spec = run->spec;
    const lh_engine *engine = run->engine;
    char machine[512];
    lh_json json;
    describe_machine(engine, machine, sizeof machine);
    lh_json_begin(&json, out);
    lh_json_string(&json, "id", spec->id);
    lh_json_string(&json, "digest", spec->plan_digest);
    lh_json_string(&json, "model_digest", spec->model_digest);
    lh_json_string(&json, "source_digest", spec->source_digest);
    lh_json_raw(&json, "spec", spec->resolved);
    lh_json_raw(&json, "flags", run->flags);
    if (spec->train.init_checksum != NULL) {
        lh_json_string(&json, "init", spec->train.init);
        lh_json_string(&json, "init_checksum", spec->train.init_checksum);
    }
    if (spec->corpus != NULL) put_data(spec, &json, out);
    if (spec->corpus != NULL) put_train_lengths(spec->corpus, &json, out);
    if (spec->task->loss != LH_LOSS_UNMASKED)
        lh_json_string(&json, "loss", spec->task->loss == LH_LOSS_COUNTED ? "counted" : "all");
    lh_json_integer(&json, "seed", (int64_t)run->seed);
    put_separate_seeds(&run->separate_seeds, &json, out);
    lh_json_number(&json, "learning_rate", run->learning_rate);
    lh_json_string(&json, "level", engine->level);
    lh_json_string(&json, "compiler", engine->compiler);
    lh_json_string(&json, "variant", engine->variant);
    lh_json_string(&json, "precision", spec->precision);
    lh_json_integer(&json, "threads", engine->threads);
    lh_json_integer(&json, "parameters", spec->parameter_count);
    lh_json_string(&json, "machine", machine);
    lh_json_string(&json, "started", run->started);
    put_best(run, end, &json, out);
    if (sequences_by_length != NULL) put_trained_sequences(spec, sequences_by_length, &json, out);
    put_ending(end, &json);
    lh_json_end_line(&json);
}

lh_status lh_run_write_facts(const lh_run *run, const lh_run_end *end, lh_error *error) {
    char path[LH_PATH_MAX + 64];
    lh_text text;
    int64_t *sequences_by_length = NULL;
    lh_status status = LH_OK;
    write_facts_path(run, path);
    if (end != NULL && run->spec->corpus == NULL && run->overfit == 0)
        status = lh_count_trained_sequences(run->spec, lh_get_part_key(run->seed, &run->separate_seeds, LH_SEED_DATA),
                                            end->step, &sequences_by_length, error);
    if (status == LH_OK) status = lh_text_open(&text, error);
    if (status == LH_OK) {
        put_facts(run, text.out, end, sequences_by_length);
        status = lh_text_close(&text, error);
        if (status == LH_OK) status = lh_replace_file(path, text.text, text.bytes, error);
        free(text.text);
    }
    free(sequences_by_length);
    return status;
}

lh_status lh_run_read_recorded_end(const lh_run *run, lh_recorded_end *ending, lh_error *error) {
    char path[LH_PATH_MAX + 64];
    json_t *facts;
    *ending = (lh_recorded_end){.exit_code = -1};
    write_facts_path(run, path);
    if (access(path, F_OK) != 0) return LH_OK;
    lh_status status = lh_read_facts(path, &facts, error);
    const json_t *code = json_object_get(facts, "exit");
    if (json_is_integer(code)) {
        ending->exit_code = (int)json_integer_value(code);
        ending->step = json_integer_value(json_object_get(facts, "step"));
        const json_t *steps = json_object_get(facts, "patience_of_steps");
        ending->requested_step = json_is_integer(steps) ? json_integer_value(steps) : ending->step;
    }
    json_decref(facts);
    return status;
}
