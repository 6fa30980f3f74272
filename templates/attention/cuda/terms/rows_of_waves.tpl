% -- Vectors of distances, computed from sinusoids by a linear map, with biases for content and position.
% local each_set = rows.set_count > 1 and "[" .. PREFIX .. "RELATIVE_SETS]" or ""
% section("members")
const real *row_bias; /* products of rows and position bias, times ${PREFIX}LOGIT_SCALE, in the order of rows */
const real *key_bias; /* [${attends.keys}] products of keys and content bias, times ${PREFIX}LOGIT_SCALE */
% section("set_rows")
const size_t first_row = (size_t)l * ${attends.distance_count}(${attends.T_of_view},
        ${attends.S_of_view}) * ${PREFIX}HEADS + (size_t)h * ${prefix}row_count(v, l)${inline("offset_of_row_0", "")};
a.rows = v->shared.${prefix}rows + first_row * ${PREFIX}HEAD_WIDTH${attends.channel};
a.row_bias = v->shared.${prefix}row_bias + first_row;
a.key_bias = s->${prefix}key_bias + ((size_t)sequence * ${PREFIX}HEADS + h) * v->${attends.S};
 + (a->key_bias[j] + a->row_bias[x]) % section("add_biases")
% section("before_forward")
% if not decodes or not cross then

% local times_keys = decodes and "" or " * v->" .. attends.S
/* Computes the products of the new keys with the content bias; the products of earlier keys are cached. */ % if decodes
/* Computes the products of a shard's keys with the content bias. */ % else
INLINE void ${prefix}bias_keys${decodes and "_one" or ""}(void) {
    % include("attention/cuda/opening.tpl")
    for (int e = ${attends.first_task}; e < sequences * ${PREFIX}HEADS${times_keys}; e += ${attends.task_step}) {
        const int token = block()->current, h = e % ${PREFIX}HEADS, sequence = e / ${PREFIX}HEADS; % if decodes
        const int token = e % v->${attends.S}, h = e / v->${attends.S} % ${PREFIX}HEADS, % else
                sequence = e / v->${attends.S} / ${PREFIX}HEADS; % if not decodes
        const size_t row = (size_t)sequence * v->${attends.S} + token;
        const real *key = s->${attends.kv} + row * ${attends.key_stride}${attends.to_keys} + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        real x[${attends.head_part}], y[${attends.head_part}];
        ${prefix}load_head(x, key);
        ${prefix}load_head(y, v->p->${attends.block}[l].${prefix}content_bias + h * ${PREFIX}HEAD_WIDTH${attends.channel});
        const real key_bias = ${prefix}dot_head(x, y);
% local place = decodes and "e * v->" .. attends.S .. " + token" or "e"
        ${attends.if_first_lane}s->${prefix}key_bias[${place}] = key_bias * ${PREFIX}LOGIT_SCALE;
    }
    __syncthreads();
}
% end
% section("begin_forward")
${prefix}bias_keys_one(); % if decodes and not cross
${prefix}bias_keys(); % if not decodes
, sum = 0 % section("sums_of_key")
sum += dlogit; % section("add_to_key")
% section("end_key_gradient")
real bias[${attends.head_part}];
${prefix}load_head(bias, v->p->${attends.block}[l].${prefix}content_bias + h * ${PREFIX}HEAD_WIDTH${attends.channel});
${prefix}add_head(dkey, sum, bias);
${attends.if_first_lane}w->${prefix}key_sums[(sequence * v->${attends.S} + j) * ${PREFIX}HEADS + h] = sum;
% section("end_backward")
content_bias_grad(${PREFIX}HEAD_WIDTH, ${attends.key_stride}, block()->sequences * block()->view.${attends.S},
        block()->${attends.block}.${attends.kv}${attends.to_keys}, block()->work.${prefix}key_sums, ${PREFIX}LOGIT_SCALE,
        g->${prefix}content_bias);
% section("most_distances")
/* The largest number of vectors of distances: one for every distance that can occur. */
INLINE int ${prefix}distance_count(int T, int S) {
    const long long pairs = (long long)T * S; % if cross
    const long long pairs = (long long)T * (T - 1) + 1; /* pairs of different tokens, and one for distance 0 */ % else
    return pairs < 2 * ${PREFIX}MAX_POSITION - 1 ? (int)pairs : 2 * ${PREFIX}MAX_POSITION - 1;
}
% section("shared_tables")
reals ${prefix}sinusoids; /* ${each_set}[distances][WIDTH] sinusoids of signed distances */
reals ${prefix}rows; /* [${stack.count}][${PREFIX}HEADS][distances][${PREFIX}HEAD_WIDTH] vectors of distances */
real *${prefix}row_bias; /* [${stack.count}][${PREFIX}HEADS][distances] products of rows and position bias, times ${PREFIX}LOGIT_SCALE */
% section("lay_out_tables")
t->${prefix}sinusoids = reserve_reals(memory, &used, ${rows.times_sets}${attends.vector_count} * WIDTH);
t->${prefix}rows = reserve_reals(memory, &used, ${stack.count} * ${attends.vector_count} * WIDTH);
t->${prefix}row_bias = reserve_reals(memory, &used, ${stack.count} * ${attends.vector_count} * ${PREFIX}HEADS);
% section("table_sums")
reals ${prefix}rows; /* [${stack.count}][distances][WIDTH] gradients of the vectors of distances */
reals ${prefix}row_sums; /* [${stack.count}][${PREFIX}HEADS][distances] sums of the gradients of logits at a distance */
% section("lay_out_sums")
sums->${prefix}rows = reserve_reals(memory, used, ${stack.count} * ${attends.vector_count} * WIDTH);
sums->${prefix}row_sums = reserve_reals(memory, used, ${stack.count} * ${attends.vector_count} * ${PREFIX}HEADS);
% section("make_tables")
% slot("distance_of_row")
/* Computes the sinusoids of the sets' signed distances. */
INLINE void ${prefix}make_sinusoids(const step_view *v, int first, int stride) {
% if rows.set_count > 1 then
    const int limit = ${attends.distance_count}(${attends.T_of_view}, ${attends.S_of_view});
    for (int set = 0; set < ${PREFIX}RELATIVE_SETS; set++) {
        % include("attention/cuda/sinusoids.tpl", { set = "set", place = "(size_t)set * limit * WIDTH + e" })
    }
% else
    % include("attention/cuda/sinusoids.tpl", { set = "0", place = "e" })
% end
}

% local product = cuts_by_warp and "product(" or "product_tiles(1, 1, "
% local row = rows.set_count > 1 and "((size_t)l * limit + first)" or "first"
% -- columns: the text of the number of channels that are computed at a time
% -- to_channel: the text of the offset of the first of these channels
% local columns, to_channel = attends.slice and PREFIX .. "SLICE" or "WIDTH", attends.slice and " + channel" or ""
% local head_offset_text = attends.slice and "(size_t)(channel / " .. PREFIX .. "HEAD_WIDTH) * count + first" or "first"
/* Computes up to TILE rows of layer l, from row `first` on, head by head, and their products with the position
 * bias${attends.slice and "; computes only the SLICE channels from `channel` on" or ""}. */
NOINLINE void ${prefix}make_rows(const step_view *v, int l, int first, int channel) {
    const int limit = ${attends.distance_count}(${attends.T_of_view}, ${attends.S_of_view}),
            count = ${prefix}row_count(v, l), part_rows = min(count - first, (int)TILE);
    const size_t head_offset = ${head_offset_text};
    const real *bias = v->p->${attends.block}[l].${prefix}position_bias${to_channel};
    real *rows = v->shared.${prefix}rows + (size_t)l * limit * WIDTH + head_offset * ${PREFIX}HEAD_WIDTH;
    real *row_bias = v->shared.${prefix}row_bias + (size_t)l * limit * ${PREFIX}HEADS + head_offset;
    ${product}part_rows, ${columns}, WIDTH, COLUMNS, v->shared.${prefix}sinusoids + ${row} * WIDTH, WIDTH, ROWS,
            v->p->${attends.block}[l].${prefix}relative${to_channel}, WIDTH, FINISH_BY_HEAD, NULL, rows, count);
    bias_rows(${PREFIX}HEAD_WIDTH, ${columns}, part_rows, count, ${PREFIX}LOGIT_SCALE, rows, bias, row_bias);
}

% section("begin_tables")
${prefix}make_sinusoids(v, t->rank * THREADS + (int)threadIdx.x, t->blocks * THREADS);
team_barrier(t);
int ${prefix}part = t->rank; /* blocks take tiles in turn, from layer to layer */
for (int l = 0; l < ${stack.count}; l++) {
    const int tiles = (${prefix}row_count(v, l) + TILE - 1) / TILE, parts = tiles * (WIDTH / ${PREFIX}SLICE); % if attends.slice
    const int parts = (${prefix}row_count(v, l) + TILE - 1) / TILE; % else
    for (; ${prefix}part < parts; ${prefix}part += t->blocks)
        ${prefix}make_rows(v, l, ${prefix}part % tiles * TILE, ${prefix}part / tiles * ${PREFIX}SLICE); % if attends.slice
        ${prefix}make_rows(v, l, ${prefix}part * TILE, 0); % else
    ${prefix}part -= parts;
}
% section("end_tables")
% local set_offset = rows.set_count > 1 and " + (size_t)l * " .. prefix .. "limit * WIDTH" or ""
% local columns = attends.slice and PREFIX .. "SLICE" or "WIDTH"
% local first = attends.slice and "first" or "0"
const int ${prefix}limit = ${attends.distance_count}(${attends.T_of_view}, ${attends.S_of_view});
for (int l = t->rank; l < ${stack.count}; l += t->blocks) { % if not attends.slice
for (int part = t->rank; part < ${stack.count} * (WIDTH / ${PREFIX}SLICE); part += t->blocks) { % else
    const int l = part / (WIDTH / ${PREFIX}SLICE), first = part % (WIDTH / ${PREFIX}SLICE) * ${PREFIX}SLICE; % if attends.slice
    const int count = ${prefix}row_count(v, l);
    real *drows = sums.${prefix}rows + (size_t)l * ${prefix}limit * WIDTH,
            *row_sums = sums.${prefix}row_sums + (size_t)l * ${prefix}limit * ${PREFIX}HEADS;
    position_bias_grad(${PREFIX}HEAD_WIDTH, ${columns}, count, ${first}, ${PREFIX}LOGIT_SCALE,
            v->p->${attends.block}[l].${prefix}position_bias,
            v->shared.${prefix}rows + (size_t)l * ${prefix}limit * WIDTH, row_sums, drows,
            g->${attends.block}[l].${prefix}position_bias);
    product(WIDTH, ${PREFIX}SLICE, count, ROWS, v->shared.${prefix}sinusoids${set_offset}, WIDTH, ROWS, drows + first, WIDTH, % if attends.slice then
            FINISH_STORE, NULL, g->${attends.block}[l].${prefix}relative + first, WIDTH);
    product_gradient(WIDTH, WIDTH, count, v->shared.${prefix}sinusoids${set_offset}, drows, % else
            g->${attends.block}[l].${prefix}relative);
}
2 * ${PREFIX}MAX_POSITION - 1 % section("count_of_distances")
1 - ${PREFIX}MAX_POSITION, ${PREFIX}MAX_POSITION - 1, false % section("limits_of_distances")
