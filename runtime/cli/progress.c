/* Prints progress on stderr, and the table of an evaluation. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/json_text.h"
#include "cli/cli.h"

static const double LIVE_SECONDS = 0.2; /* time between two changes of the live line */

void lh_progress_start(lh_progress *progress) {
    const char *terminal = getenv("TERM");
    *progress = (lh_progress){
        .is_live = isatty(STDERR_FILENO) && (terminal == NULL || strcmp(terminal, "dumb") != 0),
        .start_time = lh_read_clock(),
        .line_time = -INFINITY,
    };
    if (progress->is_live) lh_break_line_on_signals();
}

double lh_progress_get_seconds(const lh_progress *progress) { return lh_read_clock() - progress->start_time; }

bool lh_progress_is_due(const lh_progress *progress, double seconds) {
    return lh_read_clock() - progress->line_time >= (progress->is_live ? LIVE_SECONDS : seconds);
}

/* The maximum number of characters of a live line: one fewer than the columns of the terminal; 511 if they are
 * unknown. */
static int get_terminal_width(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 511;
}

void lh_progress_print(lh_progress *progress, const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (progress->is_live && (int)strlen(line) > get_terminal_width()) line[get_terminal_width()] = 0;
    int width = (int)strlen(line);
    lh_set_line_open(progress->is_live);
    if (progress->is_live) fprintf(stderr, "\r%s%*s", line, progress->width > width ? progress->width - width : 0, "");
    else fprintf(stderr, "%s\n", line);
    fflush(stderr);
    progress->width = width;
    progress->line_time = lh_read_clock();
}

void lh_progress_erase(lh_progress *progress) {
    if (progress->is_live && progress->width > 0) fprintf(stderr, "\r%*s\r", progress->width, "");
    lh_set_line_open(false);
    progress->width = 0;
}

const char *lh_progress_write_bar(double share, char text[32]) {
    int full = (int)(20.0 * (share < 0 ? 0 : share > 1 ? 1 : share)); /* the bar has 20 characters */
    text[0] = '[';
    memset(text + 1, '#', (size_t)full);
    memset(text + 1 + full, '.', (size_t)(20 - full));
    memcpy(text + 21, "]", 2);
    return text;
}

const char *lh_write_duration(double seconds, char text[32]) {
    if (!(seconds >= 0 && seconds < 3.6e8)) return strcpy(text, "?");
    long total_seconds = (long)(seconds + 0.5);
    if (total_seconds >= 3600) snprintf(text, 32, "%ld h %02ld min", total_seconds / 3600, total_seconds / 60 % 60);
    else if (total_seconds >= 60) snprintf(text, 32, "%ld min %02ld s", total_seconds / 60, total_seconds % 60);
    else snprintf(text, 32, "%ld s", total_seconds);
    return text;
}

void lh_progress_show_evaluation(void *context, const lh_eval_result *result, int completed, int count) {
    lh_progress *progress = context;
    char bar[32], remaining[32], name[LH_EVAL_NAME];
    if (!lh_progress_is_due(progress, 10.0) && completed < count) return; /* a line every 10 seconds */
    double seconds = lh_progress_get_seconds(progress);
    if (result->counted == 0)
        lh_progress_print(progress, "evaluation %s %d/%d  %s  no counted labels  %s left",
                          lh_progress_write_bar((double)completed / count, bar), completed, count,
                          lh_eval_write_name(result, name),
                          lh_write_duration(seconds / completed * (count - completed), remaining));
    else
        lh_progress_print(progress, "evaluation %s %d/%d  %s  %s %.4f  exact %.4f  %s left",
                          lh_progress_write_bar((double)completed / count, bar), completed, count,
                          lh_eval_write_name(result, name),
                          result->decoding == lh_teacher_forced ? "teacher-forced" : "accuracy", result->accuracy,
                          result->exact_match, lh_write_duration(seconds / completed * (count - completed), remaining));
    if (completed == count) lh_progress_erase(progress);
}

void lh_print_guessing(const lh_spec *spec) {
    printf("guessing: %.4f", spec->task->chance);
    if (spec->task->baseline_name != NULL) printf("; %s: %.4f", spec->task->baseline_name, spec->task->baseline);
    printf("\n");
}

/* Prints the titles of columns. A generative model has exact match first, then the accuracy of its own answers, if it
 * was decoded, and the accuracy of the teacher-forced pass. decoding: lh_eval_result.decoding. */
static void print_titles(const char *decoding) {
    if (decoding == NULL) printf(" %10s %12s", "accuracy", "exact match");
    else printf(" %12s", "exact match");
    if (decoding == lh_greedy) printf(" %10s", "accuracy");
    if (decoding != NULL) printf(" %14s", "teacher-forced");
    printf(" %10s\n", "loss");
}

static void print_number(int width, double value, bool is_known) {
    if (is_known) printf(" %*.4f", width, value);
    else printf(" %*s", width, "-");
}

/* Prints the numbers of the columns that print_titles names; a "-" for each if there are no results (count 0). */
static void print_numbers(const char *decoding, const lh_eval_means *means) {
    bool is_known = means->count > 0;
    if (decoding == NULL) print_number(10, means->accuracy, is_known);
    print_number(12, means->exact_match, is_known);
    if (decoding == lh_greedy) print_number(10, means->accuracy, is_known);
    if (decoding != NULL) print_number(14, means->teacher_forced, is_known);
    print_number(10, means->loss, is_known);
}

/* Prints a whole row of means, its newline included; prints nothing if there are no results. */
static void print_means(int split_width, const char *name, const char *decoding, const lh_eval_means *means) {
    char lengths[48];
    snprintf(lengths, sizeof lengths, "%d..%d", means->first, means->last);
    if (means->count == 0) return;
    printf("%-*s %-12s %7d", split_width, name, lengths, means->count);
    print_numbers(decoding, means);
    putchar('\n');
}

/* Ends a row; with a dataset it first prints the numbers of evaluated examples and of all examples. */
static void print_examples(const lh_eval_result *results, int count) {
    int64_t evaluated = 0, total = 0;
    if (results[0].groups != NULL) {
        for (int i = 0; i < count; i++) {
            evaluated += results[i].examples;
            total += results[i].total > 0 ? results[i].total : results[i].examples;
        }
        printf("  %lld of %lld examples", (long long)evaluated, (long long)total);
    }
    putchar('\n');
}

/* Prints, after a row, how many of its conditions have no counted label, and so no accuracy. */
static void print_uncounted(const lh_eval_result *results, int count) {
    int uncounted = 0;
    for (int i = 0; i < count; i++) uncounted += results[i].counted == 0;
    if (count == 1) printf("  no counted labels");
    else if (uncounted > 0) printf("  no counted labels in %d of %d conditions", uncounted, count);
}

/* Whether two results have the same noise and the same number of passes. */
static bool have_equal_noise_and_passes(const lh_eval_result *a, const lh_eval_result *b) {
    return a->noise == b->noise && a->passes == b->passes;
}

/* Counts the results at the start of the list that have the split, noise, number of passes and n of the first result. n
 * is the length, or the value on the first axis. */
static int count_equal(const lh_eval_result *results, int count) {
    int equal_count = 1;
    while (equal_count < count && results[equal_count].n == results[0].n &&
           have_equal_noise_and_passes(&results[equal_count], results) &&
           strcmp(results[equal_count].split, results[0].split) == 0)
        equal_count++;
    return equal_count;
}

/* Prints a row for results with the same split, noise, number of passes and n. */
static void print_row(int split_width, const lh_eval_result *results, int count) {
    char number[16] = "", value[16] = "-";
    lh_eval_means means = lh_eval_compute_means(results, count, results[0].split);
    if (count > 1) snprintf(number, sizeof number, "%d", count);
    if (results[0].n != LH_NO_VALUE) snprintf(value, sizeof value, "%d", results[0].n);
    printf("%-*s %-12s %7s", split_width, results[0].split, value, number);
    print_numbers(results[0].decoding, &means);
    if (means.count < count) print_uncounted(results, count);
    print_examples(results, count);
}

/* Prints the means of every split. */
static void print_splits(int split_width, const lh_eval_result *results, int count) {
    for (int split = 0; split < LH_SPLITS; split++) {
        char name[32];
        lh_eval_means means = lh_eval_compute_means(results, count, lh_split_name[split]);
        snprintf(name, sizeof name, "all %s", lh_split_name[split]);
        if (count > 0) print_means(split_width, name, results[0].decoding, &means);
    }
}

/* Prints the results of one level of noise and one number of passes. If they have more than MAX_ROWS rows, prints only
 * the means of the splits. */
static void print_results(int split_width, const lh_eval_result *results, int count) {
    enum { MAX_ROWS = 16 };
    int rows = 0;
    for (int i = 0; i < count; i += count_equal(results + i, count - i)) rows++;
    for (int i = 0, equal_count; rows <= MAX_ROWS && i < count; i += equal_count) {
        equal_count = count_equal(results + i, count - i);
        print_row(split_width, results + i, equal_count);
    }
    print_splits(split_width, results, count);
}

/* Counts how many results, from the first one on, belong to the validation stream of a sampled task. */
static int count_validation(const lh_eval_result *results, int count) {
    int i = 0;
    while (i < count && results[i].groups == NULL && strcmp(results[i].split, "validation") == 0) i++;
    return i;
}

/* The width of the first column: "all " and the longest name of a split in the results; at least 10. */
static int get_split_width(const lh_eval_result *results, int count) {
    size_t split_width = 10;
    for (int i = 0; i < count; i++)
        if (strlen(results[i].split) + 4 > split_width) split_width = strlen(results[i].split) + 4;
    return (int)split_width;
}

void lh_print_evaluation(const lh_spec *spec, const lh_eval_result *results, int count) {
    char noise[LH_NUMBER_TEXT];
    int equal_count, first = count_validation(results, count); /* results before `first`: the validation stream */
    int split_width = get_split_width(results, count);
    const char *axis = count > 0 ? results[0].axis : spec->eval.axis;
    printf("%-*s %-12s %7s", split_width, "split", strcmp(axis, "length") == 0 ? "lengths" : axis, "number");
    print_titles(count > 0 ? results[0].decoding : NULL);
    if (first < count) print_splits(split_width, results, first);
    if (first == count) first = 0; /* all results are of the validation stream: prints them by length */
    for (int i = first; i < count; i += equal_count) {
        equal_count = 1;
        while (i + equal_count < count && have_equal_noise_and_passes(&results[i + equal_count], &results[i]))
            equal_count++;
        if (results[i].has_noise) printf("noise %s\n", lh_write_shortest(results[i].noise, noise));
        if (results[i].passes > 0) printf("passes %d\n", results[i].passes);
        if (results[i].is_oracle) printf("oracle: as many passes as the task length\n");
        print_results(split_width, results + i, equal_count);
    }
    lh_print_guessing(spec);
}
