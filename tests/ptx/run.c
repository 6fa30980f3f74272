/* Runs kernels of the program that the variable LONGHAND_PTX names, one launch for each line of standard input:
 *
 *     KERNEL ORDER BLOCKS THREADS SHARED_BYTES OUT_BYTES IN_AS_HEXADECIMAL
 *
 * ORDER is the order of threads (emulation.h). The kernel gets the addresses of its input and of its output, which is
 * zero at first. Prints a line for each launch: the output as hexadecimal digits, or "failed: why". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulation/emulation.h"

enum { MOST_BYTES = 1 << 20 };

static _Alignas(64) unsigned char in[MOST_BYTES], out[MOST_BYTES];

/* Reads the rest of a line. */
static void read_input(void) {
    int count = 0;
    unsigned byte;
    while (count < MOST_BYTES && scanf("%2x", &byte) == 1) {
        in[count++] = (unsigned char)byte;
        int next = getchar();
        if (next == '\n' || next == EOF) break;
        ungetc(next, stdin);
    }
}

int main(void) {
    char kernel[64];
    int order, blocks, threads, shared, bytes;
    while (scanf("%63s %d %d %d %d %d", kernel, &order, &blocks, &threads, &shared, &bytes) == 6) {
        memset(in, 0, sizeof in);
        memset(out, 0, sizeof out);
        read_input();
        lh_emulation emulation = {.order = (unsigned)order, .multiprocessors = blocks, .max_idle_rounds = 100};
        lh_emulation_set(&emulation);
        void *pointers[] = {in, out}, *arguments[] = {&pointers[0], &pointers[1]};
        lh_error error = {""};
        if (bytes > MOST_BYTES || lh_emulation_launch(kernel, blocks, threads, (size_t)shared, arguments, &error)) {
            printf("failed: %s\n", error.text);
            continue;
        }
        for (int i = 0; i < bytes; i++) printf("%02x", out[i]);
        printf("\n");
    }
    return 0;
}
