/* Counts the instructions of a model's compiled step, the program in LONGHAND_PTX:
 *
 *     count SEQUENCES SHARDS T LABELS BARRIERS
 *     count decoding SEQUENCES T LABELS
 *
 * A team of two blocks makes one step with LABELS labels for each sequence of T tokens. Prints lines "shard KIND
 * NUMBER" and "end KIND NUMBER" for each kind of instruction: the number that block 0 issues between the last two of
 * the first BARRIERS barriers of the team (1: from the start to the first barrier), divided by its shards, and the
 * number that both blocks issue after these barriers, where the gradients of shards are summed, clipped and applied.
 * Counts of instructions depend on sizes alone; the tokens, which change a few sectors, are arbitrary.
 *
 * With `decoding`, prints all instructions of a block that evaluates the sequences, and of one that decodes all
 * answers. */
#include "support/lh_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulation/launch_model.h"
#include "counts.h"

extern const lh_spec lh_model;

enum { TEAM = 2, MOST_KINDS = 64 };

static float *make_parameters(const lh_spec *spec) {
    float *parameters = lh_model_reserve((size_t)spec->parameter_storage * sizeof *parameters);
    for (int64_t i = 0; i < spec->parameter_storage; i++) parameters[i] = (float)(i * 7919 % 2001 - 1000) * 1e-4f;
    return parameters;
}

static lh_cuda_step make_step(const lh_spec *spec, int sequences, int T, int labels) {
    size_t tokens = (size_t)(sequences * T), answers = (size_t)(sequences * labels);
    unsigned short *in = lh_model_reserve(tokens * sizeof *in), *out = lh_model_reserve(answers * sizeof *out);
    for (size_t i = 0; i < tokens; i++) in[i] = (unsigned short)(i * i % (size_t)spec->task->input_symbols);
    return (lh_cuda_step){
        .tokens = {in},
        .labels = out,
        .mask = memset(lh_model_reserve(answers), 1, answers),
        .sequences = sequences,
        .T = {T},
        .label_count = labels,
        .step = 1,
        .rate = 1e-3,
        .correct2 = 1000,
        .loss_scale = 1.0 / (double)answers,
    };
}

static int read_counts(int program_part, lh_ptx_count *counts) {
    int count = lh_ptx_read_counts(program_part, counts, MOST_KINDS);
    assert_in_range(count, 1, MOST_KINDS - 1);
    return count;
}

/* Prints the number of instructions of the last launch. */
static void print_all(const char *label) {
    lh_ptx_count counts[MOST_KINDS];
    long long total = 0;
    for (int program_part = 0; program_part < LH_PTX_PARTS; program_part++)
        for (int i = lh_ptx_read_counts(program_part, counts, MOST_KINDS) - 1; i >= 0; i--)
            if (strncmp(counts[i].kind, "sectors", strlen("sectors")) != 0) total += counts[i].count;
    printf("%s all %lld\n", label, total);
}

static int count_decoding(const lh_spec *spec, int sequences, int T, int labels) {
    const lh_cuda_step step = make_step(spec, sequences, T, labels);
    const lh_shape shape = {sequences, {T, 0}, labels};
    const void *parameters = make_parameters(spec), *tables = lh_model_make_tables(spec, &shape);
    size_t answers = (size_t)(sequences * labels);
    void *logits = lh_model_reserve(answers * (size_t)spec->classes * sizeof(float));
    lh_cuda_loop_answer *sums = lh_model_reserve((size_t)sequences * sizeof *sums);
    int *classes = lh_model_reserve(answers * sizeof *classes);
    lh_model_evaluate(spec, parameters, tables, &step, 1, sequences, 0, sums, logits);
    print_all("pass");
    lh_model_decode(spec, &parameters, tables, &step, 1, (lh_model_cut){sequences, 1, 0}, -1, classes, logits);
    print_all("decoding");
    return 0;
}

int main(int argc, char **argv) {
    const lh_spec *spec = &lh_model;
    if (argc == 5 && strcmp(argv[1], "decoding") == 0)
        return count_decoding(spec, atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
    if (argc != 6) return 2;
    const int sequences = atoi(argv[1]), shards = atoi(argv[2]), T = atoi(argv[3]), labels = atoi(argv[4]);
    assert_true(sequences % shards == 0);
    lh_ptx_count first[MOST_KINDS], total[MOST_KINDS];
    lh_cuda_step step = make_step(spec, sequences, T, labels);
    lh_ptx_team_barriers = atoi(argv[5]);
    lh_ptx_counts_sectors = true;
    const lh_shape shape = {sequences, {T, 0}, labels};
    lh_model_step model_step = lh_model_train(spec, make_parameters(spec), lh_model_make_tables(spec, &shape), &step,
                                              (lh_model_cut){shards, TEAM, 0}, 1, NULL);
    assert_int_equal(model_step.result.state, LH_CUDA_DONE);
    const int block_shards = (shards + TEAM - 1) / TEAM; /* shards of block 0 */
    const int first_kinds = read_counts(LH_PTX_FIRST, first), rest_kinds = read_counts(LH_PTX_REST, total);
    for (int i = 0; i < first_kinds; i++) printf("shard %s %lld\n", first[i].kind, first[i].count / block_shards);
    for (int i = 0; i < rest_kinds; i++) printf("end %s %lld\n", total[i].kind, total[i].count);
    return 0;
}
