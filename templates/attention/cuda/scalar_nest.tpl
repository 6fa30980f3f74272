% -- Prints the loop of a nest over the entries of tables. generator/expression/nests_cuda.lua makes the nest.
% if nest.class ~= "uniform" then
% include("parts/statements.tpl", { list = nest.outer })
for (int i = first; i < T; i += stride) { % if nest.class == "query"
for (int j = first; j < ${S}; j += stride) { % elseif nest.class == "key"
for (int o = first - ${S} + 1; o < T; o += stride) { % elseif nest.class == "distance"
for (int t = first; t < ${cross and "T + S" or "2 * T"} - 1; t += stride) { % elseif nest.class == "sum"
for (size_t e = first; e < s->pairs; e += stride) { % else
    const int i = (int)(e % T); % if nest.class == "pair" and nest.uses.i
    const int j = (int)(e / T); % if nest.class == "pair" and nest.uses.j
% for _, g in ipairs(nest.head_sums) do
    real ${g.name}[${g.count}] = {0}; % if g.index
    real ${g.name} = 0; % else
% end
% for _, part in ipairs(nest.part_sums) do
    real ${part.name}[${PREFIX}HEADS] = {0}; % if part.per_head
    real ${part.name} = 0; % else
% end
    % include("parts/statements.tpl", { list = nest.lane })
    #pragma unroll 1 % if nest.long_heads
    % include("parts/scalar_heads.tpl")
    % include("parts/statements.tpl", { list = nest.after })
% for _, part in ipairs(nest.part_sums) do
    for (int h = 0; h < ${PREFIX}HEADS; h++) ${part.array}[${part.index_text}] = ${part.name}[h]; % if part.per_head
    ${part.array}[${part.index_text}] = ${part.name}; % else
% end
}
% elseif nest.on_one_thread then
if (first == 0) {
    % include("parts/statements.tpl", { list = nest.outer })
    % include("parts/scalar_heads.tpl")
}
% else
% include("parts/statements.tpl", { list = nest.outer })
for (int h = first; h < ${PREFIX}HEADS; h += stride) {
    % include("parts/statements.tpl", { list = nest.head })
}
% end
