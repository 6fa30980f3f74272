% -- Vectors of distances, computed from sinusoids by a linear map, for random positions. These vectors are never computed:
% -- rotated queries give the same products (kernels/cpu/rotated.h).
% local H = PREFIX .. "HEAD_WIDTH"
% section("members")
const real *weight; /* [WIDTH][HEAD_WIDTH] maps a sinusoid to the head's channels */
const real *key_sinusoids; /* [keys][WIDTH] sinusoids of the keys' positions */
const real *query_sinusoids; /* sinusoids of the queries' positions, channel by channel */
int sinusoid_stride; /* elements from one channel of query_sinusoids to the next */
const position_row *table; /* sinusoids by position */
const int32_t *position; /* positions of queries */
real *rotated, *distance_terms; /* workspace: a group's rotated queries, and their products with key_sinusoids */
real *dweight; /* [HEAD_WIDTH][WIDTH] the gradient of weight, transposed */
% section("head")
head.weight = w->shared->${stack.member}[l].${prefix}relative + h * WIDTH * ${PREFIX}HEAD_WIDTH;
head.key_sinusoids = ${name}_key_sinusoids(w->step, ${rows.set_of_layer});
head.query_sinusoids = ${name}_query_sinusoids(w->step, ${rows.set_of_layer});
head.sinusoid_stride = ${name}_sinusoid_stride(head.T);
head.table = w->step->tables;
head.position = w->shared->${prefix}position[${positions.layer_index}];
head.rotated = w->${name}.rotated;
head.distance_terms = w->${name}.distance_terms;
head->dweight = w->sums.${name}.weights[l] + h * ${PREFIX}HEAD_WIDTH * WIDTH; % section("head_grad")
% section("queries")
vector content[${PREFIX}HEAD_WIDTH]; /* query with the content bias, times ${PREFIX}LOGIT_SCALE */
const real *distance_terms; /* [keys][LANES] terms of distances in the logits */
vector position[${PREFIX}HEAD_WIDTH]; /* query with the position bias, times ${PREFIX}LOGIT_SCALE */ % section("load_begin")
% section("load")
UNROLL
for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
    position[d] = group->content[d] + head->position_bias[d] * ${PREFIX}LOGIT_SCALE;
    group->content[d] += head->content_bias[d] * ${PREFIX}LOGIT_SCALE;
}
rotate_queries(${PREFIX}HEAD_WIDTH, WIDTH, position, head->weight, head->query_sinusoids + first, head->sinusoid_stride,
        head->rotated);
group->distance_terms = head->distance_terms;
% section("logit_functions")
/* Writes to head->distance_terms the terms of distances in a group's logits with keys from..to - 1. head->rotated: the
 * group's rotated queries. from: a multiple of ROTATED_KEYS. */
INLINE void ${name}_distance_logits(const ${name}_head *head, int from, int to) {
    dot_rotated(WIDTH, to - from, head->rotated, head->key_sinusoids + from * WIDTH, head->distance_terms + from * LANES);
}

% section("logits")
dot_rows(${PREFIX}HEAD_WIDTH, N, group->content, ${K}, key, sum);
UNROLL
for (int u = 0; u < N; u++) sum[u] += load(group->distance_terms + (j + u) * LANES);
${name}_distance_logits(head, ${from}, ${to}); % section("distance_logits")
% section("queries_grad")

% local before = has_query_bounds and " + before" or ""
/* Adds to dq the gradients of a group's queries from the terms of distances. The caller later multiplies dq by
 * inverse * LOGIT_SCALE. Also adds the gradients of the biases and of the weight. */
INLINE void add_${name}_rotated_gradients(const ${name}_head *head, int first, int begin, int end,
        const real *restrict dlogits, const ${name}_scratch *scratch, vector inverse, vector *dq) {
    const int ${terms.has_spans and "T = head->T" or head_lengths}, queries = ${to_query} - first < LANES ? ${to_query} - first : LANES;
    const int before = first < head->first_query ? head->first_query - first : 0;
    const real *rows = scratch->rows + (first${before}) * ${rows.vectors_per_query} * ${PREFIX}HEAD_WIDTH + 2 * ${PREFIX}HEAD_WIDTH;
    real *drotated = head->rotated, back[LANES * ${PREFIX}HEAD_WIDTH + LANES] = {0};
    vector dposition[${PREFIX}HEAD_WIDTH], factor = keep_where(lanes_before(T - first), inverse * ${PREFIX}LOGIT_SCALE);
    rotated_grad(WIDTH, queries, ${keys_seen}, ${terms.has_spans and "dlogits + begin * LANES" or "dlogits"}, ${terms.has_spans and "head->key_sinusoids + begin * WIDTH" or "head->key_sinusoids"}, drotated);
    for (int i = 0; i < queries; i++)
        rotate_back(WIDTH, head->table[head->position[first + i]].sinusoid, drotated + i * WIDTH);
    multiply_by_weight(${PREFIX}HEAD_WIDTH, WIDTH, queries, drotated, head->weight, back);
    load_columns(${PREFIX}HEAD_WIDTH, LANES, 0, ${PREFIX}HEAD_WIDTH, back, 1, dposition);
    % slot("biases_back")
% local computed_queries = has_query_bounds and "queries - before" or "queries"
% local computed_drotated = has_query_bounds and "drotated + before * WIDTH" or "drotated"
% local tile, row_width = ("widest_divisor(%s, OUTER_ROWS)"):format(H), ("%d * %s"):format(rows.vectors_per_query, H)
    % call("outer_sums", computed_queries, tile, H, row_width, "WIDTH", "rows", computed_drotated, "head->dweight", "OUTER_ADD")
}
add_${name}_rotated_gradients(head, first, begin, end, dlogits, scratch, inverse, dq); % section("queries_back")
% section("last_scratch")
real *rotated; /* [WIDTH][LANES] a group's rotated queries; in the backward pass their gradients, [LANES][WIDTH] */
real *distance_terms; /* [keys][LANES] products of rotated queries with the sinusoids of keys */
% section("lay_out_scratch")
scratch->rotated = reserve(memory, used, WIDTH * LANES * sizeof(real));
scratch->distance_terms = reserve(memory, used, (size_t)round_up(${S}, ROTATED_KEYS) * LANES * sizeof(real));
% section("tables")
enum { ${PREFIX}RELATIVE_SETS = ${rows.set_count} }; /* number of sets of positions in one pass${rows.sets_words} */

/* The number of elements of the keys' sinusoids: [keys rounded up to a multiple of ROTATED_KEYS][WIDTH]. */
INLINE size_t ${name}_sinusoid_elements(int ${S}) { return (size_t)round_up(${S}, ROTATED_KEYS) * WIDTH; }

/* The number of elements from one channel of the queries' sinusoids to the next. It is an odd number of vectors, which
 * spreads channels over the sets of a cache, and so large that LANES queries from any query on can be loaded. */
INLINE int ${name}_sinusoid_stride(int T) { return (round_up(T + LANES - 1, LANES) / LANES | 1) * LANES; }

/* The memory behind `struct shared`; its size depends on lengths: ${rows.table_words}. */
INLINE real *${name}_key_sinusoids(const lh_cpu_step *step, int set) {
    real *key_sinusoids = (real *)((char *)step->shared + ${name}_start(&step->shape));
    return key_sinusoids + (size_t)set * ${name}_sinusoid_elements(step->shape.length[${keys.stream}]);
}
INLINE real *${name}_query_sinusoids(const lh_cpu_step *step, int set) {
    size_t set_elements = (size_t)${name}_sinusoid_stride(step->shape.length[${queries.stream}]) * WIDTH;
    return ${name}_key_sinusoids(step, ${PREFIX}RELATIVE_SETS) + (size_t)set * set_elements;
}

static size_t ${name}_relative_bytes(${length_parameters}) {
    size_t of_set = ${name}_sinusoid_elements(${S}) + (size_t)${name}_sinusoid_stride(T) * WIDTH;
    return ${PREFIX}RELATIVE_SETS * of_set * sizeof(real);
}

% section("step_functions")
/* Makes the sinusoids of a set of positions, row by row for keys and channel by channel for queries. Also packs, head
 * by head, the weights of the layers that share the set. */
static void make_${name}_relative(const lh_cpu_step *step, int set) {
    const parameters *p = step->parameters;
    shared *s = step->shared;
    const position_row *table = step->tables;
% -- l: a layer that reads the set. The line has no C comment: if l is unused, the generator removes the line, but only
% -- a line that ends with a semicolon.
    const int l = set;
    const int32_t *position = s->${prefix}position[${positions.layer_index}];
    const int32_t *key_position = s->${prefix}key_position[${positions.layer_index}];
    const int T = step->shape.length[${queries.stream}], S = step->shape.length[${keys.stream}];
    int stride = ${name}_sinusoid_stride(T);
    real *key_sinusoids = ${name}_key_sinusoids(step, set), *query_sinusoids = ${name}_query_sinusoids(step, set);
    memset(key_sinusoids, 0, ${name}_sinusoid_elements(${S}) * sizeof(real));
    memset(query_sinusoids, 0, (size_t)stride * WIDTH * sizeof(real));
    for (int j = 0; j < ${S}; j++) memcpy(key_sinusoids + j * WIDTH, table[${cross and "key_" or ""}position[j]].sinusoid, WIDTH * sizeof(real));
    for (int c = 0; c < WIDTH; c++)
        for (int i = 0; i < T; i++) query_sinusoids[c * stride + i] = table[position[i]].sinusoid[c];
% local every_layer = rows.set_count == 1 and ("for (int of_layer = 0; of_layer < %s; of_layer++) "):format(stack.count) or ""
% local of_layer = rows.set_count == 1 and "of_layer" or "set"
    ${every_layer}pack_heads(${PREFIX}HEAD_WIDTH, WIDTH, p->${stack.member}[${of_layer}].${prefix}relative, s->${stack.member}[${of_layer}].${prefix}relative);
}

% section("after_positions")
% -- d: the index of the draw; if draw 0 belongs to the input, set d - 1 has draw d
if (d > 0) make_${name}_relative(step, d - 1); % if positions.input_first
make_${name}_relative(step, d); % else
real *weights[${stack.count}]; /* [HEADS][HEAD_WIDTH][WIDTH] gradients of the weight, transposed */ % section("sums")
% section("lay_out_sums")
for (int l = 0; l < ${stack.count}; l++) sums->weights[l] = reserve(memory, used, WIDTH * WIDTH * sizeof(real));
% section("end_functions")
static void end_${name}_relative(int l, const ${name}_sums *sums, ${stack.parameters} *g) {
    for (int c = 0; c < WIDTH; c++)
        for (int k = 0; k < WIDTH; k++) g->${prefix}relative[k * WIDTH + c] += sums->weights[l][c * WIDTH + k];
    % slot("end_biases")
}

for (int l = 0; l < ${stack.count}; l++) end_${name}_relative(l, sums, &g->${stack.member}[l]); % section("end_sums")
