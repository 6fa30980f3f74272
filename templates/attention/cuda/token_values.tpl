% -- The values of a token in head h: results of learned linear maps, from the array `values`, and products of the
% -- token's query or key with learned vectors.
const real ${value.name} = values[${value.column}]; % for _, value in ipairs(scalar.cuda.running.projected_values)
% for _, product in ipairs(scalar.cuda.running.products) do
const real *${product.vector} = v->p->${attends.block}[l].${prefix}score_${product.vector} + h * ${PREFIX}HEAD_WIDTH;
const real ${product.vector}_divisor = find_divisor(${PREFIX}HEAD_WIDTH, ${product.vector}); % if product.unit
const real ${product.name} = multiply_rows(${PREFIX}HEAD_WIDTH, s->${attends.q}${product.start} + (size_t)token * ${PREFIX}QUERY_STRIDE + h * ${PREFIX}HEAD_WIDTH, ${product.vector})${product.by_norm};
% end
