% -- Initialises members of a struct; fields: a list of { name, value } or { name, text = a C string }. A member whose
% -- value is false or 0 is left out.
% for _, field in ipairs(fields) do
% local name, value = field[1], field[2]
.${name} = "${c_string(field.text)}", % if field.text
.${name} = ${value}, % elseif value and value ~= 0
% end
