% local stores_argument = stores_operand and "true" or "false"
% local storing_arguments = stores_operand and "true, stored_dy" or "false, NULL"
/* Computes dhidden, the gradients of gate and up, and dx = other + dhidden times weight transposed.
 * dy times next_weight transposed is the gradient of ${kernel}(gate) * up.
 * sum: gate and up, stored by the forward pass. other may be NULL.${stores_operand and "" or " */"}
 * Stores dy in stored_dy. stored_dy and dhidden have the layout of store_pair. */ % if stores_operand
% define("NOINLINE void " .. name, "int rows", "const real *dy", stores_operand and "real *stored_dy", "const real *next_weight", "const real *sum", "const real *weight", "const real *other", "real *dhidden", "real *dx")
    assume_global(dy);
    assume_global(next_weight);
    assume_global(weight);
    assume_global(dhidden);
    assume_global(dx);
#pragma unroll 1
    for (int row = 0; row < rows; row += PART_ROWS) {
        quad total[(${inner} + TILE - 1) / TILE] = {};
#pragma unroll 1
        for (int first = 0; first < ${channels}; first += CHAIN_CHANNELS) {
            const int channel = first + warp_number() * TILE;
            if (channel < ${channels}) {
                real d[PART_TILES][4], gate[PART_TILES][4], up[PART_TILES][4];
                begin_sums(false, NULL, channel, ${channels}, d);
                add_products(${x_rounded}, ${rounded}, row, rows, ${outer}, dy, ${storing_arguments}, COLUMNS, next_weight, ${outer}, channel, ${channels}, d);
                load_hidden(sum, row, rows, channel, ${channels}, 2 * ${channels}, gate);
                load_hidden(sum + ${channels}, row, rows, channel, ${channels}, 2 * ${channels}, up);
                /* `up` becomes the gradient of gate, and `d` the gradient of up. */
#pragma unroll
                for (int i = 0; i < 4 * PART_TILES; i++) {
                    real *dproduct = &d[i / 4][i % 4], *dgate = &up[i / 4][i % 4];
                    const real x = gate[i / 4][i % 4];
                    *dgate *= *dproduct * ${kernel}_slope(x);
                    *dproduct *= ${kernel}_real(x);
                }
% if not stores_operand then
                store_hidden(up, row, rows, channel, ${channels}, 2 * ${channels}, dhidden);
                store_hidden(d, row, rows, channel, ${channels}, 2 * ${channels}, dhidden + ${channels});
% end
% -- store_pair stores two rows together, so the second half of the columns begins at 2 * channels
                pass_hidden(0, ${stores_argument}, COLUMNS, up, row, rows, channel, ${channels}, 2 * ${channels}, dhidden);
                pass_hidden(1, ${stores_argument}, COLUMNS, d, row, rows, channel, ${channels}, 2 * ${channels}, dhidden + 2 * ${channels});
            }
            chain_products(${rounded}, row, rows, 2, first, ${channels}, COLUMNS, weight, 2 * ${channels}, FINISH_ADD, other,
                    ${inner}, dx, total);
        }
    }
}
