/* See run_files.h. */
#include "training/run_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/json_lines.h"
#include "base/json_text.h"
#include "training/run_facts.h"

static lh_status join_path(char *path, size_t size, const char *directory, const char *name, lh_error *error) {
    if ((size_t)snprintf(path, size, "%s/%s", directory, name) >= size)
        return lh_fail(error, LH_ERR_INPUT, "%.200s...: the path is too long", directory);
    return LH_OK;
}

/* Writes the current time in UTC. */
static void write_now(char text[32]) {
    time_t seconds = time(NULL);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static bool has_file(const lh_run *run, const char *name) {
    char path[LH_PATH_MAX + 64];
    return join_path(path, sizeof path, run->directory, name, NULL) == LH_OK && access(path, F_OK) == 0;
}

static bool belongs_to_run(const char *name) {
    return strncmp(name, "checkpoint", strlen("checkpoint")) == 0 || strcmp(name, "metrics.jsonl") == 0 ||
           strcmp(name, "eval.jsonl") == 0 || strcmp(name, "window.jsonl") == 0 || strcmp(name, "run.json") == 0;
}

static lh_status remove_files(const lh_run *run, lh_error *error) {
    lh_status status = LH_OK;
    DIR *directory = opendir(run->directory);
    if (directory == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: %s", run->directory, strerror(errno));
    for (struct dirent *entry; status == LH_OK && (entry = readdir(directory)) != NULL;) {
        char path[LH_PATH_MAX + 512];
        if (!belongs_to_run(entry->d_name)) continue;
        status = join_path(path, sizeof path, run->directory, entry->d_name, error);
        if (status == LH_OK && unlink(path) != 0)
            status = lh_fail(error, LH_ERR_ENVIRONMENT, "%s: %s", path, strerror(errno));
    }
    closedir(directory);
    return status;
}

enum { DATA_DIGITS = 8 }; /* digits of a training file's SHA-256 in a folder's name */

/* The SHA-256 of the run's training file; NULL: the examples are not in a file. */
static const char *find_training_digest(const lh_run *run) {
    const lh_spec *spec = run->spec;
    bool is_file = spec->corpus != NULL && spec->data != NULL && spec->data->train != NULL;
    return is_file ? spec->corpus->train.digest : NULL;
}

static lh_status name_directory(lh_run *run, lh_error *error) {
    const char *digest = find_training_digest(run);
    char rate[LH_NUMBER_TEXT], seeds_text[LH_SEEDS_TEXT], data[32] = "", overfit[32] = "";
    size_t size = sizeof run->directory;
    if (digest != NULL) snprintf(data, sizeof data, "-data%.*s", DATA_DIGITS, digest);
    if (run->overfit > 0) snprintf(overfit, sizeof overfit, "-overfit%d", run->overfit);
    int used =
        snprintf(run->directory, size, "%s/%s/%s/lr%s-seed%llu%s%s%s", run->root, run->spec->id, run->spec->plan_digest,
                 lh_write_shortest(run->learning_rate, rate), (unsigned long long)run->seed,
                 lh_write_separate_seeds(&run->separate_seeds, seeds_text), data, overfit);
    if (used < 0 || (size_t)used >= size)
        return lh_fail(error, LH_ERR_INPUT, "--out: the path is too long (%d bytes, at most %zu)", used, size - 1);
    return LH_OK;
}

static lh_status name_files(lh_run *run, lh_error *error) {
    lh_status status = name_directory(run, error);
    if (status != LH_OK) return status;
    status = join_path(run->metrics, sizeof run->metrics, run->directory, "metrics.jsonl", error);
    if (status == LH_OK)
        status = join_path(run->evaluations, sizeof run->evaluations, run->directory, "eval.jsonl", error);
    if (status == LH_OK) status = join_path(run->windows, sizeof run->windows, run->directory, "window.jsonl", error);
    return status;
}

bool lh_run_has_checkpoint(const lh_run *run) {
    return has_file(run, "checkpoint.safetensors") || has_file(run, "checkpoint.previous.safetensors");
}

static lh_status refuse_checkpoint(const lh_run *run, lh_error *error) {
    if (!lh_run_has_checkpoint(run)) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT,
                   "%s: there is a trained run here\n"
                   "  hint: --resume continues it, --out DIR uses another folder, --overwrite replaces it",
                   run->directory);
}

/* Refuses symbolic links in the path below the root. */
static lh_status refuse_links(lh_run *run, lh_error *error) {
    char path[sizeof run->directory];
    struct stat attributes;
    run->has_link = false;
    for (const char *end = run->directory + strlen(run->root); *end != '\0';) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        snprintf(path, sizeof path, "%.*s", (int)(end - run->directory), run->directory);
        run->has_link = lstat(path, &attributes) == 0 && S_ISLNK(attributes.st_mode);
        if (run->has_link)
            return lh_fail(error, LH_ERR_INPUT,
                           "%s: is a symbolic link, expected a folder: runs are not written through links", path);
    }
    return LH_OK;
}

lh_status lh_run_claim(lh_run *run, lh_run_start start, lh_error *error) {
    run->checkpoint_step = -1;
    lh_status status = name_files(run, error);
    if (status == LH_OK) status = refuse_links(run, error);
    if (status == LH_OK) status = lh_make_directories(run->directory, error);
    if (status == LH_OK) status = lh_lock_directory(run->directory, &run->lock, &run->is_exclusive, error);
    if (status != LH_OK || start != LH_RUN_FRESH) return status;
    status = refuse_checkpoint(run, error);
    if (status != LH_OK) lh_run_release(run);
    return status;
}

lh_status lh_run_begin(lh_run *run, lh_run_start start, lh_error *error) {
    write_now(run->started);
    lh_status status = start == LH_RUN_RESUME ? LH_OK : remove_files(run, error);
    return status == LH_OK ? lh_run_write_facts(run, NULL, error) : status;
}

void lh_run_release(lh_run *run) { lh_unlock_directory(run->lock); }

/* Appends a text to a note. Unless the note is empty, the text begins on a new line, after "warning: ". */
__attribute__((format(printf, 2, 3))) static void add_note(lh_error *note, const char *format, ...) {
    size_t used = strlen(note->text), space = sizeof note->text - used;
    va_list arguments;
    if (used > 0) used += (size_t)snprintf(note->text + used, space, "\nwarning: ");
    if (used >= sizeof note->text) return;
    va_start(arguments, format);
    vsnprintf(note->text + used, sizeof note->text - used, format, arguments);
    va_end(arguments);
}

enum { METRICS, EVALUATIONS, WINDOWS, LOGS };

static const char *get_log_path(const lh_run *run, int log) {
    return log == METRICS ? run->metrics : log == EVALUATIONS ? run->evaluations : run->windows;
}

/* Truncates the logs to step `last`. */
static lh_status truncate_logs(const lh_run *run, int64_t last, lh_truncation truncations[LOGS], lh_error *note,
                               lh_error *error) {
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < LOGS; i++) {
        status = lh_truncate_lines(get_log_path(run, i), "step", last, &truncations[i], error);
        if (status == LH_OK && truncations[i].torn_lines > 0)
            add_note(note, "%s: the last line was torn and is left out", get_log_path(run, i));
    }
    return status;
}

/* Adds to the note how many lines of a log are lost, if any. */
static void note_lost_lines(const lh_run *run, int log, const lh_truncation *truncation, int64_t expected_lines,
                            int64_t step, lh_error *note) {
    if (truncation->kept_lines >= expected_lines) return;
    add_note(note,
             "%s: %s%lld of %lld lines up to step %lld\n"
             "  the missing lines, written before the checkpoint, are lost; training continues with the same bits",
             get_log_path(run, log), truncation->exists ? "has " : "is gone: ", (long long)truncation->kept_lines,
             (long long)expected_lines, (long long)step);
}

/* Loads the window of the checkpoint, and compares the number of lines in the logs with the recorded numbers. */
static lh_status load_window(const lh_run *run, lh_window *window, int64_t step, const lh_truncation truncations[LOGS],
                             lh_error *note, lh_error *error) {
    bool is_found;
    lh_status status = lh_window_load(window, run->windows, step, &is_found, error);
    if (status != LH_OK) return status;
    if (is_found) {
        note_lost_lines(run, METRICS, &truncations[METRICS], window->metrics_lines, step, note);
        note_lost_lines(run, EVALUATIONS, &truncations[EVALUATIONS], window->eval_lines, step, note);
    } else {
        add_note(note,
                 "%s: %s, expected a line of step %lld\n"
                 "  the next line of metrics.jsonl covers only the steps after this step\n"
                 "  lines may be missing in metrics.jsonl (%lld lines) and eval.jsonl (%lld lines)",
                 run->windows,
                 !truncations[WINDOWS].exists          ? "is gone"
                 : truncations[WINDOWS].kept_lines > 0 ? "has only other or incomplete lines"
                                                       : "is empty",
                 (long long)step, (long long)truncations[METRICS].kept_lines,
                 (long long)truncations[EVALUATIONS].kept_lines);
    }
    window->metrics_lines = truncations[METRICS].kept_lines;
    window->eval_lines = truncations[EVALUATIONS].kept_lines;
    return LH_OK;
}

/* Checks that a checkpoint with these facts belongs to this run, and that its step is allowed. */
static lh_status check_facts(const lh_run *run, const lh_checkpoint_facts *facts, lh_error *error) {
    char found[LH_NUMBER_TEXT], expected[LH_NUMBER_TEXT], seeds_text[LH_SEEDS_TEXT];
    if (facts->seed != run->seed ||
        strcmp(facts->separate_seeds_text, lh_write_separate_seeds(&run->separate_seeds, seeds_text)) != 0)
        return lh_fail(error, LH_ERR_INPUT, "%s: the checkpoint is of seed %llu%.90s, this run has seed %llu%s",
                       run->directory, (unsigned long long)facts->seed, facts->separate_seeds_text,
                       (unsigned long long)run->seed, seeds_text);
    if (facts->learning_rate != run->learning_rate)
        return lh_fail(error, LH_ERR_INPUT, "%s: the checkpoint is of learning rate %s, this run has learning rate %s",
                       run->directory, lh_write_shortest(facts->learning_rate, found),
                       lh_write_shortest(run->learning_rate, expected));
    if (facts->step > run->steps)
        return lh_fail(error, LH_ERR_INPUT, "%s: the checkpoint is of step %lld, --steps is %lld", run->directory,
                       (long long)facts->step, (long long)run->steps);
    return LH_OK;
}

lh_status lh_run_resume(lh_run *run, lh_engine *engine, lh_window *window, bool *is_found, lh_error *note,
                        lh_error *error) {
    lh_state copy, *state;
    int has_checkpoint = 0;
    lh_truncation truncations[LOGS];
    lh_checkpoint_facts facts = {.level = engine->level, .compiler = engine->compiler};
    memset(window, 0, sizeof *window);
    note->text[0] = 0;
    lh_status status = lh_state_prepare(engine, &copy, &state, error);
    if (status != LH_OK) return status;
    status = lh_checkpoint_resume(run->directory, run->spec, state, &facts, &has_checkpoint, note, error);
    if (status == LH_OK && has_checkpoint) status = check_facts(run, &facts, error);
    if (status == LH_OK && has_checkpoint) status = engine->ops->write_state(engine, state, facts.step, error);
    if (status == LH_OK) status = truncate_logs(run, has_checkpoint ? facts.step : -1, truncations, note, error);
    if (status == LH_OK && has_checkpoint) {
        run->checkpoint_step = facts.step;
        status = load_window(run, window, facts.step, truncations, note, error);
    }
    lh_state_close(&copy);
    *is_found = has_checkpoint != 0;
    return status;
}

/* Syncs the logs before a checkpoint relies on their lines. lh_checkpoint_rotate syncs their directory entries. */
static lh_status sync_logs(const lh_run *run, lh_error *error) {
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < LOGS; i++) status = lh_sync_file(get_log_path(run, i), error);
    return status;
}

static lh_status write_copy(const lh_run *run, const char *name, const lh_state *state,
                            const lh_checkpoint_facts *facts, lh_error *error) {
    char path[LH_PATH_MAX + 64];
    lh_status status = join_path(path, sizeof path, run->directory, name, error);
    return status == LH_OK ? lh_checkpoint_write(path, run->spec, state, facts, error) : status;
}

lh_status lh_run_checkpoint(lh_run *run, lh_engine *engine, const lh_window *window, unsigned copies, lh_error *error) {
    lh_state copy, *state;
    lh_checkpoint_facts facts = {.level = engine->level,
                                 .compiler = engine->compiler,
                                 .step = engine->step,
                                 .seed = run->seed,
                                 .learning_rate = run->learning_rate};
    lh_write_separate_seeds(&run->separate_seeds, facts.separate_seeds_text);
    lh_status status = lh_state_prepare(engine, &copy, &state, error);
    if (status == LH_OK) status = engine->ops->read_state(engine, state, error);
    if (status == LH_OK) status = lh_window_save(window, run->windows, engine->step, error);
    if (status == LH_OK) status = sync_logs(run, error);
    if (status == LH_OK) status = lh_checkpoint_rotate(run->directory, run->spec, state, &facts, error);
    if (status == LH_OK) run->checkpoint_step = engine->step;
    if (status == LH_OK && (copies & LH_COPY_STEP) != 0) {
        char name[64];
        snprintf(name, sizeof name, "checkpoint-%lld.safetensors", (long long)engine->step);
        status = write_copy(run, name, state, &facts, error);
    }
    if (status == LH_OK && (copies & LH_COPY_BEST) != 0)
        status = write_copy(run, LH_BEST_CHECKPOINT, state, &facts, error);
    lh_state_close(&copy);
    return status;
}

lh_status lh_run_close(lh_run *run, int exit_code, const lh_window *window, lh_error *error) {
    char time[32];
    write_now(time);
    lh_run_end end = {.time = time, .exit_code = exit_code, .step = run->engine->step, .window = window};
    lh_status status = sync_logs(run, error); /* eval.jsonl may have lines after the last checkpoint */
    if (status == LH_OK) status = lh_run_write_facts(run, &end, error);
    lh_run_release(run);
    return status;
}
