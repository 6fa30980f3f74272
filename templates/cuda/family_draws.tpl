% local pairwise = relative.kind ~= "none" and not relative.toeplitz
% local first = positions.first == 1 and PREFIX .. "FIRST_POSITION" or "0"
% local range = PREFIX .. "MAX_POSITION" .. (positions.first == 1 and " - 1" or "")
% local site = first_site > 0 and " + " .. first_site or ""
% if pairwise then
static int ${prefix}draw_count(const lh_shape *shape) {
    const int T = shape->length[${queries.stream}];
    ${prefix}pair_rows r;
    return ${attends.draw_rows} * T + ${PREFIX}RELATIVE_SETS * (int)${prefix}lay_out_pair_rows(&r, NULL, T);
}

% if relative.kind == "transformer_xl" then
/* The vector of a pair, before they are numbered. */
INLINE int ${prefix}pair_key(const int *position, int query, int key) { return position[key] - position[query] + ${PREFIX}MAX_POSITION - 1; }
enum { ${PREFIX}PAIR_KEYS = 2 * ${PREFIX}MAX_POSITION - 1 };
% else
/* The vector of a pair. */
INLINE int ${prefix}pair_key(const int *position, int query, int key) {
    int distance = position[key] - position[query], near = distance < ${relative.farthest} ? distance : ${relative.farthest};
    return (near > -${PREFIX}CLIP ? near : -${PREFIX}CLIP) + ${PREFIX}CLIP;
}
enum { ${PREFIX}PAIR_KEYS = ${relative.rows_text} };
% end

/* Numbers the vectors that occur, and sorts the pairs by them. rank: [${PREFIX}PAIR_KEYS + 1] overwritten. */
static void ${prefix}sort_pairs(const int *position, int T, int *rank, int *out) {
    ${prefix}pair_rows r;
    int count = 0, first = 0;
    ${prefix}lay_out_pair_rows(&r, out, T);
    int *distance = out + (r.distance - out), *row = out + (r.row - out), *start = out + (r.start - out);
    int *pair = out + (r.pair - out);
    memset(rank, 0, (${PREFIX}PAIR_KEYS + 1) * sizeof *rank);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++) rank[${prefix}pair_key(position, i, j)]++;
    for (int key = 0; key < ${PREFIX}PAIR_KEYS; key++) {
        int pairs = rank[key];
% if relative.kind == "transformer_xl" then
        if (pairs == 0) continue;
        distance[count] = key - (${PREFIX}MAX_POSITION - 1);
% else
        distance[count] = key - ${PREFIX}CLIP;
% end
        start[count] = first;
        first += pairs;
        rank[key] = count++;
    }
    start[count] = first;
    out[0] = count;
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++) row[j * T + i] = rank[${prefix}pair_key(position, i, j)];
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++) pair[start[row[j * T + i]]++] = i * T + j;
    for (int x = count; x > 0; x--) start[x] = start[x - 1];
    start[0] = 0;
}
% else
static int ${prefix}draw_count(const lh_shape *shape) { return ${attends.draw_rows} * shape->length[${queries.stream}]; }
% end

static void ${prefix}draw(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
        const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out) {
    const int T = shape->length[${queries.stream}];
% if pairwise then
    const int *drawn = out;
% end
% if attends.position_draws > 0 then
    for (int d = 0; d < ${PREFIX}DRAWS; d++, out += T) {
        if (positions[${queries.stream}]) memcpy(out, positions[${queries.stream}], (size_t)T * sizeof(int));
        else
            lh_draw_positions(from, (uint32_t)d${positions.site_offset}${site}, ${first}, ${range}, T, ${positions.sorted_text}, out, scratch);
    }
% else
    (void)positions;
% end
% if attends.distance_rows > 1 then
    for (int d = 0; d < ${PREFIX}DISTANCE_DRAWS; d++, out += 2 * T) {
        int *middle = out + T;
        out[0] = 0; /* of no pair */
        if (distances[${queries.stream}])
            for (int i = 0; i < T; i++) {
                middle[i] = distances[${queries.stream}][i];
                middle[-i] = -distances[${queries.stream}][i];
            }
        else
            lh_draw_signed_distances(from, (uint32_t)d${positions.distance.site_offset}${site}, ${PREFIX}MAX_POSITION, T, middle, scratch);
    }
% elseif attends.distance_draws > 0 then
    for (int d = 0; d < ${PREFIX}DISTANCE_DRAWS; d++, out += T) {
        if (distances[${queries.stream}]) memcpy(out, distances[${queries.stream}], (size_t)T * sizeof(int));
        else
            lh_draw_distances(from, (uint32_t)d${positions.distance.site_offset}${site}, ${PREFIX}MAX_POSITION, T, out, scratch);
    }
% else
    (void)distances;
% end
% if pairwise then
    for (int l = 0; l < ${PREFIX}RELATIVE_SETS; l++) {
        ${prefix}pair_rows r;
        ${prefix}sort_pairs(drawn + (${positions.layer_index}) * T, T, scratch, out);
        out += ${prefix}lay_out_pair_rows(&r, NULL, T);
    }
% end
}
