/* As masks.c.tpl, by the functions of device code; prints not-both-ways for a pair that the loop over a query's keys
 * and the loop over a key's queries do not both visit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define INLINE static inline
#define __device__
typedef double real;
#include "kernels/cuda/lines.cu"
enum { ${PREFIX}HEADS = ${heads} };

% local of = { terms = on_device.terms, h = "h", j = "j", key_count = "S", query_count = "T" }
% slot("domain", on_device)

static int first_of(int h, int i, int S) { return ${inline("first_key", "0", of)}; }
static int next_of(int h, int i, int j, int S) {
    ${inline("next_key", "j++", of)};
    return j < ${inline("end_key", "S", of)} ? j : S;
}
static int first_query_of(int h, int j, int S, int T) { return ${inline("first_query", "0", of)}; }
static int next_query_of(int h, int i, int j, int S, int T) {
    ${inline("next_query", "i++", of)};
    return i < ${inline("end_query", "T", of)} ? i : T;
}
static real gain_of(int h, int i, int j, int S) { return ${inline("score", "0", of)}; }

int main(int count, char **words) {
    for (int shape = 1; shape + 1 < count; shape += 2) {
        const int T = atoi(words[shape]), S = atoi(words[shape + 1]);
        for (int h = 0; h < ${PREFIX}HEADS; h++) {
            bool *back = (bool *)calloc((size_t)T * S, sizeof(bool));
            for (int j = 0; j < S; j++)
                for (int i = first_query_of(h, j, S, T); i < T; i = next_query_of(h, i, j, S, T)) back[i * S + j] = true;
            for (int i = 0; i < T; i++) {
                int next = first_of(h, i, S);
                for (int j = 0; j < S; j++) {
                    const bool seen = j == next;
                    if (seen) next = next_of(h, i, j, S);
                    if (seen != back[i * S + j]) printf("not-both-ways ");
                    else printf("%g ", seen ? gain_of(h, i, j, S) : -INFINITY);
                }
                printf("\n");
            }
            free(back);
        }
    }
    return 0;
}
