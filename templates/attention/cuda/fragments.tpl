/* ${cross and "Cross-attention" or "Self-attention"} of a shard, divided among warps. A warp computes all pairs of ${attends.fragment_rows} queries of a head.
 * In the backward pass it also computes all pairs of ${attends.fragment_rows} keys. So no sum is split between warps.
 * Weights are not stored: the backward pass recomputes them with the stored log_sum. */

enum {
    ${PREFIX}WARP_ROWS = ${attends.fragment_rows}, /* number of rows that a warp computes at a time */
    ${PREFIX}GROUPS = ${PREFIX}WARP_ROWS / GROUP_ROWS,
    ${PREFIX}STEPS = (${PREFIX}HEAD_WIDTH + STEP - 1) / STEP,
    ${PREFIX}TILES = (${PREFIX}HEAD_WIDTH + TILE_COLUMNS - 1) / TILE_COLUMNS
};

% include("attention/cuda/head.tpl")
% slot("dropout_factor")
% slot("domain")

% local pass_template, constant = "attention/cuda/pass_fragments.tpl", attends.depends_on_mode and "" or "const "
% -- query_pass, key_pass: fields of pass_fragments.tpl
% local query_pass = { lane = "query", lane_index = "i", first = "first_key", last = "end_key", rows = "T", count = "S" }
% query_pass.pass, query_pass.constant, query_pass.body = "attend(const bool training)", constant, "attention/cuda/forward_fragments.tpl"
% query_pass.comment = "Computes the layer's attended values. Stores log_sum for the backward pass."
% include(pass_template, query_pass)

% query_pass.pass, query_pass.constant, query_pass.body = "attend_queries(void)", "const ", "attention/cuda/queries_fragments.tpl"
% query_pass.comment = "Computes the gradients of queries. Stores `starts` for attend_keys."
% include(pass_template, query_pass)

% local key_pass = { lane = "key", lane_index = "j", first = "first_query", last = "end_query", rows = "S", count = "T" }
% key_pass.pass, key_pass.constant, key_pass.body = "attend_keys(int first, int count)", "const ", "attention/cuda/keys_fragments.tpl"
% key_pass.comment = "Computes the gradients of keys and values."
% include(pass_template, key_pass)

% include("attention/cuda/backward.tpl")
