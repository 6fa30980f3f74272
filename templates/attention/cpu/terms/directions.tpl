% -- Two terms of a query's logits, computed from the layer's input: one term for all keys to the right of the query,
% -- one for all keys to the left.
% section("members")
const real *direction; /* [T] rows with stride ${PREFIX}DIRECTION_WIDTH: two numbers, the terms of keys to the right and to the left */
real *ddirection; /* gradients, in the same layout, written */
head.direction = direction + 2 * h; % section("head")
head.ddirection = ddirection + 2 * h; % section("head_back")
% section("clear")
% if has_unused_columns then
/* no head writes to the unused columns, which must be zero */
memset(ddirection, 0, (size_t)(w->sequences * T) * ${PREFIX}DIRECTION_WIDTH * sizeof(real));
% elseif computes_labelled_tokens then
/* unused queries have zero gradients */
if (part->count < T) memset(ddirection, 0, (size_t)(w->sequences * T) * ${PREFIX}DIRECTION_WIDTH * sizeof(real));
% end
direction += T * ${PREFIX}DIRECTION_WIDTH; % section("advance")
% section("advance_back")
direction += T * ${PREFIX}DIRECTION_WIDTH;
ddirection += T * ${PREFIX}DIRECTION_WIDTH;
