% -- Sums of gradients of vectors of distances.
const table_sums *sums = &block()->sums; % section("begin_sums")
% section("clear")
real drow[${attends.head_part}] = {}${inline("bias_sum", "")};
${prefix}add_head(drow, dlogit, query); % section("add_pair")
% section("begin_stored_pairs")
const real *queries = block()->${attends.block}.${attends.q} + (size_t)first * T * ${PREFIX}QUERY_STRIDE;
% section("resume")
real *to = sums->${prefix}rows + ${inline("place_of_row", "")}${attends.channel};
real drow[${attends.head_part}] = {}${inline("bias_resumed", "")};
if (first > 0) ${prefix}load_head(drow, to);
% section("begin_sequence")
const real *query_rows = queries + (size_t)sequence * T * ${PREFIX}QUERY_STRIDE + h * ${PREFIX}HEAD_WIDTH${attends.channel};
% section("add_stored_pair")
% -- pairs: the index of the first pair (sum_stored_pairs.tpl)
const real dlogit = sees_key ? w->${prefix}pairs[pairs + (size_t)i * (${attends.keys} + 1)] : 0;
real query[${attends.head_part}];
${prefix}load_head(query, query_rows + i * ${PREFIX}QUERY_STRIDE);
${prefix}add_head(drow, dlogit, query);
${prefix}store_head(drow, 1, to); % section("store_row")
