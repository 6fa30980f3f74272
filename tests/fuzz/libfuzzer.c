/* The entry point of libFuzzer for the target LH_FUZZ_TARGET; with LH_FUZZ_SEEDS=DIR in the environment, writes the
 * seeds there and exits. See `make fuzz`. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"

#define JOIN(a, b) a##b
#define SEED_OF(target) JOIN(target, _seed)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    const char *folder = getenv("LH_FUZZ_SEEDS");
    size_t bytes;
    uint8_t *data;
    for (int i = 0; folder && (data = SEED_OF(LH_FUZZ_TARGET)(i, &bytes)) != NULL; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/seed-%d", folder, i);
        lh_fuzz_write(path, data, bytes);
        free(data);
    }
    if (folder) exit(0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    LH_FUZZ_TARGET(data, bytes);
    return 0;
}
