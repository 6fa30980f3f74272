% if extents.tokens then
${set}->tokens = T;
% end
% if extents.keys then
${set}->keys = S;
% end
% if extents.distances then
${set}->distances = ${cross and "T + S" or "2 * T"} - 1;
% end
% if extents.pairs then
${set}->pairs = (size_t)T * (size_t)${cross and "S" or "T"};
% end
% for _, t in ipairs(members) do
${set}->${t.name} = (real *)take(memory, used, (size_t)${t.count_text} * sizeof(real));
% end
% if extents.distance then
if (!memory) return;
% for _, t in ipairs(members) do
% if t.class == "distance" then
${set}->${t.name} += ${cross and "S" or "T"} - 1;
% end
% end
% end
