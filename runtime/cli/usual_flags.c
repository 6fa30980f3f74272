/* See usual_flags.h. */
#include "cli/usual_flags.h"

#include <string.h>

enum { LONGEST_WORD = 40 };

/* Flags of other programs and other words, without leading dashes and with - for _, and their meanings: a flag, perhaps
 * with its value, or a field of the spec. If a word has several rows, the first row applies whose flag the verb has.
 * The generator also reads this table: every row is on one line, as {"word", "meaning"}. */
static const struct {
    const char *word, *meaning;
} usual[] = {
    {"lr", "--learning-rate"},
    {"rate", "--learning-rate"},
    {"epoch", "--steps"},
    {"epochs", "--steps"},
    {"num-epochs", "--steps"},
    {"iterations", "--steps"},
    {"iters", "--steps"},
    {"max-iters", "--steps"},
    {"max-steps", "--steps"},
    {"num-steps", "--steps"},
    {"train-steps", "--steps"},
    {"gpu", "--device cuda"},
    {"gpus", "--device cuda"},
    {"cuda", "--device cuda"},
    {"use-cuda", "--device cuda"},
    {"cpu", "--device cpu"},
    {"no-cuda", "--device cpu"},
    {"output", "--out"},
    {"output-dir", "--out"},
    {"save-dir", "--out"},
    {"log-dir", "--out"},
    {"logdir", "--out"},
    {"run-dir", "--out"},
    {"num-threads", "--threads"},
    {"workers", "--threads"},
    {"num-workers", "--threads"},
    {"jobs", "--threads"},
    {"cores", "--threads"},
    {"random-seed", "--seed"},
    {"num-seeds", "--seeds"},
    {"continue", "--resume"},
    {"force", "--overwrite"},
    {"checkpoint", "--init"},
    {"model", "--checkpoint"},
    {"model", "--init"},
    {"weights", "--checkpoint"},
    {"weights", "--init"},
    {"load", "--checkpoint"},
    {"load", "--init"},
    {"ckpt", "--checkpoint"},
    {"ckpt", "--init"},
    {"pretrained", "--init"},
    {"save-every", "--checkpoint-every"},
    {"save-steps", "--checkpoint-every"},
    {"save-interval", "--checkpoint-every"},
    {"log-interval", "--log-every"},
    {"log-steps", "--log-every"},
    {"print-every", "--log-every"},
    {"skip-eval", "--no-eval"},
    {"seq-len", "--lengths"},
    {"seq-len", "--length"},
    {"seq-len", "train.lengths"},
    {"num-examples", "--count"},
    {"num-examples", "--examples"},
    {"num-samples", "--count"},
    {"num-samples", "--examples"},
    {"dataset", "--data"},
    {"dataset", "task.data"},
    {"data", "task.data"},
    {"batch-size", "--batch"},
    {"batch-size", "train.batch"},
    {"batch", "train.batch"},
    {"length", "train.lengths"},
    {"lengths", "train.lengths"},
    {"max-length", "train.lengths"},
    {"optimizer", "train.optimizer"},
    {"weight-decay", "train.optimizer.weight_decay"},
    {"momentum", "train.optimizer.momentum"},
    {"scheduler", "train.schedule"},
    {"schedule", "train.schedule"},
    {"warmup", "train.schedule.warmup"},
    {"warmup-steps", "train.schedule.warmup"},
    {"clip", "train.clip"},
    {"dropout", "model.dropout"},
    {"layers", "model.layers"},
    {"num-layers", "model.layers"},
    {"heads", "model.heads"},
    {"num-heads", "model.heads"},
    {"width", "model.width"},
    {"d-model", "model.width"},
    {"hidden-size", "model.width"},
    {"dtype", "precision"},
    {"precision", "precision"},
};

static void strip(const char *word, char plain[LONGEST_WORD]) {
    size_t used = 0;
    word += strspn(word, "-_");
    for (; word[used] != 0 && used < LONGEST_WORD - 1; used++) plain[used] = word[used] == '_' ? '-' : word[used];
    plain[used] = 0;
}

static bool is_flag(const char *meaning) { return strncmp(meaning, "--", 2) == 0; }

static bool has_option(const lh_option *options, int count, const char *flag) {
    size_t bytes = strcspn(flag, " ");
    for (int i = 0; i < count; i++)
        if (strlen(options[i].name) == bytes && strncmp(options[i].name, flag, bytes) == 0) return true;
    return false;
}

const char *lh_find_usual_flag(const char *word, const lh_option *options, int count, bool *is_field) {
    char plain[LONGEST_WORD];
    strip(word, plain);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        const char *meaning = usual[i].meaning;
        *is_field = !is_flag(meaning);
        if (strcmp(usual[i].word, plain) == 0 && (*is_field || has_option(options, count, meaning))) return meaning;
    }
    return NULL;
}
