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

% include("attention/cuda/forward_fragments.tpl")

% include("attention/cuda/queries_fragments.tpl")

% include("attention/cuda/keys_fragments.tpl")

% include("attention/cuda/backward.tpl")
