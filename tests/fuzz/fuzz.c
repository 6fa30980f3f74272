/* See fuzz.h: folders, and the mutations of valid inputs. */
#define _GNU_SOURCE
#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "longhand/rng.h"

void lh_fuzz_require(int holds, const char *expectation, const char *detail) {
    if (holds) return;
    fprintf(stderr, "not so: %s: %s\n", expectation, detail);
    abort();
}

/* ---- files ---- */

static char folder[PATH_MAX];
static pid_t owner;

static void remove_folder(void) {
    static const char *const names[] = {"checkpoint.safetensors", "checkpoint.new.safetensors", "lines"};
    char path[PATH_MAX + 64];
    if (getpid() != owner) return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

const char *lh_fuzz_path(const char *name) {
    static char path[PATH_MAX + 64];
    if (owner != getpid()) {
        const char *temporary = getenv("TMPDIR");
        const char *parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : temporary ? temporary : "/tmp";
        snprintf(folder, sizeof folder, "%s/longhand-fuzz-XXXXXX", parent);
        lh_fuzz_require(mkdtemp(folder) != NULL, "a temporary folder", folder);
        owner = getpid();
        atexit(remove_folder);
    }
    snprintf(path, sizeof path, "%s%s%s", folder, name[0] ? "/" : "", name);
    return path;
}

void lh_fuzz_write(const char *path, const uint8_t *data, size_t bytes) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    lh_fuzz_require(file >= 0 && write(file, data, bytes) == (ssize_t)bytes && close(file) == 0, "writes", path);
}

uint8_t *lh_fuzz_read(const char *path, size_t *bytes) {
    struct stat found;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    lh_fuzz_require(file >= 0 && fstat(file, &found) == 0, "opens", path);
    uint8_t *data = malloc((size_t)found.st_size + 1);
    *bytes = (size_t)found.st_size;
    lh_fuzz_require(data != NULL && read(file, data, *bytes) == (ssize_t)*bytes, "reads", path);
    close(file);
    return data;
}

/* ---- mutations ---- */

enum { MOST_CHANGES = 4, LONGEST_PIECE = 64 };

/* Words that parsers often misread. */
static const char *const words[] = {
    "0",
    "-1",
    "1e999",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "4294967296",
    "0.5",
    "null",
    "true",
    "{}",
    "[]",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ":",
    "\\u0000",
    "\\ud800",
    "\\",
    "\n",
    "\xff\xfe",
    "\"\"",
    "[[[[[[[[",
    "\"step\":",
    "__metadata__",
    "F64",
    "NaN",
};

/* Replaces `removed_bytes` bytes at `position`, or those up to the end, by `size` bytes. Frees data and returns new
 * data. */
static uint8_t *replace_bytes(uint8_t *data, size_t *bytes, size_t position, size_t removed_bytes, const uint8_t *piece,
                              size_t size) {
    if (removed_bytes > *bytes - position) removed_bytes = *bytes - position;
    uint8_t *mutated = malloc(*bytes - removed_bytes + size + 1);
    lh_fuzz_require(mutated != NULL, "memory", "for a case");
    memcpy(mutated, data, position);
    memcpy(mutated + position, piece, size);
    memcpy(mutated + position + size, data + position + removed_bytes, *bytes - position - removed_bytes);
    *bytes = *bytes - removed_bytes + size;
    free(data);
    return mutated;
}

/* Changes the data at one place; frees it where it returns new data. */
static uint8_t *mutate(uint8_t *data, size_t *bytes, lh_rng *rng) {
    uint8_t piece[LONGEST_PIECE];
    size_t position = lh_rng_below(rng, (uint32_t)*bytes + 1), size = lh_rng_below(rng, LONGEST_PIECE);
    switch (lh_rng_below(rng, 7)) {
    case 0: /* one bit */
        if (position < *bytes) data[position] = (uint8_t)(data[position] ^ 1u << lh_rng_below(rng, 8));
        return data;
    case 1: /* one byte */
        piece[0] = (uint8_t)lh_rng_word(rng);
        return replace_bytes(data, bytes, position, 1, piece, 1);
    case 2: /* some bytes are removed */ return replace_bytes(data, bytes, position, size, piece, 0);
    case 3: /* truncated */ return replace_bytes(data, bytes, position, *bytes, piece, 0);
    case 4: { /* some of its bytes are repeated here, inserted or in place of others */
        size_t from = lh_rng_below(rng, (uint32_t)*bytes + 1);
        if (size > *bytes - from) size = *bytes - from;
        memcpy(piece, data + from, size);
        return replace_bytes(data, bytes, position, lh_rng_below(rng, 2) ? size : 0, piece, size);
    }
    default: { /* a word is inserted, or replaces as many bytes */
        const char *word = words[lh_rng_below(rng, sizeof words / sizeof *words)];
        size = strlen(word);
        memcpy(piece, word, size);
        return replace_bytes(data, bytes, position, lh_rng_below(rng, 2) ? size : 0, piece, size);
    }
    }
}

uint8_t *lh_fuzz_case(uint8_t *(*valid)(int index, size_t *bytes), uint64_t seed, uint32_t number, size_t *bytes) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(seed), number, 0, 0);
    int seeds = 0;
    for (uint8_t *valid_file; (valid_file = valid(seeds, bytes)) != NULL; seeds++) free(valid_file);
    uint8_t *data = valid((int)lh_rng_below(&rng, (uint32_t)seeds), bytes);
    for (uint32_t changes = lh_rng_below(&rng, MOST_CHANGES + 1); changes > 0; changes--)
        data = mutate(data, bytes, &rng);
    return data;
}
