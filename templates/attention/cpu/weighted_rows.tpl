% if terms.spans then
weighted_rows(${PREFIX}HEAD_WIDTH, end - begin, weights + begin * LANES, ${K}, value + begin * ${K}, o);
% else
weighted_rows(${PREFIX}HEAD_WIDTH, ${S}, weights, ${K}, value, o);
% end
