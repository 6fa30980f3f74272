% local pairwise = relative.kind ~= "none" and not relative.toeplitz
% local first = positions.first == 1 and PREFIX .. "FIRST_POSITION" or "0"
% local range = PREFIX .. "MAX_POSITION" .. (positions.first == 1 and " - 1" or "")
% local T, S = ("shape->length[%d]"):format(queries.stream), ("shape->length[%d]"):format(keys.stream)
% local tokens = cross and ("(%s + %s)"):format(T, S) or T
% local lengths, keys_of, T_S = cross and "int T, int S" or "int T", cross and "S" or "T", cross and "T, S" or "T"
% local of_pair = cross and "position, key_position, " or "position, "
% local key_position = cross and "key_position" or "position"
% local drawn_positions = cross and "const int *position, const int *key_position" or "const int *position"
% local site = first_site > 0 and " + " .. first_site or ""
% if pairwise then
static size_t ${prefix}draw_count(const lh_shape *shape) {
% if cross then
    const int T = ${T}, S = ${S};
% else
    const int T = ${T};
% end
    ${prefix}pair_rows r;
    return ${attends.draw_rows} * (size_t)${cross and "(T + S)" or "T"} + ${PREFIX}RELATIVE_SETS * ${prefix}lay_out_pair_rows(&r, NULL, ${T_S});
}

% if relative.kind == "transformer_xl" then
/* The vector of a pair, before they are numbered. */
INLINE int ${prefix}pair_key(${drawn_positions}, int query, int key) { return ${key_position}[key] - position[query] + ${PREFIX}MAX_POSITION - 1; }
enum { ${PREFIX}PAIR_KEYS = 2 * ${PREFIX}MAX_POSITION - 1 };
% else
/* The vector of a pair. */
INLINE int ${prefix}pair_key(${drawn_positions}, int query, int key) {
    int distance = ${key_position}[key] - position[query], near = distance < ${relative.farthest} ? distance : ${relative.farthest};
    return (near > -${PREFIX}CLIP ? near : -${PREFIX}CLIP) + ${PREFIX}CLIP;
}
enum { ${PREFIX}PAIR_KEYS = ${relative.rows_text} };
% end

/* Numbers the vectors that occur, and sorts the pairs by them. rank: [${PREFIX}PAIR_KEYS + 1] overwritten. */
static void ${prefix}sort_pairs(${drawn_positions}, ${lengths}, int *rank, int *out) {
    ${prefix}pair_rows r;
    int count = 0, first = 0;
    ${prefix}lay_out_pair_rows(&r, out, ${T_S});
    int *distance = out + (r.distance - out), *row = out + (r.row - out), *start = out + (r.start - out);
    int *pair = out + (r.pair - out);
    memset(rank, 0, (${PREFIX}PAIR_KEYS + 1) * sizeof *rank);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < ${keys_of}; j++) rank[${prefix}pair_key(${of_pair}i, j)]++;
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
        for (int j = 0; j < ${keys_of}; j++) row[j * T + i] = rank[${prefix}pair_key(${of_pair}i, j)];
    for (int i = 0; i < T; i++)
        for (int j = 0; j < ${keys_of}; j++) pair[start[row[j * T + i]]++] = i * ${keys_of} + j;
    for (int x = count; x > 0; x--) start[x] = start[x - 1];
    start[0] = 0;
}
% else
static size_t ${prefix}draw_count(const lh_shape *shape) { return ${attends.draw_rows} * (size_t)${tokens}; }
% end

static void ${prefix}draw(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
        const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out) {
% if cross then
    const int T = ${T}, S = ${S};
% else
    const int T = ${T};
% end
% if pairwise then
    const int *drawn = out;
% end
% for _, side in ipairs(sides) do
% local count = side.member == "position" and "T" or "S"
    for (int d = 0; d < ${PREFIX}DRAWS; d++, out += ${count}) {
        if (positions[${side.stream}]) memcpy(out, positions[${side.stream}], (size_t)${count} * sizeof(int));
        else
            lh_draw_positions(from, (uint32_t)d${side.site}, ${first}, ${range}, ${count}, ${positions.sorted_text}, out, scratch);
    }
% end
% if not sides[1] then
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
% if cross then
        const int *key_position = drawn + ${PREFIX}DRAWS * T + (${positions.layer_index}) * S;
        ${prefix}sort_pairs(drawn + (${positions.layer_index}) * T, key_position, T, S, scratch, out);
% else
        ${prefix}sort_pairs(drawn + (${positions.layer_index}) * T, T, scratch, out);
% end
        out += ${prefix}lay_out_pair_rows(&r, NULL, ${T_S});
    }
% end
}
