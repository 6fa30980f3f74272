% local kept = keeps and "kept" or "NULL"
% local rectifies = kernel == "relu"
/* dhidden = dy times next_weight transposed, times the slope of ${kernel} at its ${rectifies and "results" or "arguments"}, hidden; dx = other + dhidden
 * times weight transposed: the products in a chain. other may be NULL. */
% define("NOINLINE void " .. name, "int rows", "const real *dy", keeps and "real *kept", "const real *next_weight", "const real *hidden", "const real *weight", "const real *other", "real *dhidden", "real *dx")
    is_global(dy);
    is_global(next_weight);
    is_global(hidden);
    is_global(weight);
    is_global(dhidden);
    is_global(dx);
#pragma unroll 1
    for (int row = 0; row < rows; row += TILE) {
        quad total[(${inner} + TILE - 1) / TILE] = {};
#pragma unroll 1
        for (int first = 0; first < ${channels}; first += CHAIN_CHANNELS) {
            const int channel = first + warp_number() * TILE;
            operand_word words[1][2][4][WORDS];
            if (channel < ${channels}) {
                real d[2][4][4], z[2][4][4];
                begin_sums(NULL, channel, ${channels}, d);
                add_products(${x_rounded}, ${rounded}, row, rows, ${outer}, dy, ${kept}, COLUMNS, next_weight, ${outer}, channel, ${channels}, d);
% if rectifies and keeps then
                load_blocks(hidden, row, rows, channel, ${channels}, ${channels}, z);
% else
                load_hidden(hidden, row, rows, channel, ${channels}, ${channels}, z);
% end
#pragma unroll
                for (int i = 0; i < 32; i++) {
                    const real value = z[i / 16][i / 4 % 4][i % 4];
                    real *gradient = &d[i / 16][i / 4 % 4][i % 4];
                    *gradient = value > 0 ? *gradient : 0; % if rectifies
                    *gradient *= ${kernel}_slope(value); % else
                }
                hidden_words(d, channel, ${channels}, words[0]);
% if keeps then
                store_words(COLUMNS, d, words[0], row, rows, channel, ${channels}, ${channels}, dhidden);
% else
                store_hidden(d, row, rows, channel, ${channels}, ${channels}, dhidden);
% end
            }
            chain_products(${rounded}, row, rows, 1, words, first, ${channels}, COLUMNS, weight, ${channels}, FINISH_ADD, other,
                    ${inner}, dx, total);
        }
    }
}
