% for _, n in ipairs(numbers) do
${n.type} ${n.name};${n.about}
% end
% for _, t in ipairs(members) do
reals ${t.name};${t.about}
% end
