/* See train_screen.h. */
#include "cli/train/train_screen.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/memory.h"
#include "diagnosis/overfit.h"

static const double PLAIN_SECONDS = 5.0; /* time between two lines without a terminal */
static const double FIRST_SECONDS = 1.0; /* time before the rate of a group is reliable */

lh_status lh_screen_open(lh_train_screen *screen, lh_train_run *train_runs, int count, lh_error *error) {
    *screen = (lh_train_screen){.train_runs = train_runs, .count = count, .mutex = PTHREAD_MUTEX_INITIALIZER};
    screen->displays = calloc((size_t)count, sizeof *screen->displays);
    if (screen->displays == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for %d runs", count);
    for (int i = 0; i < count; i++)
        screen->displays[i].view = (lh_training_view){.loss = NAN, .accuracy = NAN, .at_chance_since = -1};
    lh_progress_start(&screen->progress);
    return LH_OK;
}

void lh_screen_close(lh_train_screen *screen) { free(screen->displays); }

static lh_display *get_display(lh_train_screen *screen, const lh_train_run *train_run) {
    return &screen->displays[train_run - screen->train_runs];
}

void lh_screen_print_note(lh_train_screen *screen, const lh_train_run *train_run, const char *format, ...) {
    char rate[LH_NUMBER_TEXT], seeds_text[LH_SEEDS_TEXT];
    va_list arguments;
    pthread_mutex_lock(&screen->mutex);
    lh_progress_erase(&screen->progress);
    if (screen->count > 1)
        fprintf(stderr, "learning rate %s, seed %llu%s: ", lh_write_shortest(train_run->run.learning_rate, rate),
                (unsigned long long)train_run->run.seed,
                lh_write_separate_seeds(&train_run->run.separate_seeds, seeds_text));
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    pthread_mutex_unlock(&screen->mutex);
}

/* Writes "  validation 0.9300 at lengths 1..40  beyond 0.4100 at length 60". */
static const char *write_split_accuracies(const lh_training_view *view, char text[320]) {
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < view->split_count && used < 320; i++) {
        const lh_split_accuracy *split = &view->splits[i];
        const char *plural = strcmp(split->axis, "length") == 0 ? "s" : ""; /* only the length gets a plural */
        used += (size_t)snprintf(text + used, 320 - used, "  %s %.4f", split->split, split->accuracy);
        if (split->first == LH_NO_VALUE || used >= 320) continue;
        if (split->first == split->last)
            used += (size_t)snprintf(text + used, 320 - used, " at %.40s %d", split->axis, split->first);
        else
            used += (size_t)snprintf(text + used, 320 - used, " at %.40s%s %d..%d", split->axis, plural, split->first,
                                     split->last);
    }
    return text;
}

/* The name of the accuracy of training batches. In training, a generative model reads the target's tokens. */
static const char *get_accuracy_name(const lh_spec *spec) {
    return spec->format->teacher_forced ? "teacher-forced" : "accuracy";
}

static void show_run(lh_train_screen *screen, const lh_training_view *view) {
    char bar[32], remaining[32], split_text[320], chance[64] = "";
    if (view->at_chance_since >= 0)
        snprintf(chance, sizeof chance, "  at chance since step %lld", (long long)view->at_chance_since);
    double seconds = (double)(view->steps - view->step) / view->steps_per_second;
    double share = view->steps > 0 ? (double)view->step / (double)view->steps : 1.0;
    lh_progress_print(&screen->progress, "%s step %lld/%lld  %.1f steps/s  loss %.4f  %s %.4f%s%s  %s left",
                      lh_progress_write_bar(share, bar), (long long)view->step, (long long)view->steps,
                      view->steps_per_second, view->loss, get_accuracy_name(screen->train_runs[0].spec), view->accuracy,
                      write_split_accuracies(view, split_text), chance, lh_write_duration(seconds, remaining));
}

/* A summary of a group. */
typedef struct overview {
    int64_t least_step, greatest_step; /* least and greatest step of the runs */
    int64_t finished_steps;            /* steps that all runs together have made in this process */
    int64_t remaining_steps;           /* steps that all runs together still have to make */
    double loss[2], accuracy[2];       /* least and greatest value of the runs */
    int finished;                      /* number of ended runs, failed runs included */
    int failed;                        /* number of failed runs */
    int at_chance;                     /* number of runs with the accuracy of guessing */
    int evaluating;                    /* number of runs in evaluation */
    int conditions;                    /* number of conditions that these runs have evaluated */
} overview;

static void extend_range(double range[2], double x) {
    if (isnan(x)) return;
    range[0] = isnan(range[0]) || x < range[0] ? x : range[0];
    range[1] = isnan(range[1]) || x > range[1] ? x : range[1];
}

static overview summarise(const lh_train_screen *screen) {
    overview summary = {.least_step = INT64_MAX, .loss = {NAN, NAN}, .accuracy = {NAN, NAN}};
    for (int i = 0; i < screen->count; i++) {
        const lh_train_run *train_run = &screen->train_runs[i];
        const lh_display *display = &screen->displays[i];
        const lh_training_view *view = &display->view;
        if (display->phase == LH_IS_OVER) {
            summary.finished++;
            summary.failed += train_run->status != LH_OK && train_run->status != LH_STOPPED;
        }
        if (display->phase == LH_EVALUATES) {
            summary.evaluating++;
            summary.conditions += display->finished_conditions;
        }
        if (display->phase == LH_WAITS) {
            summary.least_step = 0;
            summary.remaining_steps += train_run->flags->steps;
            continue;
        }
        summary.least_step = view->step < summary.least_step ? view->step : summary.least_step;
        summary.greatest_step = view->step > summary.greatest_step ? view->step : summary.greatest_step;
        summary.finished_steps += view->step - train_run->first_step;
        if (display->phase == LH_TRAINS) summary.remaining_steps += view->steps - view->step;
        summary.at_chance += view->at_chance_since >= 0;
        extend_range(summary.loss, view->loss);
        extend_range(summary.accuracy, view->accuracy);
    }
    return summary;
}

static void show_group(lh_train_screen *screen) {
    overview summary = summarise(screen);
    char bar[32], remaining[32], extra[160] = "";
    double rate = (double)summary.finished_steps / lh_progress_get_seconds(&screen->progress);
    double steps = (double)screen->train_runs[0].flags->steps * screen->count;
    size_t used = 0;
    if (summary.at_chance > 0) used += (size_t)snprintf(extra, sizeof extra, "  %d at chance", summary.at_chance);
    if (summary.evaluating > 0)
        used += (size_t)snprintf(extra + used, sizeof extra - used, "  %d evaluating (%d conditions)",
                                 summary.evaluating, summary.conditions);
    if (summary.finished > 0)
        used += (size_t)snprintf(extra + used, sizeof extra - used, "  %d ended", summary.finished);
    if (summary.failed > 0) snprintf(extra + used, sizeof extra - used, ", %d failed", summary.failed);
    lh_progress_print(&screen->progress,
                      "%s %d runs  step %lld to %lld of %lld  %.1f model-steps/s  loss %.4g to %.4g  "
                      "%s %.4f to %.4f%s  %s left",
                      lh_progress_write_bar(steps > 0 ? 1.0 - (double)summary.remaining_steps / steps : 1.0, bar),
                      screen->count, (long long)summary.least_step, (long long)summary.greatest_step,
                      (long long)screen->train_runs[0].flags->steps, rate, summary.loss[0], summary.loss[1],
                      get_accuracy_name(screen->train_runs[0].spec), summary.accuracy[0], summary.accuracy[1], extra,
                      lh_write_duration((double)summary.remaining_steps / rate, remaining));
}

void lh_screen_show_start(lh_train_screen *screen, const lh_train_run *train_run) {
    pthread_mutex_lock(&screen->mutex);
    lh_display *display = get_display(screen, train_run);
    display->view.step = train_run->first_step;
    display->view.steps = train_run->flags->steps;
    display->phase = LH_TRAINS;
    pthread_mutex_unlock(&screen->mutex);
}

void lh_screen_update(void *context, const lh_training_view *view) {
    lh_train_run *train_run = context;
    lh_train_screen *screen = train_run->screen;
    bool is_last = view->step == view->steps;
    if (view->warning != NULL) {
        lh_screen_print_note(screen, train_run, "warning: %s", view->warning);
        return;
    }
    pthread_mutex_lock(&screen->mutex);
    lh_display *display = get_display(screen, train_run);
    display->view = *view;
    bool is_due = lh_progress_is_due(&screen->progress, PLAIN_SECONDS);
    if (screen->count > 1) {
        if (is_due && lh_progress_get_seconds(&screen->progress) > FIRST_SECONDS) show_group(screen);
    } else if ((screen->progress.is_live || view->is_logged || is_last) && (is_last || is_due)) {
        show_run(screen, view);
    }
    pthread_mutex_unlock(&screen->mutex);
}

void lh_screen_update_evaluation(void *context, const lh_eval_result *result, int completed, int count) {
    lh_train_run *train_run = context;
    lh_train_screen *screen = train_run->screen;
    (void)count;
    pthread_mutex_lock(&screen->mutex);
    completed += train_run->finished_validations;
    get_display(screen, train_run)->finished_conditions = completed;
    if (screen->count == 1) lh_progress_show_evaluation(&screen->progress, result, completed, train_run->conditions);
    else if (lh_progress_is_due(&screen->progress, PLAIN_SECONDS)) show_group(screen);
    pthread_mutex_unlock(&screen->mutex);
}

/* Writes ", 36.1 MB of memory"; empty if the system does not report it. */
static const char *write_memory(char text[64]) {
    double bytes = lh_get_peak_memory();
    text[0] = 0;
    if (bytes > 0) snprintf(text, 64, ", %.1f MB of memory", bytes / 1e6);
    return text;
}

void lh_screen_show_trained(lh_train_screen *screen, const lh_train_run *train_run) {
    if (screen->count > 1) return;
    char time[32], memory[64];
    lh_progress_erase(&screen->progress);
    printf("%s: step %lld, %lld steps in %s%s\n%s\n", train_run->spec->id, (long long)train_run->last_step,
           (long long)(train_run->last_step - train_run->first_step),
           lh_write_duration(lh_progress_get_seconds(&screen->progress), time), write_memory(memory),
           train_run->run.directory);
}

void lh_screen_show_evaluation(lh_train_screen *screen, const lh_train_run *train_run) {
    pthread_mutex_lock(&screen->mutex);
    get_display(screen, train_run)->phase = LH_EVALUATES;
    if (screen->count == 1) lh_progress_start(&screen->progress);
    pthread_mutex_unlock(&screen->mutex);
}

/* Prints the step and the score of the best checkpoint, and its results if it is not the last checkpoint. */
static void print_best(const lh_train_run *train_run) {
    const lh_best *best = &train_run->window.best;
    if (best->step == 0) return;
    printf("best checkpoint: step %lld, %s %.4f in the evaluation during training%s\n", (long long)best->step,
           train_run->spec->train.best, best->score,
           lh_best_is_exhausted(best, train_run->spec) ? "; training ended after train.patience" : "");
    if (train_run->best_results != NULL)
        lh_print_evaluation(train_run->spec, train_run->best_results, train_run->conditions);
}

void lh_screen_show_end(lh_train_screen *screen, const lh_train_run *train_run) {
    bool has_failed = train_run->status != LH_OK && train_run->status != LH_STOPPED;
    pthread_mutex_lock(&screen->mutex);
    get_display(screen, train_run)->phase = LH_IS_OVER;
    lh_progress_erase(&screen->progress);
    if (screen->count == 1 && train_run->status == LH_OK) {
        if (train_run->flags->overfit > 0)
            printf("%lld examples of length %d: accuracy 1.0000 at step %lld\n", (long long)train_run->flags->overfit,
                   lh_get_reported_length(train_run->spec, lh_overfit_get_length(train_run->spec)),
                   (long long)train_run->last_step);
        if (train_run->results != NULL) lh_print_evaluation(train_run->spec, train_run->results, train_run->conditions);
        print_best(train_run);
    }
    pthread_mutex_unlock(&screen->mutex);
    if (screen->count > 1 && has_failed) lh_screen_print_note(screen, train_run, "error: %s", train_run->error.text);
}

static const char *get_outcome(const lh_train_run *train_run) {
    if (train_run->status == LH_OK) return "";
    return train_run->status == LH_STOPPED ? "stopped" : "failed";
}

/* The width of a split's column; 0: no run has results of the split. */
static int get_split_width(const lh_train_screen *screen, const char *split) {
    int width = (int)strlen(split) + 4;
    for (int i = 0; i < screen->count; i++) {
        const lh_train_run *train_run = &screen->train_runs[i];
        if (train_run->results != NULL &&
            lh_eval_compute_means(train_run->results, train_run->conditions, split).count > 0)
            return width < 10 ? 10 : width;
    }
    return 0;
}

/* Prints the mean score of a split: accuracy, or a generative model's exact match. */
static void print_score(const lh_train_run *train_run, const char *split, int width) {
    lh_eval_means means = {.count = 0};
    if (train_run->results != NULL) means = lh_eval_compute_means(train_run->results, train_run->conditions, split);
    if (means.count > 0)
        printf(" %*.4f", width, train_run->spec->format->teacher_forced ? means.exact_match : means.accuracy);
    else printf(" %*s", width, "-");
}

/* Writes the run's seed, and the seeds of parts that have a seed of their own. */
static const char *write_seeds(const lh_run *run, char text[24 + LH_SEEDS_TEXT]) {
    char seeds_text[LH_SEEDS_TEXT];
    snprintf(text, 24 + LH_SEEDS_TEXT, "%llu%s", (unsigned long long)run->seed,
             lh_write_separate_seeds(&run->separate_seeds, seeds_text));
    return text;
}

static int get_seed_width(const lh_train_screen *screen) {
    char text[24 + LH_SEEDS_TEXT];
    int max_width = 8;
    for (int i = 0; i < screen->count; i++) {
        int width = (int)strlen(write_seeds(&screen->train_runs[i].run, text));
        max_width = width > max_width ? width : max_width;
    }
    return max_width;
}

void lh_screen_print_summary(lh_train_screen *screen) {
    int64_t steps = 0;
    char time[32], memory[64], rate[LH_NUMBER_TEXT], seed[24 + LH_SEEDS_TEXT];
    for (int i = 0; i < screen->count; i++) steps += screen->train_runs[i].last_step - screen->train_runs[i].first_step;
    const lh_spec *spec = screen->train_runs[0].spec;
    printf("%s: %d runs, %lld steps in %s%s, %s/%s/%s\n", spec->id, screen->count, (long long)steps,
           lh_write_duration(lh_progress_get_seconds(&screen->progress), time), write_memory(memory),
           screen->train_runs[0].run.root, spec->id, spec->plan_digest);
    int width[LH_SPLITS], seed_width = get_seed_width(screen);
    printf("%-13s %*s %10s %10s %10s", "learning rate", seed_width, "seed", "step", "loss",
           spec->format->teacher_forced ? "teach.-f." : "accuracy");
    for (int split = 0; split < LH_SPLITS; split++)
        if ((width[split] = get_split_width(screen, lh_split_name[split])) > 0)
            printf(" %*s%s", width[split] - (int)strlen(lh_split_name[split]), "all ", lh_split_name[split]);
    putchar('\n');
    for (int i = 0; i < screen->count; i++) {
        const lh_train_run *train_run = &screen->train_runs[i];
        const lh_training_view *view = &screen->displays[i].view;
        printf("%-13s %*s %10lld", lh_write_shortest(train_run->run.learning_rate, rate), seed_width,
               write_seeds(&train_run->run, seed), (long long)train_run->last_step);
        if (!isnan(view->loss)) printf(" %10.4g %10.4f", view->loss, view->accuracy);
        else printf(" %10s %10s", "-", "-");
        for (int split = 0; split < LH_SPLITS; split++)
            if (width[split] > 0) print_score(train_run, lh_split_name[split], width[split]);
        printf("%s%s\n", get_outcome(train_run)[0] != 0 ? "  " : "", get_outcome(train_run));
    }
    if (spec->format->teacher_forced)
        printf("teach.-f.: accuracy if the model reads the target's tokens; columns \"all ...\": exact match\n");
    lh_print_guessing(spec);
}
