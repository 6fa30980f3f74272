% local stores_argument = stores_operand and "true" or "false"
% local storing_arguments = stores_operand and "true, stored_dy" or "false, NULL"
% local is_relu = kernel == "relu"
/* dhidden = dy times next_weight transposed, times the slope of ${kernel}.
 * dx = other + dhidden times weight transposed.
 * hidden: ${is_relu and "results" or "arguments"} of ${kernel}. other may be NULL.${stores_operand and "" or " */"}
 * Stores dy in stored_dy. stored_dy${is_relu and ", hidden" or ""} and dhidden have the layout of store_pair. */ % if stores_operand
% define("NOINLINE void " .. name, "int rows", "const real *dy", stores_operand and "real *stored_dy", "const real *next_weight", "const real *hidden", "const real *weight", "const real *other", "real *dhidden", "real *dx")
    assume_global(dy);
    assume_global(next_weight);
    assume_global(hidden);
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
                real d[PART_TILES][4], z[PART_TILES][4];
                begin_sums(false, NULL, channel, ${channels}, d);
                add_products(${x_rounded}, ${rounded}, row, rows, ${outer}, dy, ${storing_arguments}, COLUMNS, next_weight, ${outer}, channel, ${channels}, d);
% if is_relu and stores_operand then
                load_blocks(hidden, row, rows, channel, ${channels}, ${channels}, z);
% else
                load_hidden(hidden, row, rows, channel, ${channels}, ${channels}, z);
% end
#pragma unroll
                for (int i = 0; i < 4 * PART_TILES; i++) {
                    const real value = z[i / 4][i % 4];
                    real *gradient = &d[i / 4][i % 4];
                    *gradient = value > 0 ? *gradient : 0; % if is_relu
                    *gradient *= ${kernel}_slope(value); % else
                }
                store_hidden(d, row, rows, channel, ${channels}, ${channels}, dhidden); % if not stores_operand
                pass_hidden(0, ${stores_argument}, COLUMNS, d, row, rows, channel, ${channels}, ${channels}, dhidden);
            }
            chain_products(${rounded}, row, rows, 1, first, ${channels}, COLUMNS, weight, ${channels}, FINISH_ADD, other,
                    ${inner}, dx, total);
        }
    }
}
