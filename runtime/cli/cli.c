/* See cli.h. */
#include "cli/cli.h"

#include <stdio.h>

#include "base/team.h"
#include "cli/data_files.h"

/* Prints the part of --help that describes the examples of a dataset. */
static void print_data_help(const lh_spec *spec) {
    printf("\n%s:\n", spec->task->collect != NULL ? "This trainer makes its examples at the start"
                                                  : "This trainer's examples are in files");
    lh_data_files_print_help(stdout, spec);
}

lh_status lh_cli_read_options(const lh_cli *cli, const lh_verb *verb, const lh_option *options, int count,
                              bool *has_printed_help, lh_error *error) {
    lh_status status = lh_options_parse(verb, options, count, cli->argc, cli->argv, has_printed_help, error);
    if (status == LH_OK && *has_printed_help) {
        lh_options_print_help(stdout, cli->program, verb, options, count);
        if (cli->spec->data != NULL && cli->reads_data) print_data_help(cli->spec);
    }
    return status;
}

void lh_warn_unlocked(const char *directory) {
    static bool is_reported;
    if (!is_reported)
        fprintf(stderr,
                "warning: %s: this file system has no locks, so a second process may use this folder\n"
                "  two processes that write to one folder damage its files: use a run in one process at a time\n",
                directory);
    is_reported = true;
}

int lh_cli_count_threads(int64_t requested) { return requested > 0 ? (int)requested : lh_team_count_processors(); }

static lh_status load_checkpoint(lh_engine *engine, const char *checkpoint, lh_error *error) {
    lh_state state;
    int64_t step;
    lh_status status = lh_state_open(&state, engine, false, error);
    if (status != LH_OK) return status;
    status = lh_checkpoint_read_parameters(checkpoint, engine->spec, state.real_bytes, state.parameters, &step, error);
    if (status == LH_OK) status = engine->ops->write_state(engine, &state, step, error);
    lh_state_close(&state);
    return status;
}

lh_status lh_cli_open_checkpoint(lh_cli_model *model, const lh_spec *spec, const char *checkpoint, const char *device,
                                 int64_t threads, lh_error *error) {
    model->engine = NULL;
    if (checkpoint == NULL) return lh_fail(error, LH_ERR_USAGE, "--checkpoint: missing\n  expected: --checkpoint FILE");
    lh_status status = lh_target_open(&model->target, spec, device, error);
    if (status != LH_OK) return status;
    lh_engine_config config = {.spec = &model->target.spec, .threads = lh_cli_count_threads(threads)};
    status = lh_target_open_engines(&model->target, &config, 1, false, &model->engine, error);
    if (status == LH_OK) status = load_checkpoint(model->engine, checkpoint, error);
    if (status != LH_OK) lh_cli_close_checkpoint(model);
    return status;
}

void lh_cli_close_checkpoint(lh_cli_model *model) {
    if (model->engine != NULL) model->engine->ops->close(model->engine);
    lh_target_close(&model->target);
}
