% for _, n in ipairs(numbers) do
${set}->${n.name} = ${n.value};
% end
% for _, t in ipairs(members) do
${set}->${t.name} = (real *)take(memory, used, (size_t)${t.count_text} * sizeof(real));
% end
% if behind then
if (!memory) return;
% for _, t in ipairs(members) do
% if t.class == "distance" then
${set}->${t.name} += ${attends.keys} - 1;
% end
% end
% end
