% -- Prints a list of statements (generator/expression/emit.lua). In the printed text, `group` points to the sums of a
% -- group of queries, and `d` to the gradients of tables.
% for _, s in ipairs(list) do
% if s.kind == "set" then
${s.indent}${s.type} ${s.name} = ${s.value};
% elseif s.kind == "array" then
${s.indent}${s.type} ${s.name}[${s.count}];
% elseif s.kind == "loop" then
${s.indent}for (int ${s.index} = 0; ${s.index} < ${s.count}; ${s.index}++) {
% elseif s.kind == "close" then
${s.indent}}
% elseif s.kind == "assign" then
${s.indent}${s.target} = ${s.value};
% elseif s.kind == "store" then
${s.indent}store(${s.target}, ${s.value});
% elseif s.kind == "add" then
${s.indent}${s.target} += ${s.value};
% elseif s.kind == "add_element" then
${s.indent}${s.target}[${s.full_index}] += ${s.value};
% elseif s.kind == "add_lanes" then
${s.indent}${s.target} += sum_lanes(${s.value});
% elseif s.kind == "add_at" then
${s.indent}add_at(${s.target}, ${s.value});
% elseif s.kind == "scatter" then
${s.indent}scatter_add(${s.target}, ${s.index}, ${s.value});
% elseif s.kind == "gather_uniform" or s.kind == "gather_query" then
${s.indent}group->${s.name} += ${s.value};
% elseif s.kind == "gather_distance" then
${s.indent}group->${s.name} = shift_up(group->${s.name}) + ${s.value};
${s.indent}store(d->${s.name}_row + i - j, group->${s.name});
% elseif s.kind == "gather_sum" then
${s.indent}group->${s.name} = shift_down(group->${s.name}) + ${s.value};
${s.indent}store(d->${s.name}_row + i + j, group->${s.name});
% elseif s.kind == "gather_key" then
${s.indent}${s.target} += sum_lanes(${s.value});
% elseif s.kind == "gather_pair" then
${s.indent}add_at(${s.target}, ${s.value});
% elseif s.kind == "result" then
${s.indent}return ${s.value};
% end
% end
