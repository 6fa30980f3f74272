% if turned then
rotate(1, ${turned});
% end
attend();
