/* Targets for fuzzing: readers of files and lines that may hold anything. Each takes any bytes and must return; what is
 * wrong ends the process with a message. tests/unit/test_fuzz.c feeds them mutated seeds; with clang, `make fuzz` feeds
 * them what libFuzzer finds.
 */
#ifndef LH_FUZZ_H
#define LH_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The first byte says what is repaired before reading (1: the header's length, 2: the checksum), the others are a
 * checkpoint of the toy spec: read as safetensors, for its parameters, and to go on from. */
void lh_fuzz_checkpoint(const uint8_t *data, size_t bytes);

/* The first byte chooses the reader: input of predict as JSON or as symbols, lines of metrics, window and evaluation. */
void lh_fuzz_json_lines(const uint8_t *data, size_t bytes);

/* Valid input number `index`, from 0 on; malloc'ed; NULL after the last. */
uint8_t *lh_fuzz_checkpoint_seed(int index, size_t *bytes);
uint8_t *lh_fuzz_json_lines_seed(int index, size_t *bytes);

/* ---- for the targets ---- */

/* Ends the process, with a message, unless it holds. */
void lh_fuzz_require(int holds, const char *what, const char *detail);

/* name in this process's own folder, which lies in memory where there is such a place and goes when the process exits. */
const char *lh_fuzz_path(const char *name);

void lh_fuzz_write(const char *path, const uint8_t *data, size_t bytes);
uint8_t *lh_fuzz_read(const char *path, size_t *bytes); /* malloc'ed */

/* ---- mutations ---- */

/* Case `number` of a seed: one of the target's valid inputs, changed in a few places. malloc'ed. */
uint8_t *lh_fuzz_case(uint8_t *(*valid)(int index, size_t *bytes), uint64_t seed, uint32_t number, size_t *bytes);

#endif
