% local biased_argument = biased and "true" or "false"
% local stores_argument = stores_operand and "true" or "false"
% local storing_arguments = stores_operand and "true, stored_x" or "false, NULL"
% local up_bias = biased and "bias + " .. channels or "NULL"
% local result_words = "(" .. kernel .. "(gate) * up) times next_weight" .. (next_biased and " + next_bias" or "")
% local x_words = "x times weight" .. (biased and " + bias" or "")
% if stores then
/* out = ${result_words}, where gate and up are the halves of ${x_words}.
 * Stores x in stored_x. stored_x and hidden have the layout of store_pair. % if stores_operand
 * Stores gate and up in `sum`, and ${kernel}(gate) * up in `hidden`. */
% else
/* out = ${result_words}, where gate and up are the halves of ${x_words}. */
% end
% define("NOINLINE void " .. name, "int rows", "const real *x", stores_operand and "real *stored_x", "const real *weight", biased and "const real *bias", "const real *next_weight", next_biased and "const real *next_bias", stores and "real *sum", stores and "real *hidden", "real *out")
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
                real gate[PART_TILES][4], up[PART_TILES][4];
                begin_sums(${biased_argument}, ${biased and "bias" or "NULL"}, channel, ${channels}, gate);
                add_products(${x_rounded}, ${rounded}, row, rows, ${inner}, x, ${storing_arguments}, ROWS, weight, 2 * ${channels}, channel, ${channels}, gate);
                begin_sums(${biased_argument}, ${up_bias}, channel, ${channels}, up);
                add_products(${x_rounded}, ${rounded}, row, rows, ${inner}, x, false, NULL, ROWS, weight + ${channels}, 2 * ${channels}, channel, ${channels}, up);
% if stores then
                store_hidden(gate, row, rows, channel, ${channels}, 2 * ${channels}, sum);
                store_hidden(up, row, rows, channel, ${channels}, 2 * ${channels}, sum + ${channels});
% end
#pragma unroll
                for (int i = 0; i < 4 * PART_TILES; i++)
                    up[i / 4][i % 4] *= ${kernel}_real(gate[i / 4][i % 4]);
                store_hidden(up, row, rows, channel, ${channels}, ${channels}, hidden); % if stores and not stores_operand
                pass_hidden(0, ${stores_argument}, ROWS, up, row, rows, channel, ${channels}, ${channels}, ${stores_operand and "hidden" or "NULL"});
            }
            chain_products(${rounded}, row, rows, 1, first, ${channels}, ROWS, next_weight, ${outer}, ${next_biased and "FINISH_BIAS" or "FINISH_STORE"},
                    ${next_biased and "next_bias" or "NULL"}, ${outer}, out, total);
        }
    }
}
