/* ${cross and "Cross-attention" or "Self-attention"} of a shard. A thread has one query of one head (backward, then a key${attends.owners_words}) and
 * walks over the pairs that belong to it, so nothing is added by two threads and every sum has its order. Weights are
 * not kept: the backward pass makes each again from the largest score of its query and the inverse of the sum. */

enum { ${PREFIX}KEYS = ${attends.keys_at_once} }; /* whose logits are made side by side */

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
