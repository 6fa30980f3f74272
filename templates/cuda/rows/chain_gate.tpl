% local kept = keeps and "kept" or "NULL"
% local up_bias = biased and "bias + " .. channels or "NULL"
% local result = "(" .. kernel .. "(gate) * up) next_weight" .. (next_biased and " + next_bias" or "")
% local x = "x weight" .. (biased and " + bias" or "")
% if stores then
/* out = ${result}, gate and up the halves of ${x}: products in a chain; stores
 * the values between them${keeps and ", and copies x to kept" or ""}. */
% else
/* out = ${result}, gate and up the halves of ${x}: products in a chain. */
% end
% define("NOINLINE void " .. name, "int rows", "const real *x", keeps and "real *kept", "const real *weight", biased and "const real *bias", "const real *next_weight", next_biased and "const real *next_bias", stores and "real *sum", stores and "real *hidden", "real *out")
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
                real gate[2][4][4], up[2][4][4];
                begin_sums(${biased and "bias" or "NULL"}, channel, ${channels}, gate);
                add_products(${x_rounded}, ${rounded}, row, rows, ${inner}, x, ${kept}, ROWS, weight, 2 * ${channels}, channel, ${channels}, gate);
                begin_sums(${up_bias}, channel, ${channels}, up);
                add_products(${x_rounded}, ${rounded}, row, rows, ${inner}, x, NULL, ROWS, weight + ${channels}, 2 * ${channels}, channel, ${channels}, up);
% if stores then
                store_hidden(gate, row, rows, channel, ${channels}, 2 * ${channels}, sum);
                store_hidden(up, row, rows, channel, ${channels}, 2 * ${channels}, sum + ${channels});
% end
#pragma unroll
                for (int i = 0; i < 32; i++)
                    up[i / 16][i / 4 % 4][i % 4] *= ${kernel}_real(gate[i / 16][i / 4 % 4][i % 4]);
                hidden_words(up, channel, ${channels}, words[0]);
% if stores then
% if keeps then
                store_words(ROWS, up, words[0], row, rows, channel, ${channels}, ${channels}, hidden);
% else
                store_hidden(up, row, rows, channel, ${channels}, ${channels}, hidden);
% end
% end
            }
            chain_products(${rounded}, row, rows, 1, words, first, ${channels}, ROWS, next_weight, ${outer}, FINISH_BIAS,
                    ${next_biased and "next_bias" or "NULL"}, ${outer}, out, total);
        }
    }
}
