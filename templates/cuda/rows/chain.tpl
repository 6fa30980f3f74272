% local biased_argument = biased and "true" or "false"
% local stores_argument = stores_operand and "true" or "false"
% local storing_arguments = stores_operand and "true, stored_x" or "false, NULL"
% local is_relu = kernel == "relu"
% local has_sum_parameter = not is_relu -- the gradient of relu reads `hidden` instead of `sum`
% local activated = is_relu and "fmax(*value, (real)0)" or kernel .. "_real(*value)"
% local result_words = kernel .. "(x times weight" .. (biased and " + bias" or "") .. ") times next_weight" .. (next_biased and " + next_bias" or "")
% if stores then
/* out = ${result_words}.
 * Stores x in stored_x. stored_x and hidden have the layout of store_pair. % if stores_operand
 * Stores the argument of ${kernel} in `sum`. % if has_sum_parameter
 * Stores the result of ${kernel} in `hidden`. */
% else
/* out = ${result_words}. */
% end
% define("NOINLINE void " .. name, "int rows", "const real *x", stores_operand and "real *stored_x", "const real *weight", biased and "const real *bias", "const real *next_weight", next_biased and "const real *next_bias", stores and has_sum_parameter and "real *sum", stores and "real *hidden", "real *out")
    assume_global(x);
    assume_global(weight);
    assume_global(next_weight);
    assume_global(out);
#pragma unroll 1
    for (int row = 0; row < rows; row += PART_ROWS) {
        quad total[(${outer} + TILE - 1) / TILE] = {};
#pragma unroll 1
        for (int first = 0; first < ${channels}; first += CHAIN_CHANNELS) {
            const int channel = first + warp_number() * TILE;
            if (channel < ${channels}) {
                real z[PART_TILES][4];
                begin_sums(${biased_argument}, ${biased and "bias" or "NULL"}, channel, ${channels}, z);
                add_products(${x_rounded}, ${rounded}, row, rows, ${inner}, x, ${storing_arguments}, ROWS, weight, ${channels}, channel, ${channels}, z);
                store_hidden(z, row, rows, channel, ${channels}, ${channels}, sum); % if stores and has_sum_parameter
#pragma unroll
                for (int i = 0; i < 4 * PART_TILES; i++) {
                    real *value = &z[i / 4][i % 4];
                    *value = ${activated};
                }
                store_hidden(z, row, rows, channel, ${channels}, ${channels}, hidden); % if stores and not stores_operand
                pass_hidden(0, ${stores_argument}, ROWS, z, row, rows, channel, ${channels}, ${channels}, ${stores_operand and "hidden" or "NULL"});
            }
            chain_products(${rounded}, row, rows, 1, first, ${channels}, ROWS, next_weight, ${outer}, ${next_biased and "FINISH_BIAS" or "FINISH_STORE"},
                    ${next_biased and "next_bias" or "NULL"}, ${outer}, out, total);
        }
    }
}
