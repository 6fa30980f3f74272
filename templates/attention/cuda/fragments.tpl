/* ${cross and "Cross-attention" or "Self-attention"} of a shard, divided among warps: a warp has ${attends.fragment_rows} queries of a head (in the backward pass then as many
 * keys) and computes all their pairs in fragments, so no sum is split between warps. Weights are not stored: the
 * backward pass recomputes each from the logarithm of its query's sum. */

enum {
    ${PREFIX}WARP_ROWS = ${attends.fragment_rows}, /* rows of a warp at a time, in groups */
    ${PREFIX}GROUPS = ${PREFIX}WARP_ROWS / GROUP_ROWS,
    ${PREFIX}STEPS = (${PREFIX}HEAD_WIDTH + STEP - 1) / STEP,
    ${PREFIX}TILES = (${PREFIX}HEAD_WIDTH + TILE_COLUMNS - 1) / TILE_COLUMNS
};

% include("attention/cuda/head.tpl")
% slot("kept_weight")
% slot("domain")

% local frame, constant = "attention/cuda/pass_fragments.tpl", attends.depends_on_mode and "" or "const "
% local of_query = { lane = "query", of_lane = "i", first = "first_key", last = "end_key", rows = "T", count = "S" }
% of_query.pass, of_query.constant, of_query.body = "attend(const bool training)", constant, "attention/cuda/forward_fragments.tpl"
% of_query.about = "Computes the layer's attended values, and stores the values of the softmax that the backward pass needs."
% include(frame, of_query)

% of_query.pass, of_query.constant, of_query.body = "attend_queries(void)", "const ", "attention/cuda/queries_fragments.tpl"
% of_query.about = "Computes the gradients of queries, and stores `starts` for attend_keys."
% include(frame, of_query)

% local of_key = { lane = "key", of_lane = "j", first = "first_query", last = "end_query", rows = "S", count = "T" }
% of_key.pass, of_key.constant, of_key.body = "attend_keys(int first, int count)", "const ", "attention/cuda/keys_fragments.tpl"
% of_key.about = "Computes the gradients of keys and values."
% include(frame, of_key)

% include("attention/cuda/backward.tpl")
