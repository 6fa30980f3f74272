% -- Rotation of queries and keys by their positions.
% section("rotation_functions")
% local T, stride, width = "T", "stride", "WIDTH"
% if not cross then
% T, stride, width = "v->" .. attends.T, PREFIX .. "QUERY_STRIDE", "2 * WIDTH"
% end
% local per_sequence = decodes and "" or " * " .. T

/* Rotates ${cross and "queries" or "queries and keys"} of one token of each sequence by its position. */ % if decodes
/* Direction 1: rotates all rows of ${cross and "queries, or of keys," or "queries and keys"} by their positions. Direction -1: rotates the gradients of these rows back. */ % else
% define("NOINLINE void " .. prefix .. "rotate" .. (decodes and "_one" or ""), "int direction", cross and terms.samples_positions and "const int *position", cross and "int T", cross and "const int stride", "real *rotated")
    const step_view *v = &block()->view;
    const int rows = block()->sequences${per_sequence};
    % slot("positions_of_rows") % if not cross
    const int row_quads = ${width} / 4, count = rows * row_quads;
    assume_global(v->tables);
    assume_global(rotated);
    for (int q = threadIdx.x; q < count; q += THREADS) {
        const int row = q / row_quads, c = q % row_quads * 4;
% local place = inline("place_of_row", decodes and "block()->current" or "row % " .. T)
        const real *cosines = v->tables[${place}].${prefix}rotation + c % ${PREFIX}ROTATION_PERIOD;
        rotate_quad(rotated + row * ${stride} + c, cosines, ${PREFIX}ROTATION_PERIOD, direction);
    }
    __syncthreads();
}
