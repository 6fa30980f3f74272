% local row_width = rows.biases and "WIDTH" or PREFIX .. "HEAD_WIDTH"
% local middle = positions.distance.independent and " + " .. PREFIX .. "MAX_POSITION" or ""
% local of_keys = ("step->shape.length[%d]"):format(keys.stream)
enum {
    ${PREFIX}RELATIVE_SETS = ${rows.sets}, /* sets of distances in one pass${rows.sets_words} */
    ${PREFIX}RELATIVE_WIDTH = ${row_width} /* channels of a row: ${rows.width_words} */
};

% if cross then
/* A row for every query - key of T queries and S keys, from -(S - 1) on: row x is that of the distance S - 1 - x.
 * For one key, queries side by side have rows side by side. */
INLINE int ${name}_distance_count(int T, int S) { return T + S - 1; }
% else
/* A row for every query - key of sequences of T tokens, from -(T - 1) on: row x is that of the distance T - 1 - x.
 * For one key, queries side by side have rows side by side. */
INLINE int ${name}_distance_count(int T) { return 2 * T - 1; }
% end

/* Rows lie channel by channel, so many elements from one channel to the next: an odd number of vectors, to spread over
 * the sets of a cache, with LANES queries from every row on. Behind the last row are zeros. */
INLINE int ${name}_row_stride(${length_words}) { return (round_up(${cross and "T + S" or "2 * T"} + LANES - 2, LANES) / LANES | 1) * LANES; }

% define("INLINE int " .. name .. "_distance", "const lh_cpu_step *step", "int set", "int x")
% if positions.distance.draws then
    return ${prefix}drawn_distance(((const shared *)step->shared)->${prefix}distance[set]${middle}, ${of_keys} - 1 - x);
% else
    return ${of_keys} - 1 - x;
% end
}

% if rows.biases then
/* Elements of the sinusoids of a set's distances, [rows][WIDTH], in whole tiles. */
INLINE size_t ${name}_code_elements(${length_words}) {
    return (size_t)round_up(${name}_distance_count(${T_S}), TILE_ROWS) * WIDTH;
}
% else
% include("attention/cpu/table_row.tpl")
% end

/* Elements of a layer's rows: [RELATIVE_WIDTH][row_stride]. */
INLINE size_t ${name}_row_elements(${length_words}) { return (size_t)${name}_row_stride(${T_S}) * ${PREFIX}RELATIVE_WIDTH; }

/* Behind the struct shared, by length: ${rows.behind_words}. */
% if rows.biases then
INLINE real *${name}_codes(const lh_cpu_step *step, int set) {
    real *codes = (real *)((char *)step->shared + ${name}_start(&step->shape));
    return codes + (size_t)set * ${name}_code_elements(${of_step});
}
INLINE real *${name}_rows(const lh_cpu_step *step, int l) {
    return ${name}_codes(step, ${PREFIX}RELATIVE_SETS) + (size_t)l * ${name}_row_elements(${of_step});
}
INLINE real *${name}_product(const lh_cpu_step *step, int l) {
    return ${name}_rows(step, ${stack.count}) + (size_t)l * ${name}_code_elements(${of_step});
}

static size_t ${name}_relative_bytes(${length_words}) {
    return ((${PREFIX}RELATIVE_SETS + ${stack.count}) * ${name}_code_elements(${T_S}) + ${stack.count} * ${name}_row_elements(${T_S})) * sizeof(real);
}
% else
INLINE real *${name}_rows(const lh_cpu_step *step, int l) {
    real *rows = (real *)((char *)step->shared + ${name}_start(&step->shape));
    return rows + (size_t)l * ${name}_row_elements(${of_step});
}

static size_t ${name}_relative_bytes(${length_words}) {
    return ${stack.count} * ${name}_row_elements(${T_S}) * sizeof(real);
}
% end
