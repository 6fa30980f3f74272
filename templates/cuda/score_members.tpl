% if extents.tokens then
${set}->tokens = T;
% end
% if extents.distances then
${set}->distances = 2 * T - 1;
% end
% if extents.pairs then
${set}->pairs = (size_t)T * (size_t)T;
% end
% for _, t in ipairs(members) do
${set}->${t.name} = (real *)take(memory, used, (size_t)${t.count_text} * sizeof(real));
% end
% if extents.distance then
if (!memory) return;
% for _, t in ipairs(members) do
% if t.class == "distance" then
${set}->${t.name} += T - 1;
% end
% end
% end
