% for _, field in ipairs(fields) do
% local name, value = field[1], field[2]
.${name} = "${c_string(field.text)}", % if field.text
.${name} = ${value}, % elseif value and value ~= 0
% end
