% -- The layer's parameters p, and the learned vectors divided by their norms.
const ${stack.parameters} *p = &((const parameters *)step->parameters)->${stack.member}[l];
% for _, value in ipairs(terms.scalar.running.products) do
% local vector = value.parameter.name
real unit_${vector}[WIDTH]; % if value.unit
divide_by_norms(${PREFIX}HEADS, ${PREFIX}HEAD_WIDTH, p->${prefix}score_${vector}, unit_${vector}); % if value.unit
% end
