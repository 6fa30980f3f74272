% local per_distance = relative.kind == "transformer_xl"
enum {
    RELATIVE_SETS = ${relative.sets}, /* sets of distances in one pass${relative.sets_words} */
    RELATIVE_WIDTH = ${per_distance and "WIDTH" or "HEAD_WIDTH"} /* channels of a row: ${relative.width_words} */
};

% if relative.toeplitz then
/* A row for every query - key of sequences of T tokens, from -(T - 1) on: row x is that of the distance T - 1 - x.
 * For one key, queries side by side have rows side by side. */
INLINE int relative_count(int T) { return 2 * T - 1; }

/* Rows lie channel by channel, so many elements from one channel to the next: an odd number of vectors, to spread over
 * the sets of a cache, with LANES queries from every row on. Behind the last row are zeros. */
INLINE int relative_stride(int T) { return (round_up(2 * T + LANES - 2, LANES) / LANES | 1) * LANES; }

INLINE int relative_distance(const lh_cpu_step *step, int set, int x) {
% if draws_distances then
    return drawn_distance(((const shared *)step->shared)->distance[set]${positions.distance.middle}, step->shape.length[0] - 1 - x);
% else
    (void)set;
    return step->shape.length[0] - 1 - x;
% end
}
% elseif per_distance then
/* Rows of sequences of T tokens, at most: one for every distance that occurs. */
INLINE int relative_most(int T) {
    int64_t pairs = (int64_t)T * (T - 1) + 1;
    return pairs < 2 * MAX_POSITION - 1 ? (int)pairs : 2 * MAX_POSITION - 1;
}
% end
% if relative.kind == "shaw" then
% if relative.toeplitz then

% end
/* The row of the table for a distance. */
INLINE int table_row(int distance) {
    int near = distance < CLIP ? distance : CLIP;
    return (near > -CLIP ? near : -CLIP) + CLIP;
}
% end
% if relative.behind then

% if per_distance then
% local most = relative.toeplitz and "relative_count(T)" or "relative_most(T)"
/* Elements of the sinusoids of a set's distances, [rows][WIDTH], in whole tiles. */
INLINE size_t code_elements(int T) { return (size_t)round_up(${most}, TILE_ROWS) * WIDTH; }

% end
/* Elements of a layer's rows: ${relative.toeplitz and "[RELATIVE_WIDTH][relative_stride]" or "[rows][WIDTH]"}. */
% if relative.toeplitz then
INLINE size_t row_elements(int T) { return (size_t)relative_stride(T) * RELATIVE_WIDTH; }
% else
INLINE size_t row_elements(int T) { return code_elements(T); }
% end

/* Behind the struct shared, by length: ${relative.behind_words}. */
INLINE real *behind_shared(const lh_cpu_step *step) {
    return (real *)((char *)step->shared + (sizeof(shared) + 63) / 64 * 64);
}
% if per_distance then
INLINE real *relative_codes(const lh_cpu_step *step, int set) {
    return behind_shared(step) + (size_t)set * code_elements(step->shape.length[0]);
}
% end
INLINE real *relative_rows(const lh_cpu_step *step, int l) {
    int T = step->shape.length[0];
% if per_distance then
    return behind_shared(step) + RELATIVE_SETS * code_elements(T) + (size_t)l * row_elements(T);
% else
    return behind_shared(step) + (size_t)l * row_elements(T);
% end
}
% if relative.toeplitz and per_distance then
INLINE real *relative_product(const lh_cpu_step *step, int l) {
    int T = step->shape.length[0];
    return relative_rows(step, LAYERS) + (size_t)l * code_elements(T);
}
% end
% if per_distance and not relative.toeplitz then
/* For every pair of tokens where its row starts: [keys][queries], queries filled up to whole vectors by the last. */
INLINE size_t offset_elements(int T) { return (size_t)T * (size_t)round_up(T, LANES); }
INLINE int32_t *relative_offsets(const lh_cpu_step *step, int set) {
    return (int32_t *)relative_rows(step, LAYERS) + (size_t)set * offset_elements(step->shape.length[0]);
}
% end

static size_t behind_shared_bytes(int T) {
% if not per_distance then
    return 64 + LAYERS * row_elements(T) * sizeof(real);
% elseif relative.toeplitz then
    return 64 + ((RELATIVE_SETS + LAYERS) * code_elements(T) + LAYERS * row_elements(T)) * sizeof(real);
% else
    return 64 + (RELATIVE_SETS * code_elements(T) + LAYERS * row_elements(T)) * sizeof(real)
            + RELATIVE_SETS * offset_elements(T) * sizeof(int32_t);
% end
}
% end
