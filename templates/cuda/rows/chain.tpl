% local rectifies = kernel == "relu"
% local sums, changed = not rectifies, rectifies and "fmax(*value, (real)0)" or kernel .. "_real(*value)"
/* out = ${kernel}(x weight${biased and " + bias" or ""}) next_weight${next_biased and " + next_bias" or ""}, as two products in a chain; the values between them
 * are stored if `stores` is true. */
% define("NOINLINE void " .. name, "int rows", "const real *x", "const real *weight", biased and "const real *bias", "const real *next_weight", next_biased and "const real *next_bias", "bool stores", sums and "real *sum", "real *hidden", "real *out")
    is_global(x);
    is_global(weight);
    is_global(next_weight);
    is_global(out);
#pragma unroll 1
    for (int row = 0; row < rows; row += TILE) {
        quad total[(${outer} + TILE - 1) / TILE] = {};
#pragma unroll 1
        for (int first = 0; first < ${channels}; first += CHAIN_CHANNELS) {
            const int channel = first + (int)threadIdx.x / WARP * TILE;
            operand_word words[1][2][4][WORDS];
            if (channel < ${channels}) {
                real z[2][4][4];
                begin_sums(${biased and "bias" or "NULL"}, channel, ${channels}, z);
                add_products(row, rows, ${inner}, x, ROWS, weight, ${channels}, channel, ${channels}, z);
% if sums then
                if (stores) store_hidden(z, row, rows, channel, ${channels}, ${channels}, sum);
% end
#pragma unroll
                for (int i = 0; i < 32; i++) {
                    real *value = &z[i / 16][i / 4 % 4][i % 4];
                    *value = ${changed};
                }
                if (stores) store_hidden(z, row, rows, channel, ${channels}, ${channels}, hidden);
                hidden_words(z, channel, ${channels}, words[0]);
            }
            chain_products(row, rows, 1, words, first, ${channels}, ROWS, next_weight, ${outer}, FINISH_BIAS,
                    ${next_biased and "next_bias" or "NULL"}, ${outer}, out, total);
        }
    }
}
