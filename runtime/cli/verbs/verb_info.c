/* trainer info: prints the spec and targets of this trainer, and its choices on this machine. */
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/cpu_level.h"
#include "base/team.h"
#include "cli/verbs/info_cuda.h"
#include "cli/verbs/info_libc.h"
#include "cli/verbs/verbs.h"
#include "training/run_files.h"

/* The dynamic section, which only programs with shared libraries have; the linker defines this symbol. */
#pragma weak _DYNAMIC

static const char *get_linking(void) { return _DYNAMIC != NULL ? "dynamic" : "static"; }

static void put_levels(FILE *out, const lh_spec *spec) {
    putc('[', out);
    for (int i = 0; spec->cpu != NULL && spec->cpu[i] != NULL; i++) {
        fputs(i > 0 ? "," : "", out);
        lh_json_quote(out, spec->cpu[i]->level);
    }
    putc(']', out);
}

/* Prints the choices for each level, as an object of objects. */
static void put_choices(FILE *out, const lh_spec *spec) {
    putc('{', out);
    for (int i = 0; spec->cpu != NULL && spec->cpu[i] != NULL; i++) {
        lh_json choices;
        fputs(i > 0 ? "," : "", out);
        lh_json_quote(out, spec->cpu[i]->level);
        putc(':', out);
        lh_json_begin(&choices, out);
        for (const lh_choice *c = spec->cpu[i]->choices; c != NULL && c->name != NULL; c++)
            lh_json_string(&choices, c->name, c->value);
        lh_json_end(&choices);
    }
    putc('}', out);
}

/* Prints one line for each level: its choices and their origin. */
static void print_choices(const lh_spec *spec) {
    for (int i = 0; spec->cpu != NULL && spec->cpu[i] != NULL; i++) {
        const lh_choice *c = spec->cpu[i]->choices;
        if (c == NULL) continue;
        printf("%-14s %s:", i == 0 ? "choices" : "", spec->cpu[i]->level);
        for (; c->name != NULL; c++)
            printf("%s %s %s (%s)", c == spec->cpu[i]->choices ? "" : ",", c->name, c->value, c->origin);
        printf("\n");
    }
}

static const char *get_target_names(const lh_spec *spec) {
    if (spec->cpu == NULL) return spec->cuda != NULL ? "[\"cuda\"]" : "[]";
    return spec->cuda != NULL ? "[\"cpu\",\"cuda\"]" : "[\"cpu\"]";
}

static void print_json(const lh_spec *spec, const char *level) {
    char libc[32];
    lh_json json;
    lh_json_begin(&json, stdout);
    lh_json_string(&json, "id", spec->id);
    lh_json_string(&json, "digest", spec->plan_digest);
    lh_json_string(&json, "model_digest", spec->model_digest);
    lh_json_string(&json, "source_digest", spec->source_digest);
    lh_json_raw(&json, "spec", spec->resolved);
    lh_json_string(&json, "task", spec->task->kind);
    lh_json_string(&json, "precision", spec->precision);
    lh_json_integer(&json, "parameters", spec->parameter_count);
    lh_json_raw(&json, "levels", "");
    put_levels(stdout, spec);
    lh_json_string(&json, "level", level);
    lh_json_raw(&json, "choices", "");
    put_choices(stdout, spec);
    lh_json_raw(&json, "targets", get_target_names(spec));
    lh_json_raw(&json, "architectures", "");
    lh_info_put_images(stdout, spec->cuda, true);
    lh_json_raw(&json, "cuda", spec->cuda != NULL ? "" : "null");
    if (spec->cuda != NULL) lh_info_put_cuda(stdout, spec->cuda);
    lh_json_string(&json, "compiler", lh_get_compiler());
    lh_json_string(&json, "linked", get_linking());
    lh_info_find_libc(libc, sizeof libc);
    if (libc[0] != 0) lh_json_string(&json, "least_glibc", libc);
    else lh_json_raw(&json, "least_glibc", "null");
    lh_json_integer(&json, "threads", lh_team_count_processors());
    lh_json_integer(&json, "shards", spec->train.shards);
    lh_json_end_line(&json);
}

static void print_lengths(const char *name, const lh_lengths *lengths) {
    int count = lh_lengths_count(lengths);
    if (count > 0)
        printf("%-14s %d..%d (%d)\n", name, lh_lengths_get(lengths, 0), lh_lengths_get(lengths, count - 1), count);
}

static void print_parameters(const lh_spec *spec) {
    int learned = 0;
    for (int t = 0; t < spec->tensor_count; t++) learned += spec->tensors[t].learned;
    printf("%-14s %lld in %d tensors, %s", "parameters", (long long)spec->parameter_count, learned, spec->precision);
    if (learned < spec->tensor_count) printf("; %d not learned", spec->tensor_count - learned);
    printf("\n");
}

static void print_schedule(const lh_schedule *schedule) {
    static const char *const kinds[] = {"constant", "linear", "cosine"};
    if (schedule->kind == LH_SCHEDULE_CONSTANT && schedule->warmup == 0) return;
    printf("%-14s learning rate: %s", "", kinds[schedule->kind]);
    if (schedule->kind != LH_SCHEDULE_CONSTANT) printf(", to %g times the highest rate", schedule->final);
    if (schedule->warmup > 0) printf(", after %lld steps of warm-up", (long long)schedule->warmup);
    printf("\n");
}

static void print_data(const lh_data *data) {
    printf("%-14s ", "data");
    if (data->train != NULL) printf("%s", data->train);
    else printf("made at the start, seed %llu", (unsigned long long)data->seed);
    if (data->eval != NULL) printf(", evaluation %s", data->eval);
    if (data->validation != NULL) printf(", validation %s", data->validation);
    printf("\n");
}

static void print_text(const lh_spec *spec, const char *level) {
    int processors = lh_team_count_processors();
    char libc[32];
    printf("%-14s %s\n%-14s %s\n%-14s %s\n%-14s %s\n", "id", spec->id, "plan", spec->plan_digest, "model",
           spec->model_digest, "sources", spec->source_digest);
    printf("%-14s %s, chance %.4f\n", "task", spec->task->kind, spec->task->chance);
    print_parameters(spec);
    print_lengths("training", &spec->train.lengths);
    print_lengths("evaluation", &spec->eval.lengths);
    if (spec->data != NULL) print_data(spec->data);
    printf("%-14s %lld %s of %d examples, learning rate %g, %s\n", "",
           (long long)(spec->train.epochs > 0 ? spec->train.epochs : spec->train.steps),
           spec->train.epochs > 0 ? "epochs in batches" : "steps", spec->train.batch, spec->train.learning_rate,
           spec->optimizer.kind);
    print_schedule(&spec->train.schedule);
    printf("%-14s", "levels");
    for (int i = 0; spec->cpu != NULL && spec->cpu[i] != NULL; i++) printf(" %s", spec->cpu[i]->level);
    printf("; here: %s\n%-14s %s, linked: %s", level, "compiler", lh_get_compiler(), get_linking());
    lh_info_find_libc(libc, sizeof libc);
    if (libc[0] != 0) printf(", needs glibc %s or later", libc);
    printf("\n");
    print_choices(spec);
    printf("%-14s %d", "threads", processors);
    if (processors > spec->train.shards)
        printf("; training uses %d: a batch has %d shards, and further threads would be idle", spec->train.shards,
               spec->train.shards);
    printf("\n");
    lh_info_print_cuda(spec->cuda);
    printf("%-14s %s\n", "spec", spec->resolved);
}

lh_status lh_verb_info(const lh_cli *cli, lh_error *error) {
    static const lh_verb verb = {"info", "Prints the spec, digests and levels of this trainer, and the level in use.",
                                 NULL};
    bool as_json = false, has_printed_help;
    const lh_option options[] = {
        {"--json", LH_OPTION_SWITCH, &as_json, 0, 0, NULL, NULL, "print one JSON object"},
    };
    lh_status status =
        lh_cli_read_options(cli, &verb, options, sizeof options / sizeof *options, &has_printed_help, error);
    if (status != LH_OK || has_printed_help) return status;
    const lh_cpu_program *program = NULL;
    if (lh_level_choose(cli->spec->cpu, &program, error) == LH_ERR_USAGE) return LH_ERR_USAGE;
    error->text[0] = 0; /* levels are printed even if the processor runs none */
    const char *level = program != NULL ? program->level : "none";
    if (as_json) print_json(cli->spec, level);
    else print_text(cli->spec, level);
    return LH_OK;
}
