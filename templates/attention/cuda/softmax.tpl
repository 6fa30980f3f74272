/* ${cross and "Cross-attention" or "Self-attention"} of a shard. A thread has one query of one head (in the backward pass then a key${attends.owners_words})
 * and goes through its pairs, so every sum belongs to one thread and has a fixed order. Weights are not stored: the
 * backward pass recomputes each from the largest score of its query and the inverse of the query's sum. */

enum { ${PREFIX}KEYS = ${attends.keys_at_once} }; /* keys whose logits are computed interleaved */

% include("attention/cuda/head.tpl")
% slot("kept_weight")

% include("attention/cuda/head_vectors.tpl")
% slot("domain")

% include("attention/cuda/pair_logit.tpl")
% slot("before_forward")

% include("attention/cuda/forward.tpl")

% include("attention/cuda/queries.tpl")

% include("attention/cuda/keys.tpl")
% slot("behind_keys")
% for _, owner in ipairs(attends.owners) do

% include(owner.template, owner)
% end
% slot("behind_owners")

% include("attention/cuda/backward.tpl")
