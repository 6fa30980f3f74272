/* The same by the functions of device code; and keys whose queries, taken from the other side, are others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define INLINE static inline
#define __device__
typedef double real;
enum { ${PREFIX}HEADS = ${heads} };

% include("attention/cuda/mask.tpl")

% local of, key_of = mask.kind == "antidiagonal" and ", S" or "", mask.sees_all and "i, S" or "i"
% if mask.kind == "lines" then
static int first_of(int h, int i, int S) { return ${prefix}next_key(h, i, -1, S); }
static int next_of(int h, int i, int j, int S) { return ${prefix}next_key(h, i, j, S); }
static int first_query_of(int h, int j, int S, int T) { return ${prefix}next_query(h, -1, j, S, T); }
static int next_query_of(int h, int i, int j, int S, int T) { return ${prefix}next_query(h, i, j, S, T); }
static real gain_of(int h, int i, int j, int S) { return ${prefix}line_value(h, i, j, S); }
% else
static int first_of(int, int i, int S) { return (void)S, ${prefix}first_key(${key_of}); }
static int next_of(int, int i, int j, int S) { return j + 1 < ${prefix}end_key(i, S) ? j + 1 : S; }
static int first_query_of(int, int j, int S, int) { return ${prefix}first_query(j${of}); }
% if mask.sees_all then
static int next_query_of(int, int i, int j, int S, int) { return ${prefix}next_query(i, j, S); }
% else
static int next_query_of(int, int i, int j, int, int T) { return i + 1 < ${prefix}end_query(j, T) ? i + 1 : T; }
% end
static real gain_of(int, int, int, int) { return 0; }
% end

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
