% -- Vectors of distances if the distance of a pair depends on the positions of both tokens: pairs with equal distances
% -- share a row.
% section("members")
const real *rows; /* [distances][${PREFIX}HEAD_WIDTH] vectors */
const int *row; /* [keys][queries] index of each pair's row */
a.row = ${prefix}find_pair_rows(v, l).row; % section("set_members")
% section("row_of_pair")
/* The index of a pair's row, counted from a->rows. */
INLINE int ${prefix}find_row(const ${prefix}head *a, int i, int j) { return a->row[j * a->T + i]; }

% section("count_pairs")
${prefix}pair_rows r;
const size_t pairs = ${rows.times_sets}${prefix}lay_out_pair_rows(&r, NULL, ${attends.lengths_of_view});
 + pairs % section("and_pairs")
% section("view")

% local set_offset = rows.set_count > 1 and " + l * size" or ""
% local sharing_words = rows.set_count > 1 and "Each layer has its own" or "All layers share one"
/* Returns the vectors of pairs in layer l. ${sharing_words} sample of positions. */
INLINE ${prefix}pair_rows ${prefix}find_pair_rows(const step_view *v, int l) {
    ${prefix}pair_rows r;
    const size_t size = ${prefix}lay_out_pair_rows(&r, NULL, ${attends.lengths_of_view});
    ${prefix}lay_out_pair_rows(&r,
            v->${prefix}draws + ${attends.draw_rows} * ${drawn_tokens}${set_offset}, ${attends.lengths_of_view});
    return r;
}

/* The number of vectors of layer l. */
INLINE int ${prefix}row_count(const step_view *v, int l) { return *${prefix}find_pair_rows(v, l).count; }
% section("distance_count")
% slot("most_distances")

/* The vectors of pairs for one sample of positions. The host samples the positions and fills these arrays. */
typedef struct ${prefix}pair_rows {
    const int *count;    /* number of vectors */
    const int *distance; /* [count] distances of the vectors, ascending */
    const int *row;      /* [keys][queries] index of the pair's vector */
    const int *start;    /* [count + 1] index in `pair` of a vector's first pair */
    const int *pair;     /* [T ${S}] query * ${S} + key, sorted by vector */
} ${prefix}pair_rows;

/* Sets the pointers of r into memory. Returns the number of ints. */
INLINE size_t ${prefix}lay_out_pair_rows(${prefix}pair_rows *r, const int *memory, ${length_parameters}) {
    const size_t count = (size_t)${attends.distance_count}(T, ${S}), pairs = (size_t)T * (size_t)${attends.keys};
    r->count = memory;
    r->distance = memory + 1;
    r->row = r->distance + count;
    r->start = r->row + pairs;
    r->pair = r->start + count + 1;
    return 2 * count + 2 + 2 * pairs;
}
% section("distance_of_row")
/* The signed distance of vector x of a sample of positions. */
INLINE int ${prefix}relative_distance(const step_view *v, int set,
        int x) { return ${prefix}find_pair_rows(v, set).distance[x]; }

% section("sum_of_row")
for (int h = 0; h < ${PREFIX}HEADS; h++) sum += sums.${prefix}rows[(((size_t)l * ${PREFIX}HEADS + h) * ${prefix}count + row) * ${PREFIX}HEAD_WIDTH + d];
% section("pairs_of_draw")
static size_t ${prefix}draw_count(const lh_shape *shape) {
    const int T = ${T_of_shape}, S = ${S_of_shape};
    ${prefix}pair_rows r;
    return ${attends.draw_rows} * (size_t)${cross and "(T + S)" or "T"} + ${rows.times_sets}${prefix}lay_out_pair_rows(&r, NULL, ${T_S});
}

enum { ${PREFIX}PAIR_KEYS = ${inline("count_of_distances", "")} }; /* number of values by which pairs are sorted: all distances that can occur */
const int *drawn = out; % section("begin_draw")
% section("end_draw")
% local input_first, max_distances = positions.input_first, invoke(attends.distance_count, "T", S)
% -- input_first: sample 0 belongs to the input; set l has sample l + 1
% local sample_times = ""
% if rows.set_count > 1 then
% sample_times = input_first and "(l + 1) * " or "l * "
% end
% local query_positions, key_positions = "drawn", cross and "drawn + " .. PREFIX .. "DRAWS * T" or "drawn"
% if input_first or rows.set_count > 1 then
% query_positions = query_positions .. " + " .. sample_times .. "T"
% key_positions = key_positions .. " + " .. sample_times .. S
% end
% -- limits: C texts of the least and the greatest distance, and of whether all distances between them are listed
% local limits = inline("limits_of_distances", "")
% local sort_call = invoke("lh_sort_pairs", query_positions, key_positions, "T", S, limits, max_distances, "scratch", "out")
for (int l = 0; l < ${PREFIX}RELATIVE_SETS; l++) { % if rows.set_count > 1 then
    ${prefix}pair_rows r;
    ${sort_call};
    out += ${prefix}lay_out_pair_rows(&r, NULL, ${T_S});
}
${sort_call}; % else
