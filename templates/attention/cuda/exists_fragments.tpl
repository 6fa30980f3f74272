% local of_pair = { h = "h", keys = "S" }
const bool there = place < ${count} && ${inline("exists", "", of_pair)}; % if terms.spans
const bool there = place < ${count}; % else
