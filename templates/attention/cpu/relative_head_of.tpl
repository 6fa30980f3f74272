% local sizes = cross and "head.T, head.S" or "head.T"
% if relative.toeplitz then
head.stride = ${name}_row_stride(${sizes});
% if relative.biases then
head.rows = ${name}_rows(w->step, l) + h * ${PREFIX}HEAD_WIDTH * head.stride;
% else
head.rows = ${name}_rows(w->step, l);
% end
% elseif relative.turned then
const int set = ${PREFIX}RELATIVE_SETS > 1 ? l : 0;
head.weight = w->shared->${stack.member}[l].${prefix}relative + h * WIDTH * ${PREFIX}HEAD_WIDTH;
head.codes = ${name}_codes(w->step, set);
head.places = ${name}_places(w->step, set);
head.place_stride = ${name}_place_stride(head.T);
head.table = w->step->tables;
head.position = w->shared->${prefix}position[${positions.layer_index}];
head.turned = w->${name}.turned;
head.far = w->${name}.far;
% else
head.position = ((const shared *)w->step->shared)->${prefix}position[${positions.layer_index}];
% if cross then
head.key_position = ((const shared *)w->step->shared)->${prefix}key_position[${positions.layer_index}];
% end
head.rows = ((const parameters *)w->step->parameters)->${stack.member}[l].${prefix}relative_table;
% end
% if relative.biases then
const ${stack.parameters} *p = &((const parameters *)w->step->parameters)->${stack.member}[l];
head.content_bias = p->${prefix}content_bias + h * ${PREFIX}HEAD_WIDTH;
head.position_bias = p->${prefix}position_bias + h * ${PREFIX}HEAD_WIDTH;
% end
