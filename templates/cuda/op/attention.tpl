% if rotation.kind == "rope" then
rotate(1, ${q});
% end
attend();
