% local turned, per_distance = relative.turned, relative.kind == "transformer_xl" and relative.toeplitz
% local row_width = per_distance and "WIDTH" or PREFIX .. "HEAD_WIDTH"
% local middle = positions.distance.independent and " + " .. PREFIX .. "MAX_POSITION" or ""
% local lengths = cross and "int T, int S" or "int T"
% local T_S, S = cross and "T, S" or "T", cross and "S" or "T"
% local of_step = ("step->shape.length[%d]"):format(queries.stream) .. (cross and (", step->shape.length[%d]"):format(keys.stream) or "")
% local of_queries = ("step->shape.length[%d]"):format(queries.stream)
% local of_keys = ("step->shape.length[%d]"):format(keys.stream)
% if turned then
enum { ${PREFIX}RELATIVE_SETS = ${relative.sets} }; /* sets of positions in one pass${relative.sets_words} */
% else
enum {
    ${PREFIX}RELATIVE_SETS = ${relative.sets}, /* sets of distances in one pass${relative.sets_words} */
    ${PREFIX}RELATIVE_WIDTH = ${row_width} /* channels of a row: ${relative.width_words} */
};
% end

% if relative.toeplitz then
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
% local tokens = cross and "T + S" or "2 * T"
INLINE int ${name}_row_stride(${lengths}) { return (round_up(${tokens} + LANES - 2, LANES) / LANES | 1) * LANES; }

INLINE int ${name}_distance(const lh_cpu_step *step, int set, int x) {
% if positions.distance.draws then
    return ${prefix}drawn_distance(((const shared *)step->shared)->${prefix}distance[set]${middle}, ${of_keys} - 1 - x);
% else
    (void)set;
    return ${of_keys} - 1 - x;
% end
}
% end
% if relative.kind == "shaw" then
% if relative.toeplitz then

% end
/* The row of the table for a distance. */
INLINE int ${name}_table_row(int distance) {
    int near = distance < ${relative.farthest} ? distance : ${relative.farthest};
    return (near > -${PREFIX}CLIP ? near : -${PREFIX}CLIP) + ${PREFIX}CLIP;
}
% end
% if turned then
/* Rows of the sinusoids of keys: whole runs of keys. */
INLINE size_t ${name}_code_elements(int ${S}) { return (size_t)round_up(${S}, TURNED_KEYS) * WIDTH; }

/* Those of queries lie channel by channel, so many elements from one to the next: an odd number of vectors, to spread
 * over the sets of a cache, with LANES queries from every one on. */
INLINE int ${name}_place_stride(int T) { return (round_up(T + LANES - 1, LANES) / LANES | 1) * LANES; }

/* Behind the struct shared, by length: ${relative.behind_words}. */
INLINE real *${name}_codes(const lh_cpu_step *step, int set) {
    real *codes = (real *)((char *)step->shared + ${name}_start(&step->shape));
    return codes + (size_t)set * ${name}_code_elements(${of_keys});
}
INLINE real *${name}_places(const lh_cpu_step *step, int set) {
    size_t set_elements = (size_t)${name}_place_stride(${of_queries}) * WIDTH;
    return ${name}_codes(step, ${PREFIX}RELATIVE_SETS) + (size_t)set * set_elements;
}

static size_t ${name}_relative_bytes(${lengths}) {
    size_t of_set = ${name}_code_elements(${S}) + (size_t)${name}_place_stride(T) * WIDTH;
    return ${PREFIX}RELATIVE_SETS * of_set * sizeof(real);
}
% elseif relative.behind then

% if per_distance then
/* Elements of the sinusoids of a set's distances, [rows][WIDTH], in whole tiles. */
INLINE size_t ${name}_code_elements(${lengths}) {
    return (size_t)round_up(${name}_distance_count(${T_S}), TILE_ROWS) * WIDTH;
}

% end
/* Elements of a layer's rows: [RELATIVE_WIDTH][row_stride]. */
INLINE size_t ${name}_row_elements(${lengths}) { return (size_t)${name}_row_stride(${T_S}) * ${PREFIX}RELATIVE_WIDTH; }

/* Behind the struct shared, by length: ${relative.behind_words}. */
% if per_distance then
INLINE real *${name}_codes(const lh_cpu_step *step, int set) {
    real *codes = (real *)((char *)step->shared + ${name}_start(&step->shape));
    return codes + (size_t)set * ${name}_code_elements(${of_step});
}
% end
INLINE real *${name}_rows(const lh_cpu_step *step, int l) {
% if per_distance then
    return ${name}_codes(step, ${PREFIX}RELATIVE_SETS) + (size_t)l * ${name}_row_elements(${of_step});
% else
    real *rows = (real *)((char *)step->shared + ${name}_start(&step->shape));
    return rows + (size_t)l * ${name}_row_elements(${of_step});
% end
}
% if per_distance then
INLINE real *${name}_product(const lh_cpu_step *step, int l) {
    return ${name}_rows(step, ${stack.count}) + (size_t)l * ${name}_code_elements(${of_step});
}
% end

static size_t ${name}_relative_bytes(${lengths}) {
% if per_distance then
    return ((${PREFIX}RELATIVE_SETS + ${stack.count}) * ${name}_code_elements(${T_S}) + ${stack.count} * ${name}_row_elements(${T_S})) * sizeof(real);
% else
    return ${stack.count} * ${name}_row_elements(${T_S}) * sizeof(real);
% end
}
% end
