/* Targets for fuzzing: readers of files and lines with any content. Each accepts any bytes and must return; an error
 * ends the process with a message. tests/unit/test_fuzz.c gives them mutated seeds; with clang, `make fuzz` runs
 * libFuzzer on them.
 */
#ifndef LH_FUZZ_H
#define LH_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Bits of the first byte select repairs before reading (1: the header's length, 2: the checksum), the other bytes are a
 * checkpoint of the toy spec: read as safetensors, for its parameters, and for a resume. */
void lh_fuzz_checkpoint(const uint8_t *data, size_t bytes);

/* The first byte modulo 4 selects the reader of the others: input of predict as JSON or as symbols, lines of metrics
 * (for the window of a resumed run), lines of evaluations. */
void lh_fuzz_json_lines(const uint8_t *data, size_t bytes);

/* Valid input number `index`, from 0 on; malloc'ed; NULL after the last. */
uint8_t *lh_fuzz_checkpoint_seed(int index, size_t *bytes);
uint8_t *lh_fuzz_json_lines_seed(int index, size_t *bytes);

/* ---- for the targets ---- */

/* Ends the process, with a message, unless `holds` is true. */
void lh_fuzz_require(int holds, const char *expectation, const char *detail);

/* The path of a file in this process's own folder, or of the folder (name ""), valid until the next call. The folder
 * is in memory if possible and is removed when the process exits. */
const char *lh_fuzz_path(const char *name);

void lh_fuzz_write(const char *path, const uint8_t *data, size_t bytes);
uint8_t *lh_fuzz_read(const char *path, size_t *bytes); /* malloc'ed */

/* ---- mutations ---- */

/* Case `number` of a seed: one of the target's valid inputs, changed in at most four places. malloc'ed. */
uint8_t *lh_fuzz_case(uint8_t *(*valid)(int index, size_t *bytes), uint64_t seed, uint32_t number, size_t *bytes);

#endif
