/* See usual_flags.h. */
#include "cli/usual_flags.h"

#include <string.h>

enum { MAX_WORD_BYTES = 40 };

/* Flags of other programs, and their meaning. The words of a row are separated by blanks. Each word is a flag without
 * leading dashes, in which every underscore is written as a dash. The meaning of a row is a flag, perhaps with its
 * value, or a field of the spec. If a word is in several rows, the first row whose meaning is a field or a flag of the
 * verb applies. The generator also reads this table, so every row must be {"words", "meaning"}. */
static const struct {
    const char *words, *meaning;
} translations[] = {
    {"lr rate", "--learning-rate"},
    {"epoch epochs num-epochs iterations iters max-iters max-steps num-steps train-steps", "--steps"},
    {"gpu gpus cuda use-cuda", "--device cuda"},
    {"cpu no-cuda", "--device cpu"},
    {"output output-dir save-dir log-dir logdir run-dir", "--out"},
    {"num-threads workers num-workers jobs cores", "--threads"},
    {"random-seed", "--seed"},
    {"num-seeds", "--seeds"},
    {"continue", "--resume"},
    {"force", "--overwrite"},
    {"model weights load ckpt", "--checkpoint"},
    {"checkpoint model weights load ckpt pretrained", "--init"},
    {"save-every save-steps save-interval", "--checkpoint-every"},
    {"log-interval log-steps print-every", "--log-every"},
    {"skip-eval", "--no-eval"},
    {"seq-len", "--lengths"},
    {"seq-len", "--length"},
    {"seq-len length lengths max-length", "train.lengths"},
    {"num-examples num-samples", "--count"},
    {"num-examples num-samples", "--examples"},
    {"dataset", "--data"},
    {"dataset data", "task.data"},
    {"batch-size", "--batch"},
    {"batch-size batch", "train.batch"},
    {"optimizer", "train.optimizer"},
    {"weight-decay", "train.optimizer.weight_decay"},
    {"momentum", "train.optimizer.momentum"},
    {"scheduler schedule", "train.schedule"},
    {"warmup warmup-steps", "train.schedule.warmup"},
    {"clip", "train.clip"},
    {"dropout", "model.dropout"},
    {"layers num-layers", "model.layers"},
    {"heads num-heads", "model.heads"},
    {"width d-model hidden-size", "model.width"},
    {"dtype precision", "precision"},
};

/* Writes a word as the table of flags spells it: without leading dashes, and with a dash for every underscore. */
static void write_plain(const char *word, char plain[MAX_WORD_BYTES]) {
    size_t used = 0;
    word += strspn(word, "-_");
    for (; word[used] != 0 && used < MAX_WORD_BYTES - 1; used++) plain[used] = word[used] == '_' ? '-' : word[used];
    plain[used] = 0;
}

static bool is_flag(const char *meaning) { return strncmp(meaning, "--", 2) == 0; }

/* Whether a word is among words that are separated by blanks. */
static bool has_word(const char *words, const char *word) {
    size_t bytes = strlen(word);
    for (; *words != 0; words += strspn(words, " ")) {
        size_t length = strcspn(words, " ");
        if (length == bytes && strncmp(words, word, bytes) == 0) return true;
        words += length;
    }
    return false;
}

static bool has_option(const lh_option *options, int count, const char *flag) {
    size_t bytes = strcspn(flag, " ");
    for (int i = 0; i < count; i++)
        if (strlen(options[i].name) == bytes && strncmp(options[i].name, flag, bytes) == 0) return true;
    return false;
}

const char *lh_find_usual_flag(const char *word, const lh_option *options, int count, bool *is_field) {
    char plain[MAX_WORD_BYTES];
    write_plain(word, plain);
    for (size_t i = 0; i < sizeof translations / sizeof *translations; i++) {
        const char *meaning = translations[i].meaning;
        *is_field = !is_flag(meaning);
        if (has_word(translations[i].words, plain) && (*is_field || has_option(options, count, meaning)))
            return meaning;
    }
    return NULL;
}
