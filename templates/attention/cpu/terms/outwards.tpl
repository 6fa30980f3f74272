% section("heads_back")
${name}_number_sums *sums = w->sums.${name}.numbers[l];
% section("head_back")
% if terms.directional then
${name}_head_grad grad = {sums, sums->content_bias + at, dquery_key_value + at, ddirection + 2 * h};
% else
${name}_head_grad grad = {sums, sums->content_bias + at, dquery_key_value + at};
% end
% call("attend_" .. name .. "_backward", "&head", "query_key_value + at", "attended + at", "dattended + at", "of_head", "&w->" .. name, "&grad")
