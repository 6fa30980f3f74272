% local kept = keeps and "kept" or "NULL"
% local rectifies = kernel == "relu"
% local sums, changed = not rectifies, rectifies and "fmax(*value, (real)0)" or kernel .. "_real(*value)"
% local result = kernel .. "(x weight" .. (biased and " + bias" or "") .. ") next_weight" .. (next_biased and " + next_bias" or "")
% if stores then
/* out = ${result}, two products in a chain; stores the values
 * between them${keeps and ", and copies x to kept" or ""}. */
% else
/* out = ${result}, two products in a chain. */
% end
% define("NOINLINE void " .. name, "int rows", "const real *x", keeps and "real *kept", "const real *weight", biased and "const real *bias", "const real *next_weight", next_biased and "const real *next_bias", stores and sums and "real *sum", stores and "real *hidden", "real *out")
    is_global(x);
    is_global(weight);
    is_global(next_weight);
    is_global(out);
#pragma unroll 1
    for (int row = 0; row < rows; row += TILE) {
        quad total[(${outer} + TILE - 1) / TILE] = {};
#pragma unroll 1
        for (int first = 0; first < ${channels}; first += CHAIN_CHANNELS) {
            const int channel = first + warp_number() * TILE;
            operand_word words[1][2][4][WORDS];
            if (channel < ${channels}) {
                real z[2][4][4];
                begin_sums(${biased and "bias" or "NULL"}, channel, ${channels}, z);
                add_products(${x_rounded}, ${rounded}, row, rows, ${inner}, x, ${kept}, ROWS, weight, ${channels}, channel, ${channels}, z);
                store_hidden(z, row, rows, channel, ${channels}, ${channels}, sum); % if stores and sums
#pragma unroll
                for (int i = 0; i < 32; i++) {
                    real *value = &z[i / 16][i / 4 % 4][i % 4];
                    *value = ${changed};
                }
                hidden_words(z, channel, ${channels}, words[0]);
% if stores then
% if keeps then
                store_words(ROWS, z, words[0], row, rows, channel, ${channels}, ${channels}, hidden);
% else
                store_hidden(z, row, rows, channel, ${channels}, ${channels}, hidden);
% end
% end
            }
            chain_products(${rounded}, row, rows, 1, words, first, ${channels}, ROWS, next_weight, ${outer}, FINISH_BIAS,
                    ${next_biased and "next_bias" or "NULL"}, ${outer}, out, total);
        }
    }
}
