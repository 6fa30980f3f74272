const bool there = place < ${count} && ${inline("exists", "")}; % if terms.spans
const bool there = place < ${count}; % else
