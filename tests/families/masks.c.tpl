/* Prints what masks add to scores, by the functions of generated code on the CPU: for each shape given as T S (queries,
 * keys), a line for each query of each head, with a number for each key; -inf hides the key. Also prints a line
 * wherever skipped_pairs miscounts. Rendered and run by tests/lua/test_masks.lua. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernels/cpu/columns.h"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/score.h"

typedef struct ${name}_head {
    int T, S, h;
} ${name}_head;

% include("attention/cpu/domain.tpl")

% local visible = terms.hides_keys and invoke(name .. "_visible", "head->T", "head->" .. S, "first", "j")
/* Writes what the group of queries from `first` on gains for keys `begin` to `end` - 1: 0, or -infinity for hidden
 * keys. The keys that a window's open_span names are visible to the whole group. */
static void write_mask(const ${name}_head *head, int first, int begin, int end, real *gain) {
% if mask.kind == "lines" then
    write_${name}_line_gains(head, first, begin, end, gain);
% else
    for (int j = begin; j < end; j++)
        store(gain + j * LANES, choose(${visible}, broadcast(0), broadcast(-(real)__builtin_inf())));
% end
% if mask.kind == "window" then
    int open, shut;
    ${name}_open_span(head, first, begin, end, &open, &shut);
    for (int j = open; j < shut; j++) store(gain + j * LANES, broadcast(0));
% end
}

static void print_head(const ${name}_head *head) {
    double outside = 0;
    for (int first = 0; first < head->T; first += LANES) {
        real *gain = aligned_alloc(64, (size_t)head->S * LANES * sizeof(real) + 64);
        int begin, end;
        ${name}_span(head, first, &begin, &end);
        write_mask(head, first, begin, end, gain);
        for (int lane = 0; lane < LANES && first + lane < head->T; lane++) {
            for (int j = 0; j < head->S; j++) {
                const bool out = j < begin || j >= end;
                printf("%g ", out ? -(real)__builtin_inf() : gain[j * LANES + lane]);
                outside += out;
            }
            printf("\n");
            if (outside != ${name}_skipped_pairs(head, first + lane + 1)) printf("%g pairs are outside\n", outside);
        }
        free(gain);
    }
}

int main(int count, char **words) {
    for (int shape = 1; shape + 1 < count; shape += 2) {
        for (int h = 0; h < ${PREFIX}HEADS; h++) {
            ${name}_head head = {.T = atoi(words[shape]), .S = atoi(words[shape + 1]), .h = h};
            print_head(&head);
        }
    }
    return 0;
}
