% local of_pair = { h = "h", keys = "S" }
% if terms.spans then
const bool there = place < ${count} && ${inline("exists", "", of_pair)};
% else
const bool there = place < ${count};
% end
